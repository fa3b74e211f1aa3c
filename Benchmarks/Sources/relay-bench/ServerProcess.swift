import Foundation
import HearthRelayProtocol
import HearthSync

/// A program beside this one that serves on a free port and prints its address.
struct ServerProcess {
  let address: RelayAddress
  private let process = Process()

  struct Silent: Error, CustomStringConvertible {
    let program: String
    var description: String { "\(program) printed no address: build it first" }
  }

  /// A relay with everything at its default but what is said.
  static func relay(folder: String, options: [String] = []) throws -> ServerProcess {
    try ServerProcess(
      "hearth-relay",
      ["serve", "--listen", "127.0.0.1:0", "--health", "off", "--data", folder] + options)
  }

  /// Starts a program of the folder in which this one lies.
  init(_ name: String, _ arguments: [String]) throws {
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent(name)
    let output = Pipe()
    process.executableURL = program
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let end = line.firstIndex(of: "\n") else { throw Silent(program: program.path) }
    address = try RelayAddress(String(line[..<end]))
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
  }

  /// The process, whose memory may be read.
  var identifier: Int32 { process.processIdentifier }

  /// The processor time that it took so far, its kernel's part included (proc(5)).
  func processorSeconds() throws -> Double {
    let path = "/proc/\(identifier)/stat"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw Silent(program: path)
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
