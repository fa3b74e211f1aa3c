/// The key of one attachment: content that is too large for a record.
///
/// The key is random and a part of the record that refers to the attachment. So whoever can read
/// the record can read the attachment, on every transport that holds it. A removal needs no other
/// key for it: the removed person could read it before, and what is attached later has a key of its
/// own. Two attachments with the same content have nothing in common that a transport can see.
package struct AttachmentKey: Hashable, Sendable, Redacted {
  /// The length of a key.
  package static let count = 32
  /// The most bytes of content in one chunk; with padding they take 1 MiB.
  package static let chunkBytes = (1 << 20) - 1
  /// The most bytes of a sealed chunk.
  package static let sealedBytes = (1 << 20) + AEAD.overheadBytes

  private static let domain: Domain = "HRTH/attachment/v1"

  /// The key as a record holds it.
  package let bytes: [UInt8]

  /// Takes over the key that a record holds.
  /// - Throws: `badLength`.
  package init(_ bytes: [UInt8]) throws {
    try CryptoError.require("An attachment's key", bytes.count, equals: Self.count)
    self.bytes = bytes
  }

  /// Makes a key for a new attachment.
  package static func random() throws -> AttachmentKey {
    try AttachmentKey(RandomBytes.make(count))
  }

  /// Seals one chunk of the content.
  ///
  /// The chunk is padded like an envelope, so the sealed length tells little. Opening fails if
  /// somebody exchanges chunks or leaves one out, because each is bound to its place.
  /// - Parameters:
  ///   - content: At most ``chunkBytes``.
  ///   - index: The place of the chunk, from 0.
  ///   - count: The number of chunks.
  package func seal(_ content: ArraySlice<UInt8>, at index: Int, of count: Int) throws -> [UInt8] {
    precondition(content.count <= Self.chunkBytes, "a chunk of \(content.count) bytes")
    var padded = Array(content)
    padded.append(Padding.marker)
    padded.append(
      contentsOf: repeatElement(0, count: Padding.paddedCount(content.count) - padded.count))
    defer { zeroise(&padded) }
    return AEAD.seal(padded, associatedData: context(index, count), key: try secret())
  }

  /// Opens a chunk.
  /// - Throws: `authenticationFailed` if it is not that chunk of this attachment; `malformed` if
  ///   its padding is not canonical.
  package func open(_ sealed: [UInt8], at index: Int, of count: Int) throws -> [UInt8] {
    var padded = try AEAD.open(sealed, associatedData: context(index, count), key: try secret())
    let length = try padded.withUnsafeBytes { try Padding.contentCount($0) }
    padded.removeSubrange(length...)
    return padded
  }

  private func secret() throws -> SecretKey {
    var copy = Array(bytes)
    return try SecretKey(consuming: &copy)
  }

  private func context(_ index: Int, _ count: Int) -> [UInt8] {
    var context = Self.domain.bytes
    for number in [index, count] {
      withUnsafeBytes(of: UInt64(number).bigEndian) { context += $0 }
    }
    return context
  }
}
