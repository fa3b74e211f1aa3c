import HearthCRDT
import HearthStore
import HearthSync

/// The reads and writes of one transaction of a zone.
///
/// Reads see the transaction's own writes; nobody else writes meanwhile. A transaction is valid
/// only in the body that receives it.
public final class ZoneTransaction: ZoneReader {
  /// Makes the engine on which writes are tried, so that reads see them.
  private let makeScratch: () -> Engine<ReplicaStore>
  private let deletions: DeletionRules
  private let now: UInt64
  /// The mark of this device in positions that it writes.
  let writerMark: [UInt8]
  private var scratch: Engine<ReplicaStore>?
  /// The number of events among the operations.
  private var eventCount = 0
  private(set) var operations: [Operation] = []
  private(set) var later = LaterWrites()
  /// How many of the operations are visible to reads, and how many of those that may follow.
  private var visibleCount = (own: 0, later: 0)
  /// What the operations write that is not visible yet.
  private var hiddenKeys: Set<RecordKey> = []
  private var hiddenTypes: Set<TypeID> = []
  private var deleted: Set<RecordKey> = []
  /// The chunks of what was attached.
  private(set) var chunks: [SealedChunk] = []
  /// The texts that the transaction edits; nil before the first one.
  private var texts: TransactionTexts?

  init(
    _ queries: SQLiteQueries, of zone: ZoneID, by deletions: DeletionRules, now: UInt64,
    device: DeviceID, makeScratch: @escaping () -> Engine<ReplicaStore>
  ) {
    self.makeScratch = makeScratch
    self.deletions = deletions
    self.now = now
    writerMark = Array(device.bytes.prefix(PositionPath.markBytes))
    super.init(queries, of: zone) { table, group in
      try makeScratch().store.projections.computeRows(of: table, inGroup: group, in: zone)
    }
  }

  // MARK: Texts

  /// A codec that writes changed texts as edits of what is there.
  func codec<Owner: Record>(of type: Owner.Type) -> RecordCodec<Owner> {
    RecordCodec { [unowned self] field, key, before, after in
      try edits(of: field, key, from: before, to: after)
    }
  }

  private func edits(
    of field: FieldID, _ key: RecordKey, from before: String, to after: String
  ) throws -> [TextEdit] {
    let engine = makeScratch()
    let state = try engine.zone(zone)
    var texts =
      try texts
      ?? TransactionTexts(
        dot: engine.nextDot(in: zone),
        past: state.frontier.joined(with: state.head(of: engine.author).past))
    defer { self.texts = texts }
    return try texts.edits(of: field, key, from: before, to: after) {
      try stored(key, in: engine)
    }
  }

  private func stored(_ key: RecordKey, in engine: Engine<ReplicaStore>) throws -> RecordState? {
    guard case .record(let state) = try engine.store.records.record(key, in: zone) else {
      return nil
    }
    return state
  }

  /// Whether writes were tried, which must be undone before they are written.
  var hasScratch: Bool { scratch != nil }

  // No observation wants to know what a transaction reads, so it notes no fields.

  override func prepare(toRead fields: some Sequence<FieldID>, of type: TypeID) throws {
    if hiddenTypes.contains(type) { try reveal() }
  }

  override func prepare(toRead fields: [FieldID], of key: RecordKey) throws {
    if hiddenKeys.contains(key) { try reveal() }
  }

  private func reveal() throws {
    if eventCount > 0 { return try revealAll() }
    var engine = try scratch ?? begin()
    var hidden = Array(operations[visibleCount.own...])
    if let texts { hidden = try texts.shown(hidden) { try stored($0, in: engine) } }
    try tryOut(hidden, later.remaining(from: visibleCount.later), in: &engine)
    noteVisible(in: engine)
  }

  /// Tries all writes anew as one change, as an event's key depends on its place in its change.
  private func revealAll() throws {
    var engine = try scratch == nil ? begin() : makeScratch()
    if scratch != nil { try engine.store.undoTrial() }
    try tryOut(operations, later.remaining(), in: &engine)
    noteVisible(in: engine)
  }

  private func tryOut(
    _ own: [Operation], _ later: [Operation], in engine: inout Engine<ReplicaStore>
  ) throws {
    for change in LaterWrites.changes(own, later) {
      _ = try engine.write(change, to: zone, nowMilliseconds: now)
    }
  }

  /// An engine for the first writes that are tried.
  private func begin() throws -> Engine<ReplicaStore> {
    let engine = makeScratch()
    try engine.store.beginTrial()
    return engine
  }

  private func noteVisible(in engine: Engine<ReplicaStore>) {
    scratch = engine
    visibleCount = (operations.count, later.count)
    hiddenKeys = []
    hiddenTypes = []
  }

  /// Adds chunks to what the transaction writes.
  func attach(_ added: [SealedChunk]) { chunks += added }

  /// Adds operations to what the transaction writes.
  func append(_ added: [Operation]) throws {
    try noteHidden(added)
    for operation in added { later.drop(whatIsReplacedBy: operation) }
    operations += added
  }

  /// Adds operations that follow from what the transaction writes, and whose number others decide.
  func appendLater(_ added: [Operation]) throws {
    try noteHidden(added)
    later.append(added)
  }

  /// - Throws: `invalid` for a record that the transaction has deleted.
  private func noteHidden(_ added: [Operation]) throws {
    var last: RecordKey?
    for operation in added where operation.key != last {
      last = operation.key
      guard !deleted.contains(operation.key) else {
        throw HearthError(
          .invalid, "a record cannot be written after its deletion in one transaction")
      }
      hiddenKeys.insert(operation.key)
      hiddenTypes.insert(operation.key.type)
    }
  }

  /// Whether a record with a key was ever written, even if it is deleted.
  private func isWritten<Owner: Record>(_ key: Key<Owner>) throws -> Bool {
    let place = RecordKey(type: Owner.schema.type, id: key.identifier)
    try prepare(toRead: [], of: place)
    return try queries.isWritten(place, in: zone)
  }

  /// Inserts a new record.
  ///
  /// If a record with the key was deleted, it is created again. An ``Event`` gets its key here,
  /// whatever key it had.
  ///
  /// - Returns: the record.
  /// - Throws: `exists` if there is a record with its key.
  @discardableResult
  public func insert<Owner: Record>(_ record: Owner) throws(HearthError) -> Owner {
    let record = Owner.schema.kept(record)
    return try reported {
      if Owner.Mutability.isEvent { return try add(record) }
      let codec = codec(of: Owner.self)
      // Most records are new, so the row is read only if there is one.
      if try isWritten(record.id), let former = try row(record.id) {
        guard !former.isAlive else {
          throw HearthError(
            .exists, "there is a record of \(Owner.schema.name) with the key \(record.id)")
        }
        // The fields of the deleted record would show through where the new one has nothing.
        if case .record(let old) = codec.read(former, into: Owner()) {
          let key = RecordKey(type: Owner.schema.type, id: record.id.identifier)
          try append(
            [Operation(key, .insert)] + codec.difference(from: old, to: record, in: former))
          return record
        }
      }
      try append(codec.creation(of: record))
      return record
    }
  }

  /// Adds an event, whose key follows from its place among its author's changes.
  private func add<Owner: Record>(_ event: Owner) throws -> Owner {
    var event = event
    event.id = try Key(
      eventID(
        in: zone, type: Owner.schema.type, dot: makeScratch().nextDot(in: zone),
        index: operations.count))
    try append(codec(of: Owner.self).creation(of: event))
    eventCount += 1
    return event
  }

  /// Changes a record: only the fields that the body changes are written.
  ///
  /// Concurrent writes of others to other fields stay, and so do their additions to a counter or
  /// set.
  ///
  /// - Returns: the changed record.
  /// - Throws: `notFound` if there is no record with the key; `unreadable`; what the body throws.
  @discardableResult
  public func update<Owner: Record>(
    _ key: Key<Owner>, _ body: (inout Owner) throws -> Void
  ) throws -> Owner where Owner.Mutability == ChangingRecord {
    let (row, old): (RecordRow, Owner) = try reported {
      let row = try existingRow(key)
      return (row, try record(row))
    }
    var new = old
    try body(&new)
    try write(from: old, to: new, in: row)
    return Owner.schema.kept(new)
  }

  /// Writes what differs between a record as it was read and as it should be.
  ///
  /// What others wrote since it was read stays, in the fields that do not differ.
  ///
  /// - Throws: `notFound` if the record does not exist any more.
  public func update<Owner: Record>(
    from old: Owner, to new: Owner
  ) throws(HearthError) where Owner.Mutability == ChangingRecord {
    try reported { try write(from: old, to: new, in: existingRow(old.id)) }
  }

  /// The stored fields of a record.
  ///
  /// - Throws: `notFound` if there is no record with the key.
  private func existingRow<Owner: Record>(_ key: Key<Owner>) throws -> RecordRow {
    guard let row = try row(key), row.isAlive else {
      throw HearthError(.notFound, "there is no record of \(Owner.schema.name) with the key \(key)")
    }
    return row
  }

  private func write<Owner: Record>(
    from old: Owner, to new: Owner, in row: RecordRow
  ) throws(HearthError) {
    try reported {
      guard old.id == new.id else {
        throw HearthError(.invalid, "a record's key cannot change")
      }
      try append(codec(of: Owner.self).difference(from: old, to: new, in: row))
    }
  }

  /// Deletes a record; a change that somebody makes to it at the same time restores it.
  ///
  /// What refers to it follows the rule of its ``Reference``, in this transaction and as far as
  /// this device sees it. The transaction may write only what the person may write by hand.
  ///
  /// However much goes along, it is written whole or not at all. Beyond 10,000 operations it takes
  /// several changes, the record itself in the last one: another device that has received some of
  /// them shows the record with less of what refers to it.
  ///
  /// - Returns: whether there was a record with the key.
  @discardableResult
  public func delete<Owner: Record>(
    _ key: Key<Owner>
  ) throws(HearthError) -> Bool where Owner.Mutability == ChangingRecord {
    try reported {
      guard let row = try row(key), row.isAlive else { return false }
      let place = RecordKey(type: Owner.schema.type, id: key.identifier)
      let deletion = try Deletion(of: place, by: deletions) { try records(by: $0, to: $1) }
      try appendLater(deletion.operations)
      deleted.formUnion(deletion.records)
      return true
    }
  }

  /// The records that refer to a record.
  private func records(
    by reference: DeletionRules.ReferringField, to key: RecordKey
  ) throws -> [RecordID] {
    try prepare(toRead: [reference.field], of: reference.type)
    var query = RecordQuery(reference.type)
    query.condition = .compare(.field(reference.field), .equal, .bytes(key.id.bytes))
    return try queries.rows(query, showing: [], in: zone).map(\.id)
  }

  /// Restores a deleted record with the fields that it had.
  ///
  /// It restores no other record, and no reference that became nil.
  ///
  /// - Returns: whether there was a deleted record with the key.
  @discardableResult
  public func restore<Owner: Record>(
    _ key: Key<Owner>
  ) throws(HearthError) -> Bool where Owner.Mutability == ChangingRecord {
    try reported {
      guard let row = try row(key), !row.isAlive else { return false }
      let place = RecordKey(type: Owner.schema.type, id: key.identifier)
      try append([Operation(place, .insert)])
      return true
    }
  }
}
