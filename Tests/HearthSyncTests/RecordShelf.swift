import HearthCRDT

@testable import HearthSync

/// Records of a store that holds nothing but those it was given.
struct RecordShelf: RecordStore {
  let records: [(key: RecordKey, record: StoredRecord)]

  /// - Parameter records: in order of key.
  init(_ records: [(RecordKey, StoredRecord)]) {
    self.records = records.map { (key: $0.0, record: $0.1) }
  }

  func forEach(in zone: ZoneID, _ body: (RecordKey, StoredRecord) throws -> Void) throws {
    for item in records { try body(item.key, item.record) }
  }

  func states(of keys: [RecordKey], in zone: ZoneID) throws -> [RecordState?] {
    keys.map { _ in nil }
  }
  func supplyShownValues(
    to state: inout RecordState, of key: RecordKey, in zone: ZoneID
  ) throws {}
  func save(_ changes: [RecordChange], in zone: ZoneID) throws {}
  func insert(_ events: [(RecordKey, EventState)], in zone: ZoneID) throws {}
  func events(of type: TypeID, in zone: ZoneID) throws -> [(RecordID, EventState)] { [] }
  func removeAll(of zone: ZoneID) throws {}
}
