import HearthCRDT
import HearthMembership
import HearthSync

/// One change as it travels between the replicas of a test.
package struct ReplicaChange {
  package let version: Version
  package let past: Frontier
  package let operations: [Operation]

  package init(version: Version, past: Frontier, operations: [Operation]) {
    self.version = version
    self.past = past
    self.operations = operations
  }
}

/// The records of one device and the rows of one projection, in memory: the real merge over arrays.
package final class MemoryReplica: ProjectionSource, ProjectionWriter {
  package let zone = ZoneID(high: 1, low: 1)
  private let projection: any Projection
  private var records: [RecordKey: RecordState] = [:]
  private var events: [RecordKey: EventState] = [:]
  private var tables: [String: [[Value]]] = [:]
  package private(set) var known = Frontier()

  package init(projection: any Projection) {
    self.projection = projection
  }

  package func apply(_ change: ReplicaChange) throws {
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

  package func record(_ key: RecordKey) -> RecordState? { records[key] }

  package func event(_ key: RecordKey) -> EventState? { events[key] }

  package func ids(of type: TypeID, where field: FieldID, is value: Value) -> [RecordID] {
    ids(of: type).filter { id in
      let key = RecordKey(type: type, id: id)
      return type.isEvent ? events[key]?[field] == value : records[key]?.shown(field) == value
    }
  }

  package func ids(of type: TypeID) -> [RecordID] {
    (Array(records.keys) + Array(events.keys)).filter { $0.type == type }.map(\.id).sorted()
  }

  package func rows(of table: String, where key: [Value]) -> [[Value]] {
    (tables[table] ?? []).filter { Array($0.prefix(key.count)) == key }
      .sorted { MemoryReplica.isLess($0, $1) }
  }

  package func rows(of table: String, in range: RowRange) throws -> [[Value]] {
    guard let shape = projection.tables.first(where: { $0.name == table }) else {
      preconditionFailure("there is no table \(table)")
    }
    let names = (shape.key + shape.columns).map(\.name)
    let keys = shape.key.map(\.name)
    precondition(
      ([keys] + shape.indexes.map { $0 + keys }).contains { $0.starts(with: range.order) },
      "\(range.order) is no index of \(table)")
    let places = range.order.compactMap { names.firstIndex(of: $0) }
    let from = range.prefix.count
    let sorted = (tables[table] ?? []).filter { row in
      guard zip(range.prefix, places).allSatisfy({ row[$1] == $0 }) else { return false }
      guard !range.from.isEmpty else { return true }
      let place = places[from..<from + range.from.count].map { row[$0] }
      guard !place.contains(.null) else { return false }
      let isEqual = place == range.from
      let isBeyond =
        range.isDescending
        ? MemoryReplica.isLess(place, range.from) : MemoryReplica.isLess(range.from, place)
      return isBeyond || (isEqual && !range.isExclusive)
    }
    .sorted { left, right in
      let (left, right) = (places.map { left[$0] }, places.map { right[$0] })
      return range.isDescending
        ? MemoryReplica.isLess(right, left) : MemoryReplica.isLess(left, right)
    }
    return Array(sorted.prefix(range.limit ?? .max))
  }

  package func count(of table: String, in range: RowRange) throws -> Int {
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
      default: preconditionFailure("values of two types in one column")
      }
    }
    return false
  }

  /// The devices of owners.
  package var owners: [UInt64] = [0]

  /// Device n is that of person n.
  package func member(of device: DeviceID) -> Member? {
    guard device.high == 7 else { return nil }
    return Member(
      id: PersonID(high: 9, low: device.low + 1), name: "",
      role: owners.contains(device.low) ? .owner : .member, since: HybridTime(milliseconds: 0))
  }

  /// Forgets the rows and computes them anew.
  package func rebuild() throws {
    tables = [:]
    let keys = (Array(records.keys) + Array(events.keys)).sorted()
    try projection.update(keys.filter { projection.types.contains($0.type) }, from: self, to: self)
  }

  package func put(_ row: [Value], in table: String) throws {
    let keys = projection.tables.first { $0.name == table }?.key.count ?? 0
    try remove(from: table, where: Array(row.prefix(keys)))
    tables[table, default: []].append(row)
  }

  package func remove(from table: String, where key: [Value]) throws {
    tables[table]?.removeAll { Array($0.prefix(key.count)) == key }
  }

  package func add(_ amounts: [Int64], toRow key: [Value], in table: String) throws {
    let old = rows(of: table, where: key).first?.suffix(amounts.count).map { $0.int ?? 0 }
    let sums = zip(old ?? amounts.map { _ in 0 }, amounts).map { $0 + $1 }
    try remove(from: table, where: key)
    if sums.contains(where: { $0 != 0 }) {
      tables[table, default: []].append(key + sums.map(Value.int))
    }
  }

  /// Every row of every table, in an order that does not depend on history.
  package var dump: [String] {
    tables.keys.sorted().flatMap { name in
      (tables[name] ?? []).map { "\(name) \($0)" }.sorted()
    }
  }
}
