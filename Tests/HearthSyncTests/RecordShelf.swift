import HearthCRDT

@testable import HearthSync

/// A store that holds nothing but the records it was given.
final class RecordShelf: Store {
  let records: [(key: RecordKey, record: StoredRecord)]

  /// - Parameter records: in order of key.
  init(_ records: [(RecordKey, StoredRecord)]) {
    self.records = records.map { (key: $0.0, record: $0.1) }
  }

  func forEachRecord(
    in zone: ZoneID, _ body: (RecordKey, StoredRecord) throws -> Void
  ) throws {
    for item in records { try body(item.key, item.record) }
  }

  func transaction<Result>(_ body: () throws -> Result) throws -> Result { try body() }
  func zones() throws -> [StoredZone] { [] }
  func save(_ zone: StoredZone) throws {}
  func heads(of zone: ZoneID) throws -> [LogHead] { [] }
  func save(_ heads: [LogHead], of zone: ZoneID) throws {}
  func removeHeads(of zone: ZoneID) throws {}
  func learn(_ authors: [Author]) throws {}
  func append(_ change: [UInt8], dot: Dot, to zone: ZoneID) throws {}
  func changes(
    of author: Author, in zone: ZoneID, after sequence: UInt64, limit: Int
  ) throws -> [[UInt8]] { [] }
  func removeChanges(of author: Author, in zone: ZoneID, through sequence: UInt64) throws {}
  func save(_ segment: StoredSegment, bytes: [UInt8], in zone: ZoneID) throws {}
  func segments(of zone: ZoneID) throws -> [StoredSegment] { [] }
  func bytes(of segment: Identifier, in zone: ZoneID) throws -> [UInt8]? { nil }
  func removeSegment(_ digest: Identifier, in zone: ZoneID) throws {}
  func save(_ pending: PendingSegment, in zone: ZoneID) throws {}
  func pending(in zone: ZoneID) throws -> [PendingSegment] { [] }
  func pendingEntries(in zone: ZoneID) throws -> [PendingEntry] { [] }
  func bytes(ofPending digest: Identifier, in zone: ZoneID) throws -> [UInt8]? { nil }
  func removePending(_ digest: Identifier, in zone: ZoneID) throws {}
  func records(_ keys: [RecordKey], in zone: ZoneID) throws -> [RecordKey: RecordState] { [:] }
  func supplyShownValues(
    to state: inout RecordState, of key: RecordKey, in zone: ZoneID
  ) throws {}
  func save(_ changes: [RecordChange], in zone: ZoneID) throws {}
  func insert(_ events: [(RecordKey, EventState)], in zone: ZoneID) throws {}
  func events(of type: TypeID, in zone: ZoneID) throws -> [(RecordID, EventState)] { [] }
  func removeRecords(of zone: ZoneID) throws {}
  func updateProjections(for keys: [RecordKey], in zone: ZoneID) throws {}
  func baseSnapshot(of zone: ZoneID, atMost byteCount: Int) throws -> [UInt8]? { nil }
  func saveBaseSnapshot(_ bytes: [UInt8], of zone: ZoneID) throws {}
  func removeBaseSnapshot(of zone: ZoneID) throws {}
  func fact(_ name: String) throws -> [UInt8]? { nil }
  func setFact(_ name: String, _ value: [UInt8]?) throws {}
  func add(_ notice: Notice) throws {}
}
