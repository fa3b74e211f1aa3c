import Foundation
import Glibc
import HearthCRDT
import HearthCrypto
import HearthSync
import Logging
import NIOCore
import Synchronization
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayPostgres
@testable import HearthRelayProtocol

/// Two relays with the same keys over one database.
private final class Pair {
  let identity: RelayServerIdentity
  let address: PostgresAddress
  let relays: [RelayServer]
  let entry: WireEntry

  init(_ cluster: PostgresCluster) throws {
    identity = try RelayServerIdentity(master: CoreWorld.key(0x55))
    address = try cluster.address(of: cluster.database())
    var started: [RelayServer] = []
    for _ in 0..<2 {
      started.append(
        try RelayServer.start(
          host: "127.0.0.1", port: 0, healthPort: 0,
          log: PostgresRelayLog(address, relayID: identity.relayID), identity: identity,
          logger: .quiet))
    }
    relays = started
    entry = WireEntry(mailbox: Identifier(high: 77, low: 78), relayID: identity.relayID)
  }

  func client(at relay: Int, _ pair: SigningKeyPair, creates: Bool = false) async throws
    -> WireClient
  {
    let client = try await WireClient.connect(to: relays[relay].address)
    guard case .opened = try await entry.enter(client, pair, creates: creates) else {
      throw RelayError(.notFound, "the mailbox was not opened")
    }
    return client
  }

  func stop() throws { for relay in relays { try relay.stop() } }
}

@Suite(
  "Several relays over one database",
  .enabled(if: PostgresCluster.isPresent, "PostgreSQL is not installed"),
  .timeLimit(.minutes(20)))
struct PostgresRelayTests {
  private let pair: SigningKeyPair

  init() throws { pair = try CoreWorld.pair(1) }

  private static func put(_ name: String, _ blob: [UInt8]) -> RelayRequest {
    .put(channel: 0, items: [RelayPut(name: Array(name.utf8), blob: blob)])
  }

  @Test("what is stored through one relay is pushed to subscribers of the other")
  func push() async throws {
    let both = try Pair(PostgresCluster.shared.get())
    let writers = [
      try await both.client(at: 0, pair, creates: true), try await both.client(at: 1, pair),
    ]
    let reader = try await both.client(at: 1, pair)
    _ = try await reader.ask(.subscribe(channel: 0))
    for round in 0..<60 {
      let reply = try await writers[0].ask(Self.put("\(round)", RandomBytes.make(1_024)))
      #expect(reply == .stored([.init(.stored, position: UInt64(round + 1))]))
      guard case .pushed(0, let entries) = try await reader.push() else {
        Issue.record("no push in round \(round)")
        return
      }
      #expect(entries.map(\.header.position) == [UInt64(round + 1)])
    }
    // Both write at once: every position is told of, in order, by push or by hint.
    let asked = (0..<100).map { writers[$0 % 2].begin(Self.put("m\($0)", [1])) }
    for future in asked { _ = try await future.get() }
    var seen: UInt64 = 60
    while seen < 160 {
      switch try await reader.push() {
      case .pushed(_, let entries):
        #expect(entries.first?.header.position == seen + 1)
        seen += UInt64(entries.count)
      case .behind(_, let head):
        #expect(head > seen)
        seen = head
      case let other:
        Issue.record("neither push nor hint: \(other)")
        return
      }
    }
    try both.stop()
  }

  @Test("a key that is changed at one relay cuts the old one's sessions at the other")
  func rotation() async throws {
    let both = try Pair(PostgresCluster.shared.get())
    let chief = try await both.client(at: 0, pair, creates: true)
    let removed = try await both.client(at: 1, pair)
    _ = try await removed.ask(.subscribe(channel: 0))
    let next = try CoreWorld.pair(7)
    let rotated = try await chief.ask(
      .rotate(channel: 0, generation: 1, accessKey: next.publicKey.bytes))
    #expect(rotated == .rotated(generation: 2))
    guard case .closed(0, let fault) = try await removed.push() else {
      Issue.record("not closed")
      return
    }
    #expect(fault.code == .accessChanged)
    let newcomer = try await both.client(at: 1, next)
    #expect(try await newcomer.ask(Self.put("a", [1])) == .stored([.init(.stored, position: 1)]))
    try both.stop()
  }

  @Test("what was stored while no news came through is told of once they do")
  func missing() async throws {
    let cluster = try PostgresCluster.shared.get()
    let both = try Pair(cluster)
    let writer = try await both.client(at: 0, pair, creates: true)
    let reader = try await both.client(at: 1, pair)
    _ = try await reader.ask(.subscribe(channel: 0))
    let database = try #require(
      both.address.parameters.last { $0.keyword == "dbname" }?.value)
    for round in 1...5 {
      // The connections that listen, and no others.
      try cluster.execute(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
          AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')
        """, in: database)
      _ = try await writer.ask(Self.put("\(round)", [1]))
      switch try await reader.push() {
      case .pushed(_, let entries): #expect(entries.last?.header.position == UInt64(round))
      case .behind(_, let head): #expect(head == UInt64(round))
      case let other: Issue.record("neither push nor hint: \(other)")
      }
    }
    try both.stop()
  }

  @Test("a relay killed under load loses nothing it acknowledged, and the other goes on")
  func killing() async throws {
    let cluster = try PostgresCluster.shared.get()
    let url = cluster.url(of: try cluster.database(), password: "not-asked-for")
    let folders = [try TestFolder(), try TestFolder()]
    let relays = try Self.processes(in: folders, over: url)
    #expect(relays[0].address.pin == relays[1].address.pin)
    let line = try String(
      contentsOfFile: "/proc/\(relays[0].process.processIdentifier)/cmdline", encoding: .utf8)
    #expect(line.contains("postgres://relay:") && !line.contains("not-asked-for"))
    let entry = WireEntry(
      mailbox: Identifier(high: 5, low: 5), relayID: try RelayProcess.identity(of: folders[0]))
    var clients: [WireClient] = []
    for relay in [0, 0, 1, 1] {
      let client = try await WireClient.connect(to: relays[relay].address)
      guard case .opened = try await entry.enter(client, pair, creates: clients.isEmpty) else {
        Issue.record("not opened")
        return
      }
      clients.append(client)
    }
    let reader = clients[3]
    _ = try await reader.ask(.subscribe(channel: 0))
    let asked = Self.load(clients.prefix(3))
    _ = try await asked[45].future.get()
    #expect(relays[0].kill(SIGKILL) == SIGKILL)
    var acknowledged: [[UInt8]: UInt64] = [:]
    for (name, future) in asked {
      if case .stored(let stored)? = try? await future.get() {
        acknowledged[name] = stored[0].position
      }
    }
    guard case .stored(let last) = try await clients[2].ask(Self.put("last", [1])) else {
      Issue.record("the other relay does not go on")
      return
    }
    try await Self.follow(reader, through: last[0].position)
    let log = try PostgresRelayLog(PostgresAddress(url))
    #expect(try log.verify() == [] && acknowledged.count >= 50)
    try PostgresRelayTests.check(acknowledged, in: log, entry.mailbox)
    #expect(relays[1].kill(SIGTERM) == 0)
    for relay in relays { #expect(!relay.logged.contains("not-asked-for")) }
    #expect(try Self.verification(of: url) == 0)
  }

  /// Two relay processes with one identity over one database.
  private static func processes(
    in folders: [TestFolder], over url: String
  ) throws -> [RelayProcess] {
    _ = try RelayFolder(path: folders[0].path).identity()
    try FileManager.default.copyItem(
      atPath: "\(folders[0].path)/identity.key", toPath: "\(folders[1].path)/identity.key")
    return try folders.map { try RelayProcess($0, ["--backend", url]) }
  }

  /// Asks for fifty changes by each client, without waiting for answers.
  private static func load(
    _ writers: ArraySlice<WireClient>
  ) -> [(name: [UInt8], future: EventLoopFuture<RelayReply>)] {
    var asked: [(name: [UInt8], future: EventLoopFuture<RelayReply>)] = []
    for round in 0..<50 {
      for (number, writer) in writers.enumerated() {
        let name = Array("\(number)/\(round)".utf8)
        let put = RelayRequest.put(
          channel: 0, items: [RelayPut(name: name, blob: RandomBytes.make(1_024))])
        asked.append((name, writer.begin(put)))
      }
    }
    return asked
  }

  /// Takes what is pushed, without a gap, as far as a position.
  private static func follow(_ reader: WireClient, through last: UInt64) async throws {
    var seen: UInt64 = 0
    while seen < last {
      switch try await reader.push() {
      case .pushed(_, let entries):
        #expect(entries.first?.header.position == seen + 1)
        seen += UInt64(entries.count)
      case .behind(_, let head): seen = head
      default: Issue.record("closed")
      }
    }
  }

  /// The exit code of `hearth-relay verify`.
  private static func verification(of url: String) throws -> Int32 {
    let tool = Process()
    tool.executableURL = try RelayProcess.program()
    tool.arguments = ["verify", "--backend", url]
    tool.standardOutput = FileHandle.nullDevice
    try tool.run()
    tool.waitUntilExit()
    return tool.terminationStatus
  }

  private static func check(
    _ acknowledged: [[UInt8]: UInt64], in log: PostgresRelayLog, _ mailbox: Identifier
  ) throws {
    for (name, position) in acknowledged {
      let page = try log.read(
        RelayRead(
          mailbox: mailbox, authority: .access(generation: 1),
          question: .page(after: position - 1, limit: 1, byteLimit: 1 << 20)))
      guard case .page(let found) = page else {
        Issue.record("no page")
        return
      }
      #expect(found.entries.first?.header.name == name)
    }
  }

  @Test(
    "the database is stopped and started under load: nothing acknowledged is lost, nothing hangs",
    arguments: ["fast", "immediate"])
  func restarting(_ mode: String) async throws {
    let cluster = try PostgresCluster()
    let both = try Pair(cluster)
    var clients = [try await both.client(at: 0, pair, creates: true)]
    for place in 1..<4 { clients.append(try await both.client(at: place % 2, pair)) }
    let reader = try await both.client(at: 1, pair)
    _ = try await reader.ask(.subscribe(channel: 0))
    let load = Load()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (place, client) in clients.enumerated() {
        group.addTask {
          for round in 0..<60 { try await load.store("\(place)/\(round)", through: client) }
        }
      }
      while load.stored.count < 60 { _ = try await reader.ask(.ping) }
      try cluster.stop(mode)
      for relay in both.relays { try await Self.await(health: 503, of: relay) }
      try cluster.start()
      for relay in both.relays { try await Self.await(health: 200, of: relay) }
      try await group.waitForAll()
    }
    #expect(load.faults > 0)
    let log = try PostgresRelayLog(both.address)
    #expect(try log.verify() == [])
    let stored = load.stored
    #expect(stored.count == 240 && Set(stored.values) == Set(1...240))
    try Self.check(stored, in: log, both.entry.mailbox)
    var seen: UInt64 = 0
    while seen < 240 {
      switch try await reader.push() {
      case .pushed(_, let entries):
        #expect(entries.first?.header.position == seen + 1)
        seen += UInt64(entries.count)
      case .behind(_, let head): seen = head
      case let other:
        Issue.record("neither push nor hint: \(other)")
        return
      }
    }
    try both.stop()
  }

  /// What clients had acknowledged, and how often they were told to wait.
  private final class Load: Sendable {
    private let state = Mutex<(stored: [[UInt8]: UInt64], faults: Int)>(([:], 0))

    var stored: [[UInt8]: UInt64] { state.withLock { $0.stored } }
    var faults: Int { state.withLock { $0.faults } }

    /// Puts until it is acknowledged.
    func store(_ name: String, through client: WireClient) async throws {
      while true {
        let reply = try await client.ask(PostgresRelayTests.put(name, RandomBytes.make(1_024)))
        if case .stored(let stored) = reply {
          state.withLock { $0.stored[Array(name.utf8)] = stored[0].position }
          return
        }
        guard case .fault(let fault) = reply, fault.code == .unavailable,
          fault.retryAfterMilliseconds > 0
        else { throw RelayError(.inputOutput, "\(reply)") }
        state.withLock { $0.faults += 1 }
        try await client.wait(milliseconds: fault.retryAfterMilliseconds)
      }
    }
  }

  private static func await(health wanted: Int, of relay: RelayServer) async throws {
    let port = try #require(relay.healthPort)
    let deadline = ContinuousClock.now + .seconds(30)
    while ContinuousClock.now < deadline {
      let text = try await PlainText.get("/healthz", port: port)
      if Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)) == wanted { return }
    }
    Issue.record("the relay's health is not \(wanted)")
  }

  @Test("a commit that no standby confirmed is not acknowledged, and confirmed when it is repeated")
  func standby() async throws {
    let cluster = try PostgresCluster()
    let name = try cluster.database()
    let log = try PostgresRelayLog(cluster.address(of: name))
    let other = try PostgresRelayLog(cluster.address(of: name))
    let second = Identifier(high: 3, low: 5)
    for mailbox in [LogShelf.mailbox, second] {
      _ = try log.write([LogShelf.write(LogShelf.creation, nil, mailbox: mailbox)])
    }
    /// Asks until there is a row: the server tells of nothing of the kind.
    func wait(for sql: String) async throws {
      while try cluster.execute(sql, in: name).count == 0 { await Task.yield() }
    }
    let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    for (position, sever) in [(1, "pg_cancel_backend"), (2, "pg_terminate_backend")] {
      let write = LogShelf.write(.put([RelayPut(name: [UInt8(position)], blob: [1])]))
      try cluster.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", in: name)
      try cluster.reload()
      try await wait(
        for: "SELECT 1 WHERE current_setting('synchronous_standby_names') = 'nobody'")
      async let outcome = Self.attempt(write, log)
      try await wait(for: "SELECT \(sever)(pid) \(waiting)")
      let code = await outcome
      #expect(code == .unknownOutcome, "\(sever)")
      // It is there, but neither relay tells of it while no standby has it.
      for relay in [log, other] {
        for _ in 0..<2 { #expect(await Self.ask(relay) == .unavailable, "\(sever)") }
      }
      #expect(await Self.ask(log, second) == nil, "what was confirmed is told meanwhile")
      let many = try cluster.execute("SELECT 1 \(waiting)", in: name).count
      #expect(many <= 3, "no more wait than a write and one confirmation of each relay")
      // Repeated, it has to wait for the standby again, although it is there.
      async let again = Self.attempt(write, log)
      try await wait(for: "SELECT 1 \(waiting)")
      try cluster.execute("ALTER SYSTEM RESET synchronous_standby_names", in: name)
      try cluster.reload()
      let repeated = await again
      #expect(repeated == nil, "\(sever)")
      for relay in [log, other] { #expect(await Self.ask(relay) == nil, "\(sever)") }
      guard case .stored(let outcomes, let appended, let head) = try log.write([write])[0] else {
        Issue.record("not stored")
        return
      }
      #expect(outcomes == [.init(.present, position: UInt64(position))] && appended.isEmpty)
      #expect(head == UInt64(position))
    }
  }

  /// The code of the error of a write, nil if there was none.
  private static func attempt(_ write: RelayWrite, _ log: PostgresRelayLog) async
    -> RelayError.Code?
  {
    await attempt { () throws(RelayError) in _ = try log.write([write]) }
  }

  /// The code of the error of a question, nil if there was none.
  private static func ask(
    _ log: PostgresRelayLog, _ mailbox: Identifier = LogShelf.mailbox
  ) async -> RelayError.Code? {
    await attempt { () throws(RelayError) in
      _ = try log.read(
        RelayRead(mailbox: mailbox, authority: nil, question: .find(chainAt: nil)))
    }
  }

  private static func attempt(_ body: @escaping @Sendable () throws(RelayError) -> Void) async
    -> RelayError.Code?
  {
    await withCheckedContinuation { continuation in
      // A thread of its own: the call waits, and there may be one thread for all tasks.
      Thread.detachNewThread { @Sendable in
        do throws(RelayError) {
          try body()
          continuation.resume(returning: nil)
        } catch {
          continuation.resume(returning: error.code)
        }
      }
    }
  }

  @Test("a standby that takes over is another database: everybody is asked to open again")
  func promotion() throws {
    let standing = PostgresStanding()
    let heard = Mutex<[RelayTidings]>([])
    standing.setHearer { tidings in heard.withLock { $0.append(tidings) } }
    standing.connected(to: "7/00000001")
    standing.connected(to: nil)
    standing.connected(to: "7/00000001")
    #expect(heard.withLock { $0 } == [] && standing.isUp)
    standing.connected(to: "7/00000002")
    #expect(heard.withLock { $0 } == [.replaced])
    #expect(standing.failed() > 0 && !standing.isUp && !standing.mayConnect)
    for _ in 0..<20 { #expect(standing.failed() <= PostgresStanding.maximumBackoffMilliseconds) }
    standing.setHearer(nil)
    standing.connected(to: "8/00000001")
    #expect(heard.withLock { $0 } == [.replaced] && standing.mayConnect)
  }
}
