import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

// The operator's commands on the log, beside a serving process or without one.
extension SQLiteRelayLog: RelayOperatorLog {
  /// All mailboxes, the largest first.
  package func statistics() throws(RelayError) -> [RelayMailboxStatistics] {
    try inspect { database throws(RelayError) in
      let row = try database.statement(
        """
        SELECT name, head, (SELECT count(*) FROM entries WHERE mailbox = number
          AND blob IS NOT NULL), used_bytes, quota_bytes, day, child,
          (SELECT p.name FROM mailboxes p WHERE p.number = m.parent)
          FROM mailboxes m ORDER BY used_bytes DESC, name
        """)
      var found: [RelayMailboxStatistics] = []
      while try row.step() {
        found.append(
          RelayMailboxStatistics(
            name: try row.identifier(0), head: row.uint(1), liveBlobs: Int(row.int(2)),
            usedBytes: row.uint(3), quotaBytes: row.isNull(4) ? nil : row.uint(4),
            day: UInt32(truncatingIfNeeded: row.int(5)),
            parent: try SQLiteRelayReader.parent(row, child: 6, name: 7)))
      }
      return found
    }
  }

  /// Sets or removes a mailbox's own quota.
  ///
  /// - Throws: `notFound`.
  package func setQuota(_ bytes: UInt64?, of mailbox: Identifier) throws(RelayError) {
    try administer { database throws(RelayError) in
      guard try SQLiteRelayReader(database: database).mailbox(mailbox) != nil else {
        throw RelayError.noMailbox
      }
      let row = try database.statement("UPDATE mailboxes SET quota_bytes = ? WHERE name = ?")
      if let bytes { try row.bind(bytes) } else { try row.bindNull() }
      try row.bind(mailbox.bytes).execute()
    }
  }

  package func setTotalQuota(_ bytes: UInt64?) throws(RelayError) {
    try administer { database throws(RelayError) in
      try database.statement("DELETE FROM settings WHERE name = 'total_bytes'").execute()
      guard let bytes else { return }
      try database.statement("INSERT INTO settings(name, value) VALUES('total_bytes', ?)")
        .bind(Int64(clamping: bytes)).execute()
    }
  }

  package func totalQuota() throws(RelayError) -> UInt64? {
    try inspect { database throws(RelayError) in
      let row = try database.statement("SELECT value FROM settings WHERE name = 'total_bytes'")
      guard try row.step() else { return nil }
      defer { row.reset() }
      return row.uint(0)
    }
  }

  package func remove(_ mailbox: Identifier) throws(RelayError) -> Int {
    let count = try administer { database throws(RelayError) in
      try SQLiteRelayFamily(database: database).delete(mailbox)
    }
    guard count > 0 else { throw RelayError.noMailbox }
    try executeAlone("PRAGMA incremental_vacuum")
    return count
  }

  /// Lets a token create a number of mailboxes.
  package func addToken(digest: Bytes32, uses: Int, note: String) throws(RelayError) {
    try administer { database throws(RelayError) in
      try database.statement("INSERT INTO tokens(digest, uses, note) VALUES(?, ?, ?)")
        .bind(digest.array).bind(Int64(uses)).bind(text: note).execute()
    }
  }

  /// Lets the holder of a manager's key create mailboxes.
  package func list(managerKey: [UInt8], note: String) throws(RelayError) {
    try administer { database throws(RelayError) in
      try database.statement("INSERT OR REPLACE INTO listed(key, note) VALUES(?, ?)")
        .bind(managerKey).bind(text: note).execute()
    }
  }

  /// Deletes mailboxes without blobs that nobody changed since a day, with their children, and
  /// returns free pages to the disk.
  ///
  /// A client that needs a deleted mailbox again recreates it, with a new generation.
  ///
  /// - Returns: how many mailboxes were deleted.
  package func collectGarbage(before day: UInt32) throws(RelayError) -> Int {
    let count = try administer { database throws(RelayError) in
      let row = try database.statement(
        """
        SELECT number FROM mailboxes WHERE day < ? AND NOT EXISTS(
          SELECT 1 FROM entries WHERE mailbox = number AND blob IS NOT NULL)
        """
      ).bind(Int64(day))
      var numbers: [Int64] = []
      while try row.step() { numbers.append(row.int(0)) }
      let family = SQLiteRelayFamily(database: database)
      var count = 0
      for number in numbers { count += try family.delete(number) }
      return count
    }
    try executeAlone("PRAGMA incremental_vacuum")
    try executeAlone("PRAGMA wal_checkpoint(TRUNCATE)")
    return count
  }

  package func renewGeneration(
    of mailbox: Identifier, to generation: Identifier
  ) throws(RelayError) {
    try administer { database throws(RelayError) in
      try SQLiteRelayLog.renew(mailbox, generation, database)
    }
  }

  private static func renew(
    _ name: Identifier, _ generation: Identifier, _ database: RelayDatabase
  ) throws(RelayError) {
    guard let (number, _) = try SQLiteRelayReader(database: database).mailbox(name) else { return }
    var chain = RelayChain.start(mailbox: name, generation: generation)
    let row = try database.statement(
      """
      SELECT \(SQLiteRelayReader.headerColumns) FROM entries WHERE mailbox = ? ORDER BY position
      """
    ).bind(number)
    while try row.step() {
      let header = try SQLiteRelayReader.header(row)
      chain = RelayChain.next(chain, header)
      try database.statement("UPDATE entries SET chain = ? WHERE mailbox = ? AND position = ?")
        .bind(chain.array).bind(number).bind(header.position).execute()
    }
    try database.statement("UPDATE mailboxes SET generation = ?, chain = ? WHERE number = ?")
      .bind(generation.bytes).bind(chain.array).bind(number).execute()
  }

  /// Checks everything: SQLite's own structures, positions, chains, digests and counts.
  ///
  /// - Returns: the problems, in words; empty if there are none.
  package func verify() throws(RelayError) -> [String] {
    var problems: [String] = []
    let integrity = try inspect { database throws(RelayError) in
      try database.text("PRAGMA integrity_check(20)")
    }
    if integrity != "ok" { problems.append("SQLite: \(integrity)") }
    problems += try inspect { database throws(RelayError) in
      try SQLiteRelayFamily(database: database).problems()
    }
    for statistics in try statistics() {
      problems += try inspect { database throws(RelayError) in
        try SQLiteRelayLog.verify(statistics.name, database)
      }
    }
    return problems
  }

  private static func verify(_ name: Identifier, _ database: RelayDatabase) throws(RelayError)
    -> [String]
  {
    guard let (number, mailbox) = try SQLiteRelayReader(database: database).mailbox(name) else {
      return []
    }
    var audit = RelayAudit(of: mailbox)
    let row = try database.statement(
      """
      SELECT \(SQLiteRelayReader.headerColumns), chain, bytes FROM entries
        LEFT JOIN blobs ON blobs.number = entries.blob WHERE mailbox = ? ORDER BY position
      """
    ).bind(number)
    while try row.step() {
      let isWell = audit.take(
        try SQLiteRelayReader.header(row), chain: try row.bytes32(6), blob: row.blob(7))
      guard isWell else {
        row.reset()
        break
      }
    }
    let indexed = try SQLiteCatalogue(database: database).count(number)
    return audit.problems(indexedRecords: mailbox.kind == .catalogue ? indexed : nil)
  }

  /// Copies the whole log, consistently, into a new file while it is in use.
  package func export(to path: String) throws(RelayError) {
    let quoted = path.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: "''")
    try executeAlone("VACUUM INTO '\(quoted)'")
  }
}
