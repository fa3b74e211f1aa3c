import HearthCRDT
import HearthMembership
import HearthSync

/// The projections of a replica: tables that are derived from the records.
package final class SQLiteProjections: ProjectionStore {
  private let projections: [any Projection]
  let cache: ProjectionCache

  init(_ projections: [any Projection], cache: ProjectionCache) {
    self.projections = projections
    self.cache = cache
  }

  private var connection: Connection { cache.connection }
  private var zones: SQLiteZones { cache.zones }

  /// The same projections on another connection, which knows who belongs to which group.
  func copy(on connection: Connection, _ zones: SQLiteZones, _ records: SQLiteRecords)
    -> SQLiteProjections
  {
    let cache = ProjectionCache(connection: connection, zones: zones, records: records)
    for (group, membership) in memberships { cache.take(membership, of: group) }
    return SQLiteProjections(projections, cache: cache)
  }

  /// Creates the tables of projections, and rebuilds one whose version has changed.
  ///
  /// A projection that this program does not maintain becomes stale with the next write. It is
  /// marked, so that a program that maintains it rebuilds it.
  func prepare() throws {
    try forgetOthers()
    for projection in projections {
      let statement = try connection.statement(
        "SELECT version FROM hearth_projections WHERE name = ?")
      try statement.bind(projection.name)
      let present = try statement.step() ? statement.int(0) : nil
      statement.reset()
      guard present != Int64(projection.version) else { continue }
      for table in projection.tables {
        let name = ProjectedTable.name(projection, table)
        try connection.execute("DROP TABLE IF EXISTS \(TypeTable.quoted(name))")
        for sql in ProjectedTable.create(projection, table) { try connection.execute(sql) }
      }
      connection.forgetStatements()
      for zone in zones.ids {
        try rebuild(projection, in: zone)
        // Somebody may be writing it.
        try zones.drafting(zone) { try rebuild(projection, in: zone) }
      }
      try connection.statement(
        "INSERT OR REPLACE INTO hearth_projections(name, version) VALUES(?, ?)"
      )
      .bind(projection.name).bind(projection.version).execute()
    }
  }

  private func forgetOthers() throws {
    let statement = try connection.statement("SELECT name FROM hearth_projections")
    var others: [String] = []
    while try statement.step() { others.append(statement.text(0)) }
    for name in others where !projections.contains(where: { $0.name == name }) {
      try connection.statement("DELETE FROM hearth_projections WHERE name = ?")
        .bind(name).execute()
    }
  }

  package func update(for keys: [RecordKey], in zone: ZoneID) throws {
    if keys.contains(where: { $0.type == ControlOperation.type }) {
      try judgeAuthorsAnew(besides: zone)
    }
    for projection in projections {
      let types = projection.types
      let wanted = keys.filter { types.contains($0.type) }
      guard !wanted.isEmpty else { continue }
      let view = try ProjectionView(projection, cache: cache, zone: zone)
      try projection.update(wanted, from: view, to: view)
    }
  }

  /// Updates everything that depends on the members of a control zone's group.
  private func judgeAuthorsAnew(besides control: ZoneID) throws {
    let zones = try zones.all()
    let group = zones.first { $0.id == control }?.group
    for zone in zones where zone.group == group && zone.kind != .control {
      for projection in projections {
        let view = try ProjectionView(projection, cache: cache, zone: zone.id)
        try projection.judgeAnew(from: view, to: view)
      }
    }
  }

  /// Drops a projection's rows of a zone and computes them from the records.
  private func rebuild(_ projection: any Projection, in zone: ZoneID) throws {
    try removeRows(of: projection, in: zone)
    let view = try ProjectionView(projection, cache: cache, zone: zone)
    var keys: [RecordKey] = []
    for type in projection.types {
      keys += try view.ids(of: type).map { RecordKey(type: type, id: $0) }
    }
    if !keys.isEmpty { try projection.update(keys, from: view, to: view) }
    try projection.computeRows(ofGroup: nil, from: view, to: view)
  }

  /// Computes rows of a derived table that are out of date: of all groups, or of one.
  package func computeRows(
    of table: DerivedTable, inGroup group: Value? = nil, in zone: ZoneID
  ) throws {
    for projection in projections where projection.name == table.projection {
      let view = try ProjectionView(projection, cache: cache, zone: zone)
      try projection.computeRows(ofGroup: group, from: view, to: view)
    }
  }

  /// Computes all rows of a zone that are out of date.
  func computeRows(of zone: ZoneID) throws {
    for projection in projections {
      let view = try ProjectionView(projection, cache: cache, zone: zone)
      try projection.computeRows(ofGroup: nil, from: view, to: view)
    }
  }

  /// How many records are given to a projection at once while empty tables are filled.
  private static let filledRecords = 64

  /// Fills the tables of a zone, which are empty, from its records.
  private func fill(_ zone: ZoneID) throws {
    for projection in projections {
      let view = try ProjectionView(projection, cache: cache, zone: zone)
      for pass in 0..<projection.fillingPasses {
        for type in projection.fillingTypes {
          var last: RecordID?
          while true {
            let ids = try view.ids(of: type, after: last, atMost: SQLiteProjections.filledRecords)
            guard let end = ids.last else { break }
            let keys = ids.map { RecordKey(type: type, id: $0) }
            try projection.fill(keys, pass: pass, from: view, to: view)
            last = end
          }
        }
      }
    }
  }

  /// Fills tables in the connection's memory from the records of a zone.
  ///
  /// They hide the tables of the file until ``showTables()``.
  func fillHidden(_ zone: ZoneID) throws {
    try connection.run {
      for projection in projections {
        for table in projection.tables {
          for sql in ProjectedTable.create(projection, table, isTemporary: true) {
            try connection.execute(sql)
          }
        }
      }
      try connection.readOneState { try fill(zone) }
    }
  }

  /// Removes the tables of ``fillHidden(_:)``.
  func showTables() throws {
    try connection.run {
      for projection in projections {
        for table in projection.tables {
          let name = TypeTable.quoted(ProjectedTable.name(projection, table))
          try connection.execute("DROP TABLE IF EXISTS temp.\(name)")
        }
      }
    }
  }

  /// How far the rows of a zone were read.
  struct Reading {
    fileprivate var table = 0
    fileprivate var statement: Statement?
  }

  /// Returns the next rows of a zone, table by table, in the order in which they are best written;
  /// none at the end.
  ///
  /// Nothing may be written between two calls.
  func next(
    in reading: inout Reading, of zone: ZoneID, atMost count: Int
  ) throws -> [DerivedValues] {
    let tables = projections.flatMap { one in cache.tables(of: one).map { (one.name, $0) } }
    let number = try zones.recordNumber(of: zone)
    var rows: [DerivedValues] = []
    while rows.count < count, reading.table < tables.count {
      let (projection, table) = tables[reading.table]
      let statement: Statement
      if let open = reading.statement {
        statement = open
      } else {
        statement = try connection.statement(table.selectForWriting)
        try statement.bind(number)
        reading.statement = statement
      }
      let types = table.columns.map(\.type)
      guard try statement.step() else {
        reading.statement = nil
        reading.table += 1
        continue
      }
      rows.append(
        DerivedValues(
          projection: projection, table: table.name,
          values: try ColumnCodec.row(of: statement, as: types)))
    }
    return rows
  }

  /// Writes rows of a zone.
  func insert(_ rows: [DerivedValues], in zone: ZoneID) throws {
    var view: ProjectionView?
    for row in rows {
      if view?.projection.name != row.projection {
        guard let projection = projections.first(where: { $0.name == row.projection }) else {
          throw StoreError(.schema, "there is no projection named \(row.projection)")
        }
        view = try ProjectionView(projection, cache: cache, zone: zone)
      }
      try view?.put(row.values, in: row.table)
    }
  }

  /// The tables of derived rows, each with the columns of its key besides the zone.
  var tables: [(name: String, key: [String])] {
    projections.flatMap { projection in
      projection.tables.map {
        (ProjectedTable.name(projection, $0), $0.key.map(\.name))
      }
    }
  }

  /// Rebuilds every projection of a zone.
  func rebuildAll(of zone: ZoneID) throws {
    for projection in projections { try rebuild(projection, in: zone) }
  }

  /// Returns the rows of every projection's tables, by table.
  func rows(of zone: ZoneID) throws -> [String: [[Value]]] {
    var result: [String: [[Value]]] = [:]
    for projection in projections {
      let view = try ProjectionView(projection, cache: cache, zone: zone)
      for table in projection.tables {
        result[ProjectedTable.name(projection, table)] = try view.rows(
          of: table.name, where: [])
      }
    }
    return result
  }

  package func removeRows(of zone: ZoneID) throws {
    for projection in projections { try removeRows(of: projection, in: zone) }
  }

  private func removeRows(of projection: any Projection, in zone: ZoneID) throws {
    let number = try zones.recordNumber(of: zone)
    for table in projection.tables {
      try connection.execute(
        "DELETE FROM \(TypeTable.quoted(ProjectedTable.name(projection, table))) "
          + "WHERE zone = \(number)")
    }
  }

  /// Returns the rows of a projection's table whose first key columns equal the values.
  package func rows(
    of projection: String, _ table: String, where key: [Value], in zone: ZoneID
  ) throws -> [[Value]] {
    guard let found = projections.first(where: { $0.name == projection }) else {
      throw StoreError(.schema, "there is no projection named \(projection)")
    }
    return try connection.run {
      try ProjectionView(found, cache: cache, zone: zone).rows(of: table, where: key)
    }
  }

  /// The folds of control logs that the views have made or taken over, by group.
  package var memberships: [GroupID: Membership] { cache.lastMemberships }

  /// Takes over a fold of a group's control log, which the views would otherwise repeat.
  package func take(_ membership: Membership, of group: GroupID) {
    cache.take(membership, of: group)
  }

  /// Returns a view of a zone's records, and of the first projection's rows.
  package func source(of zone: ZoneID) throws -> any ProjectionSource {
    try ProjectionView(projections.first ?? NoProjection(), cache: cache, zone: zone)
  }
}
