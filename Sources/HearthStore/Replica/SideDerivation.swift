import HearthCRDT
import HearthSync
import Synchronization

/// A derivation on a connection of its own, which keeps the rows in its memory.
///
/// It reads the records of the file and holds up no writer. The projections read and write tables
/// in the connection's memory, which hide those of the file (decision 0082).
///
/// Unchecked: what changes is used on the connection's queue alone, and one call follows the other.
final class SideDerivation: DraftDerivation, @unchecked Sendable {
  private let zone: ZoneID
  private let connection: Connection
  private let zones: SQLiteZones
  private let projections: SQLiteProjections
  private var reading = SQLiteProjections.Reading()

  /// Opens a connection to the file of a store.
  ///
  /// - Parameter tables: the tables of the store's records.
  init(
    of zone: ZoneID, path: String, _ projections: SQLiteProjections, tables: [TypeID: TypeTable]
  ) throws {
    self.zone = zone
    connection = try Connection(queue: try ReplicaFile.openToRead(path))
    let connection = connection
    let authors = try connection.run { try AuthorNumbers(connection: connection) }
    let zones = SQLiteZones(connection: connection, authors: authors)
    try connection.run { try zones.reload() }
    self.zones = zones
    let records = SQLiteRecords(
      tables: tables, connection: connection, authors: authors, zones: zones)
    self.projections = projections.copy(on: connection, zones, records)
  }

  func compute() throws { try run { try projections.fillHidden(zone) } }

  func next(atMost count: Int) throws -> [DerivedValues] {
    try run { try projections.next(in: &reading, of: zone, atMost: count) }
  }

  func close() throws { try connection.close() }

  private func run<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.run { try zones.drafting(zone, body) }
  }
}

/// The rows of a draft in a database that only one connection can open, such as one in memory.
///
/// They are computed at once, because nobody else may see the hidden tables.
final class RowList: DraftDerivation {
  private let rest: Mutex<ArraySlice<DerivedValues>>

  init(of zone: ZoneID, zones: SQLiteZones, _ projections: SQLiteProjections) throws {
    let rows = try zones.drafting(zone) {
      do {
        try projections.fillHidden(zone)
        var reading = SQLiteProjections.Reading()
        let rows = try projections.next(in: &reading, of: zone, atMost: .max)
        try projections.showTables()
        return rows
      } catch {
        // The first error is reported.
        try? projections.showTables()
        throw error
      }
    }
    rest = Mutex(rows[...])
  }

  func compute() {}

  func next(atMost count: Int) -> [DerivedValues] {
    rest.withLock { rest in
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
  }

  func close() {}
}
