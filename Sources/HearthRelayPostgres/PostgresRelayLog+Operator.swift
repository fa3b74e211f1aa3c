import Glibc
import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

// The operator's commands on the log, beside the serving relays.
extension PostgresRelayLog: RelayOperatorLog {
  package func statistics() throws(RelayError) -> [RelayMailboxStatistics] {
    try inspect { connection throws(PostgresFault) in
      let rows = try connection.run([
        .once(
          """
          SELECT name, head, (SELECT count(*) FROM hearth_relay.entries WHERE mailbox = number
            AND blob IS NOT NULL), used_bytes, quota_bytes, day, child::bigint,
            (SELECT p.name FROM hearth_relay.mailboxes p WHERE p.number = mailboxes.parent) AS owner
            FROM hearth_relay.mailboxes ORDER BY used_bytes DESC, name
          """)
      ])[0]
      var found: [RelayMailboxStatistics] = []
      for row in 0..<rows.count {
        found.append(
          RelayMailboxStatistics(
            name: try rows.identifier(row, 0), head: try rows.uint(row, 1),
            liveBlobs: Int(try rows.int8(row, 2)), usedBytes: try rows.uint(row, 3),
            quotaBytes: rows.isNull(row, 4) ? nil : try rows.uint(row, 4),
            day: UInt32(clamping: try rows.int8(row, 5)),
            parent: try PostgresReader.parent(rows, row, child: 6, name: 7)))
      }
      return found
    }
  }

  package func setQuota(_ bytes: UInt64?, of mailbox: Identifier) throws(RelayError) {
    let count = try administer { connection throws(PostgresFault) in
      try connection.run([
        .once(
          """
          UPDATE hearth_relay.mailboxes SET quota_bytes = $2::bigint WHERE name = $1::bytea
            RETURNING number
          """, [.bytes(mailbox.bytes), bytes.map { .int8(Int64(clamping: $0)) } ?? .null])
      ])[0].count
    }
    guard count == 1 else {
      throw RelayError.noMailbox
    }
  }

  package func setTotalQuota(_ bytes: UInt64?) throws(RelayError) {
    try administer { connection throws(PostgresFault) in
      var calls: [PostgresCall] = [
        .once("DELETE FROM hearth_relay.settings WHERE name = 'total_bytes'")
      ]
      if let bytes {
        calls.append(
          .once(
            """
            INSERT INTO hearth_relay.settings(name, value) VALUES('total_bytes', $1::bigint)
              ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """, [.int8(Int64(clamping: bytes))]))
      }
      _ = try connection.run(calls)
    }
  }

  package func totalQuota() throws(RelayError) -> UInt64? {
    try inspect { connection throws(PostgresFault) in
      let rows = try connection.run([
        .once("SELECT value FROM hearth_relay.settings WHERE name = 'total_bytes'")
      ])[0]
      return rows.count > 0 ? try rows.uint(0, 0) : nil
    }
  }

  package func remove(_ mailbox: Identifier) throws(RelayError) -> Int {
    let count = try administer { connection throws(PostgresFault) in
      let rows = try connection.run([
        .once("BEGIN"),
        // A transaction that creates a child of this mailbox waits for this row.
        .once(
          "SELECT number FROM hearth_relay.mailboxes WHERE name = $1::bytea FOR UPDATE",
          [.bytes(mailbox.bytes)]),
        .once(
          """
          SELECT m.name FROM hearth_relay.mailboxes m
            LEFT JOIN hearth_relay.mailboxes p ON p.number = m.parent
            WHERE m.name = $1::bytea OR p.name = $1::bytea ORDER BY m.name
          """, [.bytes(mailbox.bytes)]),
      ])[2]
      var names: [Identifier] = []
      for row in 0..<rows.count { names.append(try rows.identifier(row, 0)) }
      try connection.commit(
        PostgresRelayFamily.deletion(of: names) + [
          PostgresWriter.notify(names.map { ($0, 0) }, "operator")
        ])
      return names.count
    }
    guard count > 0 else { throw RelayError.noMailbox }
    return count
  }

  package func addToken(digest: Bytes32, uses: Int, note: String) throws(RelayError) {
    try administer { connection throws(PostgresFault) in
      _ = try connection.run([
        .once(
          """
          INSERT INTO hearth_relay.tokens(digest, uses, note) VALUES($1::bytea, $2::bigint, $3)
            ON CONFLICT (digest) DO NOTHING
          """,
          [.bytes(digest.array), .int8(Int64(uses)), .text(note)])
      ])
    }
  }

  package func list(managerKey: [UInt8], note: String) throws(RelayError) {
    try administer { connection throws(PostgresFault) in
      _ = try connection.run([
        .once(
          """
          INSERT INTO hearth_relay.listed(key, note) VALUES($1::bytea, $2)
            ON CONFLICT (key) DO UPDATE SET note = excluded.note
          """, [.bytes(managerKey), .text(note)])
      ])
    }
  }

  package func collectGarbage(before day: UInt32) throws(RelayError) -> Int {
    try administer { connection throws(PostgresFault) in
      let rows = try connection.run([
        .once("BEGIN"),
        // Mailboxes that somebody writes at this very moment are skipped.
        .once(
          """
          SELECT number FROM hearth_relay.mailboxes WHERE day < $1::bigint AND NOT EXISTS(
            SELECT 1 FROM hearth_relay.entries WHERE mailbox = number AND blob IS NOT NULL)
            ORDER BY name FOR UPDATE SKIP LOCKED
          """, [.int8(Int64(day))]),
      ])[1]
      var numbers: [Int64] = []
      for row in 0..<rows.count { numbers.append(try rows.int8(row, 0)) }
      // Check again, with the children: commits made while the locks were taken are visible only
      // now.
      let gone = try connection.run([
        .once(
          """
          SELECT m.name FROM hearth_relay.mailboxes m
            LEFT JOIN hearth_relay.mailboxes p ON p.number = m.parent
            WHERE (m.number = ANY($1::bigint[]) AND m.day < $2::bigint)
              OR (p.number = ANY($1::bigint[]) AND p.day < $2::bigint)
          """, [.int8s(numbers), .int8(Int64(day))])
      ])[0]
      var names: [Identifier] = []
      for row in 0..<gone.count { names.append(try gone.identifier(row, 0)) }
      try connection.commit(PostgresRelayFamily.deletion(of: names.sorted()))
      return names.count
    }
  }

  package func renewGeneration(
    of mailbox: Identifier, to generation: Identifier
  ) throws(RelayError) {
    try administer { connection throws(PostgresFault) in
      try PostgresRelayLog.renew(mailbox, generation, connection)
    }
  }

  private static func renew(
    _ name: Identifier, _ generation: Identifier, _ connection: PostgresConnection
  ) throws(PostgresFault) {
    let locked = try connection.run([
      .once("BEGIN"),
      PostgresCall(
        """
        SELECT \(PostgresReader.mailboxColumns) FROM hearth_relay.mailboxes
          WHERE name = $1::bytea FOR UPDATE
        """, [.bytes(name.bytes)]),
    ])[1]
    guard locked.count == 1 else {
      _ = try connection.run([PostgresCall("ROLLBACK")])
      return
    }
    let (number, mailbox) = try PostgresReader.mailbox(locked, 0)
    var chain = RelayChain.start(mailbox: name, generation: generation)
    var position: UInt64 = 0
    while true {
      let rows = try connection.run([headers(of: number, after: position)])[0]
      var positions: [Int64] = []
      var chains: [[UInt8]] = []
      for row in 0..<rows.count {
        let header = try PostgresReader.header(rows, row).header
        chain = RelayChain.next(chain, header)
        position = header.position
        positions.append(Int64(clamping: position))
        chains.append(chain.array)
      }
      guard !positions.isEmpty else { break }
      _ = try connection.run([
        PostgresCall(
          """
          UPDATE hearth_relay.entries AS e SET chain = n.chain
            FROM unnest($2::bigint[], $3::bytea[]) AS n(position, chain)
            WHERE e.mailbox = $1::bigint AND e.position = n.position
          """, [.int8(number), .int8s(positions), .byteStrings(chains)])
      ])
    }
    try connection.commit([
      PostgresCall(
        """
        UPDATE hearth_relay.mailboxes SET generation = $2::bytea, chain = $3::bytea
          WHERE number = $1::bigint
        """, [.int8(number), .bytes(generation.bytes), .bytes(chain.array)]),
      PostgresWriter.notify([(name, mailbox.head.position)], "operator"),
    ])
  }

  private static func headers(of number: Int64, after position: UInt64) -> PostgresCall {
    PostgresCall(
      """
      SELECT \(PostgresReader.headerColumns) FROM hearth_relay.entries
        WHERE mailbox = $1::bigint AND position > $2::bigint ORDER BY position LIMIT 2000
      """, [.int8(number), .int8(Int64(clamping: position))])
  }

  // MARK: Consistent copies and checks

  package func verify() throws(RelayError) -> [String] {
    try inspect { connection throws(PostgresFault) in
      var problems = try PostgresRelayFamily.problems(connection)
      try PostgresRelayLog.walk(
        connection,
        mailbox: { (mailbox: RelayMailbox, _, entries: PostgresWalk) throws(PostgresFault) in
          var audit = RelayAudit(of: mailbox)
          try entries.each { header, chain, blob in
            audit.take(header, chain: chain, blob: blob)
          }
          let isCatalogue = mailbox.kind == .catalogue
          problems += audit.problems(
            indexedRecords: isCatalogue ? try entries.recordCount() : nil)
        })
      return problems
    }
  }

  package func export(to path: String) throws(RelayError) {
    do throws(RelayError) {
      try fill(SQLiteRelayLog(file: path))
    } catch {
      // Delete a partial copy.
      for end in ["", "-wal", "-shm"] { unlink(path + end) }
      throw error
    }
  }

  private func fill(_ copy: SQLiteRelayLog) throws(RelayError) {
    try inspect { connection throws(PostgresFault) in
      try PostgresRelayLog.copyMailboxes(of: connection, to: copy)
      try PostgresRelayLog.copyRights(of: connection, to: copy)
    }
    try copy.executeAlone("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// Copies all mailboxes with their entries, and then which mailbox belongs to which.
  private static func copyMailboxes(
    of connection: PostgresConnection, to copy: SQLiteRelayLog
  ) throws(PostgresFault) {
    var adopted: [(name: Identifier, parent: RelayParent)] = []
    try walk(
      connection,
      mailbox: { (mailbox: RelayMailbox, day, entries: PostgresWalk) throws(PostgresFault) in
        if let parent = mailbox.parent { adopted.append((mailbox.name, parent)) }
        let number = try local { () throws(RelayError) in
          try copy.takeOver(mailbox, day: day)
        }
        var page: [(RelayEntry, Bytes32, seat: Int64)] = []
        var bytes = 0
        func flush() throws(PostgresFault) {
          try local { () throws(RelayError) in
            try copy.takeOver(page, into: number, of: mailbox.kind)
          }
          page = []
          bytes = 0
        }
        try entries.eachWithSeat { (header, chain, blob, seat) throws(PostgresFault) in
          guard blob.count == (header.isLive ? header.byteCount : 0) else {
            throw PostgresFault.damaged
          }
          page.append((RelayEntry(header: header, blob: blob), chain, seat))
          bytes += blob.count
          if bytes >= RelayLimits.maximumBatchBytes || page.count >= 1_000 { try flush() }
          return true
        }
        try flush()
      })
    for (name, parent) in adopted {
      try local { () throws(RelayError) in
        try copy.takeOver(parent, of: name)
      }
    }
  }

  /// Copies the tokens and the list of those who may create mailboxes.
  private static func copyRights(
    of connection: PostgresConnection, to copy: SQLiteRelayLog
  ) throws(PostgresFault) {
    let rights = try connection.run([
      .once("SELECT digest, uses, note FROM hearth_relay.tokens ORDER BY digest"),
      .once("SELECT key, note FROM hearth_relay.listed ORDER BY key"),
    ])
    for row in 0..<rights[0].count {
      let digest = try rights[0].bytes32(row, 0)
      let uses = Int(try rights[0].int8(row, 1))
      let note = try rights[0].text(row, 2)
      try local { () throws(RelayError) in
        try copy.addToken(digest: digest, uses: uses, note: note)
      }
    }
    for row in 0..<rights[1].count {
      let key = try rights[1].bytes(row, 0, atMost: 32)
      let note = try rights[1].text(row, 1)
      try local { () throws(RelayError) in
        try copy.list(managerKey: key, note: note)
      }
    }
  }

  /// Passes an error of the written file through a question to the database.
  private static func local<Value>(_ body: () throws(RelayError) -> Value) throws(PostgresFault)
    -> Value
  {
    do throws(RelayError) {
      return try body()
    } catch {
      throw PostgresFault(kind: .final(error), words: error.message)
    }
  }

  /// Visits all mailboxes in one snapshot.
  private static func walk(
    _ connection: PostgresConnection,
    mailbox body: (RelayMailbox, UInt32, PostgresWalk) throws(PostgresFault) -> Void
  ) throws(PostgresFault) {
    let rows = try connection.run([
      .once("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
      // The visit may pause for as long as its receiver needs.
      .once("SET LOCAL idle_in_transaction_session_timeout = 0"),
      .once(
        "SELECT \(PostgresReader.mailboxColumns), day FROM hearth_relay.mailboxes ORDER BY number"
      ),
    ])[2]
    for row in 0..<rows.count {
      let (number, mailbox) = try PostgresReader.mailbox(rows, row)
      try body(
        mailbox, UInt32(clamping: try rows.int8(row, PostgresReader.mailboxColumnCount)),
        PostgresWalk(connection: connection, number: number))
    }
    _ = try connection.run([PostgresCall("COMMIT")])
  }
}

/// The entries of one mailbox inside a snapshot, a bounded page at a time.
struct PostgresWalk {
  let connection: PostgresConnection
  let number: Int64

  /// How many records can be found by their fields.
  func recordCount() throws(PostgresFault) -> Int {
    Int(try connection.run([PostgresCatalogue.count(number)])[0].int8(0, 0))
  }

  /// Passes each header with the chain after it and the unchecked blob, in the order of positions,
  /// until the body returns false.
  func each(
    _ body: (RelayHeader, Bytes32, [UInt8]) throws(PostgresFault) -> Bool
  ) throws(PostgresFault) {
    try eachWithSeat { (header, chain, blob, _) throws(PostgresFault) in
      try body(header, chain, blob)
    }
  }

  /// Does the same, and also passes the seat that stored each entry.
  func eachWithSeat(
    _ body: (RelayHeader, Bytes32, [UInt8], Int64) throws(PostgresFault) -> Bool
  ) throws(PostgresFault) {
    var position: Int64 = 0
    while true {
      let rows = try connection.run([
        PostgresCall(
          """
          SELECT \(PostgresReader.headerColumns), blob, seat FROM (
            SELECT *, row_number() OVER (ORDER BY position) AS place,
              sum(CASE WHEN blob IS NULL THEN 0 ELSE octet_length(blob) END)
                OVER (ORDER BY position) AS bytes
              FROM (SELECT * FROM hearth_relay.entries WHERE mailbox = $1::bigint
                AND position > $2::bigint ORDER BY position LIMIT 1000) AS following) AS found
            WHERE bytes <= 4194304 OR place = 1 ORDER BY position
          """, [.int8(number), .int8(position)])
      ])[0]
      guard rows.count > 0 else { return }
      for row in 0..<rows.count {
        let (header, chain) = try PostgresReader.header(rows, row)
        let blob =
          header.isLive ? try rows.bytes(row, 7, atMost: RelayLimits.maximumBlobBytes) : []
        position = Int64(clamping: header.position)
        guard try body(header, chain, blob, rows.int8(row, 8)) else { return }
      }
    }
  }
}
