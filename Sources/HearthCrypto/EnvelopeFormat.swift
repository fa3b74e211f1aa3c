/// The layout of an envelope, and its limits.
///
/// The byte format is fixed in `docs/reference/envelope-format.md`.
package enum EnvelopeFormat {
  /// Suite 1: XChaCha20-Poly1305-IETF, Ed25519, BLAKE2b.
  package static let suite: UInt8 = 1
  /// The length of the clear header with the nonce.
  package static let headerBytes = 166
  /// The length without the plaintext: header, tag, signature.
  package static let overheadBytes = headerBytes + XChaCha20Poly1305.tagCount + Signature.count
  /// The longest envelope that is read or written: 1 MiB, and 64 KiB for padding and frame.
  package static let maximumEnvelopeBytes = (1 << 20) + (64 << 10)
  /// The longest padded plaintext.
  package static let maximumPlaintextBytes = maximumEnvelopeBytes - overheadBytes
  /// The longest body, before compression and after decompression: 8 MiB.
  package static let maximumBodyBytes = 8 << 20
  /// A body up to this length can always be sealed, even if it does not compress: 1 MiB.
  package static let guaranteedBodyBytes = 1 << 20
  /// The greatest sequence number of a change: 2^63 - 1, so that no sum of two overflows.
  package static let maximumSequence: UInt64 = 1 << 63 - 1
  /// The greatest ratio between a body and the plaintext that contains it.
  ///
  /// A body that compresses better is padded.
  package static let maximumCompressionRatio = 16

  /// Byte positions of the header.
  enum Layout {
    static let magicBytes = Array("HRE1".utf8)
    static let magic = 0..<4
    static let suite = 4
    static let type = 5
    static let zoneTag = 6..<22
    static let authorTag = 22..<38
    static let incarnation = 38
    static let epochTag = 46..<62
    static let firstSeq = 62
    static let lastSeq = 70
    static let linkBefore = 78..<110
    static let linkAfter = 110..<142
    static let nonce = 142..<166
  }
}
