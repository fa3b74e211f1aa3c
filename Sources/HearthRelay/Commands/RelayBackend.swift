import HearthCrypto
import Synchronization

/// A database that replaces the relay's own file, as provided by the program that links it.
package protocol RelayBackend: Sendable, CustomStringConvertible {
  /// Reads the database's address. Its description shows no password.
  ///
  /// - Throws: `invalidOption`, in words without any part of the text.
  init(_ text: String) throws(RelayError)
  /// Opens the log.
  ///
  /// - Parameter relayID: the relay that opens it; nil for the operator's commands.
  func open(relayID: Bytes32?) throws(RelayError) -> any RelayOperatorLog
}

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
