import HearthCRDT
import HearthSync
import Household

/// Every order in which a few changes can arrive.
extension Simulator {
  /// What came of one case.
  package struct OrderOutcome: Codable, Sendable {
    package var name: String
    package var changes: Int
    /// How many orders were tried, on all nodes.
    package var orders: Int
    package var deliveries: Int
    package var failure: String?
    package var cpuSeconds: Double
  }

  /// The cases' names with what must hold in each.
  package static var orderCases: [(name: String, purpose: String)] {
    OrderCase.all.map { ($0.name, $0.purpose) }
  }

  /// Delivers the changes of every case, or of one, in every order.
  ///
  /// - Throws: if there is no case of that name.
  package static func everyOrder(
    only: String?, stopsAtFailure: Bool = false, progress: (OrderOutcome) -> Void = { _ in }
  ) throws -> [OrderOutcome] {
    let cases = OrderCase.all.filter { only == nil || $0.name == only }
    guard !cases.isEmpty else { throw StepFailure("there is no case \(only ?? "")") }
    var outcomes: [OrderOutcome] = []
    func note(_ outcome: OrderOutcome) {
      outcomes.append(outcome)
      progress(outcome)
    }
    let household: OrderFamily
    let person: OrderFamily
    do {
      household = try OrderFamily()
      person = try OrderFamily(isPrivate: true)
    } catch {
      note(failed("the family", "cannot found a household: \(error)"))
      return outcomes
    }
    var coverage = OrderCoverage()
    for story in cases {
      note(run(story, in: story.isPrivate ? person : household, &coverage))
      if stopsAtFailure, outcomes.last?.failure != nil { return outcomes }
    }
    if only == nil, let missing = coverage.missing {
      note(failed("every kind", missing))
    }
    return outcomes
  }

  private static func run(
    _ story: OrderCase, in family: OrderFamily, _ coverage: inout OrderCoverage
  ) -> OrderOutcome {
    let began = cpuSeconds()
    var outcome = failed(story.name, nil)
    do {
      var run = try OrderRun(story, in: family)
      do {
        try run.run()
        coverage.note(try run.operations())
      } catch {
        outcome.failure = "\(error)\n" + words(story)
      }
      outcome.changes = run.changes.count
      outcome.orders = run.orders
      outcome.deliveries = run.deliveries
    } catch {
      outcome.failure = "\(error)"
    }
    outcome.cpuSeconds = cpuSeconds() - began
    return outcome
  }

  private static func failed(_ name: String, _ failure: String?) -> OrderOutcome {
    OrderOutcome(
      name: name, changes: 0, orders: 0, deliveries: 0, failure: failure, cpuSeconds: 0)
  }

  private static func words(_ story: OrderCase) -> String {
    story.changes.enumerated().map { "    \($0 + 1)  \($1)" }.joined(separator: "\n")
  }
}

/// Which kinds of operations and which types of the household the cases have.
struct OrderCoverage {
  /// What an operation does, without its values.
  private enum Deed: String, CaseIterable {
    case insert, assign, keepHistory, count, include, exclude, delete, event, edit

    /// Exhaustive on purpose: a new kind of operation or field needs a case.
    init(_ body: Operation.Body) {
      switch body {
      case .insert: self = .insert
      case .assign(let field, _):
        switch field.kind {
        case .history: self = .keepHistory
        case .register, .counter, .set, .text: self = .assign
        }
      case .count: self = .count
      case .include: self = .include
      case .exclude: self = .exclude
      case .delete: self = .delete
      case .event: self = .event
      case .edit: self = .edit
      }
    }
  }

  private var deeds: Set<Deed> = []
  private var types: Set<TypeID> = []

  mutating func note(_ operations: [Operation]) {
    for operation in operations {
      deeds.insert(Deed(operation.body))
      types.insert(operation.key.type)
    }
  }

  /// What no case has, in words; nil if all is there.
  var missing: String? {
    let deeds = Deed.allCases.filter { !self.deeds.contains($0) }.map(\.rawValue)
    let types = (HouseholdSchema.all.map(\.id) + Tally.types).filter { !self.types.contains($0) }
    guard !deeds.isEmpty || !types.isEmpty else { return nil }
    return "no case has \((deeds + types.map { "type \($0.rawValue)" }).joined(separator: ", "))"
  }
}
