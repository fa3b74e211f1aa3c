import HearthCRDT
import HearthSync
import Household
import TestSupport
import Testing

typealias TestReplica = MemoryReplica
typealias TestChange = ReplicaChange

/// A household of devices that write apart and meet when told.
final class TestHousehold {
  static let start = 20_000  // 2024-10-04, a Friday
  let replicas: [TestReplica]
  private(set) var changes: [TestChange] = []
  /// The day and the minute of that day; each write takes a minute.
  var day = TestHousehold.start
  var minute = 480
  /// How far the clock of the changes is ahead of the wall's.
  var leadMilliseconds: UInt64 = 0
  private var ids: UInt64 = 1000
  let people = [PersonID(high: 9, low: 1), PersonID(high: 9, low: 2), PersonID(high: 9, low: 3)]

  init(devices: Int = 2) throws {
    replicas = (0..<devices).map { _ in TestReplica(projection: HouseholdProjection()) }
    try write(0) { state, builder in
      for (place, name) in ["Ada", "Ben", "Cleo"].enumerated() {
        try state.people.create(self.people[place], name: name, milliseconds: 1, in: &builder)
      }
    }
    try meet()
  }

  var today: CivilDate { get throws { try CivilDate(dayNumber: day) } }

  var milliseconds: UInt64 { UInt64(day * 1440 + minute) * 60_000 }

  func date(_ offset: Int) throws -> CivilDate {
    try CivilDate(dayNumber: TestHousehold.start + offset)
  }

  func state(_ device: Int = 0) throws -> HouseholdState {
    try HouseholdState(source: replicas[device], today: today)
  }

  @discardableResult
  func write<R>(
    _ device: Int, _ body: (HouseholdState, inout OperationBuilder) throws -> R
  ) throws -> R {
    minute += 1
    let replica = replicas[device]
    let author = Author(device: DeviceID(high: 7, low: UInt64(device)), incarnation: 1 << 32)
    let dot = Dot(author: author, sequence: replica.known[author] + 1)
    var builder = OperationBuilder(zone: replica.zone, dot: dot) {
      self.ids += 1
      return Identifier(high: 5, low: self.ids)
    }
    let result = try body(try state(device), &builder)
    let time = HybridTime(milliseconds: milliseconds + leadMilliseconds)
    let change = TestChange(
      version: Version(dot: dot, time: time), past: replica.known, operations: builder.operations)
    changes.append(change)
    try replica.apply(change)
    return result
  }

  /// Everybody gets everything.
  func meet() throws {
    for replica in replicas {
      for change in changes { try replica.apply(change) }
    }
  }

  func add(_ draft: ChoreDraft) throws -> RecordID {
    let id = try write(0) { try $0.chores.add(draft, milliseconds: 1, in: &$1) }
    try meet()
    return id
  }

  @discardableResult
  func done(
    _ chore: RecordID, by person: Int, on device: Int, key: OccurrenceKey? = nil, back: Int = 0
  ) throws -> RecordID {
    try write(device) { state, builder in
      try state.completions.add(
        chore, occurrence: key, by: self.people[person],
        doneAt: (try CivilDate(dayNumber: self.day - back), nil),
        milliseconds: self.milliseconds, isEarly: true, in: &builder)
    }
  }

  func set(_ key: String, _ value: String) throws {
    try write(0) { try $0.storedSettings.set(key, value, in: &$1) }
    try meet()
  }

  func total(_ person: Int, on device: Int = 0) throws -> Int {
    try state(device).totals.points(of: people[person]).total
  }

  func kinds(_ device: Int = 0) throws -> [LedgerKind] {
    try state(device).ledger.entries(of: nil).reversed().map(\.kind)
  }
}
