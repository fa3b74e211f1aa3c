import HearthCRDT
import HearthCrypto

/// Reads the small fields that many frames share, each within its limit.
enum RelayFields {
  /// Reads the number of a channel.
  static func channel(from reader: inout ByteReader) throws(CodecError) -> Int {
    try reader.varint("channel", atMost: RelayLimits.maximumChannels - 1)
  }

  /// Reads a position, or another number that grows like one.
  static func position(
    from reader: inout ByteReader, _ item: String, atLeast least: UInt64 = 1
  ) throws(CodecError) -> UInt64 {
    let start = reader.offset
    let value = try reader.varint(item)
    guard value >= least, value <= RelayLimits.maximumPosition else {
      throw CodecError(.beyondLimit, item, offset: start)
    }
    return value
  }

  /// Reads a number of items, at least 1.
  static func limit(
    from reader: inout ByteReader, _ item: String = "limit", atMost most: Int
  ) throws(CodecError) -> Int {
    let start = reader.offset
    let value = try reader.varint(item, atMost: most)
    guard value > 0 else { throw CodecError(.notCanonical, item, offset: start) }
    return value
  }

  /// Reads the number of items that follow, at least 1.
  static func itemCount(
    from reader: inout ByteReader, itemBytes: Int
  ) throws(CodecError) -> Int {
    let start = reader.offset
    let value = try reader.count(
      "items", itemBytes: itemBytes, atMost: RelayLimits.maximumBatchItems)
    guard value > 0 else { throw CodecError(.notCanonical, "items", offset: start) }
    return value
  }

  /// Reads the name of an entry, at least one byte.
  static func entryName(from reader: inout ByteReader) throws(CodecError) -> [UInt8] {
    let start = reader.offset
    let name = try reader.blob("name", atMost: RelayLimits.maximumNameBytes)
    guard !name.isEmpty else { throw CodecError(.notCanonical, "name", offset: start) }
    return name
  }

  /// Reads the names of entries, at least one.
  static func entryNames(from reader: inout ByteReader) throws(CodecError) -> [[UInt8]] {
    let number = try itemCount(from: &reader, itemBytes: 2)
    var names: [[UInt8]] = []
    names.reserveCapacity(number)
    for _ in 0..<number { names.append(try entryName(from: &reader)) }
    return names
  }

  /// Reads 32 bytes.
  static func bytes32(
    from reader: inout ByteReader, _ item: String
  ) throws(CodecError) -> Bytes32 {
    Bytes32(exactly: try reader.raw(Bytes32.count, item))
  }

  /// Reads 16 bytes.
  static func bytes16(
    from reader: inout ByteReader, _ item: String
  ) throws(CodecError) -> Bytes16 {
    Bytes16(exactly: try reader.raw(Bytes16.count, item))
  }
}
