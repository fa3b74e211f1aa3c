import HearthCRDT
import HearthCrypto
import HearthMembership

extension Engine {
  /// The dot of the next transaction, from which event ids derive.
  package func nextDot(in zone: ZoneID) throws -> Dot {
    let head = try self.zone(zone).head(of: author)
    return Dot(author: author, sequence: head.sequence + 1)
  }

  /// Writes one transaction: applied, logged and durable when this returns.
  ///
  /// - Parameters:
  ///   - operations: The operations, in order; events have the ids that ``nextDot(in:)`` implies.
  ///   - nowMilliseconds: The wall clock.
  /// - Returns: The change's dot and time.
  /// - Throws: `SyncError` if an operation is invalid or the transaction is too large, and the
  ///   store's errors. Nothing is then changed.
  package mutating func write(
    _ operations: [Operation], to zone: ZoneID, nowMilliseconds: UInt64
  ) throws -> Version {
    let state = try self.zone(zone)
    let isAnnounced = try controlZone(of: state.group).head(of: author).sequence > 0
    guard state.kind == .control || state.isEpochOver || !isAnnounced else {
      return try writeOne(operations, to: zone, nowMilliseconds: nowMilliseconds)
    }
    var draft = self
    var version = Version(dot: Dot(author: author, sequence: 0), time: HybridTime(rawValue: 0))
    try store.transaction {
      draft = self
      if state.isEpochOver, state.kind == .data, !Mutant.rotatesAfterWrite.isActive {
        try draft.replaceOverEpochs(of: state.group, nowMilliseconds: nowMilliseconds)
      }
      if state.kind == .data,
        try draft.controlZone(of: state.group).head(of: author).sequence == 0
      {
        // Records count only if their author has written to the control log; a device admitted by
        // others has not written there yet.
        _ = try draft.writeControl(
          [.heartbeat([])], group: state.group, nowMilliseconds: nowMilliseconds)
      }
      let before = draft.membership(of: state.group)
      version = try draft.writeOne(operations, to: zone, nowMilliseconds: nowMilliseconds)
      guard state.kind == .control else { return }
      try draft.refreshMembership(of: state.group)
      try draft.settle(state.group, after: before, nowMilliseconds: nowMilliseconds)
    }
    self = draft
    return version
  }

  /// Writes one transaction without its consequences.
  private mutating func writeOne(
    _ operations: [Operation], to zone: ZoneID, nowMilliseconds: UInt64
  ) throws -> Version {
    let place = try place(of: zone)
    try validate(operations, in: zones[place])
    let state = zones[place]
    var head = state.head(of: author)
    let past = state.frontier.raised(over: head.past)
    var tickedClock = clock
    let time = tickedClock.tick(nowMilliseconds: nowMilliseconds)
    let change = try makeChange(operations, head: head, in: state, time: time)
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
      try store.transaction { try store.log.append(bytes, dot: change.dot, to: zone) }
    }
    let membership = membership(of: state.group)
    let heads = try known(ofControl: state.group, head)
    let writer = membership.author(of: change.dot, at: heads)
    try store.transaction {
      var applier = Applier(zone: zone, store: store, policy: policy)
      try applier.prepare(for: CollectionOfOne(change))
      try applier.apply(
        change, past: past, as: try ownJudgement(of: operations, in: state, change.dot),
        by: writer
      ) { membership.standing(of: $0, knownTo: device, at: heads) }
      try checkRoom(in: applier, of: writer)
      if !Mutant.logApart.isActive { try store.log.append(bytes, dot: change.dot, to: zone) }
      if change.dot.sequence % UInt64(Engine.headInterval) == 0
        || bytes.count >= Engine.headBytes
      {
        Probe.headSavedWithWrite.hit()
        try store.zones.save([head], of: zone)
      }
      try applier.flush()
    }
    clock = tickedClock
    zones[place].set(head)
    return Version(dot: change.dot, time: time)
  }

  /// The judgement of an own change, which must count completely to be written.
  ///
  /// - Throws: `notAllowed` if the change would be void.
  func ownJudgement(
    of operations: [Operation], in state: ZoneState, _ dot: Dot
  ) throws -> Judgement? {
    guard state.kind == .data else { return nil }
    let heads = try known(ofControl: state.group, state.head(of: author))
    let membership = membership(of: state.group)
    let judgement = membership.judge(dot, in: state.id, at: heads)
    guard case .counts(let role) = judgement else {
      throw SyncError(
        .notAllowed,
        "this device no longer belongs to \(state.name): ask an owner or admin for an "
          + "invitation, and join again")
    }
    let person = membership.person(of: device)?.id
    let refused = policy.refused(operations, as: role, by: person) {
      membership.standing(of: $0, knownTo: device, at: heads)
    }
    if let refused {
      throw SyncError(
        .notAllowed,
        role == .reader
          ? "you are a reader here: readers see everything but change nothing"
          : policy.allows(refused, as: role, by: person)
            ? "this concerns a person who does not rank below you, or still belongs to the "
              + "group: nothing was written"
            : "you are a \(role.name) here and may not do this (\(refused.key.type)): ask an "
              + "owner or admin")
    }
    return judgement
  }

  private func makeChange(
    _ operations: [Operation], head: LogHead, in state: ZoneState, time: HybridTime
  ) throws -> Change {
    var controlSeen = FrontierDifference.none
    if state.kind == .data {
      let control = try controlZone(of: state.group)
      controlSeen = try known(ofControl: state.group, head)
        .difference(from: head.controlSeen) { control.head(of: $0).hash }
    }
    let seen = state.frontier.raised(over: head.past)
      .difference(from: head.past) { state.head(of: $0).hash }
    precondition(
      !seen.heads.contains { $0.author == author }, "the own log is ahead of its head")
    return Change(
      dot: Dot(author: author, sequence: head.sequence + 1), previousHash: head.hash, seen: seen,
      controlSeen: controlSeen, time: time, schemaVersion: schemaVersion,
      operations: state.kind == .control ? citing(seen, in: state, operations) : operations)
  }

  /// What a change cites of the control zone.
  ///
  /// This is the applied frontier, joined with what its log cited before, because a control log may
  /// have ended since.
  private func known(ofControl group: GroupID, _ head: LogHead) throws -> Frontier {
    try controlZone(of: group).frontier.raised(over: head.controlSeen)
  }

  /// The operations with the hashes of what their change newly saw, in the first of them.
  private func citing(
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

  /// Rejects operations that no replica would apply.
  private func validate(_ operations: [Operation], in zone: ZoneState) throws {
    guard !operations.isEmpty else {
      throw SyncError(.invalidOperation, "a transaction without operations changes nothing")
    }
    guard operations.count <= Limits.maximumOperations else {
      throw SyncError(
        .tooLarge,
        "this transaction has \(operations.count) operations, but at most "
          + "\(Limits.maximumOperations) are allowed: split it")
    }
    if zone.head(of: author).sequence == 0 { try requirePlace(in: zone) }
    let next = try nextDot(in: zone.id)
    var deleted: Set<RecordKey> = []
    for (index, operation) in operations.enumerated() {
      try validate(operation, at: index, dot: next, in: zone.id)
      if case .delete = operation.body {
        deleted.insert(operation.key)
      } else if deleted.contains(operation.key) {
        throw SyncError(
          .invalidOperation, "a record cannot be written after its deletion in one transaction")
      }
    }
  }

  /// Requires that the zone admits this incarnation.
  private func requirePlace(in zone: ZoneState) throws {
    let room = try room(of: zone)
    guard !room.admits(author, in: zone) else { return }
    throw SyncError(
      .tooLarge,
      "your devices have started \(room.lives(of: device, in: zone)) incarnations in "
        + "\(zone.name), or the zone has too many authors: ask to be removed, make a new node "
        + "with `hearth init` and join again")
  }

  private func validate(
    _ operation: Operation, at index: Int, dot: Dot, in zone: ZoneID
  ) throws {
    guard operation.isWellFormed else {
      throw SyncError(
        .invalidOperation, "operation \(index) does not fit its record type or its field's kind")
    }
    switch operation.body {
    case .event(let fields):
      guard operation.key.id == eventID(in: zone, type: operation.key.type, dot: dot, index: index)
      else {
        throw SyncError(.invalidOperation, "operation \(index): an event has the wrong id")
      }
      guard fields.count <= Limits.maximumEventFields else {
        throw SyncError(.tooLarge, "operation \(index): an event has too many fields")
      }
      guard zip(fields, fields.dropFirst()).allSatisfy({ $0.field < $1.field }) else {
        throw SyncError(
          .invalidOperation, "operation \(index): the fields of an event are not in order of number"
        )
      }
      for field in fields { try validate(field.value) }
    case .assign(_, let value), .include(_, let value), .exclude(_, let value):
      try validate(value)
    case .insert, .count, .delete: break
    }
  }

  private func validate(_ value: Value) throws {
    let count =
      switch value {
      case .text(let text): text.utf8.count
      case .bytes(let bytes): bytes.count
      case .null, .bool, .int: 0
      }
    guard count <= Limits.maximumValueBytes else {
      throw SyncError(
        .tooLarge,
        "a value has \(count) bytes, but at most \(Limits.maximumValueBytes) are allowed")
    }
  }
}

extension Frontier {
  /// The frontier, joined with what was known before if a log has ended since.
  fileprivate func raised(over past: Frontier) -> Frontier {
    covers(past) ? self : joined(with: past)
  }
}
