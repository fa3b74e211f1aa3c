import Foundation
import Glibc
import HearthCrypto
import HearthSync

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// The program as a process of its own.
final class RelayProcess {
  let process = Process()
  let address: RelayAddress
  private let output = Pipe()
  private let log: URL

  static func program() throws -> URL {
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(fileURLWithPath: own).deletingLastPathComponent()
      .appendingPathComponent("hearth-relay")
  }

  init(_ folder: TestFolder, _ arguments: [String] = [], environment: [String: String] = [:])
    throws
  {
    log = URL(fileURLWithPath: "\(folder.path)/stderr.log")
    _ = FileManager.default.createFile(atPath: log.path, contents: nil)
    process.executableURL = try RelayProcess.program()
    process.arguments =
      ["serve", "--data", folder.path, "--listen", "127.0.0.1:0", "--health", "off"] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: log)
    try process.run()
    var line = Data()
    while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
      if byte.first == UInt8(ascii: "\n") { break }
      line.append(byte)
    }
    address = try RelayAddress(String(decoding: line, as: UTF8.self))
  }

  /// What it logged.
  var logged: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

  func kill(_ signal: Int32) -> Int32 {
    Glibc.kill(process.processIdentifier, signal)
    process.waitUntilExit()
    return process.terminationStatus
  }

  deinit { if process.isRunning { process.terminate() } }

  /// The id of the relay of a folder.
  static func identity(of folder: TestFolder) throws -> Bytes32 {
    // The lock is the running relay's; the file alone says who it is.
    let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/identity.key"))
    var secret = Array([UInt8](bytes)[8..<40])
    return try RelayServerIdentity(master: SecretKey(consuming: &secret)).relayID
  }
}
