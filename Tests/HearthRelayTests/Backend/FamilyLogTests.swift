import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayPostgres
@testable import HearthRelayProtocol

/// Mailboxes that belong to another one, in every log alike.
@Suite("Mailboxes that belong to one, in relay logs")
struct FamilyLogTests {
  private let stranger = RelayAuthority.access(generation: 2)
  private let token = RelayToken.digest(of: [1, 2, 3])

  private func name(_ number: UInt64) -> Identifier { Identifier(high: 0x77, low: number) }

  /// A wish to make a mailbox, without any right to register unless one is named.
  private func make(
    _ number: UInt64, _ child: RelayParent.Child, of parent: Identifier = LogShelf.mailbox,
    by authority: RelayAuthority = LogShelf.access, right: RelayRegistrationRight = .listed,
    day: UInt32 = 20_000
  ) -> RelayWrite {
    RelayWrite(
      mailbox: name(number), authority: nil,
      action: .create(
        kind: .sealed, generation: LogShelf.generation, accessKey: LogShelf.accessKey,
        managerKey: LogShelf.managerKey, right: right,
        adoption: RelayAdoption(
          RelayParent(parent, child), by: authority, author: LogShelf.author(of: authority))),
      quota: RelayQuota(), day: day)
  }

  private func put(_ number: UInt64, _ blob: [UInt8] = [1], named name: [UInt8] = [1])
    -> RelayWrite
  {
    LogShelf.write(.put([RelayPut(name: name, blob: blob)]), mailbox: self.name(number))
  }

  private func find(_ shelf: LogShelf, _ name: Identifier) throws -> RelayMailbox? {
    try find(shelf.log, name)
  }

  private func find(_ log: any RelayLog, _ name: Identifier) throws -> RelayMailbox? {
    let question = RelayRead(mailbox: name, authority: nil, question: .find(chainAt: nil))
    if case .found(let mailbox, _) = try log.read(question) { return mailbox }
    return nil
  }

  private func shelf(_ kind: LogKind) throws -> LogShelf {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(LogShelf.creation, nil)
    return shelf
  }

  private func isMade(_ written: RelayWritten?) -> Bool {
    if case .created? = written { true } else { false }
  }

  @Test(
    "whoever has one open makes others without a right, and nobody else",
    arguments: LogKind.allCases)
  func right(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    for (number, authority): (UInt64, RelayAuthority) in [
      (1, LogShelf.access), (2, LogShelf.manager),
    ] {
      let made = try shelf.log.write([make(number, .place, by: authority)])[0]
      guard case .created(let mailbox) = made else {
        Issue.record("\(made)")
        return
      }
      #expect(mailbox.parent == RelayParent(LogShelf.mailbox, .place))
      // Found again, it is told with who is listed in the one to which it belongs.
      var known = mailbox
      known.parentRoster = try #require(try shelf.found()).roster
      #expect(try find(shelf, name(number)) == known)
    }
    let refused = RelayWritten.refused(.forbidden)
    // A name that is taken, a parent that is not there, one that belongs to another itself, and a
    // key that is not the parent's.
    #expect(try shelf.log.write([make(1, .place)])[0] == refused)
    #expect(try shelf.log.write([make(3, .place, of: name(99))])[0] == refused)
    #expect(try shelf.log.write([make(3, .handoff, of: name(1))])[0] == refused)
    #expect(try shelf.log.write([make(3, .place, by: stranger)])[0] == refused)
    #expect(try shelf.log.write([make(3, .place, by: .manager([9]))])[0] == refused)
    #expect(try shelf.log.write([make(3, .place, by: .reader)])[0] == refused)
    // Naming a parent takes no other right away.
    #expect(isMade(try shelf.log.write([make(3, .place, by: stranger, right: .open)]).first))
    #expect(try find(shelf, name(3))?.parent == nil)
    #expect(try find(shelf, name(3)) != nil)
  }

  @Test(
    "once the access key has turned over, the old one makes nothing", arguments: LogKind.allCases)
  func rotated(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    let key = [UInt8](repeating: 9, count: 32)
    // In one batch: what was asked before is done, what was asked after is not.
    let results = try shelf.log.write([
      make(1, .handoff), LogShelf.write(.rotate(generation: 1, accessKey: key)), make(2, .handoff),
      make(3, .handoff, by: .access(generation: 2)),
    ])
    #expect(isMade(results[0]) && results[1] == .rotated(generation: 2))
    #expect(results[2] == .refused(.forbidden) && isMade(results[3]))
    #expect(try find(shelf, name(2)) == nil)
  }

  @Test(
    "one handoff more than may be takes the place of the oldest, with what lies there",
    arguments: LogKind.allCases)
  func handoffs(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    let most = UInt64(RelayLimits.maximumHandoffs)
    for number in 1...most {
      let results = try shelf.log.write([make(number, .handoff), put(number)])
      #expect(isMade(results[0]))
    }
    for number in 1...most { #expect(try find(shelf, name(number)) != nil, "handoff \(number)") }
    #expect(isMade(try shelf.log.write([make(most + 1, .handoff)]).first))
    #expect(try find(shelf, name(1)) == nil)
    for number in 2...(most + 1) { #expect(try find(shelf, name(number)) != nil, "\(number)") }
    // What was dropped can be made again, in the batch that drops it too, and is empty then.
    let results = try shelf.log.write([
      put(2, [7], named: [2]), make(1, .handoff), put(2), make(2, .handoff), put(1),
    ])
    #expect(isMade(results[1]) && results[2] == .refused(.forbidden) && isMade(results[3]))
    #expect(try find(shelf, name(2))?.head.position == 0)
    #expect(try find(shelf, name(1))?.head.position == 1)
    #expect(try find(shelf, name(3)) == nil)
    // Meeting places and other mailboxes are not counted with them.
    #expect(isMade(try shelf.log.write([make(500, .place)]).first))
    #expect(try find(shelf, name(4)) != nil && shelf.found() != nil)
    if let log = shelf.log as? any RelayOperatorLog { #expect(try log.verify() == []) }
  }

  @Test(
    "one meeting place more than may be is refused, unless an idle one gives way",
    arguments: LogKind.allCases)
  func places(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    let most = UInt64(RelayLimits.maximumPlaces)
    for number in 1...most {
      #expect(isMade(try shelf.log.write([make(number, .place), put(number)]).first))
    }
    #expect(try shelf.log.write([make(most + 1, .place)])[0] == .refused(.children))
    #expect(isMade(try shelf.log.write([make(900, .handoff)]).first))
    // Where there is a right to register, that is used, and the mailbox stands alone.
    #expect(isMade(try shelf.log.write([make(most + 1, .place, right: .open)]).first))
    #expect(try find(shelf, name(most + 1))?.parent == nil)
    // One without a blob gives way, though not on the day of its last change.
    let emptied = LogShelf.write(.remove([[1]]), mailbox: name(5))
    _ = try shelf.log.write([emptied])
    #expect(try shelf.log.write([make(most + 2, .place)])[0] == .refused(.children))
    #expect(
      isMade(try shelf.log.write([make(most + 2, .place, day: 20_001), put(most + 2)]).first))
    #expect(try find(shelf, name(5)) == nil)
    #expect(try shelf.log.write([make(most + 3, .place, day: 20_001)])[0] == .refused(.children))
    #expect(try find(shelf, name(4)) != nil && find(shelf, name(6)) != nil)
    // After a season without a change one gives way whatever lies there, the oldest first.
    let late = 20_000 + RelayLimits.idlePlaceDays
    #expect(try shelf.log.write([make(most + 3, .place, day: late - 1)])[0] == .refused(.children))
    let used = LogShelf.write(.put([RelayPut(name: [2], blob: [1])]), mailbox: name(1))
    var today = used
    today.day = late
    _ = try shelf.log.write([today])
    #expect(isMade(try shelf.log.write([make(most + 3, .place, day: late)]).first))
    #expect(try find(shelf, name(1)) != nil && find(shelf, name(2)) == nil)
  }

  @Test(
    "who is no manager has half of the places, and takes no manager's idle one beyond it",
    arguments: LogKind.allCases)
  func halves(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    let guest = [UInt8](repeating: 3, count: 32)
    func makes(_ number: UInt64, by maker: [UInt8], day: UInt32 = 20_000) -> RelayWrite {
      RelayWrite(
        mailbox: name(number), authority: nil,
        action: .create(
          kind: .sealed, generation: LogShelf.generation, accessKey: LogShelf.accessKey,
          managerKey: maker, right: .listed,
          adoption: RelayAdoption(
            RelayParent(LogShelf.mailbox, .place), by: LogShelf.access, author: maker)),
        quota: RelayQuota(), day: day)
    }
    let half = UInt64(RelayLimits.maximumPlaces) / 2
    // A manager's is the oldest, and idle from the next day on.
    #expect(isMade(try shelf.log.write([makes(900, by: LogShelf.managerKey)]).first))
    for number in 1...half {
      #expect(isMade(try shelf.log.write([makes(number, by: guest), put(number)]).first))
    }
    #expect(
      try shelf.log.write([makes(half + 1, by: guest, day: 20_001)])[0] == .refused(.children))
    #expect(try find(shelf, name(900)) != nil)
    // One of the others' gives way once it is idle, and a manager needs none to go.
    _ = try shelf.log.write([LogShelf.write(.remove([[1]]), mailbox: name(2))])
    #expect(isMade(try shelf.log.write([makes(half + 1, by: guest, day: 20_001)]).first))
    #expect(try find(shelf, name(2)) == nil && find(shelf, name(900)) != nil)
    #expect(isMade(try shelf.log.write([makes(901, by: LogShelf.managerKey)]).first))
    for number in [1, half, half + 1, 900] { #expect(try find(shelf, name(number)) != nil) }
  }

  @Test(
    "words stay for years; one more than may be is refused, unless an empty place gives way",
    arguments: LogKind.allCases)
  func words(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    let most = UInt64(RelayLimits.maximumWords)
    for number in 1...most {
      #expect(isMade(try shelf.log.write([make(number, .words), put(number)]).first))
    }
    #expect(try shelf.log.write([make(most + 1, .words, day: 30_000)])[0] == .refused(.children))
    _ = try shelf.log.write([LogShelf.write(.remove([[1]]), mailbox: name(7))])
    #expect(isMade(try shelf.log.write([make(most + 1, .words, day: 30_000)]).first))
    #expect(try find(shelf, name(7)) == nil)
  }

  @Test(
    "what belongs to another holds so many bytes and entries, and not one more",
    arguments: LogKind.allCases)
  func quota(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    _ = try shelf.log.write([make(1, .place), make(2, .place)])
    let half = [UInt8](repeating: 0, count: 1 << 20)
    let cost = RelayQuota.cost(ofName: [1])
    for number in UInt8(1)...3 { _ = try shelf.log.write([put(1, half, named: [number])]) }
    let left = Int(RelayLimits.maximumChildBytes - 3 * (cost + 1 << 20) - cost)
    #expect(
      try shelf.log.write([put(1, .init(repeating: 0, count: left + 1), named: [4])])[0]
        == .refused(.quota))
    guard
      case .stored = try shelf.log.write([put(1, .init(repeating: 0, count: left), named: [4])])[0]
    else {
      Issue.record("the last byte is refused")
      return
    }
    #expect(try find(shelf, name(1))?.usedBytes == RelayLimits.maximumChildBytes)
    let most = Int(RelayLimits.maximumChildEntries)
    func entries(_ range: Range<Int>) -> RelayWrite {
      LogShelf.write(
        .put(range.map { RelayPut(name: [UInt8($0 >> 8), UInt8($0 & 255)], blob: []) }),
        mailbox: name(2))
    }
    for start in stride(from: 0, to: most, by: 512) {
      _ = try shelf.log.write([entries(start..<start + 512)])
    }
    #expect(try find(shelf, name(2))?.head.position == UInt64(most))
    #expect(try shelf.log.write([entries(most..<most + 1)])[0] == .refused(.quota))
  }

  @Test("a token is not used up by what belongs to another, and says when it is")
  func tokens() throws {
    for kind in LogKind.durable {
      let shelf = try shelf(kind)
      let log = try #require(shelf.log as? any RelayOperatorLog)
      try log.addToken(digest: token, uses: 1, note: "")
      let right = RelayRegistrationRight.token(digest: token)
      #expect(isMade(try log.write([make(1, .place, right: right)]).first))
      #expect(isMade(try log.write([make(2, .place, by: stranger, right: right)]).first))
      // Said of free and taken names alike; no other token is told anything.
      for number in [2, 3] as [UInt64] {
        #expect(
          try log.write([make(number, .place, by: stranger, right: right)])[0]
            == .refused(.tokenUsedUp))
        let other = RelayRegistrationRight.token(digest: RelayToken.digest(of: [4]))
        #expect(
          try log.write([make(number, .place, by: stranger, right: other)])[0]
            == .refused(.forbidden))
      }
      // Cleaning up leaves it known.
      _ = try log.collectGarbage(before: 0)
      #expect(
        try log.write([make(3, .place, by: stranger, right: right)])[0] == .refused(.tokenUsedUp))
    }
  }

  @Test(
    "what all mailboxes hold together has a limit, up to the last byte", arguments: LogKind.allCases
  )
  func total(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    _ = try shelf.log.write([make(1, .place)])
    let cost = RelayQuota.cost(ofName: [1])
    func put(_ mailbox: Identifier, _ name: UInt8, _ count: Int, total: UInt64) -> RelayWrite {
      LogShelf.write(
        .put([RelayPut(name: [name], isReplaceable: true, blob: .init(repeating: 5, count: count))]
        ),
        quota: RelayQuota(total: total), mailbox: mailbox)
    }
    let total = 3 * cost + 60
    // In one batch and over several: each counts what is there by then, in all mailboxes.
    var results = try shelf.log.write([
      put(LogShelf.mailbox, 1, 20, total: total), put(name(1), 1, 20, total: total),
      put(name(1), 2, 21, total: total),
    ])
    #expect(results[2] == .refused(.full), "\(results)")
    results = try shelf.log.write([put(LogShelf.mailbox, 2, 21, total: total)])
    #expect(results[0] == .refused(.full))
    guard case .stored = try shelf.log.write([put(name(1), 2, 20, total: total)])[0] else {
      Issue.record("the last byte is refused")
      return
    }
    #expect(try shelf.log.write([put(LogShelf.mailbox, 3, 0, total: total)])[0] == .refused(.full))
    // What is there is confirmed, what goes makes room, and without a limit there is room.
    guard case .stored = try shelf.log.write([put(name(1), 2, 20, total: total)])[0],
      case .removed = try shelf.log.write([
        LogShelf.write(.remove([[1]]), quota: RelayQuota(total: total), mailbox: name(1))
      ])[0]
    else {
      Issue.record("it is all refused")
      return
    }
    #expect(try shelf.log.write([put(LogShelf.mailbox, 3, 0, total: total)])[0] == .refused(.full))
    guard case .stored = try shelf.log.write([put(LogShelf.mailbox, 3, 0, total: 2 * total)])[0],
      case .stored = try shelf.write(.put([RelayPut(name: [9], blob: [1])]))
    else {
      Issue.record("a greater limit is refused")
      return
    }
    if let log = shelf.log as? any RelayOperatorLog {
      #expect(try log.verify() == [] && log.totalQuota() == nil)
      try log.setTotalQuota(7)
      try log.setTotalQuota(8)
      #expect(try log.totalQuota() == 8)
      try log.setTotalQuota(nil)
      #expect(try log.totalQuota() == nil)
    }
  }

  // MARK: The operator's side

  @Test(
    "one mailbox is deleted with what it holds and what belongs to it", arguments: LogKind.durable)
  func removal(_ kind: LogKind) throws {
    let (shelf, log) = try family(kind)
    _ = try shelf.write(.put([RelayPut(name: [1], blob: [1])]))
    #expect(try log.remove(name(1)) == 1)
    #expect(try find(shelf, name(1)) == nil && shelf.found() != nil)
    #expect(try log.remove(LogShelf.mailbox) == RelayLimits.maximumHandoffs + 2)
    #expect(try log.statistics().map(\.name) == [name(50)])
    #expect(try log.verify() == [])
    #expect(throws: RelayError(.notFound, "")) { try log.remove(LogShelf.mailbox) }
    // Whoever still has it open is refused, and it can be made anew.
    #expect(try shelf.write(.put([RelayPut(name: [1], blob: [1])])) == .refused(.forbidden))
    #expect(isMade(try shelf.write(LogShelf.creation, nil)))
    #expect(try shelf.found()?.head.position == 0)
  }

  /// A log with a parent that has handoffs and places, and one that has none.
  private func family(_ kind: LogKind) throws -> (LogShelf, any RelayOperatorLog) {
    let shelf = try shelf(kind)
    for number in 1...UInt64(RelayLimits.maximumHandoffs) {
      // Names that fall, so that their order is not that of their making.
      _ = try shelf.log.write([make(1_000 - number, .handoff), put(1_000 - number)])
    }
    _ = try shelf.log.write([make(1, .place), put(1), make(2, .place)])
    _ = try shelf.log.write([LogShelf.write(LogShelf.creation, nil, mailbox: name(50)), put(50)])
    return (shelf, try #require(shelf.log as? any RelayOperatorLog))
  }

  @Test(
    "an empty mailbox that nobody uses goes with all that belongs to it",
    arguments: LogKind.durable)
  func garbage(_ kind: LogKind) throws {
    let (shelf, log) = try family(kind)
    #expect(try log.collectGarbage(before: 20_000) == 0)
    // The parent, its handoffs, a place with a blob and one without.
    #expect(try log.collectGarbage(before: 20_001) == RelayLimits.maximumHandoffs + 3)
    #expect(try log.statistics().map(\.name) == [name(50)])
    #expect(try log.verify() == [])
    if let file = log as? SQLiteRelayLog {
      let blobs = try file.inspect { database throws(RelayError) in
        try database.number("SELECT count(*) FROM blobs")
      }
      #expect(blobs == 1)
    }
    // What lives keeps what belongs to it, but for what is empty.
    let (other, second) = try family(kind)
    _ = try other.write(.put([RelayPut(name: [1], blob: [1])]))
    #expect(try second.collectGarbage(before: 20_001) == 1)
    #expect(try find(other, name(2)) == nil && find(other, name(1)) != nil)
    #expect(try find(shelf, name(1)) == nil)
  }

  @Test(
    "statistics and a copy say what belongs to what, and which handoff is the oldest",
    arguments: LogKind.durable)
  func copying(_ kind: LogKind) throws {
    let (shelf, log) = try family(kind)
    let parents = Dictionary(
      uniqueKeysWithValues: try log.statistics().map { ($0.name, $0.parent) })
    #expect(parents[name(999)] == RelayParent(LogShelf.mailbox, .handoff))
    #expect(parents[name(1)] == RelayParent(LogShelf.mailbox, .place))
    #expect(parents[name(50)] == .some(nil) && parents[LogShelf.mailbox] == .some(nil))
    let folder = try TestFolder()
    try log.export(to: "\(folder.path)/\(SQLiteRelayLog.fileName)")
    let copy = try SQLiteRelayLog(folder: folder.path)
    #expect(try copy.verify() == [])
    for number in [999, 1, 50] as [UInt64] {
      let question = RelayRead(
        mailbox: name(number), authority: nil, question: .find(chainAt: nil))
      #expect(try copy.read(question) == shelf.log.read(question))
    }
    #expect(isMade(try copy.write([make(3, .handoff)]).first))
    let names = Set(try copy.statistics().map(\.name))
    #expect(!names.contains(name(999)) && names.contains(name(998)))
  }

  @Test("what belongs to nothing that may be is found by verify", arguments: LogKind.durable)
  func damage(_ kind: LogKind) throws {
    let number = "(SELECT number FROM mailboxes WHERE"
    let one = kind == .sqlite ? "name = x'%@'" : "name = '\\x%@'"
    func row(_ name: Identifier) -> String {
      "\(number) \(one.replacing("%@", with: name.hex)))"
    }
    for (damage, word) in [
      ("UPDATE mailboxes SET parent = 4711 WHERE child = 2", "that does not exist"),
      (
        "UPDATE mailboxes SET parent = \(row(name(999))) WHERE number = \(row(name(1)))",
        "itself belongs to another"
      ),
      ("UPDATE mailboxes SET child = 9 WHERE number = \(row(name(1)))", "as an unknown kind"),
      ("UPDATE mailboxes SET child = 1 WHERE number = \(row(name(1)))", "more than 32"),
    ] {
      let (_, log) = try family(kind)
      if let file = log as? SQLiteRelayLog {
        try file.executeAlone(damage)
      } else if let database = log as? PostgresRelayLog {
        try database.administer { connection throws(PostgresFault) in
          _ = try connection.run([.once("SET search_path = hearth_relay"), .once(damage)])
        }
      }
      let problems = (try? log.verify()) ?? ["the database holds values that no relay wrote"]
      let isTold = problems.contains { $0.contains(word) || $0.contains("no relay wrote") }
      #expect(isTold, "\(damage): \(problems)")
    }
  }

  @Test("a file and a database of the layout before are taken over as they are")
  func migration() throws {
    let folder = try TestFolder()
    let path = "\(folder.path)/\(SQLiteRelayLog.fileName)"
    do {
      let old = try SQLiteRelayLog.open(path)
      for statement in RelayMigrations.steps[..<2].joined() { try old.execute(statement) }
      try old.execute(
        """
        INSERT INTO mailboxes(name, kind, generation, access_key, access_generation, head, chain,
          used_bytes, day) VALUES(zeroblob(16), 0, zeroblob(16), zeroblob(32), 3, 0,
          zeroblob(32), 0, 7)
        """)
      try old.execute(
        "INSERT INTO managers(mailbox, key) VALUES(1, CAST(x'00ff' || zeroblob(30) AS BLOB))")
      try old.execute("PRAGMA user_version = 2")
    }
    let log = try SQLiteRelayLog(folder: folder.path)
    let found = try log.statistics()
    #expect(found.map(\.name) == [.zero] && found[0].parent == nil && found[0].day == 7)
    let key = [0, 0xff] + [UInt8](repeating: 0, count: 30)
    #expect(try find(log, .zero)?.roster == RelayRoster(managers: [key]))
    guard PostgresCluster.isPresent else { return }
    let cluster = try PostgresCluster.shared.get()
    let address = try cluster.address(of: cluster.database())
    let connection = try PostgresConnection(address)
    _ = try connection.run(
      [
        .once("CREATE SCHEMA hearth_relay"),
        .once("CREATE TABLE hearth_relay.layout(version bigint NOT NULL, relay bytea)"),
        .once("INSERT INTO hearth_relay.layout(version) VALUES(2)"),
      ] + PostgresMigrations.steps[..<2].joined().map { .once($0) } + [
        .once(
          """
          INSERT INTO hearth_relay.mailboxes(name, kind, generation, access_key,
            access_generation, managers, head, chain, used_bytes, day)
            VALUES(decode(repeat('00', 16), 'hex'), 0, decode(repeat('00', 16), 'hex'),
            decode(repeat('00', 32), 'hex'), 3, decode('00ff' || repeat('00', 30), 'hex'), 0,
            decode(repeat('00', 32), 'hex'), 0, 7)
          """)
      ])
    let database = try PostgresRelayLog(address)
    #expect(try database.statistics().map(\.name) == [.zero])
    #expect(try database.statistics()[0].parent == nil)
    #expect(try find(database, .zero)?.roster == RelayRoster(managers: [key]))
  }
}
