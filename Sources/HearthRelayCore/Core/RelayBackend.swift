import HearthCrypto

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
