/// The numbered, forward-only steps from an empty file to the current layout of a relay's log.
///
/// A released step never changes. The number of the last one is SQLite's `user_version`.
enum RelayMigrations {
  /// The application id in the files' header: "HRLY".
  static let applicationID = 0x4852_4c59

  static let steps: [[String]] = [
    [
      "PRAGMA application_id = \(applicationID)",
      """
      CREATE TABLE mailboxes(
        number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL,
        generation BLOB NOT NULL, access_key BLOB NOT NULL, access_generation INTEGER NOT NULL,
        head INTEGER NOT NULL, chain BLOB NOT NULL, used_bytes INTEGER NOT NULL,
        quota_bytes INTEGER, day INTEGER NOT NULL)
      """,
      """
      CREATE TABLE managers(mailbox INTEGER NOT NULL, key BLOB NOT NULL, PRIMARY KEY(mailbox, key))
        WITHOUT ROWID
      """,
      """
      CREATE TABLE entries(
        mailbox INTEGER NOT NULL, position INTEGER NOT NULL, flags INTEGER NOT NULL,
        name BLOB NOT NULL, size INTEGER NOT NULL, digest BLOB NOT NULL, chain BLOB NOT NULL,
        blob INTEGER, PRIMARY KEY(mailbox, position)) WITHOUT ROWID
      """,
      "CREATE UNIQUE INDEX live ON entries(mailbox, name) WHERE blob IS NOT NULL",
      "CREATE TABLE blobs(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
      """
      CREATE TABLE tokens(
        digest BLOB PRIMARY KEY, uses INTEGER NOT NULL, note TEXT NOT NULL) WITHOUT ROWID
      """,
      "CREATE TABLE listed(key BLOB PRIMARY KEY, note TEXT NOT NULL) WITHOUT ROWID",
    ],
    [
      """
      CREATE TABLE public_records(
        mailbox INTEGER NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL,
        PRIMARY KEY(mailbox, type, id)) WITHOUT ROWID
      """,
      """
      CREATE TABLE public_fields(
        mailbox INTEGER NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL,
        kind INTEGER NOT NULL, value NOT NULL,
        PRIMARY KEY(mailbox, type, id, name, kind, value)) WITHOUT ROWID
      """,
      "CREATE INDEX public_values ON public_fields(mailbox, type, name, kind, value, id)",
    ],
    [
      "ALTER TABLE mailboxes ADD COLUMN parent INTEGER",
      "ALTER TABLE mailboxes ADD COLUMN child INTEGER",
      "CREATE INDEX children ON mailboxes(parent, child, number) WHERE parent IS NOT NULL",
      "CREATE TABLE settings(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    ],
    [
      "ALTER TABLE mailboxes ADD COLUMN roster BLOB NOT NULL DEFAULT x'00000000'",
      // `RelayRoster` of one manager with no use: the existing use counts for guests.
      """
      UPDATE mailboxes SET roster = CAST(x'0100000101'
        || (SELECT key FROM managers WHERE mailbox = number ORDER BY key LIMIT 1)
        || x'020000' AS BLOB)
        WHERE EXISTS(SELECT 1 FROM managers WHERE mailbox = number)
      """,
      "DROP TABLE managers",
      "ALTER TABLE entries ADD COLUMN seat INTEGER NOT NULL DEFAULT 0",
    ],
  ]

  /// Brings a file to the current layout.
  ///
  /// The missing steps run in one transaction.
  static func migrate(_ database: RelayDatabase, path: String) throws(RelayError) {
    let version = try database.number("PRAGMA user_version")
    guard version <= steps.count else {
      throw RelayError(
        .newer, "\(path) was written by a newer relay (layout \(version)): update this one")
    }
    if version > 0, try database.number("PRAGMA application_id") != applicationID {
      throw RelayError(.corrupt, "\(path) is another program's database: choose another folder")
    }
    guard version < steps.count else { return }
    try database.transaction { () throws(RelayError) in
      for step in steps[Int(version)...] {
        for statement in step { try database.execute(statement) }
      }
      try database.execute("PRAGMA user_version = \(steps.count)")
    }
  }
}
