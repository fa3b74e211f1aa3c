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
      return try LocalWrite.writeOne(
        operations, to: zone, in: &self, nowMilliseconds: nowMilliseconds)
    }
    var draft = self
    var version = Version(dot: Dot(author: author, sequence: 0), time: HybridTime(rawValue: 0))
    try store.transaction {
      draft = self
      if state.isEpochOver, state.kind == .data, !Mutant.rotatesAfterWrite.isActive {
        try Rekeying.replaceOverEpochs(
          of: state.group, in: &draft, nowMilliseconds: nowMilliseconds)
      }
      if state.kind == .data,
        try draft.controlZone(of: state.group).head(of: author).sequence == 0
      {
        // Records count only if their author has written to the control log; a device admitted by
        // others has not written there yet.
        _ = try ControlWriting.write(
          [.heartbeat([])], group: state.group, in: &draft, nowMilliseconds: nowMilliseconds)
      }
      let before = draft.membership(of: state.group)
      version = try LocalWrite.writeOne(
        operations, to: zone, in: &draft, nowMilliseconds: nowMilliseconds)
      guard state.kind == .control else { return }
      try MembershipRefresh.refresh(of: state.group, in: &draft)
      try MembershipEffects.settle(
        state.group, after: before, in: &draft, nowMilliseconds: nowMilliseconds)
    }
    self = draft
    return version
  }
}
