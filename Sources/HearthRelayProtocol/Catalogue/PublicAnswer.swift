import HearthCRDT
import HearthCrypto
import HearthSync

/// A relay's answer to a query.
package struct PublicAnswer: Hashable, Sendable {
  /// The catalogue's signed head, if there is one.
  package let head: [UInt8]?
  /// The signed records, in order of id.
  package let records: [[UInt8]]
  /// The last id that the relay examined, if there may be more records after it.
  package let next: String?

  package init(head: [UInt8]?, records: [[UInt8]], next: String?) {
    self.head = head
    self.records = records
    self.next = next
  }

  /// Returns the records after verifying them.
  ///
  /// Each record must have the publisher's signature, meet the query and be in order. An answer
  /// cannot prove that it is complete, nor that each record is the newest.
  ///
  /// - Throws: `SyncError.malformed`, `notAuthentic`.
  package func proven(
    for query: PublicQuery, of catalogue: CatalogueReference
  ) throws -> [PublicRecord] {
    var last = query.after
    func rises(to id: String) -> Bool { last.utf8.lexicographicallyPrecedes(id.utf8) }
    let found = try records.map { bytes in
      let signed: SignedPublicRecord
      do {
        signed = try SignedPublicRecord(decoding: bytes)
      } catch {
        throw SyncError(
          .malformed, "a record of the answer cannot be read (\(error))", cause: error)
      }
      try signed.verify(of: catalogue.id, by: catalogue.publisher)
      let record = signed.record
      guard query.accepts(record), rises(to: record.path.id) else {
        throw SyncError(.notAuthentic, "the answer holds \(record.path), which was not asked for")
      }
      last = record.path.id
      return record
    }
    guard found.count <= query.limit, next.map({ $0 == last || rises(to: $0) }) ?? true,
      next != query.after
    else { throw SyncError(.malformed, "the answer does not fit the query") }
    return found
  }

  func encode(into writer: inout ByteWriter) {
    writer.byte(head == nil ? 0 : 1)
    if let head { writer.blob(head) }
    writer.varint(records.count)
    for record in records { writer.blob(record) }
    writer.byte(next == nil ? 0 : 1)
    if let next { writer.text(next) }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    head =
      try reader.flag("head flag")
      ? try reader.blob("head", atMost: PublicLimits.maximumHeadBytes) : nil
    let number = try reader.count(
      "records", itemBytes: 1, atMost: PublicLimits.maximumAnswerRecords)
    var records: [[UInt8]] = []
    for _ in 0..<number {
      records.append(try reader.blob("record", atMost: PublicLimits.maximumRecordBytes))
    }
    self.records = records
    next =
      try reader.flag("more")
      ? try PublicName.decode(
        from: &reader, "next", atMost: PublicLimits.maximumIDBytes, PublicName.isID) : nil
  }
}
