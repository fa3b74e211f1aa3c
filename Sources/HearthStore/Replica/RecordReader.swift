import HearthCRDT
import HearthSync

/// Reads a node's records on a connection of its own: never behind a write, and never half of one.
///
/// Confined to one executor at a time. SQLite's write-ahead log gives each reading the state of the
/// last commit before it, whoever writes meanwhile.
package final class RecordReader {
  let connection: Connection
  private let lookups: [TypeLookups]
  private let zones: SQLiteZones
  private let authors: AuthorNumbers
  /// SQLite's number of the tables' shapes when they were looked at.
  private var shape: Int64 = -1
  /// SQLite's number of the others' last commit when the zones were looked at.
  private var commit: Int64 = -1
  /// Answers programs' queries.
  package private(set) var queries: SQLiteQueries

  /// Opens the file of a replica that is open for writing in this process.
  ///
  /// - Parameter lookups: what queries of the record types rely on, as the replica was told.
  package init(path: String, lookups: [TypeLookups]) throws {
    connection = try Connection(queue: try ReplicaFile.openToRead(path))
    self.lookups = lookups
    let connection = connection
    authors = try connection.run { try AuthorNumbers(connection: connection) }
    zones = SQLiteZones(connection: connection, authors: authors)
    queries = SQLiteQueries(connection: connection, zones: zones, authors: authors, sources: [])
    try lookAgain()
  }

  /// Whether somebody has changed the shape of a table since they were looked at.
  package func hasOtherTables() throws -> Bool { try presentShape() != shape }

  /// Looks at the tables and zones again.
  package func lookAgain() throws {
    try connection.readOneState {
      shape = try presentShape()
      try zones.reload()
      let tables = try SchemaRegistry(connection: connection).tables()
      queries = SQLiteQueries(
        connection: connection, zones: zones, authors: authors,
        sources: QueryTable.all(lookups, in: tables))
    }
  }

  /// Runs reads that all see one state.
  package func readOneState<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.readOneState {
      try lookAtZones()
      return try body()
    }
  }

  /// Whether the replica has a zone.
  package func holds(_ zone: ZoneID) -> Bool { zones.ids.contains(zone) }

  /// Looks at the zones again if anybody has committed since.
  private func lookAtZones() throws {
    let present = try number("PRAGMA data_version")
    guard present != commit else { return }
    try zones.reload()
    commit = present
  }

  /// Closes the connection; no other call may follow.
  package func close() throws { try connection.close() }

  private func presentShape() throws -> Int64 { try number("PRAGMA schema_version") }

  private func number(_ sql: String) throws -> Int64 {
    try connection.run {
      let statement = try connection.statement(sql)
      defer { statement.reset() }
      return try statement.step() ? statement.int(0) : 0
    }
  }
}
