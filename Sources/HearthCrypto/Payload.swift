/// The plaintext of an envelope: flags, the declared work, the body, canonical padding.
///
/// It has a minimum length that reflects the cost of reading it: a sixteenth of the body, and one
/// byte for each declared unit of work. An author who makes others work therefore pays in bytes,
/// which transports, relays and pending queues count and bound. A reader knows the cost in advance.
enum Payload {
  private static let zstdFlag: UInt8 = 1
  private static let weightFlag: UInt8 = 2
  private static let flagCount = 1
  private static let numberCount = 4

  /// A body and the work that its writer declared for it.
  struct Content {
    let body: [UInt8]
    let weight: Int
  }

  /// Encodes and pads a body.
  ///
  /// The body is compressed if that makes the padded result smaller.
  ///
  /// - Parameter weight: the work of reading the body, in units of the reader.
  /// - Throws: `tooLarge`.
  static func encode(_ body: UnsafeRawBufferPointer, weight: Int = 0) throws -> [UInt8] {
    guard body.count <= EnvelopeFormat.maximumBodyBytes,
      weight <= EnvelopeFormat.maximumPlaintextBytes
    else {
      throw tooLarge(body.count)
    }
    var prefix = [weight > 0 ? weightFlag : 0]
    if weight > 0 { append(weight, to: &prefix) }
    let rawCount = paddedCount(prefix.count + body.count, body: body.count, weight: weight)
    var zstdPrefix = prefix
    zstdPrefix[0] |= zstdFlag
    append(body.count, to: &zstdPrefix)
    if rawCount > Padding.floorBytes,
      let frame = Compression.compress(body, limit: body.count - numberCount),
      paddedCount(zstdPrefix.count + frame.count, body: body.count, weight: weight) < rawCount
    {
      return try frame.withUnsafeBytes {
        try assemble(zstdPrefix, $0, bodyCount: body.count, weight: weight)
      }
    }
    return try assemble(prefix, body, bodyCount: body.count, weight: weight)
  }

  /// Decodes the output of ``encode(_:weight:)``.
  /// - Throws: `malformed`, `tooLarge`, `compressionFailed`.
  static func decode(_ plaintext: UnsafeRawBufferPointer) throws -> Content {
    let count = try Padding.contentCount(plaintext, expectedCount: { _ in plaintext.count })
    guard count >= flagCount else {
      throw CryptoError(.malformed, "The sealed data lacks its flags.")
    }
    let flags = plaintext[0]
    guard flags <= zstdFlag | weightFlag else {
      throw CryptoError(
        .malformed, "The flags \(flags) of the sealed data are unknown; a newer version wrote it.")
    }
    var place = flagCount
    func number() throws -> Int {
      guard count >= place + numberCount else {
        throw CryptoError(.malformed, "The sealed data ends inside a number.")
      }
      defer { place += numberCount }
      return Int(plaintext.bigEndianUInt32(at: place))
    }
    let weight = flags & weightFlag == 0 ? 0 : try number()
    guard flags & weightFlag == 0 || weight > 0 else {
      throw CryptoError(.malformed, "The sealed data declares no work and says so.")
    }
    let isPacked = flags & zstdFlag != 0
    let bodyCount = isPacked ? try number() : count - place
    guard bodyCount <= EnvelopeFormat.maximumBodyBytes else { throw tooLarge(bodyCount) }
    guard bodyCount <= plaintext.count * EnvelopeFormat.maximumCompressionRatio,
      weight <= plaintext.count
    else {
      throw CryptoError(
        .tooLarge,
        "\(plaintext.count) sealed bytes may not hold \(bodyCount) bytes and \(weight) units of "
          + "work.")
    }
    guard paddedCount(count, body: bodyCount, weight: weight) == plaintext.count else {
      throw CryptoError(.malformed, "The padding inside the sealed data is not canonical.")
    }
    let content = plaintext.part(place..<count)
    guard isPacked else { return Content(body: [UInt8](content), weight: weight) }
    let rawPrefix = place - numberCount
    guard
      plaintext.count < paddedCount(rawPrefix + bodyCount, body: bodyCount, weight: weight)
    else {
      throw CryptoError(.malformed, "The sealed data is compressed although it saves nothing.")
    }
    return Content(body: try Compression.decompress(content, count: bodyCount), weight: weight)
  }

  private static func append(_ number: Int, to prefix: inout [UInt8]) {
    prefix += (0..<numberCount).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
  }

  /// The padded length of a content: room for the content, and the cost of its body and its work.
  private static func paddedCount(_ content: Int, body: Int, weight: Int) -> Int {
    // A padded length has room for one more byte than its content.
    Padding.paddedCount(max(content, body / EnvelopeFormat.maximumCompressionRatio, weight))
  }

  private static func assemble(
    _ prefix: [UInt8], _ content: UnsafeRawBufferPointer, bodyCount: Int, weight: Int
  ) throws -> [UInt8] {
    let contentCount = prefix.count + content.count
    let paddedCount = paddedCount(contentCount, body: bodyCount, weight: weight)
    guard paddedCount <= EnvelopeFormat.maximumPlaintextBytes else { throw tooLarge(bodyCount) }
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
