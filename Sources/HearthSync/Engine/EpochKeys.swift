import HearthCRDT
import HearthCrypto
import HearthMembership

/// The epoch keys of the zones: learning, keeping and choosing them.
enum EpochKeys {
  /// Adds every key that the log hands to this device, and the keys sealed under those keys.
  static func learnEpochs(
    at place: Int, _ membership: Membership, in engine: inout Engine<some Store>
  ) throws {
    let zone = engine.zones[place]
    let epochs = membership.keys.epochs(of: zone.id)
    guard epochs.contains(where: { zone.epoch(id: $0.grant.epoch) == nil }) else { return }
    var learnt = zone
    for epoch in epochs where learnt.epoch(id: epoch.grant.epoch) == nil {
      let wraps =
        epoch.grant.wraps + membership.keyHolders.addedWraps(of: epoch.grant.epoch, zone: zone.id)
      for wrap in wraps where wrap.recipient == engine.device {
        let key = try? EpochKey.openKey(
          wrap.sealed, with: engine.identity.boxPair, expectingID: epoch.grant.epoch,
          groupID: zone.group.bytes, zoneID: zone.id.bytes)
        if let key { learnt.learn(key) }
      }
    }
    // From the newest epoch back, since each epoch wraps the keys of its predecessors.
    for epoch in epochs.reversed() {
      guard let key = learnt.epoch(id: epoch.grant.epoch) else { continue }
      for earlier in epoch.grant.history
      where learnt.epoch(id: earlier.epoch) == nil
        && membership.history.follows(epoch, toKey: earlier.epoch, of: zone.kind, epochs)
      {
        if let opened = try? key.unwrapHistory(earlier.sealed, expectingID: earlier.epoch) {
          learnt.learn(opened)
        }
      }
    }
    try learn(learnt.epochs, at: place, in: &engine)
  }

  /// Stores unknown keys of a zone.
  static func learn(_ epochs: [EpochKey], at place: Int, in engine: inout Engine<some Store>) throws
  {
    var learnt = engine.zones[place]
    for epoch in epochs { learnt.learn(epoch) }
    guard learnt.epochs.count > engine.zones[place].epochs.count,
      try keepKeys(of: learnt, in: engine)
    else { return }
    engine.zones[place] = learnt
  }

  /// Stores all keys of a zone; false if the store lacks the zone.
  static func keepKeys(of zone: ZoneState, in engine: Engine<some Store>) throws -> Bool {
    guard var stored = try engine.store.zones.all().first(where: { $0.id == zone.id }) else {
      return false
    }
    stored.wrappedEpochs = try zone.epochs.map { try $0.protected(by: engine.identity) }
    try engine.store.transaction { try engine.store.zones.save(stored) }
    return true
  }

  /// Chooses the epoch to write under.
  ///
  /// Own unsealed control operations go under the previous epoch, because they may contain the key
  /// of the next one. That was done together with the operation that made the new epoch. Operations
  /// that are still unsealed while the engine loads therefore go under the chosen epoch.
  static func chooseEpoch(
    at place: Int, _ membership: Membership, isLoading: Bool, in engine: inout Engine<some Store>
  ) throws {
    let zone = engine.zones[place]
    let isLeft = !isLoading || Mutant.sealsUnderLastLearnt.isActive
    let held = Set(zone.epochs.map(\.id))
    let chosen = membership.keys.writableEpoch(of: zone.id, zone.kind, held: held)?.grant.epoch
    if isLeft, zone.kind == .control, let chosen, chosen != zone.currentEpoch?.id {
      try engine.store.transaction {
        for author in zone.heads.map(\.author) where author.device == engine.device {
          _ = try Sealing.sealChanges(of: author, in: zone, by: engine)
        }
      }
    }
    if let chosen, chosen != zone.writeEpoch,
      try !engine.store.facts.has(epochFact(chosen))
    {
      let written = zone.heads.reduce(UInt64(0)) { $0 &+ $1.sequence }
      try engine.store.transaction {
        try engine.store.facts.set(epochFact(chosen), to: written)
      }
    }
    // While no epoch is usable, reading continues under the last one, and so do the writes needed
    // to make a new epoch. The choice is made here, because the next key is learned before it is
    // chosen.
    let citing = zone.heads.filter { $0.author.device == engine.device }.map(\.controlSeen)
    let last =
      Mutant.lastKeyMoves.isActive
      ? nil : membership.keys.lastEpoch(of: zone.id, held: held, citing: citing)?.grant.epoch
    engine.zones[place].writeEpoch = chosen ?? zone.writeEpoch ?? last
    engine.zones[place].isEpochOver = chosen == nil && !membership.keys.epochs(of: zone.id).isEmpty
  }

  /// Creates a check that rejects records whose author knew that their epoch was over.
  ///
  /// Operations of the control zone are taken under any known key. They decide who is removed, so a
  /// check of them would depend on which of them had arrived, and devices would differ for ever.
  ///
  /// - Parameter unjudged: The digests of segments that were not judged before; nil for all.
  /// - Returns: The check; nil for a control zone.
  static func epochJudge(
    of zone: ZoneState, unjudged: Set<Identifier>?, in engine: Engine<some Store>
  ) -> ((OpenedSegment, Frontier) -> Bool)? {
    guard zone.kind != .control else { return nil }
    let membership = engine.membership(of: zone.group)
    let own = engine.device
    return { segment, heads in
      (unjudged?.contains(segment.digest) ?? true) && segment.author.device != own
        && membership.keys.isOver(segment.epoch, of: zone.id, at: heads)
    }
  }

  /// Takes keys from changes of the control zone, even if earlier changes are missing.
  ///
  /// The missing changes may be sealed under those very keys. The keys stay in memory; the ring
  /// records which zones must be stored.
  ///
  /// - Parameters:
  ///   - ring: The known keys.
  ///   - isWanted: Whether to take a key of a zone.
  /// - Returns: The tags of the new keys.
  static func learnKeys(
    from changes: [Change], of group: GroupID, into ring: inout KeyRing,
    in engine: inout Engine<some Store>, where isWanted: (ZoneID, EpochKey) -> Bool
  ) -> [Bytes16] {
    var learnt: [Bytes16] = []
    for operation in changes.lazy.flatMap(\.controlOperations) {
      let (id, epoch, wraps): (ZoneID, [UInt8], [ControlOperation.Wrap])
      switch operation {
      case .epoch(let grant): (id, epoch, wraps) = (grant.zone, grant.epoch, grant.wraps)
      case .wrapAdd(let zone, let added, let more): (id, epoch, wraps) = (zone, added, more)
      default: continue
      }
      guard let place = engine.zones.firstIndex(where: { $0.id == id && $0.group == group }),
        !ring.holds(epoch, at: place),
        let wrap = wraps.first(where: { $0.recipient == engine.device }),
        let key = try? EpochKey.openKey(
          wrap.sealed, with: engine.identity.boxPair, expectingID: epoch, groupID: group.bytes,
          zoneID: id.bytes),
        isWanted(id, key)
      else { continue }
      engine.zones[place].learn(key)
      ring.note(epoch, at: place)
      learnt.append(key.tag)
      Probe.keyLearntAhead.hit()
    }
    return learnt
  }

  /// The fact that stores a zone's number of changes at the time when an epoch was learned.
  static func epochFact(_ epoch: [UInt8]) -> Fact<UInt64> {
    Fact(number: "epoch." + (Identifier(bytes: Array(epoch.prefix(16)))?.hex ?? "")).asCache
  }
}
