import HearthCRDT
import HearthMembership
import HearthSync

/// The zones of a replica, their keys, and the heads of their logs.
package final class SQLiteZones: ZoneStore {
  private let connection: Connection
  private let authors: AuthorNumbers
  /// The number by which the rows of records name each zone.
  ///
  /// It is negative while the zone's draft has the positive one, which all other rows name.
  private var numbers: [ZoneID: Int64] = [:]
  /// The zone whose draft is being written.
  private(set) var drafted: ZoneID?

  init(connection: Connection, authors: AuthorNumbers) {
    self.connection = connection
    self.authors = authors
  }

  /// The zones, in order of id.
  var ids: [ZoneID] { numbers.keys.sorted() }

  /// Returns the number by which rows name a zone, except those of its records.
  func number(of zone: ZoneID) throws -> Int64 { abs(try present(zone)) }

  /// Returns the number by which records, derived rows and base snapshot name a zone; that of its
  /// draft while the draft is being written.
  func recordNumber(of zone: ZoneID) throws -> Int64 {
    zone == drafted ? -(try present(zone)) : try present(zone)
  }

  private func present(_ zone: ZoneID) throws -> Int64 {
    guard let number = numbers[zone] else {
      throw StoreError(.notFound, "zone \(zone.hex) is not in this node's database")
    }
    return number
  }

  /// Runs a body that writes to the draft of a zone.
  func drafting<Result>(_ zone: ZoneID, _ body: () throws -> Result) throws -> Result {
    let former = drafted
    drafted = zone
    defer { drafted = former }
    return try body()
  }

  /// Exchanges the records of a zone with its draft.
  func exchangeDraft(of zone: ZoneID) throws {
    let number = try present(zone)
    try connection.statement("UPDATE hearth_zones SET number = ? WHERE id = ?")
      .bind(-number).bind(zone).execute()
    numbers[zone] = -number
  }

  /// Reads the numbers again, after an undone transaction that may have added to them.
  func reload() throws {
    numbers = [:]
    let statement = try connection.statement("SELECT id, number FROM hearth_zones")
    while try statement.step() {
      numbers[try statement.identifier(0)] = statement.int(1)
    }
  }

  package func all() throws -> [StoredZone] {
    try connection.run {
      let statement = try connection.statement(
        """
        SELECT number, id, "group", kind, "database", name, secret FROM hearth_zones ORDER BY id
        """)
      var rows: [(Int64, StoredZone)] = []
      while try statement.step() {
        guard let kind = ZoneKind(rawValue: UInt8(truncatingIfNeeded: statement.int(3))),
          let database = DatabaseKind(rawValue: UInt8(truncatingIfNeeded: statement.int(4)))
        else { throw StoreError(.newerFormat, "a zone has a kind that this version does not know") }
        rows.append(
          (
            abs(statement.int(0)),
            StoredZone(
              id: try statement.identifier(1), group: try statement.identifier(2), kind: kind,
              database: database, name: statement.text(5), wrappedSecret: statement.blob(6),
              wrappedEpochs: [])
          ))
      }
      return try rows.map { number, zone in
        var zone = zone
        let epochs = try connection.statement(
          "SELECT key FROM hearth_epochs WHERE zone = ? ORDER BY number")
        try epochs.bind(number)
        while try epochs.step() { zone.wrappedEpochs.append(epochs.blob(0)) }
        return zone
      }
    }
  }

  package func save(_ zone: StoredZone) throws {
    try connection.statement(
      """
      INSERT INTO hearth_zones(number, id, "group", kind, "database", name, secret)
      VALUES((SELECT ifnull(max(abs(number)), 0) + 1 FROM hearth_zones), ?, ?, ?, ?, ?, ?)
      ON CONFLICT(id) DO UPDATE SET name = excluded.name
      """
    )
    .bind(zone.id).bind(zone.group).bind(Int(zone.kind.rawValue))
    .bind(Int(zone.database.rawValue)).bind(zone.name).bind(zone.wrappedSecret).execute()
    let statement = try connection.statement("SELECT number FROM hearth_zones WHERE id = ?")
    try statement.bind(zone.id)
    guard try statement.step() else {
      throw StoreError(.failed, "zone \(zone.name) was not saved")
    }
    let number = statement.int(0)
    statement.reset()
    numbers[zone.id] = number
    for (place, key) in zone.wrappedEpochs.enumerated() {
      try connection.statement(
        "INSERT OR REPLACE INTO hearth_epochs(zone, number, key) VALUES(?, ?, ?)"
      )
      .bind(abs(number)).bind(place).bind(key).execute()
    }
  }

  package func learn(_ authors: [Author]) throws {
    try self.authors.learn(authors)
  }

  package func heads(of zone: ZoneID) throws -> [LogHead] {
    try connection.run {
      let statement = try connection.statement(
        """
        SELECT author, sequence, hash, time, seen, control_seen, forked_at FROM hearth_heads
        WHERE zone = ?
        """)
      try statement.bind(try number(of: zone))
      var heads: [LogHead] = []
      while try statement.step() {
        let place = Int(statement.int(0))
        guard authors.table.authors.indices.contains(place) else {
          throw StoreError(.corrupt, "a log head names an author that is not in the database")
        }
        guard statement.uint(1) <= Frontier.maximumSequence, statement.blob(2).count == 32,
          statement.isNull(6) || statement.uint(6) > 0
        else {
          throw SQLiteZones.damagedHead
        }
        heads.append(
          LogHead(
            author: authors.table.authors[place], sequence: statement.uint(1),
            hash: statement.blob(2), time: HybridTime(rawValue: statement.uint(3)),
            seen: try frontier(statement.blob(4)), controlSeen: try frontier(statement.blob(5)),
            forkedAt: statement.isNull(6) ? nil : statement.uint(6)))
      }
      guard Set(heads.map(\.author)).count == heads.count else { throw SQLiteZones.damagedHead }
      return heads
    }
  }

  private static var damagedHead: StoreError {
    StoreError(
      .corrupt,
      "a log head in the node's database is damaged: keep a copy of the home folder, then join "
        + "again")
  }

  package func save(_ heads: [LogHead], of zone: ZoneID) throws {
    let number = try number(of: zone)
    for head in heads {
      try authors.learn([head.author])
      let statement = try connection.statement(
        """
        INSERT OR REPLACE INTO hearth_heads(
          zone, author, sequence, hash, time, seen, control_seen, forked_at)
        VALUES(?, ?, ?, ?, ?, ?, ?, ?)
        """)
      try statement.bind(number).bind(authors.table.number(of: head.author))
        .bind(head.sequence).bind(head.hash).bind(head.time.rawValue)
        .bind(bytes(of: head.seen)).bind(bytes(of: head.controlSeen))
      if let forkedAt = head.forkedAt {
        try statement.bind(forkedAt)
      } else {
        try statement.bindNull()
      }
      try statement.execute()
    }
  }

  package func removeHeads(of zone: ZoneID) throws {
    try connection.statement("DELETE FROM hearth_heads WHERE zone = ?")
      .bind(try number(of: zone)).execute()
  }

  private func bytes(of frontier: Frontier) -> [UInt8] {
    var writer = ByteWriter(capacity: 64)
    writer.frontier(frontier)
    return writer.bytes
  }

  private func frontier(_ bytes: [UInt8]) throws -> Frontier {
    do {
      var reader = ByteReader(bytes)
      let frontier = try reader.frontier("frontier")
      try reader.finish()
      return frontier
    } catch {
      throw StoreError(.corrupt, "a frontier in the node's database is damaged", cause: error)
    }
  }
}
