import HearthCRDT
import HearthSync
import Household

/// One change as it travels.
struct Change {
  let version: Version
  let past: Frontier
  let operations: [Operation]
}

/// One device's records and rows, kept by the real merge and the real projection.
final class Replica: ProjectionSource, ProjectionWriter {
  let zone = ZoneID(high: 1, low: 1)
  private(set) var known = Frontier()
  private var records: [RecordKey: RecordState] = [:]
  private var events: [RecordKey: EventState] = [:]
  private var tables: [String: [[Value]]] = [:]

  func apply(_ change: Change) throws {
    guard !known.covers(change.version.dot) else { return }
    precondition(known.covers(change.past), "a change came before its past")
    known.advance(change.version.dot.author, to: change.version.dot.sequence)
    for operation in change.operations {
      switch operation.body {
      case .event(let fields):
        events[operation.key] = EventState(
          version: change.version, cause: change.past, fields: fields)
      default:
        records[operation.key, default: RecordState()].apply(
          operation.body, version: change.version, past: change.past)
      }
    }
    try HouseholdProjection().update(change.operations.map(\.key).sorted(), from: self, to: self)
  }

  func record(_ key: RecordKey) -> RecordState? { records[key] }

  func event(_ key: RecordKey) -> EventState? { events[key] }

  func ids(of type: TypeID) -> [RecordID] {
    let keys = type.isEvent ? Array(events.keys) : Array(records.keys)
    return keys.filter { $0.type == type }.map(\.id).sorted()
  }

  func ids(of type: TypeID, where field: FieldID, is value: Value) -> [RecordID] {
    ids(of: type).filter { id in
      let key = RecordKey(type: type, id: id)
      return type.isEvent ? events[key]?[field] == value : records[key]?.shown(field) == value
    }
  }

  func rows(of table: String, where key: [Value]) -> [[Value]] {
    tables[table, default: []].filter { $0.starts(with: key) }
  }

  func put(_ row: [Value], in table: String) throws {
    let width = HouseholdProjection().tables.first { $0.name == table }?.key.count ?? row.count
    try remove(from: table, where: Array(row.prefix(width)))
    tables[table, default: []].append(row)
  }

  func remove(from table: String, where key: [Value]) throws {
    tables[table]?.removeAll { $0.starts(with: key) }
  }

  func add(_ amounts: [Int64], toRow key: [Value], in table: String) throws {
    let old = rows(of: table, where: key).first?.suffix(amounts.count).map { $0.int ?? 0 }
    let sums = zip(old ?? amounts.map { _ in 0 }, amounts).map { $0 + $1 }
    try remove(from: table, where: key)
    if sums.contains(where: { $0 != 0 }) {
      tables[table, default: []].append(key + sums.map(Value.int))
    }
  }
}
