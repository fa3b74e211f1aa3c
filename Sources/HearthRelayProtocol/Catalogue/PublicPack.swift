import HearthCRDT
import HearthCrypto

/// A whole version of a catalogue in one file, for a shared folder.
///
/// `docs/reference/public-catalogues.md` specifies the format.
package struct PublicPack: Hashable, Sendable {
  /// The first bytes: "HRTC".
  static let magic: [UInt8] = [0x48, 0x52, 0x54, 0x43]

  /// The signed head.
  package let head: SignedPublicHead
  /// The signed records, in order of type and id.
  package let records: [SignedPublicRecord]

  package init(_ catalogue: PublicCatalogue) {
    head = catalogue.head
    records = catalogue.records
  }

  /// The name of the file: the catalogue's id in hexadecimal with its own extension.
  package static func fileName(of catalogue: Identifier) -> String {
    "\(catalogue.hex).hearth-catalogue"
  }

  /// The canonical bytes.
  package var encoded: [UInt8] {
    var writer = ByteWriter(capacity: records.reduce(512) { $0 + $1.bytes.count + 4 })
    writer.raw(PublicPack.magic)
    writer.byte(PublicLimits.formatVersion)
    writer.blob(head.bytes)
    writer.varint(records.count)
    for record in records { writer.blob(record.bytes) }
    return writer.bytes
  }

  /// Reads a pack without verifying signatures.
  ///
  /// ``PublicCatalogue`` verifies them.
  ///
  /// - Throws: `CodecError`.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    guard bytes.count <= PublicLimits.maximumPackBytes else {
      throw CodecError(.beyondLimit, "pack", offset: 0)
    }
    var reader = ByteReader(bytes)
    guard try reader.raw(PublicPack.magic.count, "magic") == PublicPack.magic else {
      throw CodecError(.unknown, "magic", offset: 0)
    }
    try PublicLimits.checkFormatVersion(from: &reader)
    head = try SignedPublicHead(
      decoding: try reader.blob("head", atMost: PublicLimits.maximumHeadBytes))
    let number = try reader.count(
      "records", itemBytes: Signature.count, atMost: PublicLimits.maximumRecords)
    var records: [SignedPublicRecord] = []
    records.reserveCapacity(number)
    for _ in 0..<number {
      let start = reader.offset
      let record = try SignedPublicRecord(
        decoding: try reader.blob("record", atMost: PublicLimits.maximumRecordBytes))
      if let last = records.last, record.record.path <= last.record.path {
        throw CodecError(.notCanonical, "record", offset: start)
      }
      records.append(record)
    }
    self.records = records
    try reader.finish()
  }
}
