/// The sealed, signed form in which changes and snapshots leave a device.
///
/// It is encrypted, then signed: a reader with the author's key drops garbage before decrypting.
/// The byte format is fixed in `docs/reference/envelope-format.md`. Every step of reading happens
/// in the order written there, and each failure of decryption reads the same.
package enum Envelope {
  private typealias Layout = EnvelopeFormat.Layout

  private static let contextDomain: Domain = "HRTH/segment/v1"
  private static let signatureDomain: Domain = "HRTH/segment-sig/v1"
  private static let idDomain: Domain = "HRTH/envelope-id/v1"

  // MARK: Sealing

  /// Seals a body.
  /// - Parameters:
  ///   - type: The type of the body.
  ///   - zoneID: The zone, 16 bytes; not in the clear, but bound by encryption and signature.
  ///   - device: The author.
  ///   - incarnation: The author's incarnation.
  ///   - epoch: The epoch to encrypt under; it must be of the same zone.
  ///   - zone: The zone's secret, for the tags.
  ///   - firstSeq: The first change's sequence number, at least 1.
  ///   - lastSeq: The last change's sequence number.
  ///   - chainBefore: The author's chain hash before the first change, 32 bytes (zeros for none).
  ///   - chainAfter: The chain hash after the last change, 32 bytes.
  ///   - body: The content, up to ``EnvelopeFormat/guaranteedBodyBytes``, or more if it compresses.
  ///   - weight: The work of reading the body, in units of its reader. The envelope has at least
  ///     one byte for each unit, and states the work before anything is unpacked.
  /// - Returns: The envelope; two calls with equal arguments give different bytes.
  /// - Throws: `tooLarge`, `badLength`, `malformed` for arguments that break the rules.
  package static func seal(
    type: EnvelopeType, zoneID: [UInt8], device: DeviceIdentity, incarnation: UInt64,
    epoch: EpochKey, zone: ZoneSecret, firstSeq: UInt64, lastSeq: UInt64, chainBefore: [UInt8],
    chainAfter: [UInt8], body: [UInt8], weight: Int = 0
  ) throws -> [UInt8] {
    let header = try EnvelopeHeader(
      type: type, zoneTag: zone.zoneTag,
      authorTag: zone.authorTag(deviceID: device.publicKeys.deviceID), incarnation: incarnation,
      epochTag: epoch.tag, firstSeq: firstSeq, lastSeq: lastSeq,
      linkBefore: epoch.link(chainBefore), linkAfter: epoch.link(chainAfter))
    return try body.withUnsafeBytes {
      try seal(
        header, zoneID: zoneID, device: device, epoch: epoch, body: $0, weight: weight,
        random: RandomBytes.make(AEAD.randomCount))
    }
  }

  static func seal(
    _ header: EnvelopeHeader, zoneID: [UInt8], device: DeviceIdentity, epoch: EpochKey,
    body: UnsafeRawBufferPointer, weight: Int = 0, random: [UInt8]
  ) throws -> [UInt8] {
    let plaintext = try Payload.encode(body, weight: weight)
    return try seal(
      header, zoneID: zoneID, device: device, epoch: epoch, plaintext: plaintext, random: random)
  }

  /// Seals an encoded plaintext; tests use it to build envelopes that no writer would make.
  static func seal(
    _ header: EnvelopeHeader, zoneID: [UInt8], device: DeviceIdentity, epoch: EpochKey,
    plaintext: [UInt8], random: [UInt8]
  ) throws -> [UInt8] {
    guard zoneID == epoch.zoneID else {
      throw CryptoError(.malformed, "The epoch key belongs to another zone than the envelope.")
    }
    return Blake2b.array(EnvelopeFormat.overheadBytes + plaintext.count) { out in
      header.store(into: out.part(0..<Layout.nonce.lowerBound))
      let clear = UnsafeRawBufferPointer(out.part(0..<Layout.nonce.lowerBound))
      let signed = EnvelopeFormat.headerBytes + plaintext.count + XChaCha20Poly1305.tagCount
      plaintext.withUnsafeBytes { plaintext in
        device.nonceKey.withUnsafeBytes {
          AEAD.hedgedNonce(key: $0, random: random, clear, plaintext, into: out.part(Layout.nonce))
        }
        let context = context(clear, zoneID, epoch)
        context.withUnsafeBytes { context in
          epoch.withEnvelopeKey(author: header.authorTag, incarnation: header.incarnation) {
            XChaCha20Poly1305.encrypt(
              plaintext, context, nonce: UnsafeRawBufferPointer(out.part(Layout.nonce)), key: $0,
              into: out.part(EnvelopeFormat.headerBytes..<signed))
          }
        }
      }
      let digest = signatureDigest(
        UnsafeRawBufferPointer(out.part(0..<signed)), zoneID, device.publicKeys.deviceID)
      device.signingPair.sign(signatureDomain, digest: digest, into: out.part(signed..<out.count))
    }
  }

  // MARK: Reading

  /// Reads the clear header and checks everything that needs no key.
  ///
  /// It checks length limits, magic, suite, type and sequence numbers, and that the ciphertext has
  /// one of the padded lengths. The layout is fixed, so a valid header has exactly one encoding.
  /// - Parameter minimumSuite: The lowest suite that the household still accepts; it only ever
  ///   rises.
  /// - Throws: `tooLarge`, `malformed`, `unsupportedSuite`, `unsupportedType`.
  package static func parseHeader(
    _ bytes: UnsafeRawBufferPointer, minimumSuite: UInt8 = EnvelopeFormat.suite
  ) throws -> EnvelopeHeader {
    guard bytes.count <= EnvelopeFormat.maximumEnvelopeBytes else {
      throw CryptoError(
        .tooLarge,
        "The envelope has \(bytes.count) bytes; "
          + "the limit is \(EnvelopeFormat.maximumEnvelopeBytes).")
    }
    guard bytes.count > Layout.type, bytes.part(Layout.magic).elementsEqual(Layout.magicBytes)
    else { throw CryptoError(.malformed, "These bytes are not an envelope (no HRE1 in front).") }
    let found = bytes[Layout.suite]
    guard found == EnvelopeFormat.suite, found >= minimumSuite else {
      throw CryptoError(
        .unsupportedSuite,
        "The envelope uses suite \(found); this version reads suite \(EnvelopeFormat.suite), "
          + "this household accepts \(minimumSuite) and up.")
    }
    guard let type = EnvelopeType(rawValue: bytes[Layout.type]) else {
      throw CryptoError(
        .unsupportedType,
        "The envelope has the unknown type \(bytes[Layout.type]); a newer version wrote it.")
    }
    guard Padding.isPaddedCount(bytes.count - EnvelopeFormat.overheadBytes) else {
      throw CryptoError(
        .malformed, "An envelope cannot have \(bytes.count) bytes; it was cut or extended.")
    }
    return try EnvelopeHeader(bytes, type: type)
  }

  /// Reads the clear header of an array.
  package static func parseHeader(_ bytes: [UInt8], minimumSuite: UInt8 = EnvelopeFormat.suite)
    throws
    -> EnvelopeHeader
  {
    try bytes.withUnsafeBytes { try parseHeader($0, minimumSuite: minimumSuite) }
  }

  /// Verifies that the device signed this envelope for this zone.
  ///
  /// It takes about 0.2 ms. The caller must establish that the header's author tag belongs to the
  /// device: it finds the device by the tag.
  /// - Throws: `badSignature`; and the errors of ``parseHeader(_:minimumSuite:)``.
  package static func verifySignature(
    _ bytes: UnsafeRawBufferPointer, zoneID: [UInt8], keys: DevicePublicKeys
  ) throws {
    _ = try parseHeader(bytes)
    try CryptoError.require("A zone id", zoneID.count, equals: 16)
    let signed = bytes.count - Signature.count
    let digest = signatureDigest(bytes.part(0..<signed), zoneID, keys.deviceID)
    try Signature.verify(
      bytes.part(signed..<bytes.count), signatureDomain, digest: digest, keys.signingKey)
  }

  /// Verifies the signature of an array.
  package static func verifySignature(
    _ bytes: [UInt8], zoneID: [UInt8], keys: DevicePublicKeys
  ) throws {
    try bytes.withUnsafeBytes { try verifySignature($0, zoneID: zoneID, keys: keys) }
  }

  /// Decrypts an envelope without verifying its signature.
  ///
  /// Only two kinds of readers may use it. The first finds the author's public keys *inside* the
  /// envelope (a joiner's first segment). It must call ``verifySignature(_:zoneID:keys:)`` with
  /// these keys before it uses the content. The second has verified a later head of the same hash
  /// chain, which covers this envelope. All other readers use
  /// ``verifyAndOpen(_:zoneID:keys:epoch:)``.
  /// - Returns: The body.
  /// - Throws: `authenticationFailed` for a wrong key, epoch, zone or any altered bit; `malformed`
  ///   or `tooLarge` if a member sealed invalid content; and the errors of
  ///   ``parseHeader(_:minimumSuite:)``.
  package static func open(
    _ bytes: UnsafeRawBufferPointer, zoneID: [UInt8], epoch: EpochKey
  ) throws -> [UInt8] {
    try openWeighed(bytes, zoneID: zoneID, epoch: epoch).body
  }

  /// Decrypts like ``open(_:zoneID:epoch:)-swift.type.method``, and returns the work that the
  /// writer declared for reading the body.
  package static func openWeighed(
    _ bytes: UnsafeRawBufferPointer, zoneID: [UInt8], epoch: EpochKey
  ) throws -> (body: [UInt8], weight: Int) {
    let header = try parseHeader(bytes)
    guard header.epochTag == epoch.tag, zoneID == epoch.zoneID else {
      throw CryptoError.authentication
    }
    let context = context(bytes.part(0..<Layout.nonce.lowerBound), zoneID, epoch)
    let sealed = bytes.part(EnvelopeFormat.headerBytes..<(bytes.count - Signature.count))
    let plaintext = try Blake2b.array(sealed.count - XChaCha20Poly1305.tagCount) { out in
      try context.withUnsafeBytes { context in
        try epoch.withEnvelopeKey(author: header.authorTag, incarnation: header.incarnation) {
          try XChaCha20Poly1305.decrypt(
            sealed, context, nonce: bytes.part(Layout.nonce), key: $0, into: out)
        }
      }
    }
    let content = try plaintext.withUnsafeBytes { try Payload.decode($0) }
    return (content.body, content.weight)
  }

  /// Decrypts an array, and returns the work that its writer declared.
  package static func openWeighed(
    _ bytes: [UInt8], zoneID: [UInt8], epoch: EpochKey
  ) throws -> (body: [UInt8], weight: Int) {
    try bytes.withUnsafeBytes { try openWeighed($0, zoneID: zoneID, epoch: epoch) }
  }

  /// Decrypts an array without verifying its signature.
  package static func open(_ bytes: [UInt8], zoneID: [UInt8], epoch: EpochKey) throws -> [UInt8] {
    try bytes.withUnsafeBytes { try open($0, zoneID: zoneID, epoch: epoch) }
  }

  /// Verifies, then decrypts: the normal way to read.
  /// - Throws: `badSignature` before anything is decrypted, then the errors of
  ///   ``open(_:zoneID:epoch:)-swift.type.method``.
  package static func verifyAndOpen(
    _ bytes: [UInt8], zoneID: [UInt8], keys: DevicePublicKeys, epoch: EpochKey
  ) throws -> [UInt8] {
    try bytes.withUnsafeBytes {
      try verifySignature($0, zoneID: zoneID, keys: keys)
      return try open($0, zoneID: zoneID, epoch: epoch)
    }
  }

  /// The name of an envelope: BLAKE2b-256 over everything except the signature.
  ///
  /// The signature is excluded so that nobody can give one content two names. The name needs no
  /// key.
  /// - Throws: the errors of ``parseHeader(_:minimumSuite:)``.
  package static func id(_ bytes: [UInt8]) throws -> [UInt8] {
    try bytes.withUnsafeBytes { bytes in
      _ = try parseHeader(bytes)
      var hasher = Blake2b.Hasher(count: 32)
      hasher.update(idDomain)
      hasher.update(bytes.part(0..<(bytes.count - Signature.count)))
      return hasher.finalize()
    }
  }

  // MARK: Parts

  private static func context(
    _ clear: UnsafeRawBufferPointer, _ zoneID: [UInt8], _ epoch: EpochKey
  ) -> [UInt8] {
    contextDomain.bytes + clear + zoneID + epoch.id
  }

  private static func signatureDigest(
    _ signed: UnsafeRawBufferPointer, _ zoneID: [UInt8], _ deviceID: [UInt8]
  ) -> [UInt8] {
    var hasher = Blake2b.Hasher(count: 64)
    hasher.update(zoneID)
    hasher.update(deviceID)
    hasher.update(signed)
    return hasher.finalize()
  }
}
