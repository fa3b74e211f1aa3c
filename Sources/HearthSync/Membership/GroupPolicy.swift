import HearthCRDT
import HearthCrypto
import HearthMembership

/// The policy of a group, and the closing of its invitations.
package enum GroupPolicy {
  /// Closes an invitation, so that nobody can join by it; with new keys if it carried the old ones.
  package static func closeInvitation(
    _ invite: Identifier, of group: GroupID, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let membership = engine.membership(of: group)
    let open = membership.invites.first { $0.operation.invite == invite }
    let role = membership.role(of: engine.device)
    let keys =
      open?.operation.admission == .auto && role != .reader && role != nil
      ? try Rekeying.grants(of: engine.zoneIDs(of: group), in: group, without: [], by: engine) : []
    try GroupOperations.perform(
      [.inviteClose(invite: invite)] + keys, in: group, by: &engine,
      nowMilliseconds: nowMilliseconds)
  }

  /// Sets the rules of the group: the minimum suite, which only rises, and what newcomers may read.
  ///
  /// If the newcomer rule changes, the same operation gives the data zones new keys without links
  /// to earlier keys. Later newcomers can read at most from that point on. Open invitations whose
  /// bundles carry earlier keys are closed with it. Restoring the former rule reopens nothing.
  ///
  /// - Throws: `invalidOperation` for a suite that this program does not know, `notAllowed`.
  package static func setPolicy(
    of group: GroupID, minimumSuite: UInt8, newcomers: ControlOperation.Newcomers,
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    guard (1...EnvelopeFormat.suite).contains(minimumSuite) else {
      throw SyncError(
        .invalidOperation,
        "this program knows suites 1 to \(EnvelopeFormat.suite), not \(minimumSuite)")
    }
    try set(minimumSuite, newcomers, of: group, in: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Sets what newcomers may read and keeps the minimum suite.
  package static func setNewcomers(
    _ newcomers: ControlOperation.Newcomers, of group: GroupID, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    try set(
      engine.membership(of: group).minimumSuite, newcomers, of: group, in: &engine,
      nowMilliseconds: nowMilliseconds)
  }

  private static func set(
    _ suite: UInt8, _ newcomers: ControlOperation.Newcomers, of group: GroupID,
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let policy = ControlOperation.setPolicy(minimumSuite: suite, newcomers: newcomers)
    let membership = engine.membership(of: group)
    guard newcomers != membership.newcomers,
      membership.role(of: engine.device)?.rank ?? 0 >= Role.admin.rank
    else {
      try GroupOperations.perform(
        [policy], in: group, by: &engine, nowMilliseconds: nowMilliseconds)
      return
    }
    let carrying = membership.openInvites.filter {
      membership.entries.isForNewcomer($0.operation.person)
    }
    .map(\.operation.invite)
    try HistoryBoundary.perform(
      in: group, isThreshold: true, by: &engine, nowMilliseconds: nowMilliseconds
    ) { draft in
      guard newcomers == .fromJoin else { return [policy] }
      return [policy]
        + RemovalCuts(engine: draft).closings(in: group) { carrying.contains($0.operation.invite) }
    }
  }
}
