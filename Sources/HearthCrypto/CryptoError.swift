/// An error of the cryptographic layer: what failed, where, and what the caller can do.
///
/// Two errors are equal if their codes are equal. A message never contains key material, plaintext,
/// or anything that tells an attacker *why* a decryption failed. Every failure to authenticate a
/// ciphertext has the same code and the same words.
package struct CryptoError: Error, Equatable, CustomStringConvertible, Sendable {
  /// The stable, machine-readable kind of an error.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the code, for logs and `--json` output.
    package let rawValue: String
    /// The same text as `rawValue`.
    package var description: String { rawValue }

    /// libsodium could not be started.
    package static let initialisationFailed = Code(rawValue: "initialisationFailed")
    /// The result of a known-answer test differs from the published answer.
    package static let selfTestFailed = Code(rawValue: "selfTestFailed")
    /// An argument or a field has the wrong number of bytes.
    package static let badLength = Code(rawValue: "badLength")
    /// The suite byte is unknown, or below the household's minimum.
    package static let unsupportedSuite = Code(rawValue: "unsupportedSuite")
    /// This version does not know the type byte or format version.
    package static let unsupportedType = Code(rawValue: "unsupportedType")
    /// The bytes break a rule of their format.
    package static let malformed = Code(rawValue: "malformed")
    /// A named limit is exceeded.
    package static let tooLarge = Code(rawValue: "tooLarge")
    /// A ciphertext, commitment or sealed box is not authentic under this key and context.
    package static let authenticationFailed = Code(rawValue: "authenticationFailed")
    /// A signature does not match the message and the public key.
    package static let badSignature = Code(rawValue: "badSignature")
    /// A public key is not a canonical point of large prime order.
    package static let badKey = Code(rawValue: "badKey")
    /// The passphrase does not open the key file, or the file is damaged.
    package static let wrongPassphrase = Code(rawValue: "wrongPassphrase")
    /// Guarded memory could not be allocated.
    package static let outOfMemory = Code(rawValue: "outOfMemory")
    /// Key-derivation cost parameters are outside the accepted bounds.
    package static let weakParameters = Code(rawValue: "weakParameters")
    /// zstd refused to compress or decompress.
    package static let compressionFailed = Code(rawValue: "compressionFailed")
  }

  /// The machine-readable kind.
  package let code: Code
  /// One sentence for a person: what failed, where, what to do.
  package let message: String
  /// The underlying error, if there is one.
  package let cause: (any Error)?

  /// Makes an error from its parts.
  package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// Two errors are equal when their codes are.
  package static func == (left: CryptoError, right: CryptoError) -> Bool {
    left.code == right.code
  }

  /// The code and the message, in one line.
  package var description: String { "\(code): \(message)" }

  /// The single error of every failed decryption, whatever the reason.
  static let authentication = CryptoError(
    .authenticationFailed,
    "The data is not authentic under this key and place; it was altered, moved, or is for others.")

  /// The single error of every invalid signature, whatever the reason.
  static let signature = CryptoError(
    .badSignature,
    "The signature does not match the message and the author's key; refuse the message.")
}

extension CryptoError {
  /// Throws `badLength` unless a byte string has exactly the expected length.
  static func require(_ name: StaticString, _ count: Int, equals expected: Int) throws {
    guard count == expected else {
      throw CryptoError(
        .badLength, "\(name) has \(count) bytes; it must have exactly \(expected).")
    }
  }
}
