import HearthCRDT
import HearthCrypto
import HearthMembership

/// Which snapshots newcomers need.
struct NewcomerNeeds<S: Store> {
  let engine: Engine<S>

  /// Whether a transport needs a new snapshot of a zone for newcomers.
  ///
  /// Newcomers cannot open what is sealed under other keys than theirs, so a snapshot under their
  /// keys must reach beyond all of it. The check examines the stored segments that the newest such
  /// snapshot does not reach.
  ///
  /// - Parameters:
  ///   - keys: The tags of the epochs whose keys newcomers receive.
  ///   - reached: How far the newest snapshot under one of these keys reaches.
  func isSnapshotNeeded(
    by keys: Set<Identifier>, of zone: ZoneState, beyond reached: Frontier,
    stored: [StoredSegment]
  ) throws -> Bool {
    let membership = engine.membership(of: zone.group)
    guard membership.history.withholdsKeys, !Mutant.noSnapshotForNewcomers.isActive else {
      return false
    }
    // What this device has from before its own joining is in none of its segments.
    let base = try BaseSnapshot(engine: engine).baseHeads(of: zone)
    let isBeyond = base.contains {
      min($0.sequence, zone.frontier[$0.author]) > reached[$0.author]
    }
    if isBeyond { return true }
    for segment in stored
    where segment.last > reached[segment.author] && segment.last <= zone.frontier[segment.author] {
      guard let bytes = try engine.store.log.bytes(of: segment.digest, in: zone.id) else {
        continue
      }
      let header = try Envelope.parseHeader(bytes, minimumSuite: membership.acceptedSuite)
      if !keys.contains(Identifier(header.epochTag)) {
        Probe.snapshotForNewcomers.hit()
        return true
      }
    }
    return false
  }

  /// The tags among some epochs under which a snapshot also serves members who do not receive every
  /// key; all of them if the present key would not serve those members either.
  ///
  /// A member may have been admitted by a device that did not know yet that newcomers read
  /// everything; that member lacks the key that newcomers receive. The cost is O(n) for n devices
  /// and each epoch.
  func epochsForAllMembers(
    _ tags: [Identifier], of zone: ZoneState
  ) throws -> Set<Identifier> {
    let membership = engine.membership(of: zone.group)
    guard membership.history.withholdsKeys, !Mutant.forgetsWhoCameMeanwhile.isActive,
      let current = zone.currentEpoch.map({ Identifier($0.tag) })
    else { return Set(tags) }
    let wanted = Set(tags + [current])
    var serving: Set<Identifier> = []
    for epoch in membership.keys.epochs(of: zone.id) {
      let tag = Identifier(try EpochKey.tag(ofID: epoch.grant.epoch))
      guard wanted.contains(tag) else { continue }
      let isForAll = membership.devices.allSatisfy {
        membership.history.mayBeGiven(epoch, of: .data, to: $0.id)
      }
      if isForAll { serving.insert(tag) }
    }
    return serving.contains(current) ? serving : Set(tags)
  }

  /// The tags of the epochs of a zone that open invitations carry.
  func epochsOfOpenInvites(in zone: ZoneState) throws -> [Identifier] {
    try engine.membership(of: zone.group).keys.epochsOfOpenInvites(in: zone.id).map {
      Identifier(try EpochKey.tag(ofID: $0.grant.epoch))
    }
  }

  /// Whether a held-back log ended for everybody, so that its head stands for one history.
  func isEnded(_ head: LogHead, _ zone: ZoneState) -> Bool {
    zone.forkEnds[head.author].map { head.sequence < $0 } ?? false
  }
}
