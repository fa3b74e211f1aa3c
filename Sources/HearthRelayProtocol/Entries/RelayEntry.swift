import HearthCRDT
import HearthCrypto

/// The effect of one entry of a mailbox's log.
package enum RelayEntryKind: UInt8, Sendable {
  /// Stores a blob under a name.
  case put = 0
  /// Removes the blob of a name. The remains of both entries keep positions free of gaps.
  case remove = 1
}

/// One entry of a mailbox's log without its blob.
package struct RelayHeader: Hashable, Sendable {
  /// The position in the log, from 1, without gaps.
  package let position: UInt64
  /// The effect of the entry.
  package let kind: RelayEntryKind
  /// Whether a later put of the name may replace it.
  package let isReplaceable: Bool
  /// Whether the blob is there: false for removals, and for puts whose blob was removed or
  /// replaced.
  package let isLive: Bool
  /// The opaque name, 1 to 128 bytes.
  package let name: [UInt8]
  /// The length of the blob; 0 for a removal.
  package let byteCount: Int
  /// ``RelayChain/digest(of:)`` of the blob; that of no bytes for a removal.
  package let digest: Bytes32

  package init(
    position: UInt64, kind: RelayEntryKind, isReplaceable: Bool, isLive: Bool, name: [UInt8],
    byteCount: Int, digest: Bytes32
  ) {
    self.position = position
    self.kind = kind
    self.isReplaceable = isReplaceable
    self.isLive = isLive
    self.name = name
    self.byteCount = byteCount
    self.digest = digest
  }

  /// Creates the header of a put at a position.
  package init(of put: RelayPut, at position: UInt64) {
    self.init(
      position: position, kind: .put, isReplaceable: put.isReplaceable, isLive: true,
      name: put.name, byteCount: put.blob.count, digest: RelayChain.digest(of: put.blob))
  }

  /// Creates the header of a name's removal at a position.
  package init(removing name: [UInt8], at position: UInt64) {
    self.init(
      position: position, kind: .remove, isReplaceable: false, isLive: false, name: name,
      byteCount: 0, digest: RelayChain.emptyDigest)
  }

  /// The header of the entry after its blob was removed.
  package var withoutBlob: RelayHeader {
    RelayHeader(
      position: position, kind: kind, isReplaceable: isReplaceable, isLive: false, name: name,
      byteCount: byteCount, digest: digest)
  }

  /// The fewest bytes that an encoded header can have.
  static let minimumBytes = 37

  func encode(into writer: inout ByteWriter) {
    writer.varint(position)
    writer.byte(kind.rawValue | (isReplaceable ? 2 : 0) | (isLive ? 4 : 0))
    writer.blob(name)
    writer.varint(byteCount)
    writer.raw(digest.array)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    position = try RelayFields.position(from: &reader, "position")
    let start = reader.offset
    let flags = try reader.byte("entry flags")
    guard flags < 8, let kind = RelayEntryKind(rawValue: flags & 1) else {
      throw CodecError(.unknown, "entry flags", offset: start)
    }
    self.kind = kind
    isReplaceable = flags & 2 != 0
    isLive = flags & 4 != 0
    guard kind == .put || !(isLive || isReplaceable) else {
      throw CodecError(.notCanonical, "entry flags", offset: start)
    }
    name = try RelayFields.entryName(from: &reader)
    byteCount = try reader.varint("blob length", atMost: RelayLimits.maximumBlobBytes)
    guard kind == .put || byteCount == 0 else {
      throw CodecError(.notCanonical, "blob length", offset: start)
    }
    digest = try RelayFields.bytes32(from: &reader, "blob digest")
  }
}

/// One entry of a mailbox's log.
///
/// The blob is there if the header says that it is live.
package struct RelayEntry: Hashable, Sendable {
  /// Everything but the blob.
  package let header: RelayHeader
  /// The blob; empty if it is not there.
  package let blob: [UInt8]

  package init(header: RelayHeader, blob: [UInt8]) {
    precondition(
      header.isLive ? blob.count == header.byteCount : blob.isEmpty,
      "entry \(header.position): \(blob.count) bytes for \(header)")
    self.header = header
    self.blob = blob
  }

  func encode(into writer: inout ByteWriter) {
    header.encode(into: &writer)
    if header.isLive { writer.raw(blob) }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    header = try RelayHeader(from: &reader)
    blob = header.isLive ? try reader.raw(header.byteCount, "blob") : []
  }

  /// Writes the number of entries, and the entries.
  static func encode(_ entries: [RelayEntry], into writer: inout ByteWriter) {
    writer.varint(entries.count)
    for entry in entries { entry.encode(into: &writer) }
  }

  /// Reads entries at consecutive positions.
  static func decodeList(from reader: inout ByteReader) throws(CodecError) -> [RelayEntry] {
    let number = try reader.count(
      "entries", itemBytes: RelayHeader.minimumBytes, atMost: RelayLimits.maximumBatchItems)
    var entries: [RelayEntry] = []
    entries.reserveCapacity(number)
    for _ in 0..<number {
      let start = reader.offset
      let entry = try RelayEntry(from: &reader)
      if let last = entries.last, entry.header.position != last.header.position + 1 {
        throw CodecError(.notCanonical, "position", offset: start)
      }
      entries.append(entry)
    }
    return entries
  }
}

/// A position in one generation of a mailbox's log.
package struct RelayCursor: Hashable, Sendable {
  /// The generation of the log, which changes after a wipe or a restore.
  package let generation: Identifier
  /// The last known position.
  package let position: UInt64

  package init(generation: Identifier, position: UInt64) {
    self.generation = generation
    self.position = position
  }

  func encode(into writer: inout ByteWriter) {
    writer.identifier(generation)
    writer.varint(position)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    generation = try reader.identifier("generation")
    position = try RelayFields.position(from: &reader, "cursor", atLeast: 0)
  }
}

/// The hash chain over a mailbox's log, by which a client detects a different past.
///
/// The chain begins with the mailbox and its generation and includes every entry's position, kind,
/// name and digest. Later removal of a blob does not change it.
package enum RelayChain {
  /// The chain of an empty log.
  package static func start(mailbox: Identifier, generation: Identifier) -> Bytes32 {
    var hasher = Blake2b.Hasher(count: 32)
    hasher.update("HRTH/relay-chain-start/v1" as Domain)
    hasher.update(mailbox.high)
    hasher.update(mailbox.low)
    hasher.update(generation.high)
    hasher.update(generation.low)
    return Bytes32(exactly: hasher.finalize())
  }

  /// The chain after one more entry.
  package static func next(_ chain: Bytes32, _ header: RelayHeader) -> Bytes32 {
    var hasher = Blake2b.Hasher(count: 32)
    hasher.update("HRTH/relay-chain/v1" as Domain)
    hasher.update(chain.array)
    hasher.update(header.position)
    hasher.update(UInt64(header.kind.rawValue | (header.isReplaceable ? 2 : 0)))
    hasher.updateDelimited(header.name)
    hasher.update(UInt64(header.byteCount))
    hasher.update(header.digest.array)
    return Bytes32(exactly: hasher.finalize())
  }

  /// BLAKE2b-256("HRTH/relay-blob/v1" ‖ blob).
  package static func digest(of blob: [UInt8]) -> Bytes32 {
    var hasher = Blake2b.Hasher(count: 32)
    hasher.update("HRTH/relay-blob/v1" as Domain)
    hasher.update(blob)
    return Bytes32(exactly: hasher.finalize())
  }

  /// The digest in removals.
  package static let emptyDigest = digest(of: [])
}
