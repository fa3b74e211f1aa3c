import HearthCRDT
import HearthSync
import Household
import Testing

/// One change as it travels between the replicas of a test.
struct TestChange {
  let version: Version
  let past: Frontier
  let operations: [Operation]
}

/// The records and projections of one device, in memory.
final class TestReplica: ProjectionSource, ProjectionWriter {
  let zone = ZoneID(high: 1, low: 1)
  let projection = HouseholdProjection()
  private var records: [RecordKey: RecordState] = [:]
  private var events: [RecordKey: EventState] = [:]
  private var tables: [String: [[Value]]] = [:]
  private(set) var known = Frontier()

  func apply(_ change: TestChange) throws {
    guard !known.covers(change.version.dot) else { return }
    precondition(known.covers(change.past), "a change came before its past")
    known.advance(change.version.dot.author, to: change.version.dot.sequence)
    for operation in change.operations {
      if case .event(let fields) = operation.body {
        events[operation.key] = EventState(
          version: change.version, cause: change.past, fields: fields)
      } else {
        records[operation.key, default: RecordState()].apply(
          operation.body, version: change.version, past: change.past)
      }
    }
    try projection.update(change.operations.map(\.key).sorted(), from: self, to: self)
  }

  func record(_ key: RecordKey) -> RecordState? { records[key] }

  func event(_ key: RecordKey) -> EventState? { events[key] }

  func ids(of type: TypeID, where field: FieldID, is value: Value) -> [RecordID] {
    ids(of: type).filter { id in
      let key = RecordKey(type: type, id: id)
      return type.isEvent ? events[key]?[field] == value : records[key]?.shown(field) == value
    }
  }

  func ids(of type: TypeID) -> [RecordID] {
    (Array(records.keys) + Array(events.keys)).filter { $0.type == type }.map(\.id).sorted()
  }

  func rows(of table: String, where key: [Value]) -> [[Value]] {
    (tables[table] ?? []).filter { Array($0.prefix(key.count)) == key }
  }

  func rows(of table: String, in range: RowRange) throws -> [[Value]] {
    let shape = try #require(projection.tables.first { $0.name == table })
    let names = (shape.key + shape.columns).map(\.name)
    let keys = shape.key.map(\.name)
    #expect(
      ([keys] + shape.indexes.map { $0 + keys }).contains { $0.starts(with: range.order) },
      "\(range.order) is no index of \(table)")
    let places = try range.order.map { try #require(names.firstIndex(of: $0)) }
    let from = range.prefix.count
    let sorted = (tables[table] ?? []).filter { row in
      guard zip(range.prefix, places).allSatisfy({ row[$1] == $0 }) else { return false }
      guard !range.from.isEmpty else { return true }
      let place = places[from..<from + range.from.count].map { row[$0] }
      guard !place.contains(.null) else { return false }
      let isEqual = place == range.from
      let isBeyond =
        range.isDescending
        ? TestReplica.isLess(place, range.from) : TestReplica.isLess(range.from, place)
      return isBeyond || (isEqual && !range.isExclusive)
    }
    .sorted { left, right in
      let (left, right) = (places.map { left[$0] }, places.map { right[$0] })
      return range.isDescending ? TestReplica.isLess(right, left) : TestReplica.isLess(left, right)
    }
    return Array(sorted.prefix(range.limit ?? .max))
  }

  func count(of table: String, in range: RowRange) throws -> Int {
    try rows(of: table, in: range).count
  }

  /// The order of SQLite: null, numbers, text, bytes.
  private static func isLess(_ left: [Value], _ right: [Value]) -> Bool {
    for (left, right) in zip(left, right) where left != right {
      switch (left, right) {
      case (.null, _): return true
      case (_, .null): return false
      case (.int(let a), .int(let b)): return a < b
      case (.text(let a), .text(let b)): return a < b
      case (.bytes(let a), .bytes(let b)): return a.lexicographicallyPrecedes(b)
      default: Issue.record("values of two types in one column")
      }
    }
    return false
  }

  /// The devices of owners.
  var owners: [UInt64] = [0]

  /// Device n is that of person n.
  func member(of device: DeviceID) -> Membership.Person? {
    guard device.high == 7 else { return nil }
    return Membership.Person(
      id: PersonID(high: 9, low: device.low + 1), name: "",
      role: owners.contains(device.low) ? .owner : .member, since: HybridTime(milliseconds: 0))
  }

  /// Forgets the rows and computes them anew.
  func rebuild() throws {
    tables = [:]
    let keys = (Array(records.keys) + Array(events.keys)).sorted()
    try projection.update(keys.filter { projection.types.contains($0.type) }, from: self, to: self)
  }

  func put(_ row: [Value], in table: String) throws {
    let keys = projection.tables.first { $0.name == table }?.key.count ?? 0
    try remove(from: table, where: Array(row.prefix(keys)))
    tables[table, default: []].append(row)
  }

  func remove(from table: String, where key: [Value]) throws {
    tables[table]?.removeAll { Array($0.prefix(key.count)) == key }
  }

  func add(_ amounts: [Int64], toRow key: [Value], in table: String) throws {
    let old = rows(of: table, where: key).first?.suffix(amounts.count).map { $0.int ?? 0 }
    let sums = zip(old ?? amounts.map { _ in 0 }, amounts).map { $0 + $1 }
    try remove(from: table, where: key)
    if sums.contains(where: { $0 != 0 }) {
      tables[table, default: []].append(key + sums.map(Value.int))
    }
  }

  /// Every row of every table, in an order that does not depend on history.
  var dump: [String] {
    tables.keys.sorted().flatMap { name in
      (tables[name] ?? []).map { "\(name) \($0)" }.sorted()
    }
  }
}

/// A household of devices that write apart and meet when told.
final class TestHousehold {
  static let start = 20_000  // 2024-10-04, a Friday
  let replicas: [TestReplica]
  private(set) var changes: [TestChange] = []
  /// The day and the minute of that day; each write takes a minute.
  var day = TestHousehold.start
  private var minute = 480
  private var ids: UInt64 = 1000
  let people = [PersonID(high: 9, low: 1), PersonID(high: 9, low: 2), PersonID(high: 9, low: 3)]

  init(devices: Int = 2) throws {
    replicas = (0..<devices).map { _ in TestReplica() }
    try write(0) { book, builder in
      for (place, name) in ["Ada", "Ben", "Cleo"].enumerated() {
        try book.createPerson(self.people[place], name: name, milliseconds: 1, in: &builder)
      }
    }
    try meet()
  }

  var today: CivilDate { get throws { try CivilDate(dayNumber: day) } }

  var milliseconds: UInt64 { UInt64(day * 1440 + minute) * 60_000 }

  func date(_ offset: Int) throws -> CivilDate {
    try CivilDate(dayNumber: TestHousehold.start + offset)
  }

  func book(_ device: Int = 0) throws -> HouseholdBook {
    try HouseholdBook(source: replicas[device], today: today)
  }

  @discardableResult
  func write<R>(
    _ device: Int, _ body: (HouseholdBook, inout OperationBuilder) throws -> R
  ) throws -> R {
    minute += 1
    let replica = replicas[device]
    let author = Author(device: DeviceID(high: 7, low: UInt64(device)), incarnation: 1 << 32)
    let dot = Dot(author: author, sequence: replica.known[author] + 1)
    var builder = OperationBuilder(zone: replica.zone, dot: dot) {
      self.ids += 1
      return Identifier(high: 5, low: self.ids)
    }
    let result = try body(try book(device), &builder)
    let time = HybridTime(milliseconds: milliseconds)
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
    let id = try write(0) { try $0.addChore(draft, by: people[0], milliseconds: 1, in: &$1) }
    try meet()
    return id
  }

  @discardableResult
  func done(
    _ chore: RecordID, by person: Int, on device: Int, key: OccurrenceKey? = nil, back: Int = 0
  ) throws -> RecordID {
    try write(device) { book, builder in
      try book.complete(
        chore, occurrence: key, by: self.people[person], recordedBy: self.people[person],
        doneAt: (try CivilDate(dayNumber: self.day - back), nil),
        milliseconds: self.milliseconds, isEarly: true, in: &builder)
    }
  }

  func set(_ key: String, _ value: String) throws {
    try write(0) { try $0.set(key, value, in: &$1) }
    try meet()
  }

  func total(_ person: Int, on device: Int = 0) throws -> Int {
    try book(device).points(of: people[person]).total
  }

  func kinds(_ device: Int = 0) throws -> [LedgerKind] {
    try book(device).ledger(of: nil).reversed().map(\.kind)
  }
}
