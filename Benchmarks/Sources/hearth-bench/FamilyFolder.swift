import Foundation
import Hearth
import HearthCRDT
import HearthSync
import Household
import Synchronization

/// A clock that a program sets.
final class SetClock: Sendable {
  private let milliseconds: Mutex<UInt64>

  init(_ milliseconds: UInt64) { self.milliseconds = Mutex(milliseconds) }

  /// A clock that is so many days slow.
  init(daysAgo days: Int) {
    let past = UInt64(days) * FamilyLife.millisecondsPerDay
    milliseconds = Mutex(Node.wallClock() - past)
  }

  var now: UInt64 { milliseconds.withLock { $0 } }

  func set(_ now: UInt64) { milliseconds.withLock { $0 = now } }
}

/// Makes a node's folder with three years of a family's life, for measuring commands from outside.
enum FamilyFolder {
  /// Creates the node and lives through the three years up to now: 300 chores, 9,600 completions,
  /// and what goes with them, ten thousand records in all.
  static func make(at path: String) async throws {
    let days = 3 * 365
    let clock = SetClock(daysAgo: days)
    let node = try await Node.create(
      at: path, person: FamilyLife.names[0], device: "bench", passphrase: nil,
      schema: NodeSchema(records: HouseholdSchema.all, projections: [HouseholdProjection()]),
      now: { clock.now })
    let zone = try await node.createHousehold(named: "Home")
    var life = try await FamilyLife(
      of: node, in: zone, clock, days: days, completions: 9_600)
    try await life.live()
    try await node.close()
  }
}

/// Days of a family in an empty household: 300 chores, which come little by little, and what four
/// people complete of them.
struct FamilyLife {
  static let chores = 300
  private static let choresAtFirst = 150
  private static let mostInDay = 40
  static let names = ["Anna", "Ben", "Cleo", "Dan"]
  static let millisecondsPerDay: UInt64 = 86_400_000

  private let node: Node
  private let zone: ZoneID
  private let people: [PersonID]
  private let clock: SetClock
  private let begin: UInt64
  private let days: Int
  private let completions: Int
  private var made: [RecordID] = []
  private var done = 0

  /// Begins with the people, on the clock's day; the node has the same clock.
  init(
    of node: Node, in zone: ZoneID, _ clock: SetClock, days: Int, completions: Int
  ) async throws {
    (self.node, self.zone, self.clock) = (node, zone, clock)
    (self.days, self.completions) = (days, completions)
    begin = clock.now
    people =
      [await node.person] + FamilyLife.names.dropFirst().map { _ in Node.randomIdentifier() }
    let (people, begin) = (people, begin)
    try await write { state, builder in
      for (id, name) in zip(people, FamilyLife.names) {
        try state.people.create(id, name: name, milliseconds: begin, in: &builder)
      }
      try state.storedSettings.set("time-zone", "UTC", in: &builder)
    }
  }

  /// Lives through all days; afterwards the clock shows the last one.
  ///
  /// - Parameter interval: how many days lie between two syncs; nil for none.
  mutating func live(syncingEvery interval: Int? = nil) async throws {
    for day in 0...days {
      try await live(day: day)
      if let interval, day % interval == 0 { _ = try await node.sync() }
    }
  }

  private func today() throws -> CivilDate {
    try CivilDate(dayNumber: Int(clock.now / FamilyLife.millisecondsPerDay))
  }

  @discardableResult
  private func write<Result: Sendable>(
    _ body: @escaping @Sendable (HouseholdState, inout OperationBuilder) throws -> Result
  ) async throws -> Result {
    try await HouseholdFolder.write(zone, on: node, try today(), body)
  }

  private mutating func live(day: Int) async throws {
    let now = begin + UInt64(day) * FamilyLife.millisecondsPerDay
    clock.set(now)
    let (today, people, have) = (try today(), people, made.count)
    let later = FamilyLife.chores - FamilyLife.choresAtFirst
    let wanted = FamilyLife.choresAtFirst + later * day / days
    if have < wanted {
      made += try await write { state, builder in
        try (have..<wanted).map { number in
          try state.chores.add(
            try FamilyLife.draft(number, today, people), milliseconds: now,
            in: &builder)
        }
      }
    }
    let due = min(
      completions * (day + 1) / days - done, FamilyLife.mostInDay,
      completions - done)
    let open = try await node.read(zone) { source in
      try HouseholdState(source: source, today: today).occurrences.due(through: today)
        .prefix(max(0, due))
    }
    guard !open.isEmpty else { return }
    try await write { state, builder in
      for (place, one) in open.enumerated() {
        let person = people[(day + place) % people.count]
        _ = try state.completions.add(
          one.chore, occurrence: one.key, by: person, doneAt: (today, nil), milliseconds: now,
          in: &builder)
      }
    }
    done += open.count
  }

  private static let tasks = [
    "Wash", "Tidy", "Dust", "Sweep", "Repair", "Check", "Empty", "Water", "Paint", "Oil",
  ]
  private static let things = [
    "the dishes", "the kitchen", "the bathroom", "the hall", "the stairs", "the cellar",
    "the garage", "the windows", "the plants", "the bins", "the shelves", "the bikes", "the fridge",
    "the oven", "the beds", "the attic", "the balcony", "the fence", "the garden", "the car",
    "the shoes", "the toys", "the desk", "the lamps", "the carpets", "the curtains", "the doors",
    "the drains", "the filters", "the gutters",
  ]

  private static func draft(
    _ number: Int, _ today: CivilDate, _ people: [PersonID]
  ) throws -> ChoreDraft {
    let title = "\(tasks[number % tasks.count]) \(things[number / tasks.count % things.count])"
    var chore = ChoreDraft(title: title)
    chore.points = 1 + number % 20
    chore.tags = number % 3 == 0 ? ["house"] : []
    chore.note = number % 5 == 0 ? "The things for it are in the cupboard below the stairs." : ""
    switch number % 4 {
    case 0: chore.assignee = .person(people[number / 4 % people.count])
    case 1: chore.assignee = .rotation(people, .byTurn)
    default: break
    }
    switch number % 10 {
    case 0: chore.rule = try RecurrenceRule(.daily, from: today)
    case 1, 2, 3: chore.rule = try RecurrenceRule(.weekly, from: today)
    case 4, 5: chore.rule = try RecurrenceRule(.monthly, from: today)
    case 6: chore.rule = try RecurrenceRule(.daily, every: 5, from: today, mode: .afterCompletion)
    case 7: chore.rule = try RecurrenceRule(.yearly, from: today)
    case 8: chore.due = today.adding(days: number % 50)
    default: break
    }
    return chore
  }
}
