import CSodium

/// A passphrase typed by a person, in guarded memory.
///
/// The bytes are used unchanged; the caller decides on Unicode normalisation before.
package final class Passphrase: Sendable, Redacted {
  /// The longest passphrase.
  package static let maximumBytes = 1024
  private let secret: SecretBytes

  /// Takes over 1 to 1,024 bytes and zeroes the source, also if the call fails.
  /// - Throws: `badLength`, `outOfMemory`.
  package init(consuming bytes: inout [UInt8]) throws {
    defer { zeroise(&bytes) }
    guard 1...Self.maximumBytes ~= bytes.count else {
      throw CryptoError(
        .badLength,
        "A passphrase has 1 to \(Self.maximumBytes) bytes; this one has \(bytes.count).")
    }
    secret = try SecretBytes(consuming: &bytes)
  }

  /// Stretches the passphrase into a key with Argon2id (RFC 9106), version 1.3, one lane.
  /// - Throws: `outOfMemory` if the memory for the parameters is not available.
  func stretch(salt: [UInt8], _ parameters: KDFParameters) throws -> SecretKey {
    try CryptoError.require("An Argon2id salt", salt.count, equals: Int(crypto_pwhash_SALTBYTES))
    return try SecretKey { out in
      let status = secret.withUnsafeBytes { text in
        text.withMemoryRebound(to: CChar.self) { text in
          salt.withUnsafeBufferPointer { salt in
            Argon2.hash(out, text, salt, parameters)
          }
        }
      }
      guard status == 0 else {
        throw CryptoError(
          .outOfMemory,
          "Argon2id needs \(parameters.memoryKiB) KiB of memory; close programs and try again.")
      }
    }
  }
}

private enum Argon2 {
  static func hash(
    _ out: UnsafeMutableRawBufferPointer, _ text: UnsafeBufferPointer<CChar>,
    _ salt: UnsafeBufferPointer<UInt8>, _ parameters: KDFParameters
  ) -> CInt {
    guard let text = text.baseAddress.map({ ($0, text.count) }), let salt = salt.baseAddress else {
      return -1
    }
    return crypto_pwhash(
      out.unsignedBytes, UInt64(out.count), text.0, UInt64(text.1), salt,
      UInt64(parameters.operations), Int(parameters.memoryKiB) << 10,
      crypto_pwhash_ALG_ARGON2ID13)
  }
}

/// The cost of deriving a key from a passphrase with Argon2id.
package struct KDFParameters: Hashable, Sendable {
  /// The number of passes over the memory.
  package let operations: UInt32
  /// The memory in KiB.
  package let memoryKiB: UInt32

  /// For small devices: 4 passes over 64 MiB, about 0.6 s.
  package static let interactive = KDFParameters(operations: 4, memoryKiB: 64 << 10)
  /// The default: 3 passes over 256 MiB, about 1.8 s.
  package static let moderate = KDFParameters(operations: 3, memoryKiB: 256 << 10)
  /// The minimum that libsodium supports; accepted only with ``Bounds/testing``.
  package static let testMinimum = KDFParameters(operations: 1, memoryKiB: 8)

  /// Makes parameters; they are checked at their use.
  package init(operations: UInt32, memoryKiB: UInt32) {
    self.operations = operations
    self.memoryKiB = memoryKiB
  }

  /// The parameters that are accepted for writing and reading.
  package struct Bounds: Sendable {
    let operations: ClosedRange<UInt32>
    let memoryKiB: ClosedRange<UInt32>

    /// 2 to 10 passes over 64 MiB to 1 GiB.
    ///
    /// Less is too weak for a passphrase. More is a trap: 4 passes over 1 GiB took 14 s on the test
    /// machine.
    package static let production = Bounds(operations: 2...10, memoryKiB: 65_536...1_048_576)
    /// Also accepts the minimum that libsodium supports; for tests.
    package static let testing = Bounds(operations: 1...10, memoryKiB: 8...1_048_576)

    /// Rejects parameters before any memory is allocated for them.
    /// - Throws: `weakParameters`.
    func check(_ parameters: KDFParameters) throws {
      guard operations.contains(parameters.operations), memoryKiB.contains(parameters.memoryKiB)
      else {
        throw CryptoError(
          .weakParameters,
          "Argon2id with \(parameters.operations) passes over \(parameters.memoryKiB) KiB is "
            + "refused; \(operations) passes over \(memoryKiB) KiB are accepted.")
      }
    }
  }
}
