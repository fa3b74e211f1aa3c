import HearthCRDT
import HearthCrypto
import HearthMembership

/// Due maintenance of this device's groups.
package enum Maintenance {
  /// Performs due maintenance: confirms joins, closes expired invitations, replaces finished, old
  /// or concurrent epochs, complains about missing keys, and hands keys to devices that lack them.
  ///
  /// A stale view confirms and closes nothing, and renews no key that may still be used. It does
  /// replace an epoch that is over, because the next write would have to.
  ///
  /// - Parameters:
  ///   - isComplete: Whether every transport was read without failure. Decisions that a stale view
  ///     would get wrong wait for a complete read.
  ///   - unread: Groups of which a transport refused a zone; for them the read was not complete.
  package static func maintain(
    isComplete: Bool = true, unread: Set<GroupID> = [], in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    for group in Set(
      engine.zones.filter { !ExchangeScope(engine: engine).isRetired($0) }.map(\.group)
    ).sorted() {
      guard let role = engine.membership(of: group).role(of: engine.device) else { continue }
      let isWhole = isComplete && !unread.contains(group)
      var operations = try KeyRepair.complaints(in: group, by: engine)
      var closings: [ControlOperation] = []
      if isWhole {
        // Only now: own files on a transport would have shown that this device was put back.
        try UnwrittenClaims(engine: engine).note(
          in: group, nowMilliseconds: nowMilliseconds)
        operations += EntranceDuties(engine: engine).confirmations(in: group)
        closings = EntranceDuties(engine: engine).closings(
          in: group, nowMilliseconds: nowMilliseconds)
      }
      Probe.inviteOver.hit(if: !closings.isEmpty)
      operations += closings
      try KeyRepair.repair(in: group, by: &engine, nowMilliseconds: nowMilliseconds)
      if role != .reader {
        let due = engine.zones.filter { zone in
          zone.group == group
            && (closings.contains { exposes($0, zone, in: engine) }
              || (isWhole || zone.isEpochOver)
                && RekeyNeed.isRekeyDue(zone, in: engine, nowMilliseconds: nowMilliseconds))
        }
        operations += try Rekeying.grants(of: due.map(\.id), in: group, without: [], by: engine)
      }
      guard !operations.isEmpty else { continue }
      _ = try GroupOperations.perform(
        operations, in: group, by: &engine, nowMilliseconds: nowMilliseconds)
    }
  }

  /// Whether a closed invitation leaves the keys of a zone with somebody who did not join.
  ///
  /// The keys of the control log count only if members did not use up the link. An invitation by
  /// approval carries no keys.
  private static func exposes(
    _ closing: ControlOperation, _ zone: ZoneState, in engine: Engine<some Store>
  ) -> Bool {
    guard case .inviteClose(let id) = closing else { return false }
    return engine.membership(of: zone.group).invites.contains {
      $0.operation.invite == id && $0.operation.admission == .auto
        && (zone.kind == .data || $0.usesLeft > 0)
    }
  }
}
