import HearthCRDT
import HearthMembership

/// Automatic confirmation of joins and closing of invitations.
package enum EntranceUpkeep {
  /// How long after the expiry of an invitation, by this device's clock, a join by it may still
  /// arrive here and have effect: 7 days.
  ///
  /// Admins may be away while somebody joins in time.
  package static var graceMilliseconds: UInt64 { 7 * 24 * 60 * 60 * 1_000 }

  /// Closes automatic invitations that expired longer ago than the grace, before this device learns
  /// who joined by them.
  ///
  /// A joiner may claim any time, so this device's own clock decides. A close speaks only against
  /// joins that it had not seen. Made before anything new is read, it lets every later join wait
  /// for a person's approval, and leaves confirmed joins alone.
  static func closeLongExpired(
    before id: ZoneID, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let zone = try engine.zone(id)
    guard zone.kind == .control, nowMilliseconds > graceMilliseconds else { return }
    let closings = EntranceDuties(engine: engine).closable(in: zone.group)
      .filter {
        $0.operation.admission == .auto
          && $0.operation.expiresMilliseconds < nowMilliseconds - graceMilliseconds
      }
      .map { ControlOperation.inviteClose(invite: $0.operation.invite) }
    Probe.closedBeforeReading.hit(if: !closings.isEmpty)
    try GroupOperations.perform(
      closings, in: zone.group, by: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Admits a person whose join is pending because of an objection.
  ///
  /// - Throws: `notFound`, `notAllowed`.
  package static func confirm(
    _ entry: RecordID, in group: GroupID, by engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    guard engine.membership(of: group).entries.waiting.contains(where: { $0.id == entry }) else {
      throw SyncError(.notFound, "there is no such pending joining")
    }
    guard engine.membership(of: group).entries.confirmable(by: engine.device).contains(entry) else {
      throw SyncError(
        .notAllowed, "only an owner or admin who ranks above the role can let somebody in")
    }
    var draft = engine
    try engine.store.transaction {
      draft = engine
      try GroupOperations.perform(
        [.confirm([entry])], in: group, by: &draft, nowMilliseconds: nowMilliseconds)
      try Rekeying.replaceOverEpochs(of: group, in: &draft, nowMilliseconds: nowMilliseconds)
      try KeyRepair.repair(in: group, by: &draft, nowMilliseconds: nowMilliseconds)
    }
    engine = draft
  }
}
