import HearthCRDT
import HearthStore

/// Readings of a zone's records, which wait for nobody's turn at the node unless derived rows must
/// be computed for them.
///
/// Then only the computation takes a turn, and waits for other processes however long they take.
struct ZoneReading: Sendable {
  let node: Node
  let zone: ZoneID

  /// How often a reading begins again after a computation, before it keeps the node's turn.
  ///
  /// Others may change records between a computation and the reading, again and again.
  private static let maximumRetries = 4
  /// How many of these computations are of the groups that were asked for alone.
  ///
  /// Whoever asks for one group after the other gets all groups of the table then.
  private static let retriesByGroup = 2

  /// Reads one state.
  ///
  /// - Parameter body: may run again from its beginning, if it reads derived rows that are out of
  ///   date.
  /// - Throws: `BodyError` with what the body throws; `notFound`, `closed`; what prevents the
  ///   computation of derived rows, if it reads any that are out of date.
  func read<Result: Sendable>(
    _ body: @Sendable (ZoneReader) throws -> Result
  ) async throws -> Result {
    let zone = zone
    return try await computing {
      try await readComputed(body)
    } inTurn: {
      try ZoneReading.read(zone, in: $0, body)
    }
  }

  /// Runs a program's own SQL over the zone's records.
  func rows(
    _ text: String, _ arguments: [Value], limit: Int
  ) async throws -> (columns: [String], rows: [[SQLContent]]) {
    // The reading finds the zone and mends the tables' shapes, if need be.
    try await read { _ in }
    let zone = zone
    return try await computing {
      try await node.reads.rows(text, arguments, in: zone, limit: limit)
    } inTurn: {
      try ZoneReading.rows(text, arguments, of: zone, limit: limit, in: $0)
    }
  }

  // MARK: Computing

  /// Reads, and begins again after derived rows that it needs have been computed.
  ///
  /// Programs' code and SQL may take long, so it runs beside the node's turns. Only where the rows
  /// are out of date each time it runs in a turn, since it might never end otherwise.
  ///
  /// - Parameters:
  ///   - read: reads beside turns; throws `StaleRows` if rows must be computed before.
  ///   - readInTurn: computes and reads, while nobody else writes.
  private func computing<Result: Sendable>(
    _ read: () async throws -> Result, inTurn readInTurn: @Sendable (NodeCore) throws -> Result
  ) async throws -> Result {
    for retry in 0..<ZoneReading.maximumRetries {
      do {
        return try await read()
      } catch let stale as StaleRows {
        try await compute(stale, ofAllGroups: retry >= ZoneReading.retriesByGroup)
      }
    }
    do {
      return try await read()
    } catch is StaleRows {
      return try await node.readingPatiently(readInTurn)
    }
  }

  /// Computes rows in the node's turn.
  private func compute(_ stale: StaleRows, ofAllGroups: Bool) async throws {
    let zone = zone
    try await node.readingPatiently { core in
      try core.store.readComputing {
        for need in stale.needs {
          try core.store.projections.computeRows(
            of: need.table, inGroup: ofAllGroups ? nil : need.group, in: zone)
        }
      }
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

  // MARK: Reading

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
      try await node.readingPatiently { _ in }
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
      guard reader.neededRows.isEmpty else { throw StaleRows(reader.neededRows) }
      return try outcome.get()
    }
  }
}
