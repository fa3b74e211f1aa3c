import HearthCRDT
import HearthMembership
import HearthSync
import TestSupport
import Testing

@testable import Household

/// The records of one chore, to which a member wrote as much as it could, answered by tables.
private final class Shelf: ProjectionSource {
  let zone = ZoneID(high: 1, low: 1)
  let chore = RecordID(high: 2, low: 2)
  var records: [RecordKey: RecordState] = [:]
  var events: [RecordKey: EventState] = [:]
  var rows: [[Value]] = []
  /// How many rows, records and events were read.
  private(set) var reads = 0

  func record(_ key: RecordKey) -> RecordState? {
    reads += 1
    return records[key]
  }
  func event(_ key: RecordKey) -> EventState? {
    reads += 1
    return events[key]
  }
  func ids(of type: TypeID, where field: FieldID, is value: Value) -> [RecordID] {
    if type == HouseholdSchema.retraction { return [] }
    return ids(of: type)
  }
  func ids(of type: TypeID) -> [RecordID] {
    (Array(records.keys) + Array(events.keys)).filter { $0.type == type }.map(\.id).sorted()
  }
  func rows(of table: String, where key: [Value]) -> [[Value]] { [] }
  func rows(of table: String, in range: RowRange) -> [[Value]] {
    guard table == HouseholdTables.ledger else { return [] }
    reads += rows.count
    return rows
  }
  func count(of table: String, in range: RowRange) -> Int { 0 }
  func member(of device: DeviceID) -> Member? { nil }
}

@Suite("What one member can make a schedule cost")
struct HostileScheduleTests {
  private let ann = Author(device: DeviceID(high: 7, low: 1), incarnation: 1)
  private let mallory = Author(device: DeviceID(high: 7, low: 2), incarnation: 1)

  private func version(_ author: Author, _ sequence: UInt64) -> Version {
    Version(
      dot: Dot(author: author, sequence: sequence),
      time: HybridTime(milliseconds: 1_728_000_000_000 + sequence))
  }

  /// A daily chore of Ann's, with so many prices, skips and moved occurrences of Mallory's.
  private func shelf(_ count: Int, prices: Int) throws -> Shelf {
    let shelf = Shelf()
    var state = RecordState()
    let rule = try RecurrenceRule(.daily, from: CivilDate(dayNumber: 19_000))
    state.apply(
      .assign(ChoreField.points, .int(5)), version: version(ann, 1), past: Frontier())
    state.apply(
      .assign(ChoreField.rule, .text(rule.text)), version: version(ann, 1), past: Frontier())
    let seen = Frontier([(ann, UInt64(1))])
    func past(_ sequence: UInt64) -> Frontier {
      var past = seen
      if sequence > 1 { past.advance(mallory, to: sequence - 1) }
      return past
    }
    for number in 1...UInt64(prices) {
      state.apply(
        .assign(ChoreField.points, .int(Int64(number))), version: version(mallory, number),
        past: past(number))
    }
    shelf.records[RecordKey(type: HouseholdSchema.chore, id: shelf.chore)] = state
    for number in 0..<count {
      let key = OccurrenceKey(
        try Occurrence(CivilDate(dayNumber: 20_000 + number), slot: 0))
      let id = RecordID(high: 3, low: UInt64(number))
      let sequence = UInt64(1 + number % prices)
      shelf.events[RecordKey(type: HouseholdSchema.skip, id: id)] = EventState(
        version: version(mallory, UInt64(prices + 1 + number)), cause: past(sequence),
        fields: [
          EventField(SkipField.chore, .id(shelf.chore)),
          EventField(SkipField.key, .int(key.rawValue)),
          EventField(SkipField.day, .int(Int64(20_000 + number))),
        ])
      var override = RecordState()
      override.apply(
        .assign(OccurrenceField.key, .int(key.rawValue)), version: version(mallory, 1),
        past: Frontier())
      shelf.records[RecordKey(type: HouseholdSchema.occurrence, id: id)] = override
    }
    return shelf
  }

  @Test("Thousands of skips and moves of one chore are read once each, and the next day is found")
  func skips() throws {
    for count in [64, 1_024, 4_096] {
      let shelf = try shelf(count, prices: min(count, Limits.maximumHistoryValues))
      let facts = try #require(
        try ChoreFacts(shelf.chore, from: shelf, merges: PersonMerges([])))
      let schedule = ChoreSchedule(
        facts: facts, log: ChoreLog(source: shelf, chore: shelf.chore),
        settings: HouseholdSettings(), today: try CivilDate(dayNumber: 20_000), inactive: [])
      let openings = try schedule.openings(through: CivilDate(dayNumber: 20_000))
      #expect(facts.skips.count == count && facts.overrides.count == count)
      #expect(openings.first?.key.occurrence?.date.dayNumber == Int32(20_000 + count))
      #expect(shelf.reads <= 4 * count + 16)
    }
  }
}
