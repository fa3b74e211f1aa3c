import ArgumentParser
import Foundation
import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// What a relay holds for subscribers that say nothing, beside what TLS alone holds for as many.
///
/// Starts a relay, then a server that only speaks TLS, with the same certificate and in the same
/// way, each as a process of its own.
struct IdleSubscribers: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "idle", abstract: "What subscribers that say nothing cost, beside TLS alone.")
  @Argument(help: "How many connect.") var count = 2_000
  /// Connections that are made at once.
  private static let width = 20

  func run() async throws {
    let folder = NSTemporaryDirectory() + "relay-bench-\(getpid())"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let relay = try ServerProcess.relay(
      folder: folder,
      options: ["--connections", "\(count + 8)", "--connections-per-address", "\(count + 8)"])
    let relayEach = try await measure("hearth-relay", relay, isRelay: true)
    relay.stop()
    let bare = try ServerProcess("relay-bench", ["bare-tls"])
    let bareEach = try await measure("TLS alone", bare, isRelay: false)
    bare.stop()
    say(String(format: "above TLS: %.1f KiB each\n", relayEach - bareEach))
  }

  /// Connects all and reads the server's memory before and with them.
  ///
  /// - Parameter isRelay: whether each also opens a mailbox and asks for pushes.
  /// - Returns: KiB for each.
  private func measure(
    _ name: String, _ server: ServerProcess, isRelay: Bool
  ) async throws -> Double {
    guard let mailbox = Identifier(bytes: RandomBytes.make(Identifier.byteCount)) else { return 0 }
    let pair = try SigningKeyPair(seed: SecretKey.random())
    let writer = try await BenchLine.connect(to: server.address)
    if isRelay {
      try await writer.enter(mailbox, pair, creates: true)
    } else {
      try await writer.shakeHands()
    }
    let before = try residentKibibytes(of: server)
    let began = ContinuousClock.now
    var lines: [BenchLine] = []
    while lines.count < count {
      lines += try await withThrowingTaskGroup(of: BenchLine.self) { group in
        for _ in lines.count..<min(lines.count + Self.width, count) {
          group.addTask {
            let line = try await BenchLine.connect(to: server.address)
            guard isRelay else {
              try await line.shakeHands()
              return line
            }
            try await line.enter(mailbox, pair, creates: false)
            try await line.subscribe()
            return line
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    let seconds = began.duration(to: .now) / .seconds(1)
    let with = try residentKibibytes(of: server)
    let each = Double(with - before) / Double(max(1, count))
    say(
      name
        + String(
          format: ": %d in %.1f s, %.1f MiB before, %.1f MiB with them, %.1f KiB each\n", count,
          seconds, Double(before) / 1_024, Double(with) / 1_024, each))
    guard isRelay else { return each }
    let item = RelayPut(name: RandomBytes.make(16), blob: RandomBytes.make(1_024))
    _ = try await writer.ask(.put(channel: 0, items: [item]))
    // Each answers once more, so that its push has left the relay.
    for line in lines { try await line.ping() }
    let pushed = Double(try residentKibibytes(of: server)) / 1_024
    say(String(format: "after a push of 1 KiB to all: %.1f MiB\n", pushed))
    return each
  }

  private func say(_ words: String) {
    FileHandle.standardOutput.write(Data(words.utf8))
  }

  struct NoMemory: Error, CustomStringConvertible {
    let process: Int32
    var description: String { "the memory of process \(process) cannot be read: did it end?" }
  }

  /// What a process holds in memory (`VmRSS` of proc(5)).
  private func residentKibibytes(of server: ServerProcess) throws -> Int {
    let path = "/proc/\(server.identifier)/status"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
      let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first,
      let kibibytes = Int(number)
    else { throw NoMemory(process: server.identifier) }
    return kibibytes
  }
}
