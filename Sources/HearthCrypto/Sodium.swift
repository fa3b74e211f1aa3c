import CSodium

/// The start-up of libsodium, with its self test.
///
/// Nothing in this module needs an explicit start: every path that allocates a secret, signs or
/// verifies starts the library itself. Call ``initialise()`` first in a program to get a broken
/// library reported as an error instead of a later failure.
package enum Sodium {
  /// The findings of start-up about the linked library.
  struct State: Sendable {
    /// Whether signatures need a separate check that R is in the prime-order subgroup.
    ///
    /// libsodium 1.0.18 verifies without the cofactor and so rejects R + small order by itself.
    /// Later development versions accept it, and one member could then make two replicas disagree
    /// about one signature. The extra check gives every version the rule of 1.0.18.
    let checksSignaturePoint: Bool
  }

  private static let outcome: Result<State, CryptoError> = start()

  /// Starts libsodium and runs the self test, once per process.
  ///
  /// It is thread-safe and idempotent; it takes about two milliseconds the first time, and a load
  /// afterwards.
  /// - Throws: `initialisationFailed`, or `selfTestFailed` with the failed primitive.
  package static func initialise() throws {
    _ = try state()
  }

  /// The state of the started library.
  static func state() throws -> State { try outcome.get() }

  /// The version text of the linked libsodium, for `doctor`.
  package static var version: String { String(cString: sodium_version_string()) }

  private static func start() -> Result<State, CryptoError> {
    guard sodium_init() >= 0 else {
      return .failure(
        CryptoError(
          .initialisationFailed,
          "libsodium could not be started; check that the system has a source of randomness."))
    }
    do throws(CryptoError) {
      return .success(try SelfTest.run())
    } catch {
      return .failure(error)
    }
  }
}
