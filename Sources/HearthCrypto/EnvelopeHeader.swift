/// The kind of content in an envelope.
package enum EnvelopeType: UInt8, Sendable, CaseIterable {
  /// Consecutive changes of one author.
  case segment = 1
  /// A part of a snapshot.
  case snapshotChunk = 2
}

/// The clear part of an envelope: everything that a relay or folder may know about it.
///
/// All of it is associated data of the encryption and covered by the signature. See
/// `docs/reference/envelope-format.md` for the byte table.
package struct EnvelopeHeader: Hashable, Sendable {
  /// The kind of content.
  package let type: EnvelopeType
  /// The zone's opaque name (``ZoneSecret/zoneTag``).
  package let zoneTag: Bytes16
  /// The author's opaque name in the zone (``ZoneSecret/authorTag(deviceID:)``).
  package let authorTag: Bytes16
  /// The author's incarnation.
  package let incarnation: UInt64
  /// The epoch's opaque name (``EpochKey/tag``).
  package let epochTag: Bytes16
  /// The sequence number of the first change in the envelope, at least 1.
  package let firstSeq: UInt64
  /// The sequence number of the last change in the envelope.
  package let lastSeq: UInt64
  /// The masked chain hash before the first change.
  package let linkBefore: Bytes32
  /// The masked chain hash after the last change.
  package let linkAfter: Bytes32

  /// Writes the 142 bytes before the nonce.
  func store(into out: UnsafeMutableRawBufferPointer) {
    typealias Layout = EnvelopeFormat.Layout
    precondition(out.count == Layout.nonce.lowerBound, "header memory of \(out.count) bytes")
    out.part(Layout.magic).copyBytes(from: Layout.magicBytes)
    out[Layout.suite] = EnvelopeFormat.suite
    out[Layout.type] = type.rawValue
    zoneTag.store(into: out.part(Layout.zoneTag))
    authorTag.store(into: out.part(Layout.authorTag))
    out.storeBigEndian(incarnation, at: Layout.incarnation)
    epochTag.store(into: out.part(Layout.epochTag))
    out.storeBigEndian(firstSeq, at: Layout.firstSeq)
    out.storeBigEndian(lastSeq, at: Layout.lastSeq)
    linkBefore.store(into: out.part(Layout.linkBefore))
    linkAfter.store(into: out.part(Layout.linkAfter))
  }

  /// Reads the fields of bytes whose length, magic, suite and type are already checked.
  init(_ bytes: UnsafeRawBufferPointer, type: EnvelopeType) throws {
    typealias Layout = EnvelopeFormat.Layout
    self.type = type
    zoneTag = Bytes16(loading: bytes.part(Layout.zoneTag))
    authorTag = Bytes16(loading: bytes.part(Layout.authorTag))
    incarnation = bytes.bigEndianUInt64(at: Layout.incarnation)
    epochTag = Bytes16(loading: bytes.part(Layout.epochTag))
    firstSeq = bytes.bigEndianUInt64(at: Layout.firstSeq)
    lastSeq = bytes.bigEndianUInt64(at: Layout.lastSeq)
    linkBefore = Bytes32(loading: bytes.part(Layout.linkBefore))
    linkAfter = Bytes32(loading: bytes.part(Layout.linkAfter))
    try Self.checkSequence(firstSeq, lastSeq)
  }

  /// Makes a header from its fields.
  /// - Throws: `malformed` unless 1 ≤ `firstSeq` ≤ `lastSeq` ≤ ``EnvelopeFormat/maximumSequence``.
  init(
    type: EnvelopeType, zoneTag: Bytes16, authorTag: Bytes16, incarnation: UInt64,
    epochTag: Bytes16, firstSeq: UInt64, lastSeq: UInt64, linkBefore: Bytes32, linkAfter: Bytes32
  ) throws {
    try Self.checkSequence(firstSeq, lastSeq)
    self.type = type
    self.zoneTag = zoneTag
    self.authorTag = authorTag
    self.incarnation = incarnation
    self.epochTag = epochTag
    self.firstSeq = firstSeq
    self.lastSeq = lastSeq
    self.linkBefore = linkBefore
    self.linkAfter = linkAfter
  }

  /// Rejects a range of changes that no log can have.
  /// - Throws: `malformed` unless 1 ≤ `first` ≤ `last` ≤ ``EnvelopeFormat/maximumSequence``.
  static func checkSequence(_ first: UInt64, _ last: UInt64) throws {
    guard first >= 1, last >= first, last <= EnvelopeFormat.maximumSequence else {
      throw CryptoError(
        .malformed,
        "An envelope cannot hold changes \(first) to \(last); they count from 1 up to 2^63 - 1.")
    }
  }
}
