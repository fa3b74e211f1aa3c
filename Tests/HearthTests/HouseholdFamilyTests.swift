import Foundation
import Hearth
import HearthCRDT
import HearthSync
import Household
import Testing

@Suite("A family's hardest evening")
struct HouseholdFamilyTests {
  private static let schema = NodeSchema(
    records: HouseholdSchema.all, projections: [HouseholdProjection()])
  /// The day of this run, in UTC: an award's day must not lie ahead of the clock that wrote it.
  fileprivate static let today =
    (try? CivilDate(dayNumber: Int(Node.wallClock() / 86_400_000))) ?? .first

  /// The orders in which four nodes can take their turn.
  private static let orders: [[Int]] = {
    func permute(_ rest: [Int]) -> [[Int]] {
      rest.isEmpty
        ? [[]] : rest.flatMap { head in permute(rest.filter { $0 != head }).map { [head] + $0 } }
    }
    return permute([0, 1, 2, 3])
  }()

  @Test(
    "Two complete one occurrence, a third edits, a fourth archives: equal in every order",
    arguments: orders)
  func everyOrder(order: [Int]) async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(
      ["Anna", "Ben", "Carla", "Dan"], schema: Self.schema)
    let chore = try await nodes[0].writeHousehold(zone) { state, builder in
      try state.chores.add(
        ChoreDraft(
          title: "Dishes", note: "", points: 3, assignee: .nobody, due: Self.today, time: nil,
          rule: nil, tags: []), milliseconds: Self.noon, in: &builder)
    }
    try await Family.settle(nodes)
    var events: [RecordID] = []
    for node in nodes.prefix(2) {
      let person = await node.person
      events.append(
        try await node.writeHousehold(zone) { state, builder in
          try state.completions.add(
            chore, occurrence: nil, by: person, doneAt: (Self.today, nil),
            milliseconds: Self.noon, in: &builder)
        })
    }
    try await nodes[2].writeHousehold(zone) { state, builder in
      var edit = ChoreEdit()
      edit.points = 50
      edit.title = "All the dishes"
      try state.chores.edit(chore, edit, in: &builder)
    }
    try await nodes[3].writeHousehold(zone) { state, builder in
      try state.chores.archive(chore, in: &builder)
    }
    for turn in order { _ = try await nodes[turn].sync() }
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1, "\(order)")
    for node in nodes {
      let ledger = try await node.read(zone) { source in
        try HouseholdState(source: source, today: Self.today).ledger.entries(of: nil)
      }
      let credited = ledger.filter { $0.kind == .credited }
      #expect(credited.count == 1, "one completion is credited (R1)")
      #expect(credited.first?.points == 3, "the award is what the doer saw (R3)")
      #expect(Set(ledger.map(\.event)) == Set(events), "history keeps both")
    }
  }

  private static let noon = Node.wallClock()
}

extension Node {
  /// Writes one transaction through the household's state.
  fileprivate func writeHousehold<Result: Sendable>(
    _ zone: ZoneID,
    _ body: @Sendable (HouseholdState, inout OperationBuilder) throws -> Result
  ) throws -> Result {
    let today = HouseholdFamilyTests.today
    return try write(to: zone) { source, dot in
      var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
      let result = try body(try HouseholdState(source: source, today: today), &builder)
      return (builder.operations, result)
    }
  }
}
