import HearthCRDT
import HearthStore

/// Readings of a zone's records, which wait for nobody's turn at the node unless derived rows must
/// be computed for them.
struct ZoneReading: Sendable {
  let node: Node
  let zone: ZoneID

  /// Reads one state.
  ///
  /// - Parameter body: may run again from its beginning, if it reads derived rows that are out of
  ///   date.
  /// - Throws: `BodyError` with what the body throws; `notFound`, `closed`.
  func read<Result: Sendable>(
    _ body: @Sendable (ZoneReader) throws -> Result
  ) async throws -> Result {
    do {
      return try await readComputed(body)
    } catch is StaleRows {
      let zone = zone
      return try await node.reading { try ZoneReading.read(zone, in: $0, body) }
    }
  }

  /// Reads one state in the node's turn, and computes the derived rows that it needs.
  ///
  /// Nobody else writes in the turn, so they stay true until they are read.
  private static func read<Result>(
    _ zone: ZoneID, in core: NodeCore, _ body: (ZoneReader) throws -> Result
  ) throws -> Result {
    try core.store.readComputing {
      let reader = ZoneReader(core.store.queries, of: zone) { table, group in
        try core.store.projections.computeRows(of: table, inGroup: group, in: zone)
      }
      return try ZoneWork.BodyError.marking { try body(reader) }
    }
  }

  /// Runs a program's own SQL over the zone's records.
  func rows(
    _ text: String, _ arguments: [Value], limit: Int
  ) async throws -> (columns: [String], rows: [[SQLContent]]) {
    // The reading finds the zone and mends the tables' shapes, if need be.
    try await read { _ in }
    do {
      return try await node.reads.rows(text, arguments, in: zone, limit: limit)
    } catch is StaleRows {
      let zone = zone
      return try await node.reading {
        try ZoneReading.rows(text, arguments, of: zone, limit: limit, in: $0)
      }
    }
  }

  /// Computes all derived rows of a zone, and runs SQL before anybody can write.
  private static func rows(
    _ text: String, _ arguments: [Value], of zone: ZoneID, limit: Int, in core: NodeCore
  ) throws -> (columns: [String], rows: [[SQLContent]]) {
    try core.store.computeProjections(of: zone)
    let schema = core.schema
    let sql = try RecordSQL(
      path: core.folder.database, schema: schema.records, lookups: schema.lookups,
      derived: schema.derived)
    let found = Swift.Result { try sql.rows(text, arguments, in: zone, limit: limit) }
    try sql.close()
    return try found.get()
  }

  /// Reads one state, in tables of this program's shape.
  ///
  /// - Throws: `StaleRows` if derived rows must be computed before.
  private func readComputed<Result: Sendable>(
    _ body: @Sendable (ZoneReader) throws -> Result
  ) async throws -> Result {
    do {
      return try await readAtOnce(body)
    } catch is RecordReads.OtherTables {
      // Another process has run another version of the program. This node's turn gives the tables
      // and indexes the shape that the queries rely on.
      try await node.reading { _ in }
      try await node.reads.lookAgain()
      return try await readAtOnce(body)
    }
  }

  private func readAtOnce<Result: Sendable>(
    _ body: @Sendable (ZoneReader) throws -> Result
  ) async throws -> Result {
    let zone = zone
    return try await node.reads.read(zone) { queries in
      let reader = ZoneReader(queries, of: zone)
      let outcome = Swift.Result { try ZoneWork.BodyError.marking { try body(reader) } }
      // The body may have gone on without the rows.
      if reader.needsRows { throw StaleRows() }
      return try outcome.get()
    }
  }
}
