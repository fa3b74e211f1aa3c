import HearthCRDT
import HearthCrypto
import HearthMembership

/// Operations at a history boundary, with new keys for the data zones.
enum HistoryBoundary {
  /// Performs an invitation or admission, with new keys if newcomers may read only from then on.
  ///
  /// - Parameters:
  ///   - person: The person, if known; nil for a newcomer.
  ///   - joined: A device that gains access.
  static func performEntrance(
    _ operation: ControlOperation, of person: PersonID?, in group: GroupID,
    joined: JoiningDevice? = nil, by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let membership = engine.membership(of: group)
    guard membership.newcomers == .fromJoin, membership.entries.isForNewcomer(person) else {
      try GroupOperations.perform(
        [operation], in: group, by: &engine, nowMilliseconds: nowMilliseconds)
      return
    }
    try perform(in: group, joined: joined, by: &engine, nowMilliseconds: nowMilliseconds) {
      _ in
      [operation]
    }
  }

  /// Performs operations at a history boundary, with new keys for the data zones.
  ///
  /// If the operations close invitations, the control log gets new keys too. Pending own changes
  /// are first sealed under the earlier keys.
  ///
  /// - Parameters:
  ///   - joined: A device that gains access.
  ///   - isThreshold: Whether no link leads back to earlier keys.
  ///   - operations: Makes the operations; called with the engine after the sealing.
  static func perform<S: Store>(
    in group: GroupID, joined: JoiningDevice? = nil, isThreshold: Bool = false,
    by engine: inout Engine<S>, nowMilliseconds: UInt64,
    _ operations: (Engine<S>) -> [ControlOperation]
  ) throws {
    var draft = engine
    try engine.store.transaction {
      draft = engine
      try Rekeying.replaceOverEpochs(of: group, in: &draft, nowMilliseconds: nowMilliseconds)
      try closeExpired(in: group, by: &draft, nowMilliseconds: nowMilliseconds)
      for zone in draft.dataZoneIDs(of: group) { _ = try Sealing.seal(zone, in: &draft) }
      let operations = operations(draft)
      let isClosing = operations.contains { if case .inviteClose = $0 { true } else { false } }
      let keys = try Rekeying.grants(
        of: isClosing ? draft.zoneIDs(of: group) : draft.dataZoneIDs(of: group), in: group,
        without: [], joined: joined, isThreshold: isThreshold, by: draft)
      try GroupOperations.perform(
        operations + keys, in: group, by: &draft, nowMilliseconds: nowMilliseconds)
    }
    engine = draft
  }

  /// Closes expired invitations, with new keys, before somebody is admitted.
  ///
  /// The next sync would close them anyway. The newcomer would then lack the new keys, and could
  /// not open the snapshot that newcomers bootstrap from.
  private static func closeExpired(
    in group: GroupID, by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    guard !Mutant.closesAfterInviting.isActive else { return }
    let closings = EntranceDuties(engine: engine).closings(
      in: group, nowMilliseconds: nowMilliseconds)
    guard !closings.isEmpty else { return }
    Probe.closedBeforeInviting.hit()
    let keys = try Rekeying.grants(
      of: engine.zoneIDs(of: group), in: group, without: [], by: engine)
    try GroupOperations.perform(
      closings + keys, in: group, by: &engine, nowMilliseconds: nowMilliseconds)
  }
}
