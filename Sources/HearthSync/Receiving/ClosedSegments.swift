import HearthCRDT
import HearthCrypto
import HearthMembership

/// Segments that this device cannot open, because it lacks the keys of earlier changes.
package struct ClosedSegments<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// The tags of a zone's epochs whose keys nobody gives to this device, once it is in the group.
  func closedTags(in zone: ZoneState) throws -> Set<Identifier> {
    let membership = engine.membership(of: zone.group)
    guard zone.kind == .data, membership.history.withholdsKeys, membership.isActive(engine.device)
    else {
      return []
    }
    let closed = membership.keys.epochs(of: zone.id).filter { epoch in
      zone.epoch(id: epoch.grant.epoch) == nil
        && !membership.history.mayBeGiven(epoch, of: zone.kind, to: engine.device)
    }
    return Set(try closed.map { Identifier(try EpochKey.tag(ofID: $0.grant.epoch)) })
  }

  /// Whether a snapshot is under a key that this device lacks because keys are withheld from
  /// newcomers: it is useless here, and nothing is wrong with it.
  func isWithheld(_ chunk: [UInt8], in zone: ZoneState) throws -> Bool {
    let membership = engine.membership(of: zone.group)
    guard membership.history.withholdsKeys else { return false }
    let header = try Envelope.parseHeader(chunk, minimumSuite: membership.acceptedSuite)
    return zone.epoch(tag: header.epochTag) == nil
  }

  /// Whether a segment that is pending on a key contains nothing new, because a snapshot took the
  /// zone beyond it.
  func isOutrun(
    _ segment: PendingEntry, in zone: ZoneState, _ membership: Membership
  ) -> Bool {
    guard zone.kind == .data, membership.history.withholdsKeys,
      let end = waitingEnd(of: segment, in: zone)
    else { return false }
    return end.sequence <= zone.head(of: end.author).sequence
  }

  /// Where a segment ends that is pending on a key; nil for any other.
  func waitingEnd(of segment: PendingEntry, in zone: ZoneState) -> Dot? {
    guard segment.reason == .epoch, let device = zone.deviceByTag[segment.authorTag] else {
      return nil
    }
    return Dot(
      author: Author(device: device, incarnation: segment.incarnation), sequence: segment.last)
  }

  /// Whether a zone waits for a snapshot by an owner or admin.
  ///
  /// It does if it has changes under keys that nobody gives to this device, or if its base snapshot
  /// may contain what no longer counts.
  package func awaitsSnapshot(_ id: ZoneID) throws -> Bool {
    let zone = try engine.zone(id)
    if try !closedSegments(of: zone).isEmpty { return true }
    return try engine.membership(of: zone.group).history.withholdsKeys
      && BaseAuthors(engine: engine).authorLessenedInBase(of: id) != nil
  }

  /// The segments here under keys that nobody gives to this device, without those whose key is only
  /// late.
  func closedSegments(of zone: ZoneState) throws -> [PendingEntry] {
    let tags = try closedTags(in: zone)
    guard !tags.isEmpty else { return [] }
    return try engine.store.pending.entries(in: zone.id).filter { segment in
      segment.reason == .epoch && tags.contains(segment.epochTag)
    }
  }
}
