import Foundation
import HearthCRDT
import HearthCrypto
import HearthSync
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

extension Logger {
  /// A logger that says nothing.
  static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

@Suite("The relay over real sockets", .timeLimit(.minutes(20)))
struct ServerTests {
  private let pair: SigningKeyPair

  init() throws { pair = try CoreWorld.pair(1) }

  private func put(_ name: String, _ blob: [UInt8]) -> RelayRequest {
    .put(channel: 0, items: [RelayPut(name: Array(name.utf8), blob: blob)])
  }

  @Test("the certificate is the same for the same secret, and a client that pins it gets in")
  func certificate() async throws {
    let again = try RelayServerIdentity(master: CoreWorld.key(0x44))
    let other = try RelayServerIdentity(master: CoreWorld.key(0x45))
    let shelf = try ServerShelf()
    #expect(again.certificate == shelf.identity.certificate && again.pin == shelf.identity.pin)
    #expect(other.pin != again.pin && other.relayID != again.relayID)
    #expect(shelf.server.address.pin == again.pin)
    let client = try await WireClient.connect(to: shelf.server.address)
    #expect(try await client.ask(.ping) == .pong)
    // Another pin, and an older TLS, get nowhere.
    let wrong = try RelayAddress(
      host: "127.0.0.1", port: shelf.server.address.port, pin: other.pin)
    await #expect(throws: (any Error).self) { try await WireClient.connect(to: wrong) }
    await #expect(throws: (any Error).self) {
      try await WireClient.connect(to: shelf.server.address, maximumVersion: .tlsv12)
    }
    try shelf.server.stop()
  }

  @Test("what one client stores is pushed to another, and fetched by a third")
  func push() async throws {
    let shelf = try ServerShelf()
    let writer = try await WireClient.connect(to: shelf.server.address)
    guard case .opened = try await shelf.enter(writer, pair, creates: true) else {
      Issue.record("not made")
      return
    }
    let reader = try await WireClient.connect(to: shelf.server.address)
    guard case .opened = try await shelf.enter(reader, pair) else {
      Issue.record("not opened")
      return
    }
    #expect(try await reader.ask(.subscribe(channel: 0)) == .subscribed(head: 0))
    let small = [UInt8](repeating: 1, count: 600)
    #expect(try await writer.ask(put("a", small)) == .stored([.init(.stored, position: 1)]))
    guard case .pushed(0, let entries) = try await reader.push() else {
      Issue.record("not pushed")
      return
    }
    #expect(entries.map(\.blob) == [small] && entries[0].header.position == 1)
    // A large blob becomes a hint, and comes whole when it is fetched.
    let large = RandomBytes.make(RelayLimits.maximumBlobBytes)
    #expect(try await writer.ask(put("b", large)) == .stored([.init(.stored, position: 2)]))
    #expect(try await reader.push() == .behind(channel: 0, head: 2))
    guard
      case .entries(let page) = try await reader.ask(
        .fetchAfter(channel: 0, after: 1, limit: 400))
    else { return }
    #expect(page.entries.map(\.blob) == [large] && page.head == 2)
    try shelf.server.stop()
  }

  @Test("a name of an attachment is stored only with the bytes whose digest it is")
  func forged() async throws {
    let shelf = try ServerShelf()
    let client = try await WireClient.connect(to: shelf.server.address)
    guard case .opened = try await shelf.enter(client, pair, creates: true) else { return }
    let chunk = [UInt8](repeating: 7, count: 900)
    let name = [5] + segmentDigest(chunk).bytes
    guard
      case .fault(let fault) = try await client.ask(
        .put(channel: 0, items: [RelayPut(name: [1], blob: [1]), RelayPut(name: name, blob: [1])]))
    else {
      Issue.record("somebody took the place of a chunk")
      return
    }
    #expect(fault.code == .notAllowed)
    // Nothing of the request was stored; the true bytes are.
    #expect(
      try await client.ask(.put(channel: 0, items: [RelayPut(name: name, blob: chunk)]))
        == .stored([.init(.stored, position: 1)]))
    try shelf.server.stop()
  }

  @Test("what was acknowledged survives the relay's sudden end, with the same chain")
  func killed() async throws {
    let shelf = try ServerShelf()
    var client = try await WireClient.connect(to: shelf.server.address)
    guard case .opened(let made) = try await shelf.enter(client, pair, creates: true) else {
      return
    }
    for round in 0..<3 {
      let asked = (0..<40).map { client.begin(put("\(round)-\($0)", RandomBytes.make(300))) }
      for future in asked.prefix(20) {
        guard case .stored = try await future.get() else {
          Issue.record("not stored")
          return
        }
      }
      try shelf.restart()
      for future in asked.suffix(20) { _ = try? await future.get() }
      client = try await WireClient.connect(to: shelf.server.address)
      guard
        case .opened(let opened) = try await shelf.enter(client, pair, cursor: made.head)
      else {
        Issue.record("not opened")
        return
      }
      #expect(
        opened.standing == .known(made.chain) && opened.head.generation == made.head.generation)
      let names = (0..<20).map { Array("\(round)-\($0)".utf8) }
      guard case .blobs(let blobs) = try await client.ask(.fetch(channel: 0, names: names)) else {
        return
      }
      #expect(blobs.allSatisfy { $0?.count == 300 })
    }
    try shelf.server.stop()
  }

  @Test("many writers at once share commits, and each gets its own answer")
  func groupCommit() async throws {
    let shelf = try ServerShelf()
    var clients: [WireClient] = []
    for place in 0..<8 {
      let client = try await WireClient.connect(to: shelf.server.address)
      guard case .opened = try await shelf.enter(client, pair, creates: place == 0) else { return }
      clients.append(client)
    }
    var asked: [EventLoopFuture<RelayReply>] = []
    for round in 0..<32 {
      for (place, client) in clients.enumerated() {
        asked.append(client.begin(put("\(place)/\(round)", [UInt8(place)])))
      }
    }
    var positions: Set<UInt64> = []
    for future in asked {
      if case .stored(let outcomes) = try await future.get() {
        positions.formUnion(outcomes.map(\.position))
      }
    }
    #expect(positions == Set(1...256))
    let status = try shelf.server.status()
    #expect(status.counters.entriesAppended == 256 && status.commits < 200)
    try shelf.server.stop()
  }

  @Test("garbage and bombs end their own connection and nobody else's")
  func hostile() async throws {
    let shelf = try ServerShelf()
    let good = try await WireClient.connect(to: shelf.server.address)
    guard case .opened = try await shelf.enter(good, pair, creates: true) else { return }
    for bytes: [UInt8] in [
      [0xff, 0xff, 0xff, 0xff], [0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 0, 4, 1],
      Array("GET / HTTP/1.1\r\n\r\n".utf8), [0, 0, 0, 3, 0x10, 1, 0],
    ] {
      let rude = try await WireClient.connect(to: shelf.server.address, greets: false)
      try await rude.send(bytes)
      if case .farewell(let fault) = try await rude.push() { #expect(fault.code == .malformed) }
      try await rude.end()
    }
    // A mailbox's holder may send long frames, but none longer than the longest.
    let bomb = try await WireClient.connect(to: shelf.server.address)
    guard case .opened = try await shelf.enter(bomb, pair) else { return }
    try await bomb.send([0x7f, 0xff, 0xff, 0xff, 0])
    try await bomb.end()
    #expect(try await good.ask(put("a", [1])) == .stored([.init(.stored, position: 1)]))
    let status = try shelf.server.status()
    #expect(status.counters.malformed == 7 && status.counters.timeouts == 0)
    #expect(status.sessions == 1 && status.strangers == 0)
    try shelf.server.stop()
  }

  @Test("silence ends its own connection: half a frame and nothing, and not even TLS")
  func silence() async throws {
    var configuration = RelayConfiguration.unhurried
    configuration.handshakeMilliseconds = 1_000
    let shelf = try ServerShelf(configuration)
    let slow = try await WireClient.connect(to: shelf.server.address, greets: false)
    // On a busy machine its second may be over before it sends.
    try? await slow.send([0, 0, 0])
    let mute = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(host: "127.0.0.1", port: shelf.server.address.port).get()
    try await slow.end()
    try await mute.closeFuture.get()
    let status = try shelf.server.status()
    #expect(status.counters.timeouts == 2 && status.counters.malformed == 0)
    #expect(status.sessions == 0 && status.strangers == 0)
    try shelf.server.stop()
  }

  @Test("connections beyond the limit are closed at once, and the others stay")
  func tooMany() async throws {
    var configuration = RelayConfiguration.unhurried
    configuration.maximumSessionsPerAddress = 2
    let shelf = try ServerShelf(configuration)
    let first = try await WireClient.connect(to: shelf.server.address)
    let second = try await WireClient.connect(to: shelf.server.address)
    await #expect(throws: (any Error).self) {
      try await WireClient.connect(to: shelf.server.address)
    }
    #expect(try await first.ask(.ping) == .pong)
    #expect(try await second.ask(.ping) == .pong)
    #expect(try await first.ask(.goodbye) == .done)
    try await first.end()
    let third = try await WireClient.connect(to: shelf.server.address)
    #expect(try await third.ask(.ping) == .pong)
    try shelf.server.stop()
  }

  @Test("a client that does not read is hinted at, not buffered for; others are not slowed")
  func slowReader() async throws {
    let shelf = try ServerShelf()
    let writer = try await WireClient.connect(to: shelf.server.address)
    guard case .opened = try await shelf.enter(writer, pair, creates: true) else { return }
    let slow = try await WireClient.connect(to: shelf.server.address)
    guard case .opened = try await shelf.enter(slow, pair) else { return }
    _ = try await slow.ask(.subscribe(channel: 0))
    try await slow.setReading(false)
    let blob = RandomBytes.make(60 << 10)
    var head: UInt64 = 0
    // Far more than the sockets of both ends and the relay's water mark can hold.
    for round in 0..<400 {
      guard case .stored(let stored) = try await writer.ask(put("\(round)", blob)) else { return }
      head = stored[0].position
    }
    let status = try shelf.server.status()
    #expect(status.counters.pushes < 400)
    try await slow.setReading(true)
    var next: UInt64 = 1
    while next <= head {
      switch try await slow.push() {
      case .pushed(_, let entries):
        #expect(entries[0].header.position == next)
        next += UInt64(entries.count)
      case .behind(_, let missed):
        #expect(missed == head)
        next = missed + 1
      default: Issue.record("neither push nor hint")
      }
    }
    try shelf.server.stop()
  }

  @Test("stopping answers what was asked, says goodbye, and health and metrics tell of the relay")
  func stopping() async throws {
    let shelf = try ServerShelf()
    let client = try await WireClient.connect(to: shelf.server.address)
    guard case .opened = try await shelf.enter(client, pair, creates: true) else { return }
    let port = try #require(shelf.server.healthPort)
    func get(_ path: String) async throws -> (Int, String) {
      let text = try await PlainText.get(path, port: port)
      let status = Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
      let body = text.range(of: "\r\n\r\n").map { String(text[$0.upperBound...]) }
      return (status, body ?? "")
    }
    #expect(try await get("/healthz") == (200, "ok\n"))
    #expect(try await get("/other").0 == 404)
    let metrics = try await get("/metrics").1
    #expect(metrics.contains("\nhearth_relay_sessions 1\n"))
    #expect(metrics.contains("\nhearth_relay_mailboxes_made_total 1\n"))
    let asked = (0..<20).map { client.begin(put("\($0)", [1])) }
    let server = shelf.server
    guard case .stored = try await asked[0].get() else { return }
    try server.stop()
    var stored = 0
    for future in asked {
      if case .stored = try? await future.get() { stored += 1 }
    }
    let log = try SQLiteRelayLog(folder: shelf.folder.path)
    let found = try log.read(
      RelayRead(mailbox: shelf.mailbox, authority: nil, question: .find(chainAt: nil)))
    guard case .found(let mailbox?, _) = found else { return }
    #expect(mailbox.head.position >= UInt64(stored))
    if case .farewell(let fault) = try await client.push() { #expect(fault.code == .goingAway) }
  }

  @Test("health tells why nothing can be stored, until something is stored again")
  func health() async throws {
    let folder = try TestFolder()
    let log = TroubledLog()
    let identity = try RelayFolder(path: folder.path).identity()
    let server = try RelayServer.start(
      host: "127.0.0.1", port: 0, healthPort: 0, log: log, identity: identity,
      configuration: .unhurried, logger: .quiet)
    let port = try #require(server.healthPort)
    let client = try await WireClient.connect(to: server.address)
    /// Whether a mailbox of that number could be made.
    func makes(_ number: UInt64) async throws -> Bool {
      let entry = WireEntry(
        mailbox: Identifier(high: 11, low: number), relayID: identity.relayID)
      guard case .opened = try await entry.enter(client, pair, creates: true) else { return false }
      _ = try await client.ask(.close(channel: 0))
      return true
    }
    #expect(try await PlainText.get("/healthz", port: port).hasSuffix("\r\n\r\nok\n"))
    for (number, (code, words)) in [
      (RelayError.Code.diskFull, "the disk is full"),
      (.unavailable, "the database cannot be reached"),
      (.locked, "another process holds the log"),
      (.inputOutput, "the log failed: restart the relay when the disk works"),
    ].enumerated() {
      log.fail(with: RelayError(code, "told to fail"))
      #expect(try await !makes(UInt64(number)))
      let told = try await PlainText.get("/healthz", port: port)
      #expect(told.hasPrefix("HTTP/1.1 503 ") && told.hasSuffix("\r\n\r\n\(words)\n"), "\(told)")
      #expect(try server.status().metrics.contains("\nhearth_relay_log_healthy 0\n"))
      log.fail(with: nil)
      // That it could be stored again is known only once something was; reading tells nothing.
      let reading = RelayRequest.open(channel: 1, mailbox: Identifier(high: 11, low: 99))
      #expect(try await client.ask(reading).challengeKeyID != nil)
      _ = try await client.ask(.close(channel: 1))
      #expect(try await PlainText.get("/healthz", port: port).hasPrefix("HTTP/1.1 503 "))
      #expect(try await makes(UInt64(number)))
      #expect(try await PlainText.get("/healthz", port: port).hasPrefix("HTTP/1.1 200 "))
    }
    try server.stop()
  }

  @Test("new keys are not made beside a log that belongs to others")
  func lostIdentity() throws {
    let shelf = try TestFolder()
    let folder = try RelayFolder(path: shelf.path)
    _ = try folder.identity()
    _ = try SQLiteRelayLog(folder: shelf.path)
    _ = try folder.identity()
    try FileManager.default.removeItem(atPath: "\(shelf.path)/identity.key")
    #expect(throws: RelayError(.corrupt, "")) { try folder.identity() }
    #expect(!FileManager.default.fileExists(atPath: "\(shelf.path)/identity.key"))
  }

  @Test("a folder is served by one process, and gives the same keys again")
  func folder() throws {
    let shelf = try TestFolder()
    var identity: Bytes32?
    do {
      let folder = try RelayFolder(path: shelf.path)
      identity = try folder.identity().relayID
      #expect(throws: RelayError(.locked, "")) { try RelayFolder(path: shelf.path) }
      #expect(try folder.identity().relayID == identity)
    }
    let again = try RelayFolder(path: shelf.path)
    #expect(try again.identity().relayID == identity)
    let file = URL(fileURLWithPath: "\(shelf.path)/identity.key")
    var bytes = try Data(contentsOf: file)
    let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    bytes[20] ^= 1
    try bytes.write(to: file)
    #expect(throws: RelayError(.corrupt, "")) { try again.identity() }
  }
}

extension RelayReply {
  fileprivate var challengeKeyID: Bytes16? {
    if case .challenge(let keyID, _) = self { keyID } else { nil }
  }
}
