import Foundation
import Hearth
import HearthCRDT
import HearthSync
import Household

/// Makes a node's folder with a large household, for measuring the command line from outside.
enum HouseholdFolder {
  private static let choresInChange = 100
  /// Work may be entered a week late at most, so it lies within these days before today.
  private static let daysOfWork = 5
  private static let zoneName = "Home"

  /// Creates a node with a household of so many chores, half of them done on one of
  /// the last five days; chores differ in rule, points and assignee as a family's do.
  static func make(chores count: Int, at path: String) async throws {
    let node = try await Node.create(
      at: path, person: "Anna", device: "bench", passphrase: nil,
      schema: NodeSchema(records: HouseholdSchema.all, projections: [HouseholdProjection()]))
    try await fill(try await node.createHousehold(named: zoneName), of: node, chores: count)
    try await node.close()
  }

  /// Writes so many chores, and half as many completions, to an empty household.
  static func fill(_ zone: ZoneID, of node: Node, chores count: Int) async throws {
    let person = await node.person
    let now = await node.nowMilliseconds()
    let today = try CivilDate(dayNumber: Int(now / 86_400_000))
    try await write(zone, on: node, today) { state, builder in
      try state.people.create(person, name: "Anna", milliseconds: now, in: &builder)
      try state.storedSettings.set("time-zone", "UTC", in: &builder)
    }
    for start in stride(from: 0, to: count, by: choresInChange) {
      let range = start..<min(count, start + choresInChange)
      let ids = try await write(zone, on: node, today) { state, builder in
        try range.map { number in
          try state.chores.add(
            try draft(number, today: today, person: person), milliseconds: now,
            in: &builder)
        }
      }
      for day in 0..<daysOfWork {
        let date = today.adding(days: day - daysOfWork) ?? today
        try await write(zone, on: node, today) { state, builder in
          for place in stride(from: day, to: ids.count, by: daysOfWork * 2) {
            _ = try state.completions.add(
              ids[place], occurrence: nil, by: person, doneAt: (date, nil),
              milliseconds: now, in: &builder)
          }
        }
      }
    }
  }

  private static func draft(
    _ number: Int, today: CivilDate, person: PersonID
  ) throws -> ChoreDraft {
    var chore = ChoreDraft(title: "Chore \(number) of the house")
    chore.points = number % 20
    chore.tags = number % 3 == 0 ? ["kitchen"] : []
    chore.note = number % 5 == 0 ? "The things for it are in the cupboard below the stairs." : ""
    if number % 2 == 0 { chore.assignee = .person(person) }
    let start = today.adding(days: number % 30 - 20) ?? today
    switch number % 4 {
    case 0: chore.rule = try RecurrenceRule(.daily, every: 1 + number % 3, from: start)
    case 1: chore.rule = try RecurrenceRule(.weekly, from: start)
    case 2: chore.rule = try RecurrenceRule(.monthly, from: start)
    default: chore.due = start
    }
    return chore
  }

  /// Writes one transaction through the household's state of a day.
  @discardableResult
  static func write<Result: Sendable>(
    _ zone: ZoneID, on node: Node, _ today: CivilDate,
    _ body: @escaping @Sendable (HouseholdState, inout OperationBuilder) throws -> Result
  ) async throws -> Result {
    try await node.write(to: zone) { source, dot in
      let state = try HouseholdState(source: source, today: today)
      var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
      let result = try body(state, &builder)
      return (builder.operations, result)
    }
  }
}
