import Hearth
import HearthTesting
import Testing

@Suite("Random schedules of an application")
struct ScheduleTests {
  private let people = ["anna", "ben", "cleo"]

  /// Tasks whose names are to be unique; a name is looked for before it is inserted.
  private func uniqueNames(isMended: Bool) -> Schedules {
    Schedules(chores, people) {
      Action("add", weight: 3) { turn in
        let name = turn.pick("Dishes", "Floor", "Windows")
        try await turn.zone.write { tx in
          guard try tx.first(Chore.where(\.name == name)) == nil else { return }
          // The mended application gives equal names equal keys.
          let key = isMended ? tx.key(of: Chore.self, named: name) : Key<Chore>()
          try tx.insert(Chore(id: key, name: name))
        }
      }
      Action("finish", allowing: .notFound) { turn in
        let open = try await turn.zone.fetch(Chore.where(\.isDone == false))
        guard let task = turn.pick(from: open) else { return }
        try await turn.zone.update(task.id) { $0.isDone = true }
      }
    } invariants: {
      Invariant("names are unique") { reader in
        let names = try reader.fetch(Chore.all).map(\.name)
        return Set(names).count == names.count
      }
    }
  }

  @Test("Uniqueness by looking first is found to fail, with two people who add one name")
  func uniqueness() async throws {
    let schedules = uniqueNames(isMended: false)
    let found = try #require(await failure { try await schedules.check(seeds: 0..<20) })
    #expect(found.fault.contains("the invariant \"names are unique\""))
    #expect(found.steps.count == 2 && found.originalCount > 2)
    let writers = found.steps.compactMap { step -> String? in
      guard case .act(let name, "add", _) = step else { return nil }
      return name
    }
    #expect(Set(writers).count == 2)
    let again = try #require(await failure { try await schedules.check(seeds: 0..<20) })
    #expect(again.description == found.description)
    let replayed = try #require(await failure { try await schedules.replay(found.steps) })
    #expect(replayed.fault == found.fault && replayed.seed == nil)
    try await uniqueNames(isMended: true).replay(found.steps)
  }

  @Test("An application without the fault passes, and its actions happen")
  func passes() async throws {
    let summary = try await uniqueNames(isMended: true).check(seeds: 0..<10)
    #expect(summary.schedules == 10)
    #expect(summary.actions["add", default: 0] > summary.actions["finish", default: 0])
    #expect(summary.actions["finish", default: 0] > 0 && summary.otherSteps > 0)
  }

  @Test("A forgotten rule is found")
  func rule() async throws {
    func schedules(_ app: AppSchema) -> Schedules {
      Schedules(app, people, roles: ["cleo": .child]) {
        Action("plan", allowing: .notAllowed) { turn in
          try await turn.zone.write { tx in
            try tx.insert(Chore(name: "Dishes"))
            try tx.insert(Payment(amount: 1))
          }
        }
        Action("give up", allowing: .notAllowed) { turn in
          guard let task = turn.pick(from: try await turn.zone.fetch(Chore.all)) else { return }
          try await turn.zone.delete(task.id)
        }
      } invariants: {
        Invariant("what was planned stays", .always) { reader in
          try reader.count(Chore.all) == reader.count(Payment.all)
        }
      }
    }
    let types: [any Record.Type] = [Chore.self, Payment.self]
    let without = schedules(AppSchema("org.example.plans", types))
    let forgotten = try #require(await failure { try await without.check(seeds: 0..<20) })
    #expect(forgotten.steps.count == 2)
    let ruled = schedules(
      AppSchema("org.example.plans", types) { Rule(Chore.self, only: .reader, may: .delete) })
    let summary = try await failure { try await ruled.check(seeds: 0..<5) }
    // The owner may do everything, so the rule alone does not keep the promise.
    #expect(summary?.steps.last?.description.contains("(\"anna\", \"give up\"") == true)
  }

  @Test("A sum that is kept in a field loses what two people add, and a shrunk schedule shows it")
  func lostUpdate() async throws {
    let app = AppSchema("org.example.money", [Account.self, Payment.self])
    let schedules = Schedules(app, people) {
      Action("pay") { turn in
        let amount = Int64(1 + turn.below(9))
        try await turn.zone.write { tx in
          try tx.insert(Payment(amount: amount))
          let key = tx.key(of: Account.self, named: "account")
          if try tx.get(key) == nil { try tx.insert(Account(id: key)) }
          try tx.update(key) { $0.balance += amount }
        }
      }
    } invariants: {
      Invariant("the balance is the sum of all payments") { reader in
        let payments = try reader.sum(of: \.amount, Payment.all)
        return try reader.sum(of: \.balance, Account.all) == payments
      }
    }
    let found = try #require(await failure { try await schedules.check(seeds: 0..<20) })
    #expect(found.steps.count == 2)
  }

  @Test("What an action throws is a fault of its own, unless it is allowed")
  func thrown() async throws {
    func schedules(_ allowed: HearthError.Code) -> Schedules {
      Schedules(chores, ["anna", "ben"], maximumSteps: 6) {
        Action("rename", allowing: allowed) { turn in
          try await turn.zone.update(Key<Chore>()) { $0.name = "x" }
        }
      } invariants: {
        Invariant("true") { _ in true }
      }
    }
    let found = try #require(await failure { try await schedules(.exists).check(seeds: 0..<3) })
    #expect(found.fault.contains("the action rename of ") && found.steps.count == 1)
    try await schedules(.notFound).check(seeds: 0..<3)
  }

  @Test("An invariant that always holds is checked between steps")
  func always() async throws {
    func schedules(_ moment: Invariant.Moment) -> Schedules {
      Schedules(chores, ["anna", "ben"]) {
        Action("add") { turn in try await turn.zone.insert(Chore(name: "x")) }
        Action("clear") { turn in
          let tasks = try await turn.zone.fetch(Chore.all)
          for task in tasks { try await turn.zone.delete(task.id) }
        }
      } invariants: {
        Invariant("there is at most one task", moment) { try $0.count(Chore.all) < 2 }
      }
    }
    let steps: [ScheduleStep] = [
      .act("anna", "add", seed: 1), .act("anna", "add", seed: 2), .act("anna", "clear", seed: 3),
    ]
    #expect(try await failure { try await schedules(.always).replay(steps) } != nil)
    try await schedules(.settled).replay(steps)
  }

  @Test("Schedules that cannot run say why")
  func mistakes() async throws {
    let schedules = uniqueNames(isMended: true)
    #expect(try await familyError { try await schedules.check(seeds: 0..<0) } != nil)
    #expect(
      try await familyError { try await schedules.replay([.act("anna", "sing", seed: 1)]) } != nil)
  }
}
