import CSodium

/// The start-up of libsodium, with its self test.
///
/// Nothing in this module needs an explicit start: every path that allocates a secret, signs or
/// verifies starts the library itself. Call ``initialise()`` first in a program to get a broken
/// library reported as an error instead of a later failure.
package enum Sodium {
  private static let outcome: Result<SelfTest.Findings, CryptoError> = start()

  /// Starts libsodium and runs the self test, once per process.
  ///
  /// It is thread-safe and idempotent; it takes about two milliseconds the first time, and a load
  /// afterwards.
  /// - Throws: `initialisationFailed`, or `selfTestFailed` with the failed primitive.
  package static func initialise() throws {
    _ = try findings()
  }

  /// The findings about the started library.
  static func findings() throws -> SelfTest.Findings { try outcome.get() }

  /// The version text of the linked libsodium, for `doctor`.
  package static var version: String { String(cString: sodium_version_string()) }

  private static func start() -> Result<SelfTest.Findings, CryptoError> {
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
