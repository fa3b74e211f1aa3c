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
        try connection.execute(ProjectedTable.create(projection, table))
        for columns in table.indexes {
          let list = columns.map { ", " + TypeTable.quoted($0) }.joined()
          let index = ProjectedTable.indexName(projection, table, columns)
          try connection.execute(
            "CREATE INDEX \(TypeTable.quoted(index)) ON \(TypeTable.quoted(name))(zone\(list))")
        }
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
  }

  /// Derives the rows of some more records of a zone whose tables were empty at first.
  ///
  /// - Returns: Where the next call continues; nil when every row is there.
  func fill(
    _ zone: ZoneID, from start: DerivationPlace?, atMost count: Int
  ) throws -> DerivationPlace? {
    var place = start ?? DerivationPlace()
    while place.projection < projections.count {
      let projection = projections[place.projection]
      guard place.type < projection.fillingTypes.count else {
        place.type = 0
        place.pass += 1
        if place.pass >= projection.fillingPasses {
          place.pass = 0
          place.projection += 1
        }
        continue
      }
      let type = projection.fillingTypes[place.type]
      let view = try ProjectionView(projection, cache: cache, zone: zone)
      let ids = try view.ids(of: type, after: place.last, atMost: count)
      guard let last = ids.last else {
        place.type += 1
        place.last = nil
        continue
      }
      try projection.fill(
        ids.map { RecordKey(type: type, id: $0) }, pass: place.pass, from: view, to: view)
      place.last = last
      return place
    }
    return nil
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

  /// Takes over a fold of a group's control log, which the views would otherwise repeat.
  package func take(_ membership: Membership, of group: GroupID) {
    cache.take(membership, of: group)
  }

  /// Returns a view of a zone's records, and of the first projection's rows.
  package func source(of zone: ZoneID) throws -> any ProjectionSource {
    try ProjectionView(projections.first ?? NoProjection(), cache: cache, zone: zone)
  }
}
