import HearthCRDT
import HearthCrypto
import HearthMembership

// What the engine does when it learns of membership operations.
extension Engine {
  /// Folds a group's control operations anew, lets its zones recognise its devices, takes over the
  /// keys it hands on and chooses those to write under.
  ///
  /// - Parameter isLoading: whether the engine is being read from its store.
  mutating func refreshMembership(of group: GroupID, isLoading: Bool = false) throws {
    let control = try controlZone(of: group)
    let items = Membership.items(
      of: try store.events(of: ControlOperation.type, in: control.id))
    var shown = try shownHistories(in: items, of: group)
    for _ in 0..<ShownHistories.maximumDepth {
      for (digest, segment) in shown.opened { openedShown[digest] = segment }
      let membership = Membership(
        group: group, items: items, forks: shown.forks, known: memberships[group])
      memberships[group] = membership
      for place in zones.indices where zones[place].group == group {
        zones[place].recognise(membership.cards.keys.sorted())
        try learnEpochs(at: place, membership)
        try chooseEpoch(at: place, membership, isLoading: isLoading)
      }
      // A shown history may hold the keys and the people by which more of it can be read.
      let more = try shownHistories(in: items, of: group)
      guard more.counted != shown.counted else { break }
      shown = more
    }
    try learnForks(of: group, membership(of: group))
  }

  /// Brings everything in line with a membership that has changed, in the transaction in which it
  /// changed: zones whose changes now count for something else are built anew, and what waited for
  /// a key or a person is tried again.
  mutating func settle(
    _ group: GroupID, after before: Membership, nowMilliseconds: UInt64
  ) throws {
    // Who has two histories goes on as somebody else, with what nobody has seen yet.
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
      // Whoever had received one of two histories is proven once both are shown.
      let isProven =
        try before.forks.ends != membership.forks.ends
        && store.pendingEntries(in: zone.id).contains { $0.reason == .falseClaim }
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
      let waits = try store.pendingEntries(in: zone.id).contains {
        $0.reason == .epoch || $0.reason == .author
      }
      guard waits else { continue }
      let applied = try receive([], in: zone.id, nowMilliseconds: nowMilliseconds).applied
      // Operations that were opened just now may hand on further keys; that was settled there.
      if applied > 0, zone.kind == .control { return }
    }
  }

  /// Whether something that decides about the changes of a zone has changed.
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
        // Of cuts of the same time the largest holds: a further one also gives back what one took.
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

  /// Whether somebody about whom changes of a zone decide stood otherwise with the group than was
  /// known: an operation of which their authors may have known gained or lost effect.
  private func isSubjectAffected(
    _ zone: ZoneState, _ before: Membership, _ after: Membership
  ) throws -> Bool {
    guard let fact = try store.fact(Applier<S>.subjectsName(of: zone.id)) else { return false }
    return try Applier<S>.subjects(in: fact).contains { person in
      let new = after.standingGrounds(of: person)
      return before.standingGrounds(of: person).contains { new[$0.key] != $0.value }
    }
  }

  /// Whether changes of a zone cite a log of the control zone whose histories are others now.
  private func citesOtherHistory(
    _ zone: ZoneState, _ before: ControlForks, _ after: ControlForks
  ) -> Bool {
    after.ends.contains { life, end in
      (before.ends[life] != end || before.outline(of: life) != after.outline(of: life))
        && zone.heads.contains { $0.controlSeen[life] >= end }
    }
  }

  /// Whether more of an author's log is applied than what all its histories have in common.
  private func isBeyondFork(_ zone: ZoneState) -> Bool {
    zone.forkEnds.contains { author, end in zone.head(of: author).sequence >= end }
  }

  // MARK: Keys

  /// Takes over every key that the log hands to this device, and those sealed under them.
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
    // From the newest back, as each holds the keys of those before it.
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

  /// Keeps keys of a zone that were not held.
  mutating func learn(_ epochs: [EpochKey], at place: Int) throws {
    var learnt = zones[place]
    for epoch in epochs { learnt.learn(epoch) }
    guard learnt.epochs.count > zones[place].epochs.count, try keepKeys(of: learnt) else { return }
    zones[place] = learnt
  }

  /// Writes all keys of a zone; false where the store does not have the zone.
  func keepKeys(of zone: ZoneState) throws -> Bool {
    guard var stored = try store.zones().first(where: { $0.id == zone.id }) else { return false }
    stored.wrappedEpochs = try zone.epochs.map { try $0.protected(by: identity) }
    try store.transaction { try store.save(stored) }
    return true
  }

  /// Chooses the epoch to write under.
  ///
  /// Own operations that wait to be sealed go under the one that is left: the key of the next may
  /// be among them. That was done with the operation that made it, so what waits in the store of an
  /// engine that is being read goes under the one that is chosen.
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
    if let chosen, chosen != zone.writeEpoch, try store.fact(Engine.epochFact(chosen)) == nil {
      let written = zone.heads.reduce(UInt64(0)) { $0 &+ $1.sequence }
      try store.transaction {
        try store.setFact(Engine.epochFact(chosen), Engine.bytes(of: written))
      }
    }
    // While none may be used, reading and what must be written to make one go on under the last;
    // that is settled here, as the next key is learnt before it is chosen.
    let citing = zone.heads.filter { $0.author.device == device }.map(\.controlSeen)
    let last =
      Mutant.lastKeyMoves.isActive
      ? nil : membership.lastEpoch(of: zone.id, held: held, citing: citing)?.grant.epoch
    zones[place].writeEpoch = chosen ?? zone.writeEpoch ?? last
    zones[place].isEpochOver = chosen == nil && !membership.epochs(of: zone.id).isEmpty
  }

  /// Judges segments by whether their author knew that their key was over.
  ///
  /// - Parameter unjudged: the digests of those that were not judged before; nil for all.
  func epochJudge(
    of zone: ZoneState, unjudged: Set<Identifier>?
  ) -> (OpenedSegment, Frontier) -> Bool {
    let membership = membership(of: zone.group)
    let own = device
    return { segment, heads in
      (unjudged?.contains(segment.digest) ?? true) && segment.author.device != own
        && !segment.mayBeUnderOldKey(of: zone.id)
        && !(zone.kind == .control && membership.isReader(segment.author.device, at: heads))
        && membership.isOver(segment.epoch, of: zone.id, at: heads)
    }
  }
}

extension Change {
  /// The membership operations in it.
  var controlOperations: [ControlOperation] {
    operations.compactMap { operation in
      guard operation.key.type == ControlOperation.type, case .event(let fields) = operation.body,
        let body = fields.first(where: { $0.field == ControlOperation.bodyField })?.value.bytes
      else { return nil }
      return try? ControlOperation(decoding: body)
    }
  }
}

extension OpenedSegment {
  /// Whether its last change hands on a key of the control zone, lets its author in, or only speaks
  /// of keys or closes an invitation: it must be under a key that those have who have no newer one.
  ///
  /// Who comes by an older invitation has none of the newer keys, and a reader cannot make one.
  fileprivate func mayBeUnderOldKey(of control: ZoneID) -> Bool {
    guard let last = changes.last else { return false }
    let operations = last.controlOperations
    return operations.contains {
      switch $0 {
      case .epoch(let grant): grant.zone == control
      case .join, .recover: !Mutant.readersNeedNewKeys.isActive
      default: false
      }
    }
      || !operations.isEmpty
        && operations.allSatisfy {
          switch $0 {
          case .wrapAdd, .complaint, .inviteClose: true
          default: false
          }
        }
  }
}

extension Engine {
  /// Takes keys from changes of the control zone, whether what came before them is here or not: it
  /// may be under those very keys.
  ///
  /// They are in memory only, until the ring says where they have to be kept.
  ///
  /// - Parameters:
  ///   - ring: the keys that are here.
  ///   - isWanted: whether a key of a zone is taken.
  /// - Returns: the tags of the new ones.
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
