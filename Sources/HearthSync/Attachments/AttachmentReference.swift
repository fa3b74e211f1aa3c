import HearthCRDT
import HearthCrypto

/// What a record holds of an attachment: enough to find its chunks on a transport, to check them,
/// and to open them.
///
/// The chunks are named by the digests of their sealed bytes. Each file of a transport is therefore
/// written once, and verified by whoever reads it.
package struct AttachmentReference: Hashable, Sendable {
  /// The most chunks of an attachment.
  package static let maximumChunks = 32
  /// The most bytes of an attachment: just under 32 MiB.
  package static let maximumBytes = maximumChunks * AttachmentKey.chunkBytes
  /// The most bytes of a media type (RFC 6838 allows 127 on each side of the slash).
  package static let maximumTypeBytes = 255

  /// The number of bytes of the content.
  package let byteCount: Int
  /// The media type, such as `image/jpeg`, as whoever attached it states it.
  package let type: String
  /// The digests of the sealed chunks, in order.
  package let chunks: [Identifier]
  private let key: AttachmentKey

  private init(byteCount: Int, type: String, chunks: [Identifier], key: AttachmentKey) {
    self.byteCount = byteCount
    self.type = type
    self.chunks = chunks
    self.key = key
  }

  /// The number of chunks that content of some length takes; at least one.
  private static func chunkCount(of byteCount: Int) -> Int {
    max(1, (byteCount + AttachmentKey.chunkBytes - 1) / AttachmentKey.chunkBytes)
  }

  // MARK: Content

  /// Seals content under a new key.
  ///
  /// - Returns: what a record holds of it, and the chunks, in order.
  /// - Throws: ``AttachmentError`` if it is larger than ``maximumBytes``, or the type longer than
  ///   ``maximumTypeBytes``.
  package static func sealing(
    _ content: [UInt8], type: String
  ) throws -> (reference: AttachmentReference, chunks: [SealedChunk]) {
    guard content.count <= maximumBytes else { throw AttachmentError.tooLarge }
    guard type.utf8.count <= maximumTypeBytes else { throw AttachmentError.typeTooLong }
    let key = try AttachmentKey.random()
    let count = chunkCount(of: content.count)
    let chunks = try (0..<count).map { index in
      let begin = index * AttachmentKey.chunkBytes
      let end = min(content.count, begin + AttachmentKey.chunkBytes)
      return SealedChunk(bytes: try key.seal(content[begin..<end], at: index, of: count))
    }
    let reference = AttachmentReference(
      byteCount: content.count, type: type, chunks: chunks.map(\.digest), key: key)
    return (reference, chunks)
  }

  /// Opens one chunk, whose bytes have the digest in ``chunks``.
  ///
  /// - Throws: ``AttachmentError/damaged`` if it is not what the record says.
  package func open(_ sealed: [UInt8], at index: Int) throws -> [UInt8] {
    let begin = index * AttachmentKey.chunkBytes
    do {
      let content = try key.open(sealed, at: index, of: chunks.count)
      guard content.count == min(AttachmentKey.chunkBytes, byteCount - begin) else {
        throw AttachmentError.damaged
      }
      return content
    } catch is CryptoError {
      throw AttachmentError.damaged
    }
  }

  // MARK: Bytes in a record

  /// The first bytes of every reference, of any version: "HRA".
  private static let mark = Array("HRA".utf8)
  private static let version: UInt8 = 1

  /// Whether bytes claim to be a reference of a newer version, whose chunks this one cannot name.
  package static func isOfNewerVersion(_ bytes: [UInt8]) -> Bool {
    bytes.count > mark.count && bytes.starts(with: mark) && bytes[mark.count] > version
  }

  /// The reference as a record holds it: mark, version 1, length, media type, key, digests.
  package var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 64 + 16 * chunks.count)
    writer.raw(Self.mark)
    writer.byte(Self.version)
    writer.varint(byteCount)
    writer.text(type)
    writer.raw(key.bytes)
    for chunk in chunks { writer.identifier(chunk) }
    return writer.bytes
  }

  /// Reads a reference; nil for anything that ``bytes`` would not have written, such as that of a
  /// newer version.
  package init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    guard let reference = try? AttachmentReference(from: &reader), (try? reader.finish()) != nil
    else { return nil }
    self = reference
  }

  private init(from reader: inout ByteReader) throws {
    let mark = try reader.raw(Self.mark.count, "mark")
    let version = try reader.byte("version")
    guard mark == Self.mark, version == Self.version else {
      throw CodecError(.unknown, "version", offset: 0)
    }
    let byteCount = try reader.varint("length", atMost: Self.maximumBytes)
    let type = try reader.text("media type", atMost: Self.maximumTypeBytes)
    let key = try AttachmentKey(reader.raw(AttachmentKey.count, "key"))
    var chunks: [Identifier] = []
    for _ in 0..<Self.chunkCount(of: byteCount) { chunks.append(try reader.identifier("digest")) }
    self.init(byteCount: byteCount, type: type, chunks: chunks, key: key)
  }
}

extension SealedChunk {
  /// Names sealed bytes by their digest.
  package init(bytes: [UInt8]) {
    self.init(digest: segmentDigest(bytes), bytes: bytes)
  }
}

/// What is wrong with an attachment.
package enum AttachmentError: Error {
  /// The content is larger than an attachment may be.
  case tooLarge
  /// The media type is longer than one may be.
  case typeTooLong
  /// The chunks are not what the record says.
  case damaged
}
