import HearthCRDT
import HearthSync

/// The applied changes of a replica: own ones that are in no segment yet, and sealed segments.
package final class SQLiteLog: LogStore {
  private let connection: Connection
  private let authors: AuthorNumbers
  private let zones: SQLiteZones
  /// The segments of each zone as last read.
  ///
  /// Every sync round over a transport requests them, and few rounds change any.
  private var known: [ZoneID: [StoredSegment]] = [:]

  init(connection: Connection, authors: AuthorNumbers, zones: SQLiteZones) {
    self.connection = connection
    self.authors = authors
    self.zones = zones
  }

  /// Forgets what was read, after an undone transaction.
  func forget() { known = [:] }

  package func append(_ change: [UInt8], dot: Dot, to zone: ZoneID) throws {
    try authors.learn([dot.author])
    try connection.statement(
      "INSERT INTO hearth_changes(zone, author, sequence, bytes, digest) VALUES(?, ?, ?, ?, ?)"
    )
    .bind(try zones.number(of: zone)).bind(authors.table.number(of: dot.author))
    .bind(dot.sequence).bind(change).bind(RowDigest.of(change: change, at: dot, in: zone))
    .execute()
  }

  package func changes(
    of author: Author, in zone: ZoneID, after sequence: UInt64, limit: Int
  ) throws -> [[UInt8]] {
    try connection.run {
      guard authors.table.contains(author) else { return [] }
      let statement = try connection.statement(
        """
        SELECT sequence, bytes, digest FROM hearth_changes
        WHERE zone = ? AND author = ? AND sequence > ? ORDER BY sequence LIMIT ?
        """)
      try statement.bind(try zones.number(of: zone)).bind(authors.table.number(of: author))
        .bind(sequence).bind(limit)
      var changes: [[UInt8]] = []
      defer { statement.reset() }
      while try statement.step() {
        let (dot, bytes) = (Dot(author: author, sequence: statement.uint(0)), statement.blob(1))
        guard statement.blob(2) == RowDigest.of(change: bytes, at: dot, in: zone) else {
          throw StoreError(
            .corrupt,
            "this device's change \(dot.sequence), which was not sent yet, is damaged in the "
              + "node's database: keep a copy of the home folder, then join again")
        }
        changes.append(bytes)
      }
      return changes
    }
  }

  package func removeChanges(
    of author: Author, in zone: ZoneID, through sequence: UInt64
  ) throws {
    try authors.learn([author])
    try connection.statement(
      "DELETE FROM hearth_changes WHERE zone = ? AND author = ? AND sequence <= ?"
    )
    .bind(try zones.number(of: zone)).bind(authors.table.number(of: author)).bind(sequence)
    .execute()
  }

  package func save(_ segment: StoredSegment, bytes: [UInt8], in zone: ZoneID) throws {
    known[zone] = nil
    try authors.learn([segment.author])
    try connection.statement(
      """
      INSERT INTO hearth_segments(zone, author, first, last, digest, size)
      VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT(zone, digest) DO NOTHING
      """
    )
    .bind(try zones.number(of: zone)).bind(authors.table.number(of: segment.author))
    .bind(segment.first).bind(segment.last).bind(segment.digest).bind(segment.byteCount).execute()
    guard connection.changedRows == 1 else { return }
    try connection.statement(
      """
      INSERT OR REPLACE INTO hearth_segment_bytes(number, bytes)
      SELECT number, ? FROM hearth_segments WHERE zone = ? AND digest = ?
      """
    )
    .bind(bytes).bind(try zones.number(of: zone)).bind(segment.digest).execute()
  }

  package func segments(of zone: ZoneID) throws -> [StoredSegment] {
    if let known = known[zone] { return known }
    return try connection.run {
      let statement = try connection.statement(
        """
        SELECT author, first, last, digest, size FROM hearth_segments WHERE zone = ?
        ORDER BY author, first
        """)
      try statement.bind(try zones.number(of: zone))
      var segments: [StoredSegment] = []
      while try statement.step() {
        let place = Int(statement.int(0))
        guard authors.table.authors.indices.contains(place) else {
          throw StoreError(.corrupt, "a segment names an author that is not in the database")
        }
        let range = SegmentRange(damaged: statement.uint(1), statement.uint(2), from: 1)
        segments.append(
          StoredSegment(
            author: authors.table.authors[place], first: range.first, last: range.last,
            digest: try statement.identifier(3), byteCount: max(0, Int(statement.int(4)))))
      }
      known[zone] = segments
      return segments
    }
  }

  package func bytes(of segment: Identifier, in zone: ZoneID) throws -> [UInt8]? {
    try connection.run {
      let statement = try connection.statement(
        """
        SELECT b.bytes FROM hearth_segments s JOIN hearth_segment_bytes b ON b.number = s.number
        WHERE s.zone = ? AND s.digest = ?
        """)
      try statement.bind(try zones.number(of: zone)).bind(segment)
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      return statement.blob(0)
    }
  }

  package func removeSegment(_ digest: Identifier, in zone: ZoneID) throws {
    known[zone] = nil
    let number = try zones.number(of: zone)
    try connection.statement(
      """
      DELETE FROM hearth_segment_bytes WHERE number IN
        (SELECT number FROM hearth_segments WHERE zone = ? AND digest = ?)
      """
    )
    .bind(number).bind(digest).execute()
    try connection.statement("DELETE FROM hearth_segments WHERE zone = ? AND digest = ?")
      .bind(number).bind(digest).execute()
  }
}

/// The changes that a row says a segment has.
///
/// A damaged row may name changes that no segment can have. An audit notices each range that the
/// segment's bytes do not have, so here it needs only to be a range.
struct SegmentRange {
  let first: UInt64
  let last: UInt64

  init(damaged first: UInt64, _ last: UInt64, from least: UInt64) {
    let most = Frontier.maximumSequence
    self.first = min(max(least, min(first, last)), most)
    self.last = min(max(least, max(first, last)), most)
  }
}
