import ArgumentParser
import Foundation
import HearthCRDT
import HearthRelayCore

/// The options for the relay's storage.
struct FolderOptions: ParsableArguments {
  @Option(help: "The relay's folder.")
  var data = FolderOptions.usual

  /// The default: below the state directory of systemd or of the user (XDG base directories).
  static var usual: String {
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["STATE_DIRECTORY"], !path.isEmpty { return path }
    if let path = environment["XDG_STATE_HOME"], path.hasPrefix("/") {
      return "\(path)/hearth-relay"
    }
    return "\(NSHomeDirectory())/.local/state/hearth-relay"
  }

  @Option(
    help: "A PostgreSQL database instead of a file: postgres://USER@HOST/NAME; see the guide.")
  var backend: String?

  /// Returns the database's address; nil for a file in the folder.
  func address() throws(RelayError) -> (any RelayBackend)? {
    guard let backend else { return nil }
    return try LinkedBackend.address(backend)
  }

  /// Opens the log, which must exist already.
  func log() throws -> any RelayOperatorLog {
    ArgumentVeil.draw()
    if let address = try address() { return try address.open(relayID: nil) }
    guard FileManager.default.fileExists(atPath: "\(data)/\(SQLiteRelayLog.fileName)") else {
      throw RelayError(
        .notFound, "there is no relay in \(data): name its folder with --data, or serve first")
    }
    return try SQLiteRelayLog(folder: data)
  }

  /// Reads a mailbox's name as an operator copies it.
  static func mailbox(named text: String) throws(RelayError) -> Identifier {
    guard let name = Identifier(hex: text) else {
      throw RelayError(.invalidOption, "a mailbox is 32 hexadecimal digits: see `stats`")
    }
    return name
  }
}
