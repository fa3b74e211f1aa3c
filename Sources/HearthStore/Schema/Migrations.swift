import Foundation
import GRDB
import HearthCRDT
import HearthSync

/// The numbered, forward-only steps from an empty file to the current layout.
///
/// A released step never changes; `Tests/HearthStoreTests` opens a file of every released version.
/// Before the first release step 0001 changed once: earlier files are refused (decision 0069).
enum Migrations {
  /// The application id in the header of this program's SQLite files: "HRTH".
  static let applicationID = 0x4852_5448

  static func migrator() -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("0001-log") { database in
      for statement in version1 { try database.execute(sql: statement) }
    }
    migrator.registerMigration("0002-application-id") { database in
      try database.execute(sql: "PRAGMA application_id = \(applicationID)")
    }
    migrator.registerMigration("0003-digests") { database in
      for table in ["hearth_changes", "hearth_facts"] {
        try database.execute(
          sql: "ALTER TABLE \(table) ADD COLUMN digest BLOB NOT NULL DEFAULT x''")
      }
      try nameCaches(database)
      try digestChanges(database)
      try digestFacts(database)
    }
    migrator.registerMigration("0004-attachments") { database in
      for statement in attachments { try database.execute(sql: statement) }
    }
    return migrator
  }

  /// Whether a database is of an earlier version whose households this version cannot read.
  ///
  /// Formats changed before the first release under the same names of migrations (decision 0069).
  /// The columns of pending segments tell the versions apart.
  static func isEarlier(_ database: Database) throws -> Bool {
    guard try database.tableExists("hearth_pending") else { return false }
    return try !database.columns(in: "hearth_pending").contains { $0.name == "wait" }
  }

  // MARK: Step 3

  /// Renames the facts that a store may drop.
  private static func nameCaches(_ database: Database) throws {
    let starts = [
      "attested.", "base.kept.", "claim.", "clock.", "compared.", "copied.", "crowded.", "epoch.",
      "given.", "held.", "life.", "limit.", "names.", "own-names.", "pending.", "private.group",
      "proofs.", "recovery.told.", "refused.", "snapshots.", "text.",
    ]
    for start in starts {
      try database.execute(
        sql: "UPDATE hearth_facts SET name = ? || name WHERE name LIKE ? || '%'",
        arguments: [FactNames.cachePrefix, start])
    }
  }

  private static func digestChanges(_ database: Database) throws {
    let rows = try Row.fetchAll(
      database,
      sql: """
        SELECT c.zone, c.author, c.sequence, c.bytes, z.id, a.device, a.incarnation
        FROM hearth_changes c JOIN hearth_zones z ON z.number = c.zone
        JOIN hearth_authors a ON a.number = c.author
        """)
    for row in rows {
      let (zone, author, sequence): (Int64, Int64, Int64) = (row[0], row[1], row[2])
      let (bytes, id, device): (Data, Data, Data) = (row[3], row[4], row[5])
      let incarnation: Int64 = row[6]
      guard let id = Identifier(bytes: Array(id)), let device = Identifier(bytes: Array(device))
      else { throw StoreError(.corrupt, "an id in the node's database does not have 16 bytes") }
      let writer = Author(device: device, incarnation: UInt64(bitPattern: incarnation))
      let digest = RowDigest.of(
        change: Array(bytes), at: Dot(author: writer, sequence: UInt64(bitPattern: sequence)),
        in: id)
      try database.execute(
        sql: "UPDATE hearth_changes SET digest = ? WHERE zone = ? AND author = ? AND sequence = ?",
        arguments: [Data(digest), zone, author, sequence])
    }
  }

  private static func digestFacts(_ database: Database) throws {
    for row in try Row.fetchAll(database, sql: "SELECT name, value FROM hearth_facts") {
      let (name, value): (String, Data) = (row[0], row[1])
      try database.execute(
        sql: "UPDATE hearth_facts SET digest = ? WHERE name = ?",
        arguments: [Data(RowDigest.of(fact: name, Array(value))), name])
    }
  }

  /// The tables of step 4.
  private static let attachments = [
    """
    CREATE TABLE hearth_attachments(
      zone INTEGER NOT NULL, digest BLOB NOT NULL, size INTEGER NOT NULL, released INTEGER,
      PRIMARY KEY(zone, digest)) WITHOUT ROWID
    """,
    """
    CREATE TABLE hearth_attachment_bytes(
      zone INTEGER NOT NULL, digest BLOB NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(zone, digest))
    """,
  ]

  private static let version1 = [
    """
    CREATE TABLE hearth_facts(name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID
    """,
    """
    CREATE TABLE hearth_zones(
      number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, "group" BLOB NOT NULL,
      kind INTEGER NOT NULL, "database" INTEGER NOT NULL, name TEXT NOT NULL,
      secret BLOB NOT NULL)
    """,
    """
    CREATE TABLE hearth_epochs(
      zone INTEGER NOT NULL, number INTEGER NOT NULL, key BLOB NOT NULL,
      PRIMARY KEY(zone, number)) WITHOUT ROWID
    """,
    """
    CREATE TABLE hearth_authors(
      number INTEGER PRIMARY KEY, device BLOB NOT NULL, incarnation INTEGER NOT NULL,
      UNIQUE(device, incarnation))
    """,
    """
    CREATE TABLE hearth_heads(
      zone INTEGER NOT NULL, author INTEGER NOT NULL, sequence INTEGER NOT NULL,
      hash BLOB NOT NULL, time INTEGER NOT NULL, seen BLOB NOT NULL, control_seen BLOB NOT NULL,
      forked_at INTEGER, PRIMARY KEY(zone, author)) WITHOUT ROWID
    """,
    """
    CREATE TABLE hearth_changes(
      zone INTEGER NOT NULL, author INTEGER NOT NULL, sequence INTEGER NOT NULL,
      bytes BLOB NOT NULL, PRIMARY KEY(zone, author, sequence)) WITHOUT ROWID
    """,
    """
    CREATE TABLE hearth_segments(
      number INTEGER PRIMARY KEY, zone INTEGER NOT NULL, author INTEGER NOT NULL,
      first INTEGER NOT NULL, last INTEGER NOT NULL, digest BLOB NOT NULL,
      size INTEGER NOT NULL, UNIQUE(zone, digest))
    """,
    """
    CREATE TABLE hearth_segment_bytes(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)
    """,
    """
    CREATE TABLE hearth_pending(
      zone INTEGER NOT NULL, digest BLOB NOT NULL, reason TEXT NOT NULL, wait BLOB NOT NULL,
      author BLOB NOT NULL, incarnation INTEGER NOT NULL, first INTEGER NOT NULL,
      last INTEGER NOT NULL, epoch BLOB NOT NULL, size INTEGER NOT NULL, bytes BLOB NOT NULL,
      PRIMARY KEY(zone, digest))
    """,
    """
    CREATE TABLE hearth_snapshots(zone INTEGER PRIMARY KEY, bytes BLOB NOT NULL)
    """,
    """
    CREATE TABLE hearth_notices(
      number INTEGER PRIMARY KEY, kind TEXT NOT NULL, zone BLOB, device BLOB, text TEXT NOT NULL,
      time INTEGER NOT NULL)
    """,
    """
    CREATE TABLE hearth_types(
      type INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)
    """,
    """
    CREATE TABLE hearth_fields(
      type INTEGER NOT NULL, field INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
      indexed INTEGER NOT NULL, PRIMARY KEY(type, field)) WITHOUT ROWID
    """,
    """
    CREATE TABLE hearth_opaque(
      zone INTEGER NOT NULL, type INTEGER NOT NULL, id BLOB NOT NULL, alive INTEGER NOT NULL,
      meta BLOB NOT NULL, PRIMARY KEY(zone, type, id)) WITHOUT ROWID
    """,
    """
    CREATE TABLE hearth_projections(name TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL)
      WITHOUT ROWID
    """,
  ]
}
