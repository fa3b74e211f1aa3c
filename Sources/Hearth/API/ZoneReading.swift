import HearthCRDT
import HearthStore

/// Readings of a zone's records, which wait for nobody's turn at the node.
struct ZoneReading: Sendable {
  let node: Node
  let zone: ZoneID

  /// Reads one state.
  ///
  /// - Throws: `BodyError` with what the body throws; `notFound`, `closed`.
  func read<Result: Sendable>(
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
      return try ZoneWork.BodyError.marking { try body(reader) }
    }
  }
}
