import HearthCRDT
import HearthSync

/// The drafts of a replica's zones.
///
/// The rows of a draft name the zone by its number with the other sign (decision 0078). So a draft
/// takes the place of what it is a draft of by one change, of the sign in the zone's own row.
package final class SQLiteDrafts: DraftStore {
  private let connection: Connection
  private let zones: SQLiteZones
  private let records: SQLiteRecords
  private let projections: SQLiteProjections
  /// The path of the file, if further connections can open it.
  private let path: String?

  init(
    connection: Connection, zones: SQLiteZones, records: SQLiteRecords,
    projections: SQLiteProjections, path: String?
  ) {
    self.path = path
    self.connection = connection
    self.zones = zones
    self.records = records
    self.projections = projections
  }

  package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.relaxedTransaction(body)
  }

  package func writing<Result>(to zone: ZoneID, _ body: () throws -> Result) throws -> Result {
    try zones.drafting(zone, body)
  }

  package func derivation(of zone: ZoneID) throws -> any DraftDerivation {
    guard let path else { return try RowList(of: zone, zones: zones, projections) }
    return try SideDerivation(of: zone, path: path, projections, tables: records.tables)
  }

  package func insert(_ rows: [DerivedValues], in zone: ZoneID) throws {
    try zones.drafting(zone) { try projections.insert(rows, in: zone) }
  }

  package var settling: (@Sendable () throws -> Void)? {
    guard let path else { return nil }
    return { try ReplicaFile.moveLog(of: path) }
  }

  package func exchange(of zone: ZoneID) throws {
    try zones.exchangeDraft(of: zone)
    records.touchAll(of: zone)
  }

  package func clear(of zone: ZoneID, atMost count: Int) throws -> Bool {
    let number = try zones.drafting(zone) { try zones.recordNumber(of: zone) }
    var room = count
    for (name, key) in tables {
      let table = TypeTable.quoted(name)
      let columns = (["zone"] + key.map(TypeTable.quoted)).joined(separator: ", ")
      try connection.statement(
        "DELETE FROM \(table) WHERE zone = ? AND (\(columns)) IN "
          + "(SELECT \(columns) FROM \(table) WHERE zone = ? LIMIT ?)"
      )
      .bind(number).bind(number).bind(room).execute()
      room -= connection.changedRows
      guard room > 0 else { return false }
    }
    try zones.drafting(zone) {
      try SQLiteSnapshots(connection: connection, zones: zones).removeBase(of: zone)
    }
    return true
  }

  /// The tables that have rows of drafts, except that of base snapshots.
  private var tables: [(name: String, key: [String])] {
    projections.tables + records.schemas.map { ($0.name, ["id"]) }
      + [("hearth_opaque", ["type", "id"])]
  }
}
