import HearthCRDT
import HearthStore
import HearthSync

/// The readings of a node's records, on a connection of their own.
///
/// They wait for each other, and for no write: neither for a transaction nor for what a sync
/// applies. A reading after a write that has returned sees that write.
actor RecordReads {
  private let path: String
  private let lookups: [TypeLookups]
  private let records: [RecordSchema]
  private let derived: [DerivedTable]
  private var reader: RecordReader?
  /// Runs programs' own SQL; opened when it is first needed.
  private var sql: RecordSQL?
  private var isClosed = false

  init(path: String, of schema: NodeSchema) {
    self.path = path
    lookups = schema.lookups
    records = schema.records
    derived = schema.derived
  }

  /// The tables have another shape than this program gave them: another process did that.
  struct OtherTables: Error {}

  /// Reads one state.
  ///
  /// - Throws: what the body throws; `OtherTables` before anything is read; `notFound` if the node
  ///   has no such zone; `closed`.
  func read<Result: Sendable>(
    _ zone: ZoneID, _ body: @Sendable (SQLiteQueries) throws -> Result
  ) throws -> Result {
    let reader = try opened()
    guard try !reader.hasOtherTables() else { throw OtherTables() }
    return try reader.readOneState {
      guard reader.holds(zone) else {
        throw HearthError(.notFound, "the node has no such zone")
      }
      return try body(reader.queries)
    }
  }

  /// Runs a program's own SQL over a zone's records, after a reading has found the zone.
  func rows(
    _ text: String, _ arguments: [Value], in zone: ZoneID, limit: Int
  ) throws -> (columns: [String], rows: [[SQLContent]]) {
    guard !isClosed else { throw HearthError(.closed, "the node was closed") }
    let opened =
      try sql
      ?? RecordSQL(
        path: path, schema: records, lookups: lookups, derived: derived)
    sql = opened
    return try opened.rows(text, arguments, in: zone, limit: limit)
  }

  /// Opens the connection, before anybody reads.
  func open() throws { _ = try opened() }

  /// Looks at the tables again, after the node has given them the shape of this program.
  func lookAgain() throws { try opened().lookAgain() }

  /// Ends the readings; whatever is called afterwards fails.
  func close() throws {
    isClosed = true
    try sql?.close()
    try reader?.close()
    (sql, reader) = (nil, nil)
  }

  private func opened() throws -> RecordReader {
    guard !isClosed else { throw HearthError(.closed, "the node was closed") }
    if let reader { return reader }
    let opened = try RecordReader(path: path, lookups: lookups)
    reader = opened
    return opened
  }
}
