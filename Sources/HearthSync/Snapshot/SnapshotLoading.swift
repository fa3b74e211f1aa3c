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
    let before = engine.zones[place]
    do {
      try engine.store.transaction {
        engine.zones[place] = before
        try load(
          snapshot: chunks, into: zone, isAccepted: false,
          in: &engine, nowMilliseconds: nowMilliseconds)
        try engine.store.snapshots.saveBase(SnapshotOpening.container(of: chunks), of: zone)
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

  /// Loads chunks into a zone whose records and heads are empty.
  ///
  /// - Parameter isAccepted: Whether this node has accepted the snapshot before. Its author then
  ///   need no longer be an admin.
  static func load(
    snapshot chunks: [[UInt8]], into zone: ZoneID, isAccepted: Bool,
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let opening = SnapshotOpening(of: try engine.zone(zone), isAccepted: isAccepted, in: engine)
    var snapshot = try OpenedSnapshot(chunks, by: opening)
    try engine.store.zones.learn(snapshot.authors)
    var keys: [RecordKey] = []
    while let slice = try snapshot.nextSlice() {
      keys += slice.map(\.key)
      try insert(slice, into: zone, in: engine.store)
    }
    try engine.store.projections.update(for: keys, in: zone)
    try take(snapshot.ends, into: zone, in: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Sets the heads of a zone whose records are those of a snapshot.
  static func take(
    _ ends: SnapshotEnds, into zone: ZoneID, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let place = try engine.place(of: zone)
    for head in ends.heads where !Mutant.snapshotWithoutFrontier.isActive {
      engine.zones[place].set(head)
      _ = engine.clock.receive(head.time, nowMilliseconds: nowMilliseconds)
    }
    try engine.store.zones.save(engine.zones[place].heads, of: zone)
    try StoredClaims.save(heldBack: ends.heldBack, ofBaseOf: zone, in: engine.store)
  }

  /// Writes records that are not there yet.
  static func insert(
    _ slice: [SnapshotRecord], into zone: ZoneID, in store: some Store
  ) throws {
    var changes: [RecordChange] = []
    var events: [(RecordKey, EventState)] = []
    for (key, record) in slice {
      switch record {
      case .record(let state):
        if Mutant.snapshotDropsDeletes.isActive, state.life.isDeleted { continue }
        changes.append(RecordChange(key: key, state: state, isNew: true))
      case .event(let event): events.append((key, event))
      }
    }
    try store.records.save(changes, in: zone)
    try store.records.insert(events, in: zone)
  }
}
