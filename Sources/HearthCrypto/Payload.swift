/// The plaintext of an envelope: a compression flag, the body, canonical padding.
enum Payload {
  private static let rawFlag: UInt8 = 0
  private static let zstdFlag: UInt8 = 1
  private static let rawPrefixCount = 1
  private static let zstdPrefixCount = 5

  /// Encodes and pads a body, compressed when that makes the padded result smaller.
  /// - Throws: `tooLarge`.
  static func encode(_ body: UnsafeRawBufferPointer) throws -> [UInt8] {
    guard body.count <= Envelope.maximumBodyBytes else { throw tooLarge(body.count) }
    let rawCount = Padding.paddedCount(rawPrefixCount + body.count)
    if rawCount > Padding.floorBytes,
      let frame = Compression.compress(body, limit: body.count - zstdPrefixCount),
      isWorthwhile(frame.count, bodyCount: body.count)
    {
      var prefix = [zstdFlag, 0, 0, 0, 0]
      prefix.withUnsafeMutableBytes { $0.storeBigEndian(UInt32(body.count), at: 1) }
      return try frame.withUnsafeBytes { try assemble(prefix, $0, bodyCount: body.count) }
    }
    return try assemble([rawFlag], body, bodyCount: body.count)
  }

  /// Decodes what ``encode(_:)`` made.
  /// - Throws: `malformed`, `tooLarge`, `compressionFailed`.
  static func decode(_ plaintext: UnsafeRawBufferPointer) throws -> [UInt8] {
    let count = try Padding.contentCount(plaintext)
    guard count >= rawPrefixCount else {
      throw CryptoError(.malformed, "The sealed data lacks its compression flag.")
    }
    switch plaintext[0] {
    case rawFlag:
      return [UInt8](plaintext[rawPrefixCount..<count])
    case zstdFlag:
      guard count > zstdPrefixCount else {
        throw CryptoError(.malformed, "The sealed data ends inside its length field.")
      }
      let bodyCount = Int(plaintext.bigEndianUInt32(at: 1))
      let frame = plaintext.part(zstdPrefixCount..<count)
      guard bodyCount <= Envelope.maximumBodyBytes,
        bodyCount <= frame.count * Envelope.maximumCompressionRatio
      else { throw tooLarge(bodyCount) }
      guard isWorthwhile(frame.count, bodyCount: bodyCount) else {
        throw CryptoError(.malformed, "The sealed data is compressed although it saves nothing.")
      }
      return try Compression.decompress(frame, count: bodyCount)
    default:
      throw CryptoError(
        .malformed, "The compression flag \(plaintext[0]) is unknown; a newer version wrote it.")
    }
  }

  private static func isWorthwhile(_ frameCount: Int, bodyCount: Int) -> Bool {
    bodyCount <= frameCount * Envelope.maximumCompressionRatio
      && Padding.paddedCount(zstdPrefixCount + frameCount)
        < Padding.paddedCount(rawPrefixCount + bodyCount)
  }

  private static func assemble(
    _ prefix: [UInt8], _ content: UnsafeRawBufferPointer, bodyCount: Int
  ) throws -> [UInt8] {
    let contentCount = prefix.count + content.count
    let paddedCount = Padding.paddedCount(contentCount)
    guard paddedCount <= Envelope.maximumPlaintextBytes else { throw tooLarge(bodyCount) }
    return Blake2b.array(paddedCount) { out in
      out.part(0..<prefix.count).copyBytes(from: prefix)
      out.part(prefix.count..<contentCount).copyMemory(from: content)
      let padding = out.part(contentCount..<paddedCount)
      padding.initializeMemory(as: UInt8.self, repeating: 0)
      padding[0] = Padding.marker
    }
  }

  private static func tooLarge(_ count: Int) -> CryptoError {
    CryptoError(
      .tooLarge,
      "A body of \(count) bytes does not fit an envelope; cut it into smaller segments.")
  }
}
