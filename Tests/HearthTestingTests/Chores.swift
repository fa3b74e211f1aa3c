import Hearth
import HearthTesting

/// A task: a field of the kinds that tests need.
struct Chore: Record {
  var id = Key<Chore>()
  var name = ""
  var isDone = false
  var points: Int64 = 0

  static let schema = Schema<Chore>("task", 1) {
    Field(1, \.name, .indexed)
    Field(2, \.isDone)
    Counter(3, \.points)
  }
}

/// An account whose balance is a plain field.
struct Account: Record {
  var id = Key<Account>()
  var balance: Int64 = 0

  static let schema = Schema<Account>("account", 2) {
    Field(1, \.balance)
  }
}

/// A payment, from which the balance follows.
struct Payment: Record {
  var id = Key<Payment>()
  var amount: Int64 = 0

  static let schema = Schema<Payment>("payment", 3) {
    Field(1, \.amount)
  }
}

/// An application of tasks.
let chores = AppSchema("org.example.chores", [Chore.self]) {
  Rule(Chore.self, .child, may: .change(\.isDone))
}

/// The error of HearthTesting that a call throws; nil if it throws none.
func familyError(_ call: () async throws -> Void) async throws -> FamilyError? {
  do {
    try await call()
    return nil
  } catch let error as FamilyError {
    return error
  }
}

/// The failure of schedules that a call throws; nil if it throws none.
func failure(_ call: () async throws -> Void) async throws -> ScheduleFailure? {
  do {
    try await call()
    return nil
  } catch let error as ScheduleFailure {
    return error
  }
}

/// The code of the error of Hearth that a call throws; nil if it throws none.
func code(_ call: () async throws -> Void) async -> HearthError.Code? {
  do {
    try await call()
    return nil
  } catch {
    return (error as? HearthError)?.code
  }
}
