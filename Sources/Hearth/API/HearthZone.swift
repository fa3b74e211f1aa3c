import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// One zone: the unit of atomicity, sharing and encryption.
///
/// ```swift
/// let milk = try await zone.write { tx in
///   if let old = try tx.first(Item.where(\.name == "Milk")) { return old.id }
///   return try tx.insert(Item(name: "Milk")).id
/// }
/// try await zone.update(milk) { $0.quantity += 1 }
/// let open = Item.where(\.isBought == false).order(\.name).limit(20)
/// for try await items in zone.observe(open) { show(items) }
/// ```
public struct HearthZone: Sendable {
  let node: Node
  let zone: ZoneID
  /// The zone's name when it was looked up.
  public let name: String

  /// The zone's key, which is the same on every device.
  public var id: Key<HearthZone> { Key(zone) }

  // MARK: Transactions

  /// Writes one transaction: every device shows all of it or nothing.
  ///
  /// Only if a deletion or a move in a list takes along more than a change can hold, others may
  /// show a part of that for a while.
  ///
  /// Nobody else writes to the node while the body runs, so what it reads is still true when it
  /// writes. The transaction is durable when this returns. If the body throws, nothing is written.
  ///
  /// - Parameter body: reads and writes; it should not take long.
  /// - Returns: the body's result.
  /// - Throws: ``HearthError``, or what the body throws.
  @discardableResult
  public func write<Result: Sendable>(
    _ body: @Sendable (ZoneTransaction) throws -> Result
  ) async throws -> Result {
    try await ZoneWork.reported {
      try await node.working { try ZoneWork(core: $0, zone: zone).write(body) }
    }
  }

  /// Reads one state of the zone.
  ///
  /// It waits neither for a transaction nor for what a sync applies, and sees all of them or
  /// nothing. What was written before the call is there. Only the computation of derived rows that
  /// it needs waits for the node's turn, and for another process however long that takes.
  ///
  /// - Parameter body: reads. It begins again from the start, maybe several times, if derived rows
  ///   must be computed.
  /// - Returns: the body's result.
  /// - Throws: ``HearthError``, or what the body throws.
  public func read<Result: Sendable>(
    _ body: @Sendable (ZoneReader) throws -> Result
  ) async throws -> Result {
    try await ZoneWork.reported {
      try await ZoneReading(node: node, zone: zone).read(body)
    }
  }

  // MARK: Single writes

  /// Inserts a new record.
  ///
  /// - Returns: the record.
  /// - Throws: ``HearthError``: `exists` if there is a record with its key.
  @discardableResult
  public func insert<Owner: Record>(_ record: Owner) async throws -> Owner {
    try await write { try $0.insert(record) }
  }

  /// Changes a record: only the fields that the body changes are written.
  ///
  /// - Returns: the changed record.
  /// - Throws: ``HearthError``: `notFound` if there is none; or what the body throws.
  @discardableResult
  public func update<Owner: Record>(
    _ key: Key<Owner>, _ body: @Sendable (inout Owner) throws -> Void
  ) async throws -> Owner where Owner.Mutability == ChangingRecord {
    try await write { try $0.update(key, body) }
  }

  /// Deletes a record; a change that somebody makes to it at the same time restores it.
  ///
  /// - Returns: whether there was a record with the key.
  @discardableResult
  public func delete<Owner: Record>(
    _ key: Key<Owner>
  ) async throws -> Bool where Owner.Mutability == ChangingRecord {
    try await write { try $0.delete(key) }
  }

  /// Restores a deleted record with the fields that it had.
  ///
  /// - Returns: whether there was a deleted record with the key.
  @discardableResult
  public func restore<Owner: Record>(
    _ key: Key<Owner>
  ) async throws -> Bool where Owner.Mutability == ChangingRecord {
    try await write { try $0.restore(key) }
  }

  // MARK: Single reads

  /// Returns the records that a query finds.
  public func fetch<Owner: Record>(_ query: Query<Owner>) async throws -> Records<Owner> {
    try await read { try $0.fetch(query) }
  }

  /// Returns the first record that a query finds; nil if there is none.
  public func first<Owner: Record>(_ query: Query<Owner>) async throws -> Owner? {
    try await read { try $0.first(query) }
  }

  /// Returns the record with a key; nil if there is none.
  public func get<Owner: Record>(_ key: Key<Owner>) async throws -> Owner? {
    try await read { try $0.get(key) }
  }

  /// Returns the number of records that a query finds.
  public func count<Owner: Record>(_ query: Query<Owner>) async throws -> Int {
    try await read { try $0.count(query) }
  }

  // MARK: Observing

  /// Returns the records that a query finds now, and again after every change of their type.
  public func observe<Owner: Record>(_ query: Query<Owner>) -> Observation<Records<Owner>> {
    Observation(node: node, zone: zone) { reader, last in
      let rows = try reader.rows(query)
      if let before = last as? [RecordRow], before == rows { return nil }
      last = rows
      return Records(rows)
    }
  }

  /// Returns what a body reads now, and again after every change of what it has read.
  ///
  /// A count or sum depends only on the fields in its query, and on which records there are.
  ///
  /// ```swift
  /// for try await count in zone.observe(reading: { try $0.count(open) }) { show(count) }
  /// ```
  public func observe<Result: Sendable & Equatable>(
    reading body: @escaping @Sendable (ZoneReader) throws -> Result
  ) -> Observation<Result> {
    Observation(node: node, zone: zone) { reader, last in
      let result = try body(reader)
      if let before = last as? Observed<Result>, before.value == result { return nil }
      last = Observed(value: result)
      return result
    }
  }

  /// Returns the zone's digest, which is equal on every replica with the same changes.
  public func digest() async throws(HearthError) -> [UInt8] {
    try await Hearth.reported { try await node.digest(of: zone) }
  }
}
