import ArgumentParser
import Foundation
import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayPostgres
@testable import HearthRelayProtocol

@Suite("What the operator does with a log")
struct OperatorTests {
  private func filled(_ kind: LogKind) throws -> (shelf: LogShelf, log: any RelayOperatorLog) {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(LogShelf.creation, nil)
    let items = (0..<20).map {
      RelayPut(name: [UInt8($0)], isReplaceable: $0 % 2 == 0, blob: .init(repeating: 7, count: 50))
    }
    _ = try shelf.write(.put(items))
    _ = try shelf.write(.remove([[1], [2]]))
    _ = try shelf.write(.put([RelayPut(name: [4], isReplaceable: true, blob: [1])]))
    return (shelf, try #require(shelf.log as? any RelayOperatorLog))
  }

  @Test(
    "verify finds nothing in a good log, and each kind of damage in a bad one",
    arguments: LogKind.durable)
  func verify(_ kind: LogKind) throws {
    let (_, good) = try filled(kind)
    #expect(try good.verify() == [])
    let isFile = kind == .sqlite
    let blob =
      isFile
      ? "UPDATE blobs SET bytes = x'00' WHERE number = 7"
      : "UPDATE entries SET blob = '\\x00' WHERE position = 7"
    let chain = isFile ? "zeroblob(32)" : "sha256('')"
    let name = isFile ? "x'ff'" : "'\\xff'"
    for (damage, word) in [
      (blob, "blob at position 7"),
      ("UPDATE entries SET chain = \(chain) WHERE position = 5", "torn at position 5"),
      ("UPDATE entries SET name = \(name) WHERE position = 6", "torn at position 6"),
      ("DELETE FROM entries WHERE position = 9", "torn at position 9"),
      ("DELETE FROM entries WHERE position = 23", "ends at 22"),
      ("UPDATE mailboxes SET used_bytes = used_bytes + 1", "are counted"),
    ] {
      let (_, log) = try filled(kind)
      if let file = log as? SQLiteRelayLog {
        try file.executeAlone(damage)
      } else if let database = log as? PostgresRelayLog {
        try database.administer { connection throws(PostgresFault) in
          _ = try connection.run([.once("SET search_path = hearth_relay"), .once(damage)])
        }
      }
      let problems = try log.verify()
      #expect(problems.contains { $0.contains(word) }, "\(damage): \(problems)")
    }
  }

  @Test("a quota of its own, and statistics, are of one mailbox", arguments: LogKind.durable)
  func quotas(_ kind: LogKind) throws {
    let (shelf, log) = try filled(kind)
    let before = try #require(try log.statistics().first)
    #expect(before.head == 23 && before.liveBlobs == 18 && before.quotaBytes == nil)
    try log.setQuota(before.usedBytes, of: LogShelf.mailbox)
    #expect(try log.statistics().first?.quotaBytes == before.usedBytes)
    #expect(
      try shelf.write(.put([RelayPut(name: [99], blob: [1])])) == .refused(.quota))
    try log.setQuota(nil, of: LogShelf.mailbox)
    guard case .stored = try shelf.write(.put([RelayPut(name: [99], blob: [1])])) else {
      Issue.record("the quota is still there")
      return
    }
    #expect(throws: RelayError(.notFound, "")) {
      try log.setQuota(1, of: Identifier(high: 0, low: 1))
    }
  }

  @Test("tokens and listed keys let in as often as they say", arguments: LogKind.durable)
  func registration(_ kind: LogKind) throws {
    let (_, log) = try filled(kind)
    let digest = RelayToken.digest(of: [1, 2, 3])
    try log.addToken(digest: digest, uses: 2, note: "for Ben")
    try log.list(managerKey: LogShelf.managerKey, note: "")
    func create(_ number: UInt64, _ right: RelayRegistrationRight) throws -> Bool {
      let action = RelayWrite.Action.create(
        kind: .sealed, generation: LogShelf.generation, accessKey: LogShelf.accessKey,
        managerKey: LogShelf.managerKey, right: right)
      let write = LogShelf.write(action, nil, mailbox: Identifier(high: 99, low: number))
      if case .created = try log.write([write])[0] { return true }
      return false
    }
    #expect(try create(1, .token(digest: digest)))
    // A name that is taken does not use the token up.
    #expect(try !create(1, .token(digest: digest)))
    #expect(try create(2, .token(digest: digest)))
    #expect(try !create(3, .token(digest: digest)))
    #expect(try !create(3, .token(digest: RelayToken.digest(of: []))))
    #expect(try create(3, .listed))
  }

  @Test(
    "garbage collection takes empty, unused mailboxes and nothing else", arguments: LogKind.durable)
  func garbage(_ kind: LogKind) throws {
    let (shelf, log) = try filled(kind)
    let empty = Identifier(high: 9, low: 9)
    _ = try log.write([LogShelf.write(LogShelf.creation, nil, mailbox: empty)])
    #expect(try log.collectGarbage(before: 20_000) == 0)
    #expect(try log.collectGarbage(before: 20_001) == 1)
    #expect(try log.statistics().map(\.name) == [LogShelf.mailbox])
    #expect(try log.verify() == [] && shelf.found()?.head.position == 23)
  }

  @Test("a new generation keeps entries and begins another chain", arguments: LogKind.durable)
  func generations(_ kind: LogKind) throws {
    let (shelf, log) = try filled(kind)
    let before = try #require(try shelf.found())
    #expect(try log.renewGenerations { [UInt8](repeating: 0xee, count: $0) } == 1)
    let after = try #require(try shelf.found())
    #expect(after.head.position == before.head.position && after.chain != before.chain)
    #expect(after.head.generation != before.head.generation)
    #expect(try log.verify() == [])
  }

  @Test("an exported file is a whole log of its own", arguments: LogKind.durable)
  func export(_ kind: LogKind) throws {
    let (shelf, log) = try filled(kind)
    let folder = try TestFolder()
    try log.export(to: "\(folder.path)/\(SQLiteRelayLog.fileName)")
    let copy = try SQLiteRelayLog(folder: folder.path)
    #expect(try copy.verify() == [])
    let question = RelayRead(
      mailbox: LogShelf.mailbox, authority: LogShelf.access,
      question: .page(after: 0, limit: 400, byteLimit: 1 << 20))
    #expect(try copy.read(question) == shelf.log.read(question))
  }

  @Test("--listen and --health are read strictly")
  func options() throws {
    for (text, host, port) in [
      ("127.0.0.1:7440", "127.0.0.1", 7440), ("[::]:0", "::", 0),
      ("relay.example:1", "relay.example", 1),
    ] {
      let place = try ServeCommand.place(text)
      #expect(place.host == host && place.port == port)
    }
    for text in ["", "7440", ":7440", "host:", "host:65536", "::1:7440", "host:-1", "[::1]"] {
      #expect(throws: RelayError(.invalidOption, ""), "\(text)") { try ServeCommand.place(text) }
    }
    #expect(try ServeCommand.healthPort("off") == nil && ServeCommand.healthPort("0") == 0)
    #expect(throws: RelayError(.invalidOption, "")) { try ServeCommand.healthPort("on") }
    let parsed = try RelayCommand.parseAsRoot(["serve", "--registration", "allow-list"])
    #expect((parsed as? ServeCommand)?.registration.registration == .allowList)
    let help = RelayCommand.helpMessage(for: ServeCommand.self, columns: 400)
    #expect(help.contains("(values: open, token, allow-list; default: open)"))
  }
}
