import ArgumentParser
import Foundation
import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// Measures what a running relay acknowledges: durable puts a second, and how long each takes; what
/// one holds for subscribers that say nothing; or the shared workload of one publisher and many.
@main
struct RelayBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relay-bench", abstract: "Measures a relay: durable puts, memory, fan-out.",
    subcommands: [Load.self, IdleSubscribers.self, FanOut.self, BareTLS.self],
    defaultSubcommand: Load.self)
}

struct Load: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "load",
    abstract: "Durable puts of a running relay that lets anybody register.")
  @Argument(help: "The relay's address line; several writers are spread over several.")
  var addresses: [String]
  @Option(help: "Writers of one mailbox, one measurement after the other.")
  var writers = "1,8,50"
  @Option(help: "Bytes of a blob.") var bytes = 1_024
  @Option(help: "Seconds of each measurement.") var seconds = 5

  func run() async throws {
    let pair = try SigningKeyPair(seed: SecretKey.random())
    let relays = try addresses.map { try RelayAddress($0) }
    for count in writers.split(separator: ",").compactMap({ Int($0) }) {
      guard let mailbox = Identifier(bytes: RandomBytes.make(Identifier.byteCount)) else { return }
      var lines: [BenchLine] = []
      for place in 0..<count {
        let line = try await BenchLine.connect(to: relays[place % relays.count])
        try await line.enter(mailbox, pair, creates: place == 0)
        lines.append(line)
      }
      let began = ContinuousClock.now
      let deadline = began + .seconds(seconds)
      let times = try await withThrowingTaskGroup(of: [Duration].self) { group in
        for line in lines { group.addTask { try await line.write(bytes, until: deadline) } }
        return try await group.reduce(into: []) { $0 += $1 }.sorted()
      }
      let rate = Double(times.count) / (began.duration(to: .now) / .seconds(1))
      func milliseconds(_ share: Double) -> String {
        guard !times.isEmpty else { return "-" }
        let time = times[Int(Double(times.count - 1) * share)] / .milliseconds(1)
        return String(format: "%.1f", time)
      }
      let words =
        "\(count) writers: \(Int(rate)) puts/s, p50 \(milliseconds(0.5)) ms, "
        + "p99 \(milliseconds(0.99)) ms\n"
      FileHandle.standardOutput.write(Data(words.utf8))
    }
  }
}
