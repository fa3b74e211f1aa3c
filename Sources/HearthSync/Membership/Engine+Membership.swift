import HearthCRDT
import HearthCrypto
import HearthMembership

// How the engine reacts to membership operations.
extension Engine {
  /// Recomputes a group's membership from its control log.
  ///
  /// The group's zones then recognise its devices, take over the keys in the log, and choose the
  /// epochs to write under.
  ///
  /// - Parameter isLoading: Whether the engine is being loaded from its store.
  mutating func refreshMembership(of group: GroupID, isLoading: Bool = false) throws {
    let control = try controlZone(of: group)
    let items = Membership.items(
      of: try store.records.events(of: ControlOperation.type, in: control.id))
    let stored =
      memberships[group] == nil ? try StoredProofs.read(of: group, from: store) : ProofBook()
    var shown = try shownHistories(in: items, of: group)
    for _ in 0..<ShownHistories.maximumDepth {
      for (digest, segment) in shown.opened { openedShown[digest] = segment }
      let membership = Membership(
        group: group, items: items, forks: shown.forks, known: memberships[group],
        proofs: stored)
      memberships[group] = membership
      for place in zones.indices where zones[place].group == group {
        zones[place].recognise(membership.cards.keys.sorted())
        try learnEpochs(at: place, membership)
        try chooseEpoch(at: place, membership, isLoading: isLoading)
      }
      // A shown history may contain the keys and people needed to read further histories.
      let more = try shownHistories(in: items, of: group)
      guard more.counted != shown.counted else { break }
      shown = more
    }
    if !isLoading { try StoredProofs.keep(membership(of: group).proofs, of: group, in: store) }
    try learnForks(of: group, membership(of: group))
  }

  /// Adapts the engine to a changed membership, in the transaction that changed it.
  ///
  /// It rebuilds zones whose changes are now judged differently, and retries segments that were
  /// pending on a key or a person.
  mutating func settle(
    _ group: GroupID, after before: Membership, nowMilliseconds: UInt64
  ) throws {
    // A device with a forked log continues in a new incarnation, with its unpublished changes.
    let own = zones.compactMap { zone in
      zone.forkEnds[author].map { OwnLogEnd(zone: zone.id, author: author, first: $0) }
    }
    if !own.isEmpty, membership(of: group).isActive(device) {
      try beginNewLife(
        reason: Engine.copyReason, takingBack: own, nowMilliseconds: nowMilliseconds)
    }
    if !isShowing {
      try showHistories(of: group, contradicted: [], nowMilliseconds: nowMilliseconds)
      let control = try controlZone(of: group)
      if isBeyondFork(control) { try rebuild(control.id, nowMilliseconds: nowMilliseconds) }
    }
    let membership = membership(of: group)
    for zone in zones where zone.group == group && zone.kind == .data {
      if Mutant.keepsOldJudgement.isActive { continue }
      // A citation of one of two histories becomes proven once both are shown.
      let isProven =
        try before.forks.ends != membership.forks.ends
        && store.pending.entries(in: zone.id).contains { $0.reason == .falseClaim }
      if try isAffected(zone, before, membership) || isBeyondFork(zone) || isProven {
        Probe.zoneRejudged.hit()
        try rebuild(zone.id, nowMilliseconds: nowMilliseconds)
      }
    }
    let unproven = unprovenForks
    unprovenForks = []
    try proveForks(unproven, nowMilliseconds: nowMilliseconds)
    if membership.isActive(device) {
      try reissueForked(of: group, nowMilliseconds: nowMilliseconds)
    }
    for zone in zones where zone.group == group {
      let waits = try store.pending.entries(in: zone.id).contains {
        $0.reason == .epoch || $0.reason == .author
      }
      guard waits else { continue }
      let applied = try receive([], in: zone.id, nowMilliseconds: nowMilliseconds).applied
      // The opened operations may contain further keys; `receive` has settled them already.
      if applied > 0, zone.kind == .control { return }
    }
  }

  /// Whether anything that decides about the changes of a zone has changed.
  private func isAffected(
    _ zone: ZoneState, _ before: Membership, _ after: Membership
  ) throws -> Bool {
    if citesOtherHistory(zone, before.forks, after.forks) { return true }
    if try isSubjectAffected(zone, before, after) { return true }
    for device in Set(zone.heads.map(\.author.device)).sorted() {
      let old = before.grounds(of: device)
      let new = after.grounds(of: device)
      let gone = old.filter { new[$0.key] == nil }
      let come = new.filter { old[$0.key] == nil }
      let changed = Array(gone.values) + Array(come.values)
      guard !changed.isEmpty else { continue }
      var cuts = changed.compactMap(\.cut)
      if !Mutant.cutsOnlyTake.isActive {
        // Of concurrent cuts, the largest holds: a further cut also restores what another one cut
        // off.
        cuts += before.cuts(in: old, besides: gone) + after.cuts(in: new, besides: come)
      }
      for head in zone.heads where head.author.device == device {
        let isConcerned =
          changed.contains { head.controlSeen.covers($0.dot) }
          || cuts.contains { head.sequence > $0.sequence(of: head.author, in: zone.id) }
        if isConcerned { return true }
      }
    }
    return false
  }

  /// Whether a person about whom changes of a zone decide now has another status.
  ///
  /// This is the case if an operation that the changes' authors may have known gained or lost
  /// effect.
  private func isSubjectAffected(
    _ zone: ZoneState, _ before: Membership, _ after: Membership
  ) throws -> Bool {
    guard let fact = try store.facts.value(of: Applier<S>.subjectsName(of: zone.id)) else {
      return false
    }
    return try Applier<S>.subjects(in: fact).contains { person in
      let new = after.standingGrounds(of: person)
      return before.standingGrounds(of: person).contains { new[$0.key] != $0.value }
    }
  }

  /// Whether changes of a zone cite a control log whose set of histories has changed.
  private func citesOtherHistory(
    _ zone: ZoneState, _ before: ControlForks, _ after: ControlForks
  ) -> Bool {
    after.ends.contains { life, end in
      (before.ends[life] != end || before.outline(of: life) != after.outline(of: life))
        && zone.heads.contains { $0.controlSeen[life] >= end }
    }
  }

  /// Whether an author's log is applied beyond the common prefix of all its histories.
  private func isBeyondFork(_ zone: ZoneState) -> Bool {
    zone.forkEnds.contains { author, end in zone.head(of: author).sequence >= end }
  }

  // MARK: Keys

  /// Adds every key that the log hands to this device, and the keys sealed under those keys.
  private mutating func learnEpochs(at place: Int, _ membership: Membership) throws {
    let zone = zones[place]
    let epochs = membership.epochs(of: zone.id)
    guard epochs.contains(where: { zone.epoch(id: $0.grant.epoch) == nil }) else { return }
    var learnt = zone
    for epoch in epochs where learnt.epoch(id: epoch.grant.epoch) == nil {
      let wraps = epoch.grant.wraps + membership.addedWraps(of: epoch.grant.epoch, zone: zone.id)
      for wrap in wraps where wrap.recipient == device {
        let key = try? EpochKey.openKey(
          wrap.sealed, with: identity.boxPair, expectingID: epoch.grant.epoch,
          groupID: zone.group.bytes, zoneID: zone.id.bytes)
        if let key { learnt.learn(key) }
      }
    }
    // From the newest epoch back, since each epoch wraps the keys of its predecessors.
    for epoch in epochs.reversed() {
      guard let key = learnt.epoch(id: epoch.grant.epoch) else { continue }
      for earlier in epoch.grant.history
      where learnt.epoch(id: earlier.epoch) == nil
        && membership.follows(epoch, toKey: earlier.epoch, of: zone.kind, epochs)
      {
        if let opened = try? key.unwrapHistory(earlier.sealed, expectingID: earlier.epoch) {
          learnt.learn(opened)
        }
      }
    }
    try learn(learnt.epochs, at: place)
  }

  /// Stores unknown keys of a zone.
  mutating func learn(_ epochs: [EpochKey], at place: Int) throws {
    var learnt = zones[place]
    for epoch in epochs { learnt.learn(epoch) }
    guard learnt.epochs.count > zones[place].epochs.count, try keepKeys(of: learnt) else { return }
    zones[place] = learnt
  }

  /// Stores all keys of a zone; false if the store lacks the zone.
  func keepKeys(of zone: ZoneState) throws -> Bool {
    guard var stored = try store.zones.all().first(where: { $0.id == zone.id }) else {
      return false
    }
    stored.wrappedEpochs = try zone.epochs.map { try $0.protected(by: identity) }
    try store.transaction { try store.zones.save(stored) }
    return true
  }

  /// Chooses the epoch to write under.
  ///
  /// Own unsealed control operations go under the previous epoch, because they may contain the key
  /// of the next one. That was done together with the operation that made the new epoch. Operations
  /// that are still unsealed while the engine loads therefore go under the chosen epoch.
  private mutating func chooseEpoch(
    at place: Int, _ membership: Membership, isLoading: Bool
  ) throws {
    let zone = zones[place]
    let isLeft = !isLoading || Mutant.sealsUnderLastLearnt.isActive
    let held = Set(zone.epochs.map(\.id))
    let chosen = membership.writableEpoch(of: zone.id, zone.kind, held: held)?.grant.epoch
    if isLeft, zone.kind == .control, let chosen, chosen != zone.currentEpoch?.id {
      try store.transaction {
        for author in zone.heads.map(\.author) where author.device == device {
          _ = try sealChanges(of: author, in: zone)
        }
      }
    }
    if let chosen, chosen != zone.writeEpoch,
      try store.facts.value(of: Engine.epochFact(chosen)) == nil
    {
      let written = zone.heads.reduce(UInt64(0)) { $0 &+ $1.sequence }
      try store.transaction {
        try store.facts.set(Engine.epochFact(chosen), to: written.fixedBytes)
      }
    }
    // While no epoch is usable, reading continues under the last one, and so do the writes needed
    // to make a new epoch. The choice is made here, because the next key is learned before it is
    // chosen.
    let citing = zone.heads.filter { $0.author.device == device }.map(\.controlSeen)
    let last =
      Mutant.lastKeyMoves.isActive
      ? nil : membership.lastEpoch(of: zone.id, held: held, citing: citing)?.grant.epoch
    zones[place].writeEpoch = chosen ?? zone.writeEpoch ?? last
    zones[place].isEpochOver = chosen == nil && !membership.epochs(of: zone.id).isEmpty
  }

  /// Creates a check that rejects records whose author knew that their epoch was over.
  ///
  /// Operations of the control zone are taken under any known key. They decide who is removed, so a
  /// check of them would depend on which of them had arrived, and devices would differ for ever.
  ///
  /// - Parameter unjudged: The digests of segments that were not judged before; nil for all.
  /// - Returns: The check; nil for a control zone.
  func epochJudge(
    of zone: ZoneState, unjudged: Set<Identifier>?
  ) -> ((OpenedSegment, Frontier) -> Bool)? {
    guard zone.kind != .control else { return nil }
    let membership = membership(of: zone.group)
    let own = device
    return { segment, heads in
      (unjudged?.contains(segment.digest) ?? true) && segment.author.device != own
        && membership.isOver(segment.epoch, of: zone.id, at: heads)
    }
  }
}

extension Engine {
  /// Takes keys from changes of the control zone, even if earlier changes are missing.
  ///
  /// The missing changes may be sealed under those very keys. The keys stay in memory; the ring
  /// records which zones must be stored.
  ///
  /// - Parameters:
  ///   - ring: The known keys.
  ///   - isWanted: Whether to take a key of a zone.
  /// - Returns: The tags of the new keys.
  mutating func learnKeys(
    from changes: [Change], of group: GroupID, into ring: inout KeyRing,
    where isWanted: (ZoneID, EpochKey) -> Bool
  ) -> [Bytes16] {
    var learnt: [Bytes16] = []
    for operation in changes.lazy.flatMap(\.controlOperations) {
      let (id, epoch, wraps): (ZoneID, [UInt8], [ControlOperation.Wrap])
      switch operation {
      case .epoch(let grant): (id, epoch, wraps) = (grant.zone, grant.epoch, grant.wraps)
      case .wrapAdd(let added): (id, epoch, wraps) = (added.zone, added.epoch, added.wraps)
      default: continue
      }
      guard let place = zones.firstIndex(where: { $0.id == id && $0.group == group }),
        !ring.holds(epoch, at: place), let wrap = wraps.first(where: { $0.recipient == device }),
        let key = try? EpochKey.openKey(
          wrap.sealed, with: identity.boxPair, expectingID: epoch, groupID: group.bytes,
          zoneID: id.bytes),
        isWanted(id, key)
      else { continue }
      zones[place].learn(key)
      ring.note(epoch, at: place)
      learnt.append(key.tag)
      Probe.keyLearntAhead.hit()
    }
    return learnt
  }
}
