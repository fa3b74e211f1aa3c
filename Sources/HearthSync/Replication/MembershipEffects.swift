import HearthCRDT
import HearthCrypto
import HearthMembership

/// What a changed membership calls for.
enum MembershipEffects {
  /// Adapts the engine to a changed membership, in the transaction that changed it.
  ///
  /// It rebuilds zones whose changes are now judged differently, and retries segments that were
  /// pending on a key or a person.
  static func settle(
    _ group: GroupID, after before: Membership, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    try leaveForkedLog(in: group, by: &engine, nowMilliseconds: nowMilliseconds)
    if !engine.isShowing {
      try showHistories(
        of: group, contradicted: [], in: &engine, nowMilliseconds: nowMilliseconds)
      let control = try engine.controlZone(of: group)
      if isBeyondFork(control) {
        try Rebuild.rebuild(control.id, in: &engine, nowMilliseconds: nowMilliseconds)
      }
    }
    let membership = engine.membership(of: group)
    try rejudgeZones(
      of: group, from: before, to: membership, in: &engine, nowMilliseconds: nowMilliseconds)
    let unproven = engine.unprovenForks
    engine.unprovenForks = []
    try ForkProof.proveForks(unproven, in: &engine, nowMilliseconds: nowMilliseconds)
    if membership.isActive(engine.device) {
      try ForkProof.reissueForked(of: group, in: &engine, nowMilliseconds: nowMilliseconds)
    }
    for zone in engine.zones where zone.group == group {
      let waits = try engine.store.pending.entries(in: zone.id).contains {
        $0.reason == .epoch || $0.reason == .author
      }
      guard waits else { continue }
      let applied = try retryWaiting(of: zone, in: &engine, nowMilliseconds: nowMilliseconds)
      // The opened operations may contain further keys; `receive` has settled them already.
      if applied > 0, zone.kind == .control { return }
    }
  }

  /// Lets a device with a forked log continue in a new incarnation, with its unpublished changes.
  private static func leaveForkedLog(
    in group: GroupID, by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let own = engine.zones.compactMap { zone in
      zone.forkEnds[engine.author].map {
        OwnLogEnd(zone: zone.id, author: engine.author, first: $0)
      }
    }
    guard !own.isEmpty, engine.membership(of: group).isActive(engine.device) else { return }
    try NewIncarnation.begin(
      reason: HistoryShowing.copyReason, takingBack: own, in: &engine,
      nowMilliseconds: nowMilliseconds)
  }

  /// Rebuilds the data zones whose changes are judged differently.
  private static func rejudgeZones(
    of group: GroupID, from before: Membership, to membership: Membership,
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    for zone in engine.zones where zone.group == group && zone.kind == .data {
      if Mutant.keepsOldJudgement.isActive { continue }
      // A citation of one of two histories becomes proven once both are shown.
      let isProven =
        try before.forks.ends != membership.forks.ends
        && engine.store.pending.entries(in: zone.id).contains { $0.reason == .falseClaim }
      if try isAffected(zone, before, membership, in: engine) || isBeyondFork(zone) || isProven {
        Probe.zoneRejudged.hit()
        try rejudge(zone, in: &engine, nowMilliseconds: nowMilliseconds)
      }
    }
  }

  /// Rebuilds a zone whose changes are judged differently; one with a damaged log keeps its
  /// records.
  ///
  /// The damage must not keep out the news of the members. The person is told, and the next start
  /// tries again.
  private static func rejudge(
    _ zone: ZoneState, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    do {
      try Rebuild.rebuild(zone.id, in: &engine, nowMilliseconds: nowMilliseconds)
    } catch let error as SyncError where error.code == .corrupt {
      try MembershipRules.rejudgeAtStart(in: engine.store)
      try engine.store.notices.add(
        Notice(
          kind: .damage, zone: zone.id, device: nil, text: error.message,
          milliseconds: nowMilliseconds))
    }
  }

  /// Retries a zone's pending segments and returns the number of applied changes.
  ///
  /// A segment that contradicts the snapshot of its zone stays pending: the exchange of that zone
  /// decides between the two. It must not keep out the news of the members.
  private static func retryWaiting(
    of zone: ZoneState, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> Int {
    do {
      return try engine.receive([], in: zone.id, nowMilliseconds: nowMilliseconds).applied
    } catch let error as SyncError where error.code == .snapshotContradicted {
      return 0
    }
  }

  /// Shows the forked logs that this device has and nobody has shown yet, and adapts the engine to
  /// what they change.
  ///
  /// - Parameter contradicted: The changes for which this device has just seen two contents.
  static func showHistories(
    of group: GroupID, contradicted: [Dot], in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let ends = try engine.controlZone(of: group).forkEnds
    guard !contradicted.isEmpty || !ends.isEmpty, !engine.isShowing else { return }
    var draft = engine
    try engine.store.transaction {
      draft = engine
      let before = draft.membership(of: group)
      let isNew = try HistoryShowing.show(
        of: group, contradicted: contradicted, in: &draft, nowMilliseconds: nowMilliseconds)
      if isNew {
        try settle(group, after: before, in: &draft, nowMilliseconds: nowMilliseconds)
      }
    }
    engine = draft
  }

  /// Whether anything that decides about the changes of a zone has changed.
  private static func isAffected(
    _ zone: ZoneState, _ before: Membership, _ after: Membership, in engine: Engine<some Store>
  ) throws -> Bool {
    if citesOtherHistory(zone, before.forks, after.forks) { return true }
    if try isSubjectAffected(zone, before, after, in: engine) { return true }
    for device in Set(zone.heads.map(\.author.device)).sorted() {
      let old = before.changes.grounds(of: device)
      let new = after.changes.grounds(of: device)
      let gone = old.filter { new[$0.key] == nil }
      let come = new.filter { old[$0.key] == nil }
      let changed = Array(gone.values) + Array(come.values)
      guard !changed.isEmpty else { continue }
      var cuts = changed.compactMap(\.cut)
      if !Mutant.cutsOnlyTake.isActive {
        // Of concurrent cuts, the largest holds: a further cut also restores what another one cut
        // off.
        cuts +=
          before.changes.cuts(in: old, besides: gone) + after.changes.cuts(in: new, besides: come)
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
  private static func isSubjectAffected<S: Store>(
    _ zone: ZoneState, _ before: Membership, _ after: Membership, in engine: Engine<S>
  ) throws -> Bool {
    let subjects = try engine.store.facts.value(of: SubjectsFact.subjects(of: zone.id)) ?? []
    return subjects.contains { person in
      let new = after.changes.standingGrounds(of: person)
      return before.changes.standingGrounds(of: person).contains { new[$0.key] != $0.value }
    }
  }

  /// Whether changes of a zone cite a control log whose set of histories has changed.
  private static func citesOtherHistory(
    _ zone: ZoneState, _ before: ControlForks, _ after: ControlForks
  ) -> Bool {
    after.ends.contains { life, end in
      (before.ends[life] != end || before.outline(of: life) != after.outline(of: life))
        && zone.heads.contains { $0.controlSeen[life] >= end }
    }
  }

  /// Whether an author's log is applied beyond the common prefix of all its histories.
  private static func isBeyondFork(_ zone: ZoneState) -> Bool {
    zone.forkEnds.contains { author, end in zone.head(of: author).sequence >= end }
  }
}
