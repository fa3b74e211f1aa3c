import HearthCRDT
import HearthMembership
import HearthSync

// The pending segments of the port: identified by their clear part, and read whole only to be
// opened.
extension ReplicaStore {
  package func save(_ pending: PendingSegment, in zone: ZoneID) throws {
    let entry = pending.entry
    try connection.statement(
      """
      INSERT OR REPLACE INTO hearth_pending(
        zone, digest, reason, wait, author, incarnation, first, last, epoch, size, bytes)
      VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    )
    .bind(try number(of: zone)).bind(pending.digest).bind(pending.reason.rawValue)
    .bind(entry.wait.encoded).bind(entry.authorTag).bind(entry.incarnation).bind(entry.first)
    .bind(entry.last).bind(entry.epochTag).bind(entry.byteCount).bind(pending.bytes).execute()
  }

  package func pending(in zone: ZoneID) throws -> [PendingSegment] {
    try connection.run { _ in
      let statement = try connection.statement(
        "SELECT digest, reason, wait, bytes FROM hearth_pending WHERE zone = ? ORDER BY digest")
      try statement.bind(try number(of: zone))
      var result: [PendingSegment] = []
      while try statement.step() {
        result.append(
          PendingSegment(
            digest: try statement.identifier(0),
            reason: PendingReason(rawValue: statement.text(1)) ?? .format,
            wait: try wait(statement.blob(2)), bytes: statement.blob(3)))
      }
      return result
    }
  }

  package func pendingEntries(in zone: ZoneID) throws -> [PendingEntry] {
    try connection.run { _ in
      let statement = try connection.statement(
        """
        SELECT digest, reason, wait, author, incarnation, first, last, epoch, size
        FROM hearth_pending WHERE zone = ? ORDER BY digest
        """)
      try statement.bind(try number(of: zone))
      var result: [PendingEntry] = []
      while try statement.step() {
        result.append(
          PendingEntry(
            digest: try statement.identifier(0),
            reason: PendingReason(rawValue: statement.text(1)) ?? .format,
            wait: try wait(statement.blob(2)), authorTag: try statement.identifier(3),
            incarnation: statement.uint(4), first: statement.uint(5), last: statement.uint(6),
            epochTag: try statement.identifier(7), byteCount: Int(statement.int(8))))
      }
      return result
    }
  }

  package func bytes(ofPending digest: Identifier, in zone: ZoneID) throws -> [UInt8]? {
    try connection.run { _ in
      let statement = try connection.statement(
        "SELECT bytes FROM hearth_pending WHERE zone = ? AND digest = ?")
      try statement.bind(try number(of: zone)).bind(digest)
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      return statement.blob(0)
    }
  }

  private func wait(_ bytes: [UInt8]) throws -> PendingWait {
    do {
      return try PendingWait(decoding: bytes)
    } catch {
      throw StoreError(
        .corrupt, "the note on a pending segment in the node's database is damaged", cause: error)
    }
  }
}
