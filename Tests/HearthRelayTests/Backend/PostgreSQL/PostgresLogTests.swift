import Foundation
import HearthCRDT
import HearthCrypto
import HearthSync
import Synchronization
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayPostgres
@testable import HearthRelayProtocol

@Suite(
  "A log in PostgreSQL", .enabled(if: PostgresCluster.isPresent, "PostgreSQL is not installed"),
  .timeLimit(.minutes(20)))
struct PostgresLogTests {
  private let cluster: PostgresCluster
  private let database: String

  init() throws {
    cluster = try PostgresCluster.shared.get()
    database = try cluster.database()
  }

  private func open(relayID: Bytes32? = nil) throws -> PostgresRelayLog {
    try PostgresRelayLog(cluster.address(of: database), relayID: relayID)
  }

  private func put(_ name: String, _ mailbox: Identifier) -> RelayWrite {
    LogShelf.write(.put([RelayPut(name: Array(name.utf8), blob: [1, 2, 3])]), mailbox: mailbox)
  }

  @Test("relays that start at once make the tables once, each finds them made")
  func migrating() throws {
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      do { _ = try open() } catch { failures.withLock { $0.append("\(error)") } }
    }
    #expect(failures.withLock { $0 } == [])
    let rows = try cluster.execute("SELECT version FROM hearth_relay.layout", in: database)
    #expect(try rows.count == 1 && rows.int8(0, 0) == Int64(PostgresMigrations.steps.count))
  }

  @Test("a newer layout, another relay's database and a damaged layout are refused in words")
  func refusing() throws {
    let id = Bytes32(exactly: [UInt8](repeating: 5, count: 32))
    _ = try open(relayID: id)
    _ = try open(relayID: id)
    let other = #expect(throws: RelayError(.invalidOption, "")) {
      try open(relayID: Bytes32(exactly: [UInt8](repeating: 6, count: 32)))
    }
    #expect(other?.message.contains("identity.key") == true)
    let serving = try open()
    try cluster.execute("UPDATE hearth_relay.layout SET version = 99", in: database)
    #expect(throws: RelayError(.newer, "")) { try open() }
    withExtendedLifetime(serving) {}
    try cluster.execute("UPDATE hearth_relay.layout SET version = -1", in: database)
    #expect(throws: RelayError(.corrupt, "")) { try open() }
  }

  @Test("a database of the first layout gets what is missing, and what it held stays")
  func upgrading() throws {
    let log = try open()
    _ = try log.write([LogShelf.write(LogShelf.creation, nil), put("a", LogShelf.mailbox)])
    for sql in [
      "ALTER TABLE hearth_relay.entries DROP COLUMN seat",
      """
      ALTER TABLE hearth_relay.mailboxes DROP COLUMN roster,
        ADD COLUMN managers bytea NOT NULL DEFAULT decode(repeat('02', 32), 'hex')
      """,
      "DROP TABLE hearth_relay.settings",
      "ALTER TABLE hearth_relay.mailboxes DROP COLUMN parent, DROP COLUMN child",
      "DROP TABLE hearth_relay.public_fields", "DROP TABLE hearth_relay.public_records",
      "UPDATE hearth_relay.layout SET version = 1",
    ] { try cluster.execute(sql, in: database) }
    let upgraded = try open()
    let rows = try cluster.execute("SELECT version FROM hearth_relay.layout", in: database)
    #expect(try rows.int8(0, 0) == Int64(PostgresMigrations.steps.count))
    #expect(try upgraded.verify() == [])
    let head = RelayRead(mailbox: LogShelf.mailbox, authority: LogShelf.access, question: .head)
    #expect(try upgraded.read(head) == .head(1))
    // Who made it manages it, as before.
    let find = RelayRead(mailbox: LogShelf.mailbox, authority: nil, question: .find(chainAt: nil))
    guard case .found(let found?, _) = try upgraded.read(find) else {
      Issue.record("the mailbox is not found")
      return
    }
    #expect(found.roster == RelayRoster(managers: [LogShelf.managerKey]))
  }

  @Test("two relays write one catalogue at once, and what one removed the other does not find")
  func twoPublishers() throws {
    let creation = RelayWrite.Action.create(
      kind: .catalogue, generation: LogShelf.generation, accessKey: LogShelf.accessKey,
      managerKey: LogShelf.managerKey, right: .open)
    _ = try open().write([LogShelf.write(creation, nil)])
    @Sendable func item(_ id: String, _ relay: Int) throws -> RelayPut {
      let record = try PublicRecord(
        type: "challenge", id: id, revision: 1,
        fields: [PublicField("relay", .int(Int64(relay)))], body: "{}")
      return RelayPut(
        name: PublicName.entry(type: "challenge", id: id), isReplaceable: true,
        blob: record.encoded + [UInt8](repeating: 0, count: 64))
    }
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 2) { relay in
      do {
        let log = try open()
        for round in 0..<40 {
          let id = "r\(round % 5)"
          _ = try log.write([
            LogShelf.write(.put([item(id, relay)])),
            LogShelf.write(.remove([PublicName.entry(type: "challenge", id: "r\(round % 3)")])),
          ])
        }
      } catch { failures.withLock { $0.append("\(error)") } }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try open().verify() == [])
    // An index that lost a record is told of.
    try cluster.execute("DELETE FROM hearth_relay.public_records WHERE id = 'r4'", in: database)
    #expect(try open().verify().count == 1)
  }

  @Test(
    "a server that acknowledges before the disk has it is refused",
    arguments: ["off", "local", "remote_write"])
  func durability(_ value: String) throws {
    _ = try open()
    try cluster.execute(
      "ALTER DATABASE \(database) SET synchronous_commit = \(value)", in: "postgres")
    let error = #expect(throws: RelayError(.notDurable, "")) { try open() }
    #expect(error?.message.contains("synchronous_commit = \(value)") == true)
    try cluster.execute(
      "ALTER DATABASE \(database) SET synchronous_commit = remote_apply", in: "postgres")
    _ = try open()
  }

  @Test("a password is used and never told, right or wrong")
  func passwords() throws {
    try cluster.execute("CREATE ROLE careful LOGIN SUPERUSER PASSWORD 'open sesame'", in: database)
    _ = try PostgresRelayLog(
      cluster.address(of: database, user: "careful", password: "open%20sesame"))
    let error = #expect(throws: RelayError(.unavailable, "")) {
      try PostgresRelayLog(
        cluster.address(of: database, user: "careful", password: "close%20sesame"))
    }
    #expect(error?.description.contains("sesame") == false, "\(error?.description ?? "")")
    #expect(error?.description.contains("careful") == true)
  }

  @Test("an ordinary role that owns its database is enough, and sees which cluster it is")
  func ordinary() throws {
    try cluster.execute("CREATE ROLE plain LOGIN", in: "postgres")
    try cluster.execute("ALTER DATABASE \(database) OWNER TO plain", in: "postgres")
    let address = try cluster.address(of: database, user: "plain")
    let log = try PostgresRelayLog(address)
    _ = try log.write([LogShelf.write(LogShelf.creation, nil)])
    #expect(try log.verify() == [])
    let incarnation = try PostgresLink.connect(address).incarnation
    #expect(incarnation?.hasSuffix("/00000001") == true)
  }

  @Test("two relays that write the same mailboxes at once leave no gap and wait for no cycle")
  func twoWriters() throws {
    let names = (0..<6).map { Identifier(high: 50, low: $0) }
    let made = Mutex(0)
    let stored = Mutex<[[UInt64]]>(names.map { _ in [] })
    let failures = Mutex<[String]>([])
    _ = try open()
    DispatchQueue.concurrentPerform(iterations: 3) { relay in
      do {
        let log = try open()
        let order = Array(relay == 1 ? Array((0..<6).reversed()) : Array(0..<6))
        let answers = try log.write(
          order.map { LogShelf.write(LogShelf.creation, nil, mailbox: names[$0]) })
        made.withLock { $0 += answers.count { if case .created = $0 { true } else { false } } }
        for round in 0..<60 {
          let written = try log.write(order.map { put("\(relay)-\(round)", names[$0]) })
          for (place, answer) in zip(order, written) {
            guard case .stored(let outcomes, _, _) = answer else { continue }
            stored.withLock { $0[place] += outcomes.map(\.position) }
          }
        }
      } catch { failures.withLock { $0.append("\(error)") } }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(made.withLock { $0 } == names.count)
    for positions in stored.withLock({ $0 }) { #expect(positions.sorted() == Array(1...180)) }
    #expect(try open().verify() == [])
  }

  @Test("a token is used up once, however many relays are shown it at once")
  func tokens() throws {
    let digest = RelayToken.digest(of: [1])
    try open().addToken(digest: digest, uses: 3, note: "")
    let made = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 4) { relay in
      guard let log = try? open() else { return }
      for place in 0..<4 {
        let action = RelayWrite.Action.create(
          kind: .sealed, generation: LogShelf.generation, accessKey: LogShelf.accessKey,
          managerKey: LogShelf.managerKey, right: .token(digest: digest))
        let name = Identifier(high: UInt64(relay), low: UInt64(place))
        let answer = try? log.write([LogShelf.write(action, nil, mailbox: name)])
        if case .created? = answer?.first { made.withLock { $0 += 1 } }
      }
    }
    #expect(made.withLock { $0 } == 3)
  }

  @Test("values that no relay wrote are an error, whatever their length")
  func damage() throws {
    for damage in [
      "UPDATE mailboxes SET head = -1", "UPDATE mailboxes SET chain = ''",
      "UPDATE mailboxes SET generation = '\\x00'", "UPDATE mailboxes SET roster = '\\x0102'",
      "UPDATE mailboxes SET access_key = repeat('a', 33)::bytea",
      "UPDATE mailboxes SET kind = 300", "UPDATE entries SET size = -1",
      "UPDATE entries SET size = \(RelayLimits.maximumBlobBytes + 1)",
      "UPDATE entries SET size = 2", "UPDATE entries SET digest = '\\x01'",
      "UPDATE entries SET name = repeat('n', \(RelayLimits.maximumNameBytes + 1))::bytea",
      "UPDATE entries SET flags = 9",
    ] {
      let database = try cluster.database()
      let log = try PostgresRelayLog(cluster.address(of: database))
      _ = try log.write([
        LogShelf.write(LogShelf.creation, nil), put("a", LogShelf.mailbox),
      ])
      let page = RelayRead(
        mailbox: LogShelf.mailbox, authority: LogShelf.access,
        question: .page(after: 0, limit: 9, byteLimit: 99))
      guard case .page = try log.read(page) else { return }
      try cluster.execute(
        damage.replacingOccurrences(of: "UPDATE ", with: "UPDATE hearth_relay."), in: database)
      #expect(throws: RelayError(.corrupt, ""), "\(damage)") { try log.read(page) }
      #expect(log.isHealthy)
    }
  }

  @Test("a blob of full length, and a batch of many insertions, come back as they went in")
  func large() throws {
    let log = try open()
    let blobs = (0..<6).map { _ in RandomBytes.make(RelayLimits.maximumBlobBytes) }
    let items = blobs.enumerated().map { RelayPut(name: [UInt8($0.offset)], blob: $0.element) }
    let many = (0..<2_100).map { place in
      LogShelf.write(.put([RelayPut(name: Array("n\(place)".utf8), blob: [])]))
    }
    let written = try log.write(
      [LogShelf.write(LogShelf.creation, nil)] + items.map { LogShelf.write(.put([$0])) } + many)
    guard case .stored(_, _, let head)? = written.last else { return }
    #expect(head == 2_106)
    for (place, blob) in blobs.enumerated() {
      let read = RelayRead(
        mailbox: LogShelf.mailbox, authority: LogShelf.access,
        question: .fetch([[UInt8(place)]], byteLimit: 1))
      #expect(try log.read(read) == .blobs([blob]))
    }
    #expect(try log.verify() == [])
  }

  @Test("a database that cannot be reached is told of soon, without its password")
  func away() throws {
    let address = try PostgresAddress("postgres://ann:hushhush@127.0.0.1:1/none")
    let error = #expect(throws: RelayError(.unavailable, "")) { try PostgresRelayLog(address) }
    #expect(error?.description.contains("hushhush") == false)
  }
}
