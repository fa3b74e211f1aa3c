/// The bytes of the file with a node's secrets, with or without a passphrase.
///
/// This type handles only bytes. The caller reads and writes the file and must create it with
/// ``requiredFileMode``. The format is fixed in `docs/reference/key-file-format.md`.
package enum KeyFile {
  /// The mode of the file: read and write for its owner, nothing for other users.
  package static let requiredFileMode: UInt32 = 0o600
  /// The longest key file.
  package static let maximumFileBytes = 64 << 10
  /// The most secrets in one file.
  package static let maximumSecrets = 64
  /// The longest single secret.
  package static let maximumSecretBytes = 4096
  /// The sealed body is padded to a multiple of this, so that its length reveals little.
  package static let bodyMultiple = 1024

  /// The protection of a key file.
  package enum Mode: UInt8, Sendable {
    /// No protection: the key is derived from the salt in the file.
    ///
    /// Damage is detected, but a reader is not stopped. Only the file mode and disk encryption
    /// protect the file.
    case plain = 0
    /// A passphrase, stretched with Argon2id.
    case passphrase = 1
  }

  private static let magic = Array("HRK1".utf8)
  private static let version: UInt8 = 1
  static let contextRange = 0..<30
  private static let operationsOffset = 6
  private static let memoryOffset = 10
  private static let saltRange = 14..<30
  static let commitmentRange = 30..<62
  static let sealedOffset = 62
  private static let smallestFileBytes = sealedOffset + AEAD.overheadBytes + bodyMultiple
  private static let commitmentDomain: Domain = "HRTH/key-file-commit/v1"
  private static let plainDomain: Domain = "HRTH/key-file-plain/v1"

  // MARK: Writing

  /// Makes the file's bytes.
  /// - Parameters:
  ///   - secrets: The secrets, in an order that the caller knows.
  ///   - passphrase: The passphrase, or nil for ``Mode/plain``.
  ///   - parameters: The cost of guessing the passphrase; unused without one.
  ///   - bounds: The accepted cost.
  /// - Throws: `tooLarge`, `weakParameters`, `outOfMemory`.
  package static func seal(
    _ secrets: [SecretBytes], passphrase: Passphrase?, parameters: KDFParameters = .moderate,
    bounds: KDFParameters.Bounds = .production
  ) throws -> [UInt8] {
    try seal(
      secrets, passphrase, parameters, bounds, salt: RandomBytes.make(16),
      random: RandomBytes.make(AEAD.randomCount))
  }

  static func seal(
    _ secrets: [SecretBytes], _ passphrase: Passphrase?, _ parameters: KDFParameters,
    _ bounds: KDFParameters.Bounds, salt: [UInt8], random: [UInt8]
  ) throws -> [UInt8] {
    try protect(encodeBody(secrets), passphrase, parameters, bounds, salt: salt, random: random)
  }

  /// Seals an encoded body; tests use it to build files that no writer would make.
  static func protect(
    _ body: SecretBytes, _ passphrase: Passphrase?, _ parameters: KDFParameters,
    _ bounds: KDFParameters.Bounds, salt: [UInt8], random: [UInt8]
  ) throws -> [UInt8] {
    let context = makeContext(passphrase == nil ? nil : parameters, salt: salt)
    let key = try key(passphrase, parameters, bounds, salt: salt)
    let sealed = body.withUnsafeBytes { AEAD.seal($0, context, key, random: random) }
    let commitment = key.withUnsafeBytes { key in
      sealed.withUnsafeBytes {
        Commitment.make(commitmentDomain, key: key, associatedData: context, sealed: $0)
      }
    }
    return context + commitment + sealed
  }

  private static func makeContext(_ parameters: KDFParameters?, salt: [UInt8]) -> [UInt8] {
    let mode: Mode = parameters == nil ? .plain : .passphrase
    var numbers = [UInt8](repeating: 0, count: 8)
    numbers.withUnsafeMutableBytes {
      $0.storeBigEndian(parameters?.operations ?? 0, at: 0)
      $0.storeBigEndian(parameters?.memoryKiB ?? 0, at: 4)
    }
    return magic + [version, mode.rawValue] + numbers + salt
  }

  private static func key(
    _ passphrase: Passphrase?, _ parameters: KDFParameters, _ bounds: KDFParameters.Bounds,
    salt: [UInt8]
  ) throws -> SecretKey {
    if let passphrase {
      try bounds.check(parameters)
      return try passphrase.stretch(salt: salt, parameters)
    }
    var bytes = Blake2b.hash(plainDomain.bytes + salt, count: SecretKey.count)
    return try SecretKey(consuming: &bytes)
  }

  private static func encodeBody(_ secrets: [SecretBytes]) throws -> SecretBytes {
    guard secrets.count <= maximumSecrets else {
      throw CryptoError(
        .tooLarge, "A key file holds up to \(maximumSecrets) secrets, not \(secrets.count).")
    }
    if let long = secrets.first(where: { $0.count > maximumSecretBytes }) {
      throw CryptoError(
        .tooLarge, "A secret of \(long.count) bytes exceeds \(maximumSecretBytes).")
    }
    let contentCount = secrets.reduce(2) { $0 + 4 + $1.count }
    let paddedCount = paddedBodyCount(contentCount)
    guard sealedOffset + AEAD.overheadBytes + paddedCount <= maximumFileBytes else {
      throw CryptoError(
        .tooLarge, "\(contentCount) bytes of secrets exceed a key file of \(maximumFileBytes).")
    }
    return try SecretBytes(count: paddedCount) { out in
      out.initializeMemory(as: UInt8.self, repeating: 0)
      out.storeBigEndian(UInt16(secrets.count), at: 0)
      var offset = 2
      for secret in secrets {
        out.storeBigEndian(UInt32(secret.count), at: offset)
        secret.withUnsafeBytes { out.part(offset + 4..<offset + 4 + $0.count).copyMemory(from: $0) }
        offset += 4 + secret.count
      }
      out[offset] = Padding.marker
    }
  }

  private static func paddedBodyCount(_ contentCount: Int) -> Int {
    (contentCount + 1 + bodyMultiple - 1) / bodyMultiple * bodyMultiple
  }

  // MARK: Reading

  /// The protection of a key file, so that a program knows whether to ask for a passphrase.
  /// - Throws: `malformed`, `unsupportedType`, `tooLarge`.
  package static func mode(of bytes: [UInt8]) throws -> Mode {
    try bytes.withUnsafeBytes { try parse($0).mode }
  }

  /// The Argon2id cost that a key file states; nil without a passphrase.
  /// - Throws: `malformed`, `unsupportedType`, `tooLarge`.
  package static func parameters(of bytes: [UInt8]) throws -> KDFParameters? {
    try bytes.withUnsafeBytes {
      let (mode, parameters) = try parse($0)
      return mode == .plain ? nil : parameters
    }
  }

  /// Opens a key file.
  /// - Parameters:
  ///   - bytes: The whole file.
  ///   - passphrase: The passphrase; nil for a file in ``Mode/plain``, where it is ignored.
  ///   - bounds: The accepted Argon2id cost, checked before memory is allocated.
  /// - Returns: The secrets in their original order.
  /// - Throws: `wrongPassphrase` (also for a damaged file, which looks the same, and if none is
  ///   given), `authenticationFailed` for a damaged plain file, `weakParameters`, `malformed`,
  ///   `unsupportedType`, `tooLarge`, `outOfMemory`.
  package static func open(
    _ bytes: [UInt8], passphrase: Passphrase?, bounds: KDFParameters.Bounds = .production
  ) throws -> [SecretBytes] {
    try bytes.withUnsafeBytes { bytes in
      let (mode, parameters) = try parse(bytes)
      guard mode == .plain || passphrase != nil else {
        throw CryptoError(.wrongPassphrase, "The key file is protected by a passphrase; enter it.")
      }
      let context = [UInt8](bytes.part(contextRange))
      let sealed = bytes.part(sealedOffset..<bytes.count)
      let key = try key(
        mode == .plain ? nil : passphrase, parameters, bounds, salt: Array(bytes.part(saltRange)))
      let isCommitted = key.withUnsafeBytes {
        Commitment.isValid(
          bytes.part(commitmentRange), commitmentDomain, key: $0, associatedData: context,
          sealed: sealed)
      }
      guard isCommitted else {
        throw mode == .plain
          ? CryptoError.authentication
          : CryptoError(
            .wrongPassphrase, "The passphrase does not open the key file, or it is damaged.")
      }
      let body = try SecretBytes(count: sealed.count - AEAD.overheadBytes) {
        try AEAD.open(sealed, associatedData: context, key: key, into: $0)
      }
      return try body.withUnsafeBytes { try decodeBody($0) }
    }
  }

  private static func parse(_ bytes: UnsafeRawBufferPointer) throws -> (
    mode: Mode, parameters: KDFParameters
  ) {
    guard bytes.count <= maximumFileBytes else {
      throw CryptoError(
        .tooLarge, "A key file of \(bytes.count) bytes exceeds \(maximumFileBytes).")
    }
    guard bytes.count > 5, bytes.part(0..<4).elementsEqual(magic) else {
      throw CryptoError(.malformed, "This file is not a key file (no HRK1 in front).")
    }
    guard bytes[4] == version, let mode = Mode(rawValue: bytes[5]) else {
      throw CryptoError(
        .unsupportedType,
        "The key file has version \(bytes[4]) and mode \(bytes[5]); use a newer program.")
    }
    let bodyCount = bytes.count - sealedOffset - AEAD.overheadBytes
    guard bytes.count >= smallestFileBytes, bodyCount.isMultiple(of: bodyMultiple) else {
      throw CryptoError(
        .malformed, "The key file has \(bytes.count) bytes; it was cut or extended.")
    }
    let parameters = KDFParameters(
      operations: bytes.bigEndianUInt32(at: operationsOffset),
      memoryKiB: bytes.bigEndianUInt32(at: memoryOffset))
    guard mode == .passphrase || (parameters.operations == 0 && parameters.memoryKiB == 0) else {
      throw CryptoError(.malformed, "A key file without passphrase states a cost for one.")
    }
    return (mode, parameters)
  }

  private static func decodeBody(_ body: UnsafeRawBufferPointer) throws -> [SecretBytes] {
    let malformed = CryptoError(.malformed, "The secrets inside the key file are not well formed.")
    let contentCount = try Padding.contentCount(body, expectedCount: paddedBodyCount)
    guard contentCount >= 2 else { throw malformed }
    let count = Int(body.bigEndianUInt16(at: 0))
    guard count <= maximumSecrets else { throw malformed }
    var secrets = [SecretBytes]()
    var offset = 2
    for _ in 0..<count {
      guard contentCount - offset >= 4 else { throw malformed }
      let length = Int(body.bigEndianUInt32(at: offset))
      offset += 4
      guard length <= maximumSecretBytes, length <= contentCount - offset else { throw malformed }
      let source = body.part(offset..<offset + length)
      secrets.append(try SecretBytes(count: length) { $0.copyMemory(from: source) })
      offset += length
    }
    guard offset == contentCount else { throw malformed }
    return secrets
  }
}
