import HearthCRDT
import HearthMembership
import HearthSync

// The log half of the port: zones, heads, changes, segments, pending segments, facts.
extension ReplicaStore: Store {
  package func zones() throws -> [StoredZone] {
    try connection.run { _ in
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
            statement.int(0),
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
      INSERT INTO hearth_zones(id, "group", kind, "database", name, secret)
      VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET name = excluded.name
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
    note(zone: zone.id, number: number)
    for (place, key) in zone.wrappedEpochs.enumerated() {
      try connection.statement(
        "INSERT OR REPLACE INTO hearth_epochs(zone, number, key) VALUES(?, ?, ?)"
      )
      .bind(number).bind(place).bind(key).execute()
    }
  }

  package func learn(_ authors: [Author]) throws {
    try self.authors.learn(authors)
  }

  // MARK: Heads

  package func heads(of zone: ZoneID) throws -> [LogHead] {
    try connection.run { _ in
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
        heads.append(
          LogHead(
            author: authors.table.authors[place], sequence: statement.uint(1),
            hash: statement.blob(2), time: HybridTime(rawValue: statement.uint(3)),
            seen: try frontier(statement.blob(4)), controlSeen: try frontier(statement.blob(5)),
            forkedAt: statement.isNull(6) ? nil : statement.uint(6)))
      }
      return heads
    }
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

  // MARK: Own changes

  package func append(_ change: [UInt8], dot: Dot, to zone: ZoneID) throws {
    try authors.learn([dot.author])
    try connection.statement(
      "INSERT INTO hearth_changes(zone, author, sequence, bytes) VALUES(?, ?, ?, ?)"
    )
    .bind(try number(of: zone)).bind(authors.table.number(of: dot.author))
    .bind(dot.sequence).bind(change).execute()
  }

  package func changes(
    of author: Author, in zone: ZoneID, after sequence: UInt64, limit: Int
  ) throws -> [[UInt8]] {
    try connection.run { _ in
      guard authors.table.contains(author) else { return [] }
      let statement = try connection.statement(
        """
        SELECT bytes FROM hearth_changes WHERE zone = ? AND author = ? AND sequence > ?
        ORDER BY sequence LIMIT ?
        """)
      try statement.bind(try number(of: zone)).bind(authors.table.number(of: author))
        .bind(sequence).bind(limit)
      var changes: [[UInt8]] = []
      while try statement.step() { changes.append(statement.blob(0)) }
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
    .bind(try number(of: zone)).bind(authors.table.number(of: author)).bind(sequence).execute()
  }

  // MARK: Segments

  package func save(_ segment: StoredSegment, bytes: [UInt8], in zone: ZoneID) throws {
    knownSegments[zone] = nil
    try authors.learn([segment.author])
    try connection.statement(
      """
      INSERT INTO hearth_segments(zone, author, first, last, digest, size)
      VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT(zone, digest) DO NOTHING
      """
    )
    .bind(try number(of: zone)).bind(authors.table.number(of: segment.author))
    .bind(segment.first).bind(segment.last).bind(segment.digest).bind(segment.byteCount).execute()
    guard connection.changedRows == 1 else { return }
    try connection.statement(
      """
      INSERT OR REPLACE INTO hearth_segment_bytes(number, bytes)
      SELECT number, ? FROM hearth_segments WHERE zone = ? AND digest = ?
      """
    )
    .bind(bytes).bind(try number(of: zone)).bind(segment.digest).execute()
  }

  package func segments(of zone: ZoneID) throws -> [StoredSegment] {
    if let known = knownSegments[zone] { return known }
    return try connection.run { _ in
      let statement = try connection.statement(
        """
        SELECT author, first, last, digest, size FROM hearth_segments WHERE zone = ?
        ORDER BY author, first
        """)
      try statement.bind(try number(of: zone))
      var segments: [StoredSegment] = []
      while try statement.step() {
        let place = Int(statement.int(0))
        guard authors.table.authors.indices.contains(place) else {
          throw StoreError(.corrupt, "a segment names an author that is not in the database")
        }
        segments.append(
          StoredSegment(
            author: authors.table.authors[place], first: statement.uint(1),
            last: statement.uint(2), digest: try statement.identifier(3),
            byteCount: Int(statement.int(4))))
      }
      knownSegments[zone] = segments
      return segments
    }
  }

  package func bytes(of segment: Identifier, in zone: ZoneID) throws -> [UInt8]? {
    try connection.run { _ in
      let statement = try connection.statement(
        """
        SELECT b.bytes FROM hearth_segments s JOIN hearth_segment_bytes b ON b.number = s.number
        WHERE s.zone = ? AND s.digest = ?
        """)
      try statement.bind(try number(of: zone)).bind(segment)
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      return statement.blob(0)
    }
  }

  package func removeSegment(_ digest: Identifier, in zone: ZoneID) throws {
    knownSegments[zone] = nil
    let number = try number(of: zone)
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

  // MARK: Pending

  package func removePending(_ digest: Identifier, in zone: ZoneID) throws {
    try connection.statement("DELETE FROM hearth_pending WHERE zone = ? AND digest = ?")
      .bind(try number(of: zone)).bind(digest).execute()
  }

  // MARK: Snapshot, facts, notices

  package func baseSnapshot(of zone: ZoneID, atMost byteCount: Int) throws -> [UInt8]? {
    try connection.run { _ in
      let statement = try connection.statement(
        "SELECT substr(bytes, 1, ?) FROM hearth_snapshots WHERE zone = ?")
      try statement.bind(Int64(byteCount)).bind(try number(of: zone))
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      return statement.blob(0)
    }
  }

  package func saveBaseSnapshot(_ bytes: [UInt8], of zone: ZoneID) throws {
    try connection.statement("INSERT OR REPLACE INTO hearth_snapshots(zone, bytes) VALUES(?, ?)")
      .bind(try number(of: zone)).bind(bytes).execute()
  }

  package func removeBaseSnapshot(of zone: ZoneID) throws {
    try connection.statement("DELETE FROM hearth_snapshots WHERE zone = ?")
      .bind(try number(of: zone)).execute()
  }

  package func fact(_ name: String) throws -> [UInt8]? {
    try connection.run { _ in
      let statement = try connection.statement("SELECT value FROM hearth_facts WHERE name = ?")
      try statement.bind(name)
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      return statement.blob(0)
    }
  }

  package func setFact(_ name: String, _ value: [UInt8]?) throws {
    try connection.run { _ in
      if let value {
        try connection.statement(
          "INSERT OR REPLACE INTO hearth_facts(name, value) VALUES(?, ?)"
        )
        .bind(name).bind(value).execute()
      } else {
        try connection.statement("DELETE FROM hearth_facts WHERE name = ?").bind(name).execute()
      }
    }
  }

  package func add(_ notice: Notice) throws {
    let statement = try connection.statement(
      "INSERT INTO hearth_notices(kind, zone, device, text, time) VALUES(?, ?, ?, ?, ?)")
    try statement.bind(notice.kind.rawValue)
    if let zone = notice.zone { try statement.bind(zone) } else { try statement.bindNull() }
    if let device = notice.device { try statement.bind(device) } else { try statement.bindNull() }
    try statement.bind(notice.text).bind(notice.milliseconds).execute()
  }

  /// Removes notices that turned out to be false.
  package func removeNotices(of kind: Notice.Kind, in zone: ZoneID?, saying text: String) throws {
    let statement = try connection.statement(
      "DELETE FROM hearth_notices WHERE kind = ? AND zone IS ? AND text = ?")
    try statement.bind(kind.rawValue)
    if let zone { try statement.bind(zone) } else { try statement.bindNull() }
    try statement.bind(text).execute()
  }

  /// Returns the notices to the node's person, oldest first.
  package func notices() throws -> [Notice] {
    try connection.run { _ in
      let statement = try connection.statement(
        "SELECT kind, zone, device, text, time FROM hearth_notices ORDER BY number")
      var notices: [Notice] = []
      while try statement.step() {
        guard let kind = Notice.Kind(rawValue: statement.text(0)) else { continue }
        notices.append(
          Notice(
            kind: kind, zone: statement.isNull(1) ? nil : try statement.identifier(1),
            device: statement.isNull(2) ? nil : try statement.identifier(2),
            text: statement.text(3), milliseconds: statement.uint(4)))
      }
      return notices
    }
  }
}
