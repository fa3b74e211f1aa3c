import ArgumentParser
import Foundation
import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// The shared workload W7: one publisher, many subscribers of one mailbox, durable messages.
///
/// Starts a relay of its own on a free port, and prints one line `RESULT {…}` with the keys that
/// every other broker's worker prints. The relay program lies beside this one.
struct FanOut: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "w7", abstract: "One publisher and many subscribers, as in the shared workload.")
  @Argument(help: "The workload's parameters as JSON.") var parameters: String

  /// What the workload's driver says.
  struct Workload: Decodable {
    let dir: String
    let subs: Int
    let msgs: Int
    let size: Int
    let window: Int
    /// Messages of the second phase, which are sent evenly.
    var paced: Int?
    /// How many of these a second.
    var rate: Int?
  }

  /// What the driver reads.
  struct Outcome: Encodable {
    var seconds: Double
    var opsS: Double
    var deliveriesS: Double
    var bytes: Int
    var mbS: Double
    var complete: Bool
    var brokerCpuUsDelivery: Double
    var p50Ms: Double?
    var p99Ms: Double?
    var maxMs: Double?
    let version = "hearth-relay"
    let durability = "SQLite, WAL, synchronous=EXTRA before each acknowledgement"
    let encrypted = "TLS 1.3"
  }

  func run() async throws {
    let workload = try JSONDecoder().decode(Workload.self, from: Data(parameters.utf8))
    defer { try? FileManager.default.removeItem(atPath: workload.dir) }
    var outcome = try await throughput(workload)
    if let rate = workload.rate, let paced = workload.paced {
      let times = try await latencies(workload, count: paced, rate: rate).sorted()
      if let last = times.last {
        func milliseconds(_ share: Double) -> Double {
          times[Int(Double(times.count - 1) * share)] / .milliseconds(1)
        }
        (outcome.p50Ms, outcome.p99Ms) = (milliseconds(0.5), milliseconds(0.99))
        outcome.maxMs = last / .milliseconds(1)
      }
    }
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let words = try encoder.encode(outcome)
    FileHandle.standardOutput.write(Data("RESULT ".utf8) + words + Data("\n".utf8))
  }

  // MARK: Phases

  /// As fast as the window allows: until everybody has everything.
  private func throughput(_ workload: Workload) async throws -> Outcome {
    let relay = try ServerProcess.relay(folder: workload.dir + "/throughput")
    defer { relay.stop() }
    let room = try await Room(relay.address, subscribers: workload.subs)
    // Of the window's messages a few requests are on their way at once.
    let inRequest = max(1, min(workload.window / 8, (48 << 10) / workload.size))
    var requests: [[RelayPut]] = []
    for first in stride(from: 0, to: workload.msgs, by: inRequest) {
      requests.append(
        (first..<min(first + inRequest, workload.msgs)).map { _ in message(of: workload.size) })
    }
    let outstanding = max(1, workload.window / inRequest)
    let busyBefore = try relay.processorSeconds()
    let began = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (place, request) in requests.enumerated() {
        if place >= outstanding { try await group.next() }
        group.addTask { try await room.publisher.put(request) }
      }
      try await group.waitForAll()
    }
    try await room.wait(for: workload.msgs)
    let seconds = began.duration(to: .now) / .seconds(1)
    let deliveries = workload.msgs * workload.subs
    return Outcome(
      seconds: seconds, opsS: Double(workload.msgs) / seconds,
      deliveriesS: Double(deliveries) / seconds, bytes: deliveries * workload.size,
      mbS: Double(deliveries * workload.size) / seconds / 1e6, complete: true,
      brokerCpuUsDelivery: (try relay.processorSeconds() - busyBefore) / Double(deliveries)
        * 1e6)
  }

  /// Evenly, one at a time: how long after its beginning each subscriber has each message.
  private func latencies(
    _ workload: Workload, count: Int, rate: Int
  ) async throws -> [Duration] {
    let relay = try ServerProcess.relay(folder: workload.dir + "/latency")
    defer { relay.stop() }
    let room = try await Room(relay.address, subscribers: workload.subs)
    let began = ContinuousClock.now
    var sent: [ContinuousClock.Instant] = []
    try await withThrowingTaskGroup(of: Void.self) { group in
      for place in 0..<count {
        try await Task.sleep(until: began + .seconds(1) * place / rate, clock: .continuous)
        let item = message(of: workload.size)
        sent.append(.now)
        group.addTask { try await room.publisher.put([item]) }
      }
      try await group.waitForAll()
    }
    try await room.wait(for: count)
    var times: [Duration] = []
    for line in room.subscribers {
      for (place, arrival) in try await line.arrivals().prefix(count).enumerated() {
        times.append(sent[place].duration(to: arrival))
      }
    }
    return times
  }

  private func message(of size: Int) -> RelayPut {
    RelayPut(name: RandomBytes.make(16), blob: RandomBytes.make(size))
  }
}

/// A publisher and the subscribers of one mailbox.
private struct Room {
  let publisher: BenchLine
  let subscribers: [BenchLine]

  init(_ address: RelayAddress, subscribers count: Int) async throws {
    let pair = try SigningKeyPair(seed: SecretKey.random())
    guard let mailbox = Identifier(bytes: RandomBytes.make(Identifier.byteCount)) else {
      throw BenchLine.Refused(words: "no identifier")
    }
    publisher = try await BenchLine.connect(to: address)
    try await publisher.enter(mailbox, pair, creates: true)
    var subscribers: [BenchLine] = []
    for _ in 0..<count {
      let line = try await BenchLine.connect(to: address)
      try await line.enter(mailbox, pair, creates: false)
      try await line.subscribe()
      subscribers.append(line)
    }
    self.subscribers = subscribers
  }

  /// Returns once every subscriber has so many entries.
  func wait(for count: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for line in subscribers { group.addTask { try await line.wait(for: count) } }
      try await group.waitForAll()
    }
  }
}
