import Hearth
import HearthCRDT
import HearthSync
import Household
import Synchronization
import Testing

@Suite("The household's tables in the database")
struct HouseholdLedgerTests {
  private static let dayMilliseconds: UInt64 = 86_400_000

  /// A clock that stands still but when told.
  private final class StillClock: Sendable {
    private let value = Mutex(20_000 * HouseholdLedgerTests.dayMilliseconds)

    var milliseconds: UInt64 { value.withLock { $0 } }

    func pass(days: UInt64) {
      value.withLock { $0 += days * HouseholdLedgerTests.dayMilliseconds }
    }
  }

  /// A household on one node, under such a clock.
  private struct Home {
    let node: Node
    let zone: ZoneID
    let clock: StillClock

    var today: CivilDate {
      get throws {
        try CivilDate(dayNumber: Int(clock.milliseconds / HouseholdLedgerTests.dayMilliseconds))
      }
    }

    func write<Result: Sendable>(
      _ body: @Sendable (HouseholdState, inout OperationBuilder) throws -> Result
    ) async throws -> Result {
      let today = try today
      return try await node.write(to: zone) { source, dot in
        var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
        let result = try body(try HouseholdState(source: source, today: today), &builder)
        return (builder.operations, result)
      }
    }
  }

  @Test("Pages, periods and a rebuild agree after a closing, and after an undo in what it closed")
  func ledger() async throws {
    let family = try Family()
    let clock = StillClock()
    let node = try await Node.create(
      at: family.home("Anna"), person: "Anna", device: "phone", passphrase: nil,
      schema: NodeSchema(records: HouseholdSchema.all, projections: [HouseholdProjection()]),
      now: { clock.milliseconds })
    let zone = try await node.createHousehold(named: "Home")
    let anna = await node.person
    let home = Home(node: node, zone: zone, clock: clock)
    let first = try CivilDate(dayNumber: 20_000)
    let rules = [
      try RecurrenceRule(.daily, from: first),
      try RecurrenceRule(.daily, every: 2, from: first, mode: .afterCompletion),
    ]
    let chores = try await home.write { state, builder in
      try rules.map { rule in
        try state.chores.add(
          ChoreDraft(title: "Cat", points: 5, rule: rule), milliseconds: 1, in: &builder)
      }
    }
    var events: [RecordID] = []
    for _ in 0..<10 {  // Friday to Sunday of the week after
      for chore in chores {
        events.append(
          try await home.write { state, builder in
            try state.completions.add(
              chore, occurrence: nil, by: anna, doneAt: (home.today, nil),
              milliseconds: clock.milliseconds, in: &builder)
          })
      }
      clock.pass(days: 1)
    }
    try await home.write { state, builder in
      let days = try state.periods.days(of: .week, named: nil)
      try state.periods.close(.week, first: days.first, last: days.last, in: &builder)
    }
    let undone = [events[12], events[13]]
    for event in undone {
      try await home.write {
        try $0.completions.undo(event, by: anna, isAdministrator: true, in: &$1)
      }
    }
    try await expectAgreement(node, zone, anna, day: 20_010)
    // A snapshot's rows are derived a few at a time; they are the same.
    #expect(try await node.takeDraft(of: zone).isEmpty)
    try await expectAgreement(node, zone, anna, day: 20_010)
  }

  private func expectAgreement(
    _ node: Node, _ zone: ZoneID, _ anna: PersonID, day: Int
  ) async throws {
    let (sums, shown, all) = try await node.read(zone) { source in
      let state = try HouseholdState(source: source, today: try CivilDate(dayNumber: day))
      var shown: [RecordID] = []
      var cursor: String?
      repeat {
        let page = try state.ledger.history(after: cursor, limit: 3)
        shown += page.entries.map(\.event)
        cursor = page.next
      } while cursor != nil
      return (try state.totals.periods(.week, of: anna), shown, try state.ledger.entries(of: anna))
    }
    #expect(shown == all.map(\.event))
    #expect(all.count == 20)
    #expect(sums.map(\.isClosed) == [false, true, false])
    #expect(sums.map(\.points) == [30, 70, -10])
    #expect(sums.last?.late == -10)
    #expect(all.reduce(0) { $0 + $1.points } == 90)
    #expect(all.filter { $0.kind == .undone }.flatMap(\.late).map(\.amount) == [-5, -5])
    #expect(try await node.integrity.verify().isSound)
  }
}
