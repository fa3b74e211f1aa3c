/// The part of an envelope's clear header that has the same place in every suite and type.
///
/// It suffices to identify an envelope of a newer version and its author, so that a program that
/// cannot open it can keep it and pass it on. Nothing in it is authenticated.
package struct EnvelopeFrame: Hashable, Sendable {
  /// The suite, known or not.
  package let suite: UInt8
  /// The zone's opaque name.
  package let zoneTag: Bytes16
  /// The author's opaque name in the zone.
  package let authorTag: Bytes16
  /// The author's incarnation.
  package let incarnation: UInt64
  /// The epoch's opaque name.
  package let epochTag: Bytes16
  /// The sequence number of the first change in the envelope, at least 1.
  package let firstSeq: UInt64
  /// The sequence number of the last change in the envelope.
  package let lastSeq: UInt64

  /// Reads the frame of an envelope of any suite and type.
  /// - Throws: `tooLarge`, `malformed`.
  package init(_ bytes: [UInt8]) throws {
    typealias Layout = EnvelopeFormat.Layout
    guard bytes.count <= EnvelopeFormat.maximumEnvelopeBytes else {
      throw CryptoError(
        .tooLarge,
        "The envelope has \(bytes.count) bytes; "
          + "the limit is \(EnvelopeFormat.maximumEnvelopeBytes).")
    }
    guard bytes.count >= EnvelopeFormat.overheadBytes,
      bytes[Layout.magic].elementsEqual(Layout.magicBytes)
    else { throw CryptoError(.malformed, "These bytes are not an envelope (no HRE1 in front).") }
    suite = bytes[Layout.suite]
    (zoneTag, authorTag, epochTag, incarnation, firstSeq, lastSeq) = bytes.withUnsafeBytes {
      bytes in
      (
        Bytes16(loading: bytes.part(Layout.zoneTag)),
        Bytes16(loading: bytes.part(Layout.authorTag)),
        Bytes16(loading: bytes.part(Layout.epochTag)),
        bytes.bigEndianUInt64(at: Layout.incarnation), bytes.bigEndianUInt64(at: Layout.firstSeq),
        bytes.bigEndianUInt64(at: Layout.lastSeq)
      )
    }
    try EnvelopeHeader.checkSequence(firstSeq, lastSeq)
  }
}
