import HearthCRDT
import HearthCrypto
import HearthMembership

/// Loading of a snapshot's state into an empty zone.
package enum SnapshotLoading {
  /// Bootstraps an empty zone from a snapshot's chunks, in order.
  ///
  /// - Throws: If a chunk is missing, damaged, or not by an owner or admin of the group, or if the
  ///   state inside does not have the digest outside. The zone is then unchanged.
  package static func bootstrap(
    _ zone: ZoneID, from chunks: [[UInt8]], in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let place = try engine.place(of: zone)
    guard engine.zones[place].frontier.isEmpty else {
      throw SyncError(.exists, "zone \(engine.zones[place].name) already has changes")
    }
    var container = ByteWriter(capacity: chunks.reduce(0) { $0 + $1.count + 4 })
    container.varint(chunks.count)
    for chunk in chunks { container.blob(chunk) }
    let before = engine.zones[place]
    do {
      try engine.store.transaction {
        engine.zones[place] = before
        try load(
          snapshot: container.bytes, into: zone, isAccepted: false,
          in: &engine, nowMilliseconds: nowMilliseconds)
        try engine.store.snapshots.saveBase(container.bytes, of: zone)
        try ComparisonMemory.compareSoon(before, in: engine.store, nowMilliseconds: nowMilliseconds)
      }
    } catch {
      engine.zones[place] = before
      throw error
    }
    if before.kind == .control {
      try MembershipRefresh.refresh(of: before.group, in: &engine)
    }
  }

  /// Loads a container of chunks into a zone whose records and heads are empty.
  ///
  /// - Parameter isAccepted: Whether this node has accepted the snapshot before. Its author then
  ///   need no longer be an admin.
  static func load(
    snapshot container: [UInt8], into zone: ZoneID, isAccepted: Bool,
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let place = try engine.place(of: zone)
    let stream = try SnapshotOpening.openSnapshot(
      container, zone: engine.zones[place], isAccepted: isAccepted, in: engine)
    var reader = try SnapshotReader(stream, zone: zone)
    try engine.store.zones.learn(reader.authors)
    try insertRecords(from: &reader, into: zone, in: engine.store)
    for head in reader.heads where !Mutant.snapshotWithoutFrontier.isActive {
      engine.zones[place].set(head)
      _ = engine.clock.receive(head.time, nowMilliseconds: nowMilliseconds)
    }
    try engine.store.zones.save(engine.zones[place].heads, of: zone)
    try StoredClaims.save(heldBack: reader.heldBack, ofBaseOf: zone, in: engine.store)
  }

  private static func insertRecords(
    from reader: inout SnapshotReader, into zone: ZoneID, in store: some Store
  ) throws {
    var keys: [RecordKey] = []
    while let block = try reader.nextBlock() {
      var changes: [RecordChange] = []
      var events: [(RecordKey, EventState)] = []
      for (key, record) in block {
        switch record {
        case .record(let state):
          if Mutant.snapshotDropsDeletes.isActive, state.life.isDeleted { continue }
          changes.append(RecordChange(key: key, state: state, isNew: true))
        case .event(let event): events.append((key, event))
        }
        keys.append(key)
      }
      try store.records.save(changes, in: zone)
      try store.records.insert(events, in: zone)
    }
    try store.projections.update(for: keys, in: zone)
  }
}
