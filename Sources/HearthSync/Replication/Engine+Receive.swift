import HearthCRDT
import HearthCrypto
import HearthMembership

extension Engine {
  /// Receives sealed segments of one zone: verifies, orders, applies and stores them.
  ///
  /// The call is one transaction: either everything usable is durable when it returns, or nothing
  /// has changed. Pending segments are stored and retried with the next news. An invalid segment is
  /// refused, named in the report, and harms no other.
  ///
  /// - Throws: `snapshotContradicted` if an author's log does not extend the zone's snapshot; no
  ///   author is blamed.
  package mutating func receive(
    _ blobs: [[UInt8]], in zone: ZoneID, nowMilliseconds: UInt64
  ) throws -> ReceiveReport {
    var draft = self
    var report = ReceiveReport()
    try store.transaction {
      draft = self
      let group = try draft.zone(zone).group
      let before = draft.membership(of: group)
      if try draft.zone(zone).kind == .control {
        try KeySearch.learnKeys(from: blobs, in: zone, by: &draft)
      }
      report = try ZoneIntake.receive(
        blobs, in: zone, ends: [], by: &draft, nowMilliseconds: nowMilliseconds)
      if try draft.zone(zone).kind == .control {
        try ZoneIntake.receiveAdmitted(
          in: zone, by: &draft, nowMilliseconds: nowMilliseconds, &report)
      }
      if try draft.zone(zone).kind == .control, report.applied > 0 {
        try MembershipEffects.settle(
          group, after: before, in: &draft, nowMilliseconds: nowMilliseconds)
      }
    }
    self = draft
    try ForkProof.proveForks(report.evidence, in: &self, nowMilliseconds: nowMilliseconds)
    // This includes further segments of a log that ended earlier, as they are parts of its
    // histories.
    if try self.zone(zone).kind == .control,
      !report.contradicted.isEmpty || report.waiting[.quarantine] != nil
    {
      try MembershipEffects.showHistories(
        of: try self.zone(zone).group, contradicted: report.contradicted,
        in: &self, nowMilliseconds: nowMilliseconds)
    }
    return report
  }
}
