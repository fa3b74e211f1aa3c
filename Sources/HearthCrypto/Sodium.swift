import CSodium

/// The start-up of libsodium, with its self test.
///
/// Nothing in this module needs an explicit start: every path that allocates a secret, signs or
/// verifies starts the library itself. Call ``initialise()`` first thing in a program to learn of
/// a broken library as an error with words instead of a later failure.
package enum Sodium {
  /// What start-up learnt about the library at hand.
  struct State: Sendable {
    /// Whether signatures need a separate check that R lies in the prime-order subgroup.
    ///
    /// libsodium 1.0.18 verifies without the cofactor and so refuses R + small order by itself.
    /// Later development versions accept it, and then one member could make two replicas
    /// disagree about one signature; the extra check gives every version the rule of 1.0.18.
    let checksSignaturePoint: Bool
  }

  private static let outcome: Result<State, CryptoError> = start()

  /// Starts libsodium and runs the self test, once per process.
  ///
  /// Thread-safe and idempotent; about two milliseconds the first time, a load afterwards.
  /// - Throws: `initialisationFailed`, or `selfTestFailed` naming the primitive at fault.
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
