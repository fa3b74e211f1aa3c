import HearthCrypto
import HearthRelayCore

/// The numbered, forward-only steps from an empty database to the current layout of a relay's log.
///
/// A released step never changes. `hearth_relay.layout` holds the number of the last one.
enum PostgresMigrations {
  /// The oldest server version that has all required features: 13.
  static let minimumServerVersion = 130_000

  /// The advisory lock that a migrating relay holds: "HRLY" and 1.
  private static let lock: Int64 = 0x4852_4c59_0000_0001

  static let steps: [[String]] = [
    [
      """
      CREATE TABLE hearth_relay.mailboxes(
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL UNIQUE,
        kind smallint NOT NULL, generation bytea NOT NULL, access_key bytea NOT NULL,
        access_generation bigint NOT NULL, managers bytea NOT NULL, head bigint NOT NULL,
        chain bytea NOT NULL, used_bytes bigint NOT NULL, quota_bytes bigint,
        day bigint NOT NULL) WITH (fillfactor = 50)
      """,
      """
      CREATE TABLE hearth_relay.entries(
        mailbox bigint NOT NULL, position bigint NOT NULL, flags smallint NOT NULL,
        size integer NOT NULL, name bytea NOT NULL, digest bytea NOT NULL, chain bytea NOT NULL,
        blob bytea, PRIMARY KEY(mailbox, position))
      """,
      // Sealed blobs cannot be compressed, so do not try.
      "ALTER TABLE hearth_relay.entries ALTER COLUMN blob SET STORAGE EXTERNAL",
      """
      CREATE UNIQUE INDEX live ON hearth_relay.entries(mailbox, name) WHERE blob IS NOT NULL
      """,
      """
      CREATE TABLE hearth_relay.tokens(
        digest bytea PRIMARY KEY, uses bigint NOT NULL, note text NOT NULL)
      """,
      "CREATE TABLE hearth_relay.listed(key bytea PRIMARY KEY, note text NOT NULL)",
    ],
    [
      // Ids are returned in the order of their bytes, whatever the database's language is.
      """
      CREATE TABLE hearth_relay.public_records(
        mailbox bigint NOT NULL, type text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
        position bigint NOT NULL, PRIMARY KEY(mailbox, type, id))
      """,
      // A record's fields by its position. By type and id, a planner without statistics chooses the
      // other index, which is a thousand times slower.
      """
      CREATE TABLE hearth_relay.public_fields(
        mailbox bigint NOT NULL, position bigint NOT NULL, type text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, kind smallint NOT NULL,
        value bytea NOT NULL, PRIMARY KEY(mailbox, position, name, kind, value))
      """,
      """
      CREATE INDEX public_values
        ON hearth_relay.public_fields(mailbox, type, name, kind, value, id) INCLUDE (position)
      """,
    ],
    [
      """
      ALTER TABLE hearth_relay.mailboxes ADD COLUMN parent bigint, ADD COLUMN child smallint
      """,
      """
      CREATE INDEX children ON hearth_relay.mailboxes(parent, child, number)
        WHERE parent IS NOT NULL
      """,
      "CREATE TABLE hearth_relay.settings(name text PRIMARY KEY, value bigint NOT NULL)",
    ],
    [
      """
      ALTER TABLE hearth_relay.mailboxes ADD COLUMN roster bytea NOT NULL
        DEFAULT decode('00000000', 'hex')
      """,
      // `RelayRoster` of one manager with no use: the existing use counts for guests.
      """
      UPDATE hearth_relay.mailboxes SET roster = decode('0100000101', 'hex')
        || substring(managers FROM 1 FOR 32) || decode('020000', 'hex')
        WHERE octet_length(managers) >= 32
      """,
      "ALTER TABLE hearth_relay.mailboxes DROP COLUMN managers",
      "ALTER TABLE hearth_relay.entries ADD COLUMN seat bigint NOT NULL DEFAULT 0",
    ],
  ]

  /// Brings a database to the current layout, however many relays start at once.
  ///
  /// - Throws: a final fault with `newer` or `corrupt`.
  static func migrate(_ connection: PostgresConnection, _ address: PostgresAddress)
    throws(PostgresFault)
  {
    guard try version(connection, address) < steps.count else { return }
    defer { connection.settle() }
    _ = try connection.run([
      .once("BEGIN"), .once("SELECT pg_advisory_xact_lock($1::bigint)", [.int8(lock)]),
    ])
    // Check again: another relay may have migrated while this one waited.
    let present = try version(connection, address)
    guard present < steps.count else { return }
    var calls: [PostgresCall] = []
    if try connection.run([.once("SELECT 1 FROM pg_namespace WHERE nspname = 'hearth_relay'")])[0]
      .count == 0
    {
      calls.append(.once("CREATE SCHEMA hearth_relay"))
    }
    if present == 0 {
      calls.append(
        .once("CREATE TABLE hearth_relay.layout(version bigint NOT NULL, relay bytea)"))
      calls.append(.once("INSERT INTO hearth_relay.layout(version) VALUES(0)"))
    }
    calls += steps[present...].joined().map { .once($0) }
    calls.append(
      .once("UPDATE hearth_relay.layout SET version = $1::bigint", [.int8(Int64(steps.count))]))
    try connection.commit(calls)
  }

  /// Returns the layout of a database; 0 if it has none.
  static func version(_ connection: PostgresConnection, _ address: PostgresAddress)
    throws(PostgresFault) -> Int
  {
    let tables = try connection.run([
      .once(
        """
        SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = 'hearth_relay' AND c.relname = 'layout'
        """)
    ])
    guard tables[0].count == 1 else { return 0 }
    let rows = try connection.run([.once("SELECT version FROM hearth_relay.layout")])[0]
    guard rows.count == 1 else { throw PostgresFault.damaged }
    let version = try rows.int8(0, 0)
    guard version <= steps.count else {
      throw PostgresFault(
        kind: .final(
          RelayError(
            .newer, "\(address) was written by a newer relay (layout \(version)): update this one")
        ), words: "")
    }
    guard version >= 0 else { throw PostgresFault.damaged }
    return Int(version)
  }

  /// Records which relay owns the mailboxes, the first time; refuses every other relay.
  static func bind(
    _ connection: PostgresConnection, to relayID: Bytes32, _ address: PostgresAddress
  ) throws(PostgresFault) {
    let rows = try connection.run([
      .once(
        "UPDATE hearth_relay.layout SET relay = $1::bytea WHERE relay IS NULL",
        [.bytes(relayID.array)]), .once("SELECT relay FROM hearth_relay.layout"),
    ])[1]
    guard try rows.bytes(0, 0, atMost: 64) != relayID.array else { return }
    throw PostgresFault(
      kind: .final(
        RelayError(
          .invalidOption,
          "\(address) belongs to a relay with other keys: copy that relay's identity.key into this "
            + "one's folder, so that clients recognise both as one")), words: "")
  }
}
