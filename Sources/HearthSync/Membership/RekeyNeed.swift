import HearthCRDT
import HearthCrypto
import HearthMembership

/// When a zone needs a new epoch.
package enum RekeyNeed {
  /// The longest time that an epoch is used for writing: 30 days.
  package static var epochMilliseconds: UInt64 { 30 * 24 * 60 * 60 * 1_000 }

  /// How long concurrent epochs wait for one of their makers to join them: 10 minutes.
  package static var joinMilliseconds: UInt64 { 10 * 60 * 1_000 }

  /// The most changes of a zone that are written under one epoch.
  package static var epochChanges: UInt64 { 10_000 }

  /// Whether this device should make a new epoch for a zone now.
  static func isRekeyDue(_ zone: ZoneState, in engine: Engine<some Store>, nowMilliseconds: UInt64)
    -> Bool
  {
    if zone.isEpochOver {
      return !Mutant.rotatesAfterWrite.isActive
        || (try? LogReader(engine: engine).unsealedChanges(of: zone.id))?.isEmpty ?? true
    }
    let membership = engine.membership(of: zone.group)
    let newest = membership.keys.newestEpochs(of: zone.id)
    guard let current = newest.first(where: { $0.grant.epoch == zone.writeEpoch }) else {
      return false
    }
    if newest.count > 1 {
      let isDue = mayJoin(newest, of: zone.group, in: engine, nowMilliseconds: nowMilliseconds)
      Probe.epochsJoined.hit(if: isDue)
      return isDue
    }
    return current.since.milliseconds + epochMilliseconds <= nowMilliseconds
      || writtenUnder(current, in: zone, with: engine.store) >= epochChanges
  }

  /// Whether this device joins concurrent epochs.
  ///
  /// The first maker who is still a writer joins them at once. All others wait, so that the join
  /// does not depend on that maker and not all devices join at once.
  private static func mayJoin(
    _ newest: [EpochRecord], of group: GroupID, in engine: Engine<some Store>,
    nowMilliseconds: UInt64
  ) -> Bool {
    let membership = engine.membership(of: group)
    let makers = newest.map(\.maker).filter {
      membership.role(of: $0).map { $0 != .reader } ?? false
    }
    if makers.min() == engine.device { return isNewestLife(in: group, by: engine) }
    let last = newest.map(\.since.milliseconds).max() ?? 0
    return last.addingReportingOverflow(joinMilliseconds).partialValue <= nowMilliseconds
      || makers.isEmpty
        && membership.devices.first(where: { membership.role(of: $0.id) != .reader })?
          .id == engine.device
  }

  /// Whether this device knows no later incarnation of itself; of two running copies, only one
  /// joins.
  private static func isNewestLife(in group: GroupID, by engine: Engine<some Store>) -> Bool {
    guard let control = try? engine.controlZone(of: group) else { return true }
    let isLast = !control.heads.contains {
      $0.author.device == engine.device && $0.author.incarnation > engine.incarnation
    }
    Probe.copyLeavesJoining.hit(if: !isLast)
    return isLast
  }

  /// The number of changes in a zone since an epoch was made, by this device's count.
  private static func writtenUnder(_ epoch: EpochRecord, in zone: ZoneState, with store: some Store)
    -> UInt64
  {
    let total = zone.heads.reduce(UInt64(0)) { $0 &+ $1.sequence }
    let before = try? store.facts.value(of: EpochKeys.epochFact(epoch.grant.epoch))
    return total &- (before ?? total)
  }
}
