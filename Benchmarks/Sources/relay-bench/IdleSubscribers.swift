import Foundation
import HearthCRDT
import HearthCrypto
import HearthSync

/// Subscribers that say nothing: what a relay holds for each.
struct IdleSubscribers {
  let relays: [RelayAddress]
  /// The relay's process on this machine, whose memory is read.
  let process: Int32
  /// Connections that are made at once.
  private static let width = 20

  struct NoProcess: Error, CustomStringConvertible {
    let process: Int32
    var description: String {
      "there is no process \(process) here whose memory can be read: name the relay's by --process"
    }
  }

  /// Connects so many subscribers of one mailbox, and says what the relay holds before and with
  /// them, then after a push to all.
  func run(_ count: Int) async throws {
    guard let mailbox = Identifier(bytes: RandomBytes.make(Identifier.byteCount)) else { return }
    let pair = try SigningKeyPair(seed: SecretKey.random())
    let writer = try await BenchLine.connect(to: relays[0])
    try await writer.enter(mailbox, pair, creates: true)
    let before = try residentKibibytes()
    let began = ContinuousClock.now
    var lines: [BenchLine] = []
    while lines.count < count {
      let places = lines.count..<min(lines.count + Self.width, count)
      lines += try await withThrowingTaskGroup(of: BenchLine.self) { group in
        for place in places {
          group.addTask {
            let line = try await BenchLine.connect(to: relays[place % relays.count])
            try await line.enter(mailbox, pair, creates: false)
            try await line.subscribe()
            return line
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    let seconds = began.duration(to: .now) / .seconds(1)
    let with = try residentKibibytes()
    let item = RelayPut(name: RandomBytes.make(16), blob: RandomBytes.make(1_024))
    _ = try await writer.ask(.put(channel: 0, items: [item]))
    // Each answers once more, so that its push has left the relay.
    for line in lines { try await line.ping() }
    let pushed = try residentKibibytes()
    let words =
      String(
        format: "%d idle subscribers in %.1f s: %.1f MiB before, %.1f MiB with them ", count,
        seconds, Double(before) / 1_024, Double(with) / 1_024)
      + String(
        format: "(%.1f KiB each), %.1f MiB after a push of 1 KiB to all\n",
        Double(with - before) / Double(max(1, count)), Double(pushed) / 1_024)
    FileHandle.standardOutput.write(Data(words.utf8))
  }

  /// What the relay's process holds in memory (`VmRSS` of proc(5)).
  private func residentKibibytes() throws -> Int {
    let path = "/proc/\(process)/status"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
      let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first,
      let kibibytes = Int(number)
    else { throw NoProcess(process: process) }
    return kibibytes
  }
}
