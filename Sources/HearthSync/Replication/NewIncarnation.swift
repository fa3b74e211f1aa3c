import HearthCRDT
import HearthCrypto
import HearthMembership

/// The beginning of a new incarnation of this device.
package enum NewIncarnation {
  /// Starts a new incarnation of this device, so that new changes get a new author and no sequence
  /// number is used twice.
  ///
  /// The node calls this when it finds that its data was restored or copied. Own changes that
  /// collide with those published by another copy are taken back and reissued under the new author.
  ///
  /// - Parameters:
  ///   - reason: The finding in words, for the person and the group's log.
  ///   - takingBack: The ends of own logs that were never sealed here, and for which another copy
  ///     has published something else.
  package static func begin(
    reason: String, takingBack ends: [OwnLogEnd] = [], in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let previous = engine.incarnation
    var draft = engine
    try engine.store.transaction {
      draft = engine
      Probe.newLife.hit()
      if !Mutant.keepsOldLife.isActive {
        draft.incarnation = try Incarnations.next(after: previous)
      }
      try engine.store.facts.set(Incarnations.currentFact, to: draft.incarnation)
      try engine.store.facts.set(Incarnations.lifeFact(draft.author), to: nowMilliseconds)
      let isAdmitted = try draft.zones.allSatisfy {
        try Introductions.room(of: $0, in: draft).admits(draft.author, in: $0)
      }
      let reissued = isAdmitted ? try Reissue.takeBack(ends, now: nowMilliseconds, in: &draft) : []
      // For earlier incarnations, opening does not read own changes beyond a saved head.
      let old = Author(device: engine.device, incarnation: previous)
      for zone in draft.zones where zone.head(of: old).sequence > 0 {
        try engine.store.zones.save([zone.head(of: old)], of: zone.id)
      }
      try engine.store.notices.add(
        Notice(
          kind: .newLife, zone: nil, device: engine.device,
          text: reason + "; this node now writes as incarnation \(draft.incarnation >> 32)",
          milliseconds: nowMilliseconds))
      for zone in draft.zones where zone.kind == .control {
        // Beyond the limit of incarnations, the node can still be opened and read; writing explains
        // why it fails.
        guard draft.membership(of: zone.group).isActive(engine.device),
          try Introductions.room(of: zone, in: draft).admits(draft.author, in: zone)
        else { continue }
        _ = try ControlWriting.write(
          [.incarnate(previous: previous, reason: String(reason.prefix(200)))],
          group: zone.group, in: &draft, nowMilliseconds: nowMilliseconds)
      }
      try Reissue.reissue(reissued, now: nowMilliseconds, in: &draft)
    }
    engine = draft
  }
}
