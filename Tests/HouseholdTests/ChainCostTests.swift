import HearthCRDT
import HearthMembership
import HearthSync
import TestSupport
import Testing

@testable import Household

/// Rows in every order in which they may be asked for.
private struct IndexedTable {
  private let keyCount: Int
  private let orders: [(names: [String], places: [Int])]
  /// The rows in each of the orders.
  private var rows: [[[Value]]]

  init(_ shape: ProjectionTable) {
    let names = (shape.key + shape.columns).map(\.name)
    let key = shape.key.map(\.name)
    orders = ([key] + shape.indexes.map { $0 + key }).map { order in
      (order, order.compactMap { name in names.firstIndex(of: name) })
    }
    keyCount = key.count
    rows = orders.map { _ in [] }
  }

  private static func isLess(_ left: Value, _ right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): false
    case (.null, _): true
    case (_, .null): false
    case (.int(let a), .int(let b)): a < b
    case (.text(let a), .text(let b)): a < b
    case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
    default: false
    }
  }

  /// The first row in an order that is not before a place, or that is after it.
  private func bound(_ order: Int, _ place: [Value], isAfter: Bool) -> Int {
    let columns = orders[order].places
    func isBefore(_ row: [Value]) -> Bool {
      for (value, column) in zip(place, columns) where row[column] != value {
        return IndexedTable.isLess(row[column], value)
      }
      return isAfter
    }
    var (low, high) = (0, rows[order].count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(rows[order][middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func rows(in range: RowRange) -> [[Value]] {
    guard let order = orders.firstIndex(where: { $0.names.starts(with: range.order) }) else {
      preconditionFailure("\(range.order) is no index")
    }
    let (places, all) = (orders[order].places, rows[order])
    let start = range.prefix + range.from
    var found: [[Value]] = []
    func take(_ row: [Value]) -> Bool {
      let isInside = zip(range.prefix, places).allSatisfy { row[$1] == $0 }
      let later = places[range.prefix.count..<start.count]
      guard isInside, !later.contains(where: { row[$0] == .null }) else { return false }
      found.append(row)
      return found.count < range.limit ?? .max
    }
    guard range.limit != 0 else { return [] }
    if range.isDescending {
      let isAfter = range.from.isEmpty || !range.isExclusive
      var place = bound(order, start, isAfter: isAfter)
      while place > 0, take(all[place - 1]) { place -= 1 }
    } else {
      let isAfter = !range.from.isEmpty && range.isExclusive
      var place = bound(order, start, isAfter: isAfter)
      while place < all.count, take(all[place]) { place += 1 }
    }
    return found
  }

  func rows(where key: [Value]) -> [[Value]] {
    rows(in: RowRange(orders[0].names, prefix: key))
  }

  mutating func remove(where key: [Value]) {
    for row in rows(where: key) {
      for order in orders.indices {
        rows[order].remove(at: bound(order, orders[order].places.map { row[$0] }, isAfter: false))
      }
    }
  }

  mutating func put(_ row: [Value]) {
    remove(where: Array(row.prefix(keyCount)))
    for order in orders.indices {
      let place = bound(order, orders[order].places.map { row[$0] }, isAfter: false)
      rows[order].insert(row, at: place)
    }
  }

  var dump: [String] { rows[0].map { "\($0)" } }
}

/// The records of one chore, and the rows of the projection: it counts what is read of them.
private final class CountingHome: ProjectionSource, ProjectionWriter {
  static let chore = RecordID(high: 2, low: 2)
  let zone = ZoneID(high: 1, low: 1)
  /// How many rows, records and events were read.
  private(set) var reads = 0
  private var records: [RecordKey: RecordState] = [:]
  private var events: [RecordKey: EventState] = [:]
  private var order: [RecordKey] = []
  private var retractions: [[UInt8]: [RecordID]] = [:]
  private var tables: [String: IndexedTable] = [:]

  init() {
    for table in HouseholdProjection().tables { tables[table.name] = IndexedTable(table) }
  }

  func put(_ record: RecordState, as key: RecordKey) throws {
    records[key] = record
    try note(key)
  }

  func put(_ event: EventState, as key: RecordKey) throws {
    events[key] = event
    if key.type == HouseholdSchema.retraction, let told = event[RetractionField.event].bytes {
      retractions[told, default: []].append(key.id)
    }
    try note(key)
  }

  private func note(_ key: RecordKey) throws {
    order.append(key)
    try HouseholdProjection().update([key], from: self, to: self)
  }

  /// The rows, and the rows of the same records at once.
  func dumps() throws -> (kept: [String], anew: [String]) {
    let other = CountingHome()
    other.records = records
    other.events = events
    other.order = order
    other.retractions = retractions
    try HouseholdProjection().update(order.sorted(), from: other, to: other)
    return (dump, other.dump)
  }

  private var dump: [String] {
    tables.keys.sorted().flatMap { name in (tables[name]?.dump ?? []).map { "\(name) \($0)" } }
  }

  func record(_ key: RecordKey) -> RecordState? {
    reads += 1
    return records[key]
  }

  func event(_ key: RecordKey) -> EventState? {
    reads += 1
    return events[key]
  }

  func ids(of type: TypeID, where field: FieldID, is value: Value) -> [RecordID] {
    if type == HouseholdSchema.retraction, field == RetractionField.event {
      return retractions[value.bytes ?? []] ?? []
    }
    return ids(of: type)
  }

  func ids(of type: TypeID) -> [RecordID] {
    // Types of which there are none are asked for each time.
    let present = [HouseholdSchema.chore, HouseholdSchema.completion, HouseholdSchema.close]
    guard present.contains(type) else { return [] }
    let found = order.filter { $0.type == type }.map(\.id).sorted()
    if type == HouseholdSchema.completion { reads += found.count }
    return found
  }

  func rows(of table: String, where key: [Value]) -> [[Value]] {
    let found = tables[table]?.rows(where: key) ?? []
    reads += found.count
    return found
  }

  func rows(of table: String, in range: RowRange) -> [[Value]] {
    let found = tables[table]?.rows(in: range) ?? []
    reads += found.count
    return found
  }

  func count(of table: String, in range: RowRange) -> Int { rows(of: table, in: range).count }

  /// Device 1 is the owner's.
  func member(of device: DeviceID) -> Member? {
    Member(
      id: PersonID(high: 9, low: device.low), name: "", role: device.low == 1 ? .owner : .child,
      since: HybridTime(milliseconds: 0))
  }

  func put(_ row: [Value], in table: String) { tables[table]?.put(row) }

  func remove(from table: String, where key: [Value]) { tables[table]?.remove(where: key) }

  func add(_ amounts: [Int64], toRow key: [Value], in table: String) {
    let old = rows(of: table, where: key).first?.suffix(amounts.count).map { $0.int ?? 0 }
    let sums = zip(old ?? amounts.map { _ in 0 }, amounts).map { $0 + $1 }
    if sums.allSatisfy({ $0 == 0 }) {
      tables[table]?.remove(where: key)
    } else {
      tables[table]?.put(key + sums.map(Value.int))
    }
  }
}

/// Somebody's log: each change has seen the one before it.
private struct Log {
  static let day = 20_000
  static let dayMilliseconds = 86_400_000
  let author: Author
  /// What was seen besides the own log.
  var seen: Frontier
  private(set) var length: UInt64 = 0

  init(_ number: UInt64, seen: Frontier = Frontier()) {
    author = Author(device: DeviceID(high: 7, low: number), incarnation: 1)
    self.seen = seen
  }

  var past: Frontier {
    var past = seen
    if length > 0 { past.advance(author, to: length) }
    return past
  }

  mutating func next(_ milliseconds: Int) -> Version {
    length += 1
    return Version(
      dot: Dot(author: author, sequence: length),
      time: HybridTime(milliseconds: UInt64(milliseconds)))
  }

  /// The chore is done; the key is nil for a link.
  mutating func complete(
    _ home: CountingHome, key: OccurrenceKey? = nil, day: Int, at milliseconds: Int
  ) throws -> RecordID {
    let past = past
    let version = next(milliseconds)
    let id = RecordID(high: 0x30 + author.device.low, low: length &* 0x9e37_79b9_7f4a_7c15)
    let back = milliseconds / Log.dayMilliseconds - day
    let fields: [EventField] = [
      EventField(CompletionField.chore, .id(CountingHome.chore)),
      EventField(CompletionField.key, key.map { .int($0.rawValue) } ?? .null),
      EventField(CompletionField.person, .id(PersonID(high: 9, low: author.device.low))),
      EventField(CompletionField.day, .int(Int64(day))),
      EventField(
        CompletionField.doneAt, .int(Int64(milliseconds - back * Log.dayMilliseconds))),
    ]
    try home.put(
      EventState(version: version, cause: past, fields: fields),
      as: RecordKey(type: HouseholdSchema.completion, id: id))
    return id
  }

  mutating func undo(_ home: CountingHome, _ event: RecordID, at milliseconds: Int) throws {
    let past = past
    let version = next(milliseconds)
    try home.put(
      EventState(
        version: version, cause: past,
        fields: [EventField(RetractionField.event, .id(event))]),
      as: RecordKey(
        type: HouseholdSchema.retraction,
        id: RecordID(high: 0x40 + author.device.low, low: length)))
  }
}

@Suite("What one more completion of a chain costs")
struct ChainCostTests {
  /// How completions come, each in a change and an update of its own.
  enum Story: String, CaseIterable {
    /// Again and again on one day.
    case openWeek
    /// The same, of which the second half is told after the week was closed, and by somebody else
    /// who had heard of none.
    case closedWeek
    /// Every third day, as the rule says.
    case onTime
    /// Between occurrences that somebody did who has not heard of the rule.
    case amongNamed
    /// Each is taken back before the next.
    case takenBack
  }

  private let morning = Log.day * Log.dayMilliseconds + 28_800_000

  /// A chore of the owner's by the calendar, which became one three days after the last time.
  private func begin(_ home: CountingHome, isChain: Bool = true) throws -> Log {
    var ann = Log(1)
    var state = RecordState()
    let anchor = try CivilDate(dayNumber: Log.day)
    let rules = [
      try RecurrenceRule(.daily, from: anchor),
      try RecurrenceRule(.daily, every: 3, from: anchor, mode: .afterCompletion),
    ]
    for rule in rules.prefix(isChain ? 2 : 1) {
      let past = ann.past
      let version = ann.next(morning - 1_000_000 + Int(ann.length))
      state.apply(.assign(ChoreField.points, .int(5)), version: version, past: past)
      state.apply(.assign(ChoreField.rule, .text(rule.text)), version: version, past: past)
    }
    try home.put(state, as: RecordKey(type: HouseholdSchema.chore, id: CountingHome.chore))
    return ann
  }

  /// Closes the week of the first day.
  private func close(_ home: CountingHome, _ ann: inout Log) throws {
    let past = ann.past
    let version = ann.next(morning + 3 * Log.dayMilliseconds)
    try home.put(
      EventState(
        version: version, cause: past,
        fields: [
          EventField(CloseField.period, .text("week")),
          EventField(CloseField.first, .int(Int64(Log.day - 4))),
          EventField(CloseField.last, .int(Int64(Log.day + 2))),
          EventField(CloseField.duplicate, .text("first")),
          EventField(CloseField.strict, .bool(false)),
        ]),
      as: RecordKey(type: HouseholdSchema.close, id: RecordID(high: 6, low: 6)))
  }

  private func live(_ story: Story, _ count: Int, _ home: CountingHome) throws {
    var ann = try begin(home)
    var mallory = Log(2, seen: ann.past)
    var ben = Log(3, seen: Frontier([(ann.author, UInt64(1))]))
    var cleo = Log(4, seen: ann.past)
    for number in 0..<count {
      let second = morning + number * 1_000
      let later = morning + 3 * number * Log.dayMilliseconds
      switch story {
      case .openWeek: _ = try mallory.complete(home, day: Log.day, at: second)
      case .closedWeek:
        if number == count / 2 {
          ann.seen = mallory.past
          try close(home, &ann)
        }
        let late = number < count / 2 ? 0 : 4 * Log.dayMilliseconds
        if number % 2 == 0 || late == 0 {
          _ = try mallory.complete(home, day: Log.day, at: second + late)
        } else {
          _ = try cleo.complete(home, day: Log.day, at: second + late)
        }
      case .onTime: _ = try mallory.complete(home, day: Log.day + 3 * number, at: later)
      case .amongNamed where number % 2 == 0:
        _ = try mallory.complete(home, day: Log.day + 3 * number, at: later)
      case .amongNamed:
        let key = OccurrenceKey(try Occurrence(CivilDate(dayNumber: Log.day + 3 * number)))
        _ = try ben.complete(home, key: key, day: Log.day + 3 * number, at: later)
      case .takenBack:
        let event = try mallory.complete(home, day: Log.day, at: second)
        try mallory.undo(home, event, at: second + 500)
      }
    }
  }

  @Test(
    "As many rows and records are read for each, however many there are",
    arguments: Story.allCases)
  func linear(story: Story) throws {
    // Of what was taken back as much is looked at as one interval may have.
    let most = story == .takenBack ? 1_000 : 150
    for count in [1_000, 4_000] {
      let home = CountingHome()
      try live(story, count, home)
      #expect(home.reads <= most * count, "\(home.reads) reads of \(count)")
      guard count == 1_000 else { continue }
      let (kept, anew) = try home.dumps()
      #expect(kept == anew && kept.count > count)
    }
  }

  @Test(
    "What is against a rule costs the others nothing, in a chain and by the calendar",
    arguments: [true, false])
  func withoutEffect(isChain: Bool) throws {
    let home = CountingHome()
    let ann = try begin(home, isChain: isChain)
    var mallory = Log(2, seen: ann.past)
    var ben = Log(3, seen: ann.past)
    var costs: [Int] = []
    for round in 0..<3 {
      let before = home.reads
      let time = morning + 6 * round * Log.dayMilliseconds
      let key = OccurrenceKey(try Occurrence(CivilDate(dayNumber: Log.day + 6 * round)))
      _ = try ben.complete(home, key: isChain ? nil : key, day: Log.day + 6 * round, at: time)
      costs.append(home.reads - before)
      for number in 1...1_000 {
        _ = try mallory.complete(
          home, key: OccurrenceKey(rawValue: Int64.max - Int64(number)), day: Log.day + 6 * round,
          at: time + number * 1_000)
      }
    }
    #expect(costs.allSatisfy { $0 <= 150 }, "\(costs)")
  }
}
