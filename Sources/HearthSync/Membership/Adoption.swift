import HearthCRDT
import HearthMembership

/// Adoption of void changes.
package enum Adoption {
  /// Adopts void changes: reissues each as one transaction of this device.
  ///
  /// Events get new ids; records keep theirs. The control log records who adopted which changes.
  ///
  /// - Throws: `notAllowed` unless this device's person is an owner or admin.
  package static func adopt(
    _ quarantined: QuarantinedChanges, in group: GroupID, by engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    var draft = engine
    try engine.store.transaction {
      draft = engine
      try GroupOperations.perform(
        [
          .adopt(
            zone: quarantined.zone, author: quarantined.author,
            first: quarantined.changes.lowerBound, last: quarantined.changes.upperBound)
        ], in: group, by: &draft, nowMilliseconds: nowMilliseconds)
      let zone = try draft.zone(quarantined.zone)
      let changes = try VoidChanges(engine: draft).changes(of: quarantined)
      Probe.changesAdopted.hit()
      try Reissue.reissue(
        changes.map { (zone.id, $0) }, now: nowMilliseconds, isOwnLife: false, in: &draft)
    }
    engine = draft
  }
}
