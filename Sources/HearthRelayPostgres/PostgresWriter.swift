import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

/// Makes a batch of writes in one transaction.
///
/// Locks are taken in one order everywhere: the rows of mailboxes by name, then those of tokens,
/// then the places of new names. So no two relays wait for each other.
struct PostgresWriter {
  let connection: PostgresConnection
  /// The id of the writing relay, so that a relay ignores its own notifications.
  let origin: String

  /// The channel of notifications: `ORIGIN MAILBOX HEAD`.
  static let channel = "hearth_relay"
  /// The most bytes of blobs in one INSERT.
  static let maximumInsertBytes = 4 << 20
  /// The most entries in one INSERT.
  static let maximumInsertEntries = 2_000

  /// Makes a batch.
  ///
  /// Also returns the mailboxes as its commit left them.
  func perform(_ batch: [RelayWrite]) throws(PostgresFault) -> (
    results: [RelayWritten], confirmed: [RelayMailbox]
  ) {
    var plan = try lock(batch)
    var results: [RelayWritten] = []
    results.reserveCapacity(batch.count)
    for write in batch { results.append(plan.perform(write)) }
    guard try store(plan) else { return (results, []) }
    return (results, plan.boxes.values.map(\.mailbox))
  }

  // MARK: Reading

  /// Begins, locks the rows of the batch and reads what its writes depend on.
  private func lock(_ batch: [RelayWrite]) throws(PostgresFault) -> PostgresPlan {
    var need = Need()
    for write in batch { need.add(write) }
    var calls = [PostgresCall("BEGIN ISOLATION LEVEL READ COMMITTED")] + need.rows
    let listedPlace = calls.count - 1
    let totalPlace = calls.count
    if need.isTotalNeeded { calls.append(PostgresRelayFamily.totalBytes) }
    if !need.parents.isEmpty { calls.append(PostgresRelayFamily.siblings(of: need.parents)) }
    let records = need.records.calls
    let results = try connection.run(calls + records)
    var plan = try plan(
      results[1], results[2], tokens: need.tokens.isEmpty ? nil : results[3],
      listed: need.listed.isEmpty ? nil : results[listedPlace])
    if need.isTotalNeeded { plan.totalBytes = try results[totalPlace].uint(0, 0) }
    if !need.parents.isEmpty {
      try PostgresRelayFamily.read(results[calls.count - 1], into: &plan)
    }
    if !records.isEmpty {
      try need.records.read(results[calls.count], results[calls.count + 1], into: &plan)
    }
    return plan
  }

  /// The data that a batch's writes depend on.
  private struct Need {
    var mailboxes: Set<Identifier> = []
    var entries: [(mailbox: Identifier, name: [UInt8])] = []
    var tokens: Set<Bytes32> = []
    var listed: Set<[UInt8]> = []
    /// The parents of new mailboxes.
    var parents: Set<Identifier> = []
    /// Whether the use of all mailboxes matters.
    var isTotalNeeded = false
    var records = PostgresCatalogue.Wanted()
    private var seen: [Identifier: Set<[UInt8]>] = [:]

    mutating func add(_ write: RelayWrite) {
      mailboxes.insert(write.mailbox)
      switch write.action {
      case .put(let items):
        for item in items { add(item.name, write.mailbox) }
        isTotalNeeded = isTotalNeeded || write.quota.total != nil
      case .remove(let names): for name in names { add(name, write.mailbox) }
      case .create(_, _, _, let managerKey, let right, let adoption):
        if let parent = adoption?.parent.mailbox {
          mailboxes.insert(parent)
          parents.insert(parent)
        }
        switch right {
        case .open: break
        case .token(let digest): tokens.insert(digest)
        case .listed: listed.insert(managerKey)
        }
      case .rotate, .setRank, .reset: break
      }
    }

    private mutating func add(_ name: [UInt8], _ mailbox: Identifier) {
      guard seen[mailbox, default: []].insert(name).inserted else { return }
      entries.append((mailbox, name))
      records.add(name, mailbox)
    }

    /// The statements that lock and read the rows of the mailboxes, their live entries, and the
    /// tokens and listed keys, if any.
    var rows: [PostgresCall] {
      var calls = [
        PostgresCall(
          """
          SELECT \(PostgresReader.mailboxColumns) FROM hearth_relay.mailboxes
            WHERE name = ANY($1::bytea[]) ORDER BY name FOR UPDATE
          """, [.byteStrings(mailboxes.sorted().map(\.bytes))]),
        // A separate statement, so that it sees what was committed during the wait for the lock.
        PostgresCall(
          """
          SELECT box, e.name, e.position, e.flags::bigint, e.size::bigint, e.digest, e.seat
            FROM unnest($1::bytea[], $2::bytea[]) AS wanted(box, entry)
            JOIN hearth_relay.mailboxes m ON m.name = box
            JOIN hearth_relay.entries e ON e.mailbox = m.number AND e.name = entry
              AND e.blob IS NOT NULL
          """,
          [.byteStrings(entries.map(\.mailbox.bytes)), .byteStrings(entries.map(\.name))]),
      ]
      if !tokens.isEmpty {
        calls.append(
          PostgresCall(
            """
            SELECT digest, uses FROM hearth_relay.tokens WHERE digest = ANY($1::bytea[])
              ORDER BY digest FOR UPDATE
            """, [.byteStrings(tokens.sorted().map(\.array))]))
      }
      if !listed.isEmpty {
        calls.append(
          PostgresCall(
            "SELECT key FROM hearth_relay.listed WHERE key = ANY($1::bytea[])",
            [.byteStrings(Array(listed))]))
      }
      return calls
    }
  }

  private func plan(
    _ mailboxes: PostgresRows, _ entries: PostgresRows, tokens: PostgresRows?,
    listed: PostgresRows?
  ) throws(PostgresFault) -> PostgresPlan {
    var plan = PostgresPlan()
    for row in 0..<mailboxes.count {
      let (number, mailbox) = try PostgresReader.mailbox(mailboxes, row)
      plan.add(number, mailbox)
    }
    for row in 0..<entries.count {
      let size = try entries.uint(row, 4)
      guard size <= UInt64(RelayLimits.maximumBlobBytes) else { throw PostgresFault.damaged }
      plan.add(
        PostgresPlan.Live(
          position: try entries.uint(row, 2), isReplaceable: try entries.uint(row, 3) & 2 != 0,
          byteCount: Int(size), digest: try entries.bytes32(row, 5),
          seat: try entries.int8(row, 6)),
        named: try entries.bytes(row, 1, atMost: RelayLimits.maximumNameBytes),
        in: try entries.identifier(row, 0))
    }
    if let tokens {
      for row in 0..<tokens.count {
        plan.addToken(try tokens.bytes32(row, 0), uses: try tokens.int8(row, 1))
      }
    }
    if let listed {
      for row in 0..<listed.count { plan.addListed(try listed.bytes(row, 0, atMost: 32)) }
    }
    return plan
  }

  // MARK: Writing

  /// - Returns: whether anything was committed.
  private func store(_ plan: PostgresPlan) throws(PostgresFault) -> Bool {
    let boxes = plan.boxes.values.sorted { $0.mailbox.name < $1.mailbox.name }
    if !plan.dropped.isEmpty {
      _ = try connection.run(PostgresRelayFamily.deletion(of: plan.dropped))
    }
    let numbers = try insert(boxes.filter { $0.number == nil })
    var changes = Changes()
    for box in boxes {
      guard let number = box.number ?? numbers[box.mailbox.name] else {
        throw PostgresFault.damaged
      }
      changes.add(box, number)
    }
    var calls = changes.finish()
    if !plan.usedTokens.isEmpty { calls.append(PostgresWriter.use(of: plan)) }
    let adopted = boxes.compactMap { box in
      box.number == nil ? box.mailbox.parent.map { (box.mailbox.name, $0) } : nil
    }
    if !adopted.isEmpty { calls.append(PostgresRelayFamily.adoption(adopted)) }
    let changed =
      boxes.filter(\.isChanged).map { ($0.mailbox.name, $0.mailbox.head.position) }
      + plan.dropped.map { ($0, UInt64(0)) }
    if !changed.isEmpty { calls.append(PostgresWriter.notify(changed, origin)) }
    guard !calls.isEmpty else {
      // Everything was refused, so there is nothing to keep and nobody to notify.
      _ = try connection.run([PostgresCall("ROLLBACK")])
      return false
    }
    try connection.commit(calls)
    return true
  }

  /// The changes of mailboxes and their entries.
  private struct Changes {
    /// The statements that empty mailboxes.
    private var calls: [PostgresCall] = []
    private var drops: (mailboxes: [Int64], positions: [Int64]) = ([], [])
    private var insertion = PostgresInsertion()
    private var index = PostgresCatalogue.Change()
    private var updated: [(number: Int64, box: PostgresPlan.Box)] = []

    mutating func add(_ box: PostgresPlan.Box, _ number: Int64) {
      if box.isEmptied { calls += PostgresRelayFamily.emptying(number) }
      for position in box.drops {
        drops.mailboxes.append(number)
        drops.positions.append(Int64(clamping: position))
      }
      for row in box.rows { insertion.add(row, number) }
      if box.mailbox.kind == .catalogue { index.add(box, number) }
      // Confirming earlier entries takes a commit of its own, which waits for the disk and the
      // standbys: the earlier commit may have been cut short during that wait.
      if box.number != nil, box.isChanged || box.isConfirmed { updated.append((number, box)) }
    }

    /// Returns all statements, after the last mailbox.
    mutating func finish() -> [PostgresCall] {
      if !drops.positions.isEmpty {
        // First, so that a name is free again before it is taken.
        calls.append(
          PostgresCall(
            """
            UPDATE hearth_relay.entries AS e SET blob = NULL
              FROM unnest($1::bigint[], $2::bigint[]) AS dropped(mailbox, position)
              WHERE e.mailbox = dropped.mailbox AND e.position = dropped.position
            """, [.int8s(drops.mailboxes), .int8s(drops.positions)]))
      }
      calls += insertion.finish() + index.calls
      if !updated.isEmpty { calls.append(PostgresWriter.update(updated)) }
      return calls
    }
  }

  /// Counts the uses of tokens.
  private static func use(of plan: PostgresPlan) -> PostgresCall {
    let digests = plan.usedTokens.sorted()
    return PostgresCall(
      """
      UPDATE hearth_relay.tokens AS t SET uses = used.uses
        FROM unnest($1::bytea[], $2::bigint[]) AS used(digest, uses)
        WHERE t.digest = used.digest
      """, [.byteStrings(digests.map(\.array)), .int8s(digests.map { plan.uses(of: $0) })])
  }

  /// Creates mailboxes in the order of their names.
  ///
  /// A name that another relay just took violates uniqueness. The batch is then retried and finds
  /// the mailbox.
  private func insert(_ boxes: [PostgresPlan.Box]) throws(PostgresFault) -> [Identifier: Int64] {
    guard !boxes.isEmpty else { return [:] }
    let mailboxes = boxes.map(\.mailbox)
    let rows = try connection.run([
      PostgresCall(
        """
        INSERT INTO hearth_relay.mailboxes(name, kind, generation, access_key, access_generation,
          roster, head, chain, used_bytes, day)
          SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[],
            $6::bytea[], $7::bigint[], $8::bytea[], $9::bigint[], $10::bigint[])
          RETURNING name, number
        """,
        [
          .byteStrings(mailboxes.map(\.name.bytes)),
          .int8s(mailboxes.map { Int64($0.kind.rawValue) }),
          .byteStrings(mailboxes.map(\.head.generation.bytes)),
        ] + PostgresWriter.state(boxes))
    ])[0]
    var numbers: [Identifier: Int64] = [:]
    for row in 0..<rows.count {
      numbers[try rows.identifier(row, 0)] = try rows.int8(row, 1)
    }
    return numbers
  }

  /// The columns that change, in the order of both statements.
  private static func state(_ boxes: [PostgresPlan.Box]) -> [PostgresValue] {
    let mailboxes = boxes.map(\.mailbox)
    return [
      .byteStrings(mailboxes.map(\.accessKey)),
      .int8s(mailboxes.map { Int64(clamping: $0.accessGeneration) }),
      .byteStrings(mailboxes.map(\.roster.encoded)),
      .int8s(mailboxes.map { Int64(clamping: $0.head.position) }),
      .byteStrings(mailboxes.map(\.chain.array)),
      .int8s(mailboxes.map { Int64(clamping: $0.usedBytes) }),
      .int8s(boxes.map { Int64($0.day ?? 0) }),
    ]
  }

  private static func update(_ boxes: [(number: Int64, box: PostgresPlan.Box)]) -> PostgresCall {
    PostgresCall(
      """
      UPDATE hearth_relay.mailboxes AS m SET access_key = n.access_key,
        access_generation = n.access_generation, roster = n.roster, head = n.head,
        chain = n.chain, used_bytes = n.used_bytes, day = greatest(m.day, n.day),
        generation = n.generation
        FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bytea[], $5::bigint[],
          $6::bytea[], $7::bigint[], $8::bigint[], $9::bytea[])
          AS n(number, access_key, access_generation, roster, head, chain, used_bytes, day,
            generation)
        WHERE m.number = n.number
      """,
      [.int8s(boxes.map(\.number))] + state(boxes.map(\.box))
        + [.byteStrings(boxes.map(\.box.mailbox.head.generation.bytes))])
  }

  /// Notifies the other relays.
  ///
  /// The server sends the notification after the transaction's commit.
  static func notify(
    _ mailboxes: [(name: Identifier, head: UInt64)], _ origin: String
  ) -> PostgresCall {
    PostgresCall(
      "SELECT pg_notify('\(channel)', news) FROM unnest($1::text[]) AS news",
      [.texts(mailboxes.map { "\(origin) \(Hex.encode($0.name.bytes)) \($0.head)" })])
  }
}

/// Inserts new entries by statements of bounded size.
struct PostgresInsertion {
  private var calls: [PostgresCall] = []
  private var open: [(mailbox: Int64, row: PostgresPlan.Row)] = []
  private var openBytes = 0

  mutating func add(_ row: PostgresPlan.Row, _ mailbox: Int64) {
    open.append((mailbox, row))
    openBytes += row.blob?.count ?? 0
    if openBytes >= PostgresWriter.maximumInsertBytes
      || open.count >= PostgresWriter.maximumInsertEntries
    {
      close()
    }
  }

  private mutating func close() {
    calls.append(PostgresInsertion.call(open))
    open = []
    openBytes = 0
  }

  private static func call(_ rows: [(mailbox: Int64, row: PostgresPlan.Row)]) -> PostgresCall {
    let headers = rows.map(\.row.header)
    return PostgresCall(
      """
      INSERT INTO hearth_relay.entries(mailbox, position, flags, size, name, digest, chain, blob,
        seat)
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[],
          $6::bytea[], $7::bytea[], $8::bytea[], $9::bigint[])
      """,
      [
        .int8s(rows.map(\.mailbox)), .int8s(headers.map { Int64(clamping: $0.position) }),
        .int8s(headers.map { Int64($0.kind.rawValue | ($0.isReplaceable ? 2 : 0)) }),
        .int8s(headers.map { Int64($0.byteCount) }), .byteStrings(headers.map(\.name)),
        .byteStrings(headers.map(\.digest.array)), .byteStrings(rows.map(\.row.chain.array)),
        .byteStrings(rows.map(\.row.blob)), .int8s(rows.map(\.row.seat)),
      ])
  }

  /// Returns all statements, after the last entry.
  mutating func finish() -> [PostgresCall] {
    if !open.isEmpty { close() }
    return calls
  }
}
