import HearthCRDT
import HearthCrypto
import HearthMembership

/// Writing of local changes.
enum LocalWrite {
  /// Writes one transaction without its consequences.
  static func writeOne(
    _ operations: [Operation], to zone: ZoneID, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> Version {
    let place = try engine.place(of: zone)
    try WriteCheck.validate(operations, in: engine.zones[place], by: engine)
    let state = engine.zones[place]
    var head = state.head(of: engine.author)
    let past = state.frontier.raised(over: head.past)
    var tickedClock = engine.clock
    let time = tickedClock.tick(nowMilliseconds: nowMilliseconds)
    let change = try makeChange(operations, head: head, in: state, time: time, by: engine)
    var encoder = ByteWriter(capacity: 256)
    change.encode(into: &encoder)
    guard encoder.count <= Limits.maximumChangeBytes else {
      throw SyncError(
        .tooLarge,
        "this transaction has \(encoder.count) bytes, but at most \(Limits.maximumChangeBytes) "
          + "are allowed: split it")
    }
    let bytes = encoder.bytes
    try head.advance(over: change, hash: state.chainHash(of: bytes))
    if Mutant.logApart.isActive {
      try engine.store.transaction { try engine.store.log.append(bytes, dot: change.dot, to: zone) }
    }
    let membership = engine.membership(of: state.group)
    let heads = try known(ofControl: state.group, head, in: engine)
    let writer = membership.changes.author(of: change.dot, at: heads)
    try engine.store.transaction {
      var applier = Applier(zone: zone, store: engine.store, policy: engine.policy)
      try applier.prepare(for: CollectionOfOne(change))
      try applier.apply(
        change, past: past, as: try ownJudgement(of: operations, in: state, change.dot, by: engine),
        by: writer
      ) { membership.changes.standing(of: $0, knownTo: engine.device, at: heads) }
      try OverfullRecords.checkRoom(in: applier, of: writer, by: engine)
      if !Mutant.logApart.isActive { try engine.store.log.append(bytes, dot: change.dot, to: zone) }
      if change.dot.sequence % UInt64(OwnTail.headInterval) == 0
        || bytes.count >= OwnTail.headBytes
      {
        Probe.headSavedWithWrite.hit()
        try engine.store.zones.save([head], of: zone)
      }
      try applier.flush()
    }
    engine.clock = tickedClock
    engine.zones[place].set(head)
    return Version(dot: change.dot, time: time)
  }

  /// The judgement of an own change, which must count completely to be written.
  ///
  /// - Throws: `notAllowed` if the change would be void.
  static func ownJudgement(
    of operations: [Operation], in state: ZoneState, _ dot: Dot, by engine: Engine<some Store>
  ) throws -> Judgement? {
    guard state.kind == .data else { return nil }
    let heads = try known(ofControl: state.group, state.head(of: engine.author), in: engine)
    let membership = engine.membership(of: state.group)
    let judgement = membership.changes.judge(dot, in: state.id, at: heads)
    guard case .counts(let role) = judgement else {
      throw SyncError(
        .notAllowed,
        "this device no longer belongs to \(state.name): ask an owner or admin for an "
          + "invitation, and join again")
    }
    let person = membership.person(of: engine.device)?.id
    let refused = engine.policy.refused(operations, as: role, by: person) {
      membership.changes.standing(of: $0, knownTo: engine.device, at: heads)
    }
    if let refused {
      throw SyncError(
        .notAllowed,
        role == .reader
          ? "you are a reader here: readers see everything but change nothing"
          : engine.policy.allows(refused, as: role, by: person)
            ? "this concerns a person who does not rank below you, or still belongs to the "
              + "group: nothing was written"
            : "you are a \(role.name) here and may not do this (\(refused.key.type)): ask an "
              + "owner or admin")
    }
    return judgement
  }

  private static func makeChange(
    _ operations: [Operation], head: LogHead, in state: ZoneState, time: HybridTime,
    by engine: Engine<some Store>
  ) throws -> Change {
    var controlSeen = FrontierDifference.none
    if state.kind == .data {
      let control = try engine.controlZone(of: state.group)
      controlSeen = try known(ofControl: state.group, head, in: engine)
        .difference(from: head.controlSeen) { control.head(of: $0).hash }
    }
    let seen = state.frontier.raised(over: head.past)
      .difference(from: head.past) { state.head(of: $0).hash }
    precondition(
      !seen.heads.contains { $0.author == engine.author }, "the own log is ahead of its head")
    return Change(
      dot: Dot(author: engine.author, sequence: head.sequence + 1), previousHash: head.hash,
      seen: seen,
      controlSeen: controlSeen, time: time, schemaVersion: engine.schemaVersion,
      operations: state.kind == .control ? citing(seen, in: state, operations) : operations)
  }

  /// What a change cites of the control zone.
  ///
  /// This is the applied frontier, joined with what its log cited before, because a control log may
  /// have ended since.
  private static func known(
    ofControl group: GroupID, _ head: LogHead, in engine: Engine<some Store>
  ) throws -> Frontier {
    try engine.controlZone(of: group).frontier.raised(over: head.controlSeen)
  }

  /// The operations with the hashes of what their change newly saw, in the first of them.
  private static func citing(
    _ seen: FrontierDifference, in state: ZoneState, _ operations: [Operation]
  ) -> [Operation] {
    let citations = seen.heads.map {
      Citation(author: $0.author, chainHash: state.head(of: $0.author).hash)
    }
    var isFirst = true
    return operations.map { operation in
      guard operation.key.type == ControlOperation.type, case .event(let fields) = operation.body
      else { return operation }
      var kept = fields.filter { $0.field != ControlOperation.citationField }
      if isFirst, !citations.isEmpty {
        kept.append(
          EventField(ControlOperation.citationField, .bytes(Citation.encoded(citations))))
        kept.sort { $0.field < $1.field }
      }
      isFirst = false
      return Operation(operation.key, .event(kept))
    }
  }
}

extension Frontier {
  /// The frontier, joined with what was known before if a log has ended since.
  fileprivate func raised(over past: Frontier) -> Frontier {
    covers(past) ? self : joined(with: past)
  }
}
