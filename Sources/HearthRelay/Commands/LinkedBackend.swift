import HearthCrypto
import HearthRelayCore
import Synchronization

/// The backend that this program was linked with.
enum LinkedBackend {
  private static let type = Mutex<(any RelayBackend.Type)?>(nil)

  /// Lets `--backend` name such a database from now on.
  static func link(_ backend: (any RelayBackend.Type)?) {
    type.withLock { $0 = backend }
  }

  /// Reads an address of `--backend`.
  static func address(_ text: String) throws(RelayError) -> any RelayBackend {
    guard let type = type.withLock({ $0 }) else {
      throw RelayError(
        .invalidOption, "this program has no database backend: leave --backend out")
    }
    return try type.init(text)
  }
}
