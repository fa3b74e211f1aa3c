import HearthCRDT
import HearthMembership
import HearthSync

/// The pending segments of a replica.
///
/// They are identified by their clear part, and read whole only to be opened.
package struct SQLitePending: PendingStore {
  let connection: Connection
  let zones: SQLiteZones

  package func save(_ segment: PendingSegment, in zone: ZoneID) throws {
    let entry = segment.entry
    try connection.statement(
      """
      INSERT OR REPLACE INTO hearth_pending(
        zone, digest, reason, wait, author, incarnation, first, last, epoch, size, bytes)
      VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    )
    .bind(try zones.number(of: zone)).bind(segment.digest).bind(segment.reason.rawValue)
    .bind(entry.wait.encoded).bind(entry.authorTag).bind(entry.incarnation).bind(entry.first)
    .bind(entry.last).bind(entry.epochTag).bind(entry.byteCount).bind(segment.bytes).execute()
  }

  package func segments(in zone: ZoneID) throws -> [PendingSegment] {
    try connection.run {
      let statement = try connection.statement(
        "SELECT digest, reason, wait, bytes FROM hearth_pending WHERE zone = ? ORDER BY digest")
      try statement.bind(try zones.number(of: zone))
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

  package func entries(in zone: ZoneID) throws -> [PendingEntry] {
    try connection.run {
      let statement = try connection.statement(
        """
        SELECT digest, reason, wait, author, incarnation, first, last, epoch, size
        FROM hearth_pending WHERE zone = ? ORDER BY digest
        """)
      try statement.bind(try zones.number(of: zone))
      var result: [PendingEntry] = []
      while try statement.step() {
        // A segment of a newer version may have no range that this version can read.
        let range = SegmentRange(damaged: statement.uint(5), statement.uint(6), from: 0)
        result.append(
          PendingEntry(
            digest: try statement.identifier(0),
            reason: PendingReason(rawValue: statement.text(1)) ?? .format,
            wait: try wait(statement.blob(2)), authorTag: try statement.identifier(3),
            incarnation: statement.uint(4), first: range.first, last: range.last,
            epochTag: try statement.identifier(7), byteCount: max(0, Int(statement.int(8)))))
      }
      return result
    }
  }

  package func bytes(of digest: Identifier, in zone: ZoneID) throws -> [UInt8]? {
    try connection.run {
      let statement = try connection.statement(
        "SELECT bytes FROM hearth_pending WHERE zone = ? AND digest = ?")
      try statement.bind(try zones.number(of: zone)).bind(digest)
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      return statement.blob(0)
    }
  }

  package func remove(_ digest: Identifier, in zone: ZoneID) throws {
    try connection.statement("DELETE FROM hearth_pending WHERE zone = ? AND digest = ?")
      .bind(try zones.number(of: zone)).bind(digest).execute()
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
