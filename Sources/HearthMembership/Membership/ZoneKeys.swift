import HearthCRDT
import HearthCrypto

/// The epochs of a zone, and which of them new writes may use.
package struct ZoneKeys: ResolvedPart {
  let resolved: ResolvedControl

  private var history: HistoryAccess { HistoryAccess(resolved: resolved) }

  /// The epochs of a zone in log order, also by unauthorized authors, since segments may use them.
  package func epochs(of zone: ZoneID) -> [EpochRecord] {
    var depths: [[UInt8]: Int] = [:]
    return findings.index[.epoch].compactMap { place in
      guard case .epoch(let grant) = log.operation(place), grant.zone == zone else { return nil }
      let depth = (grant.previous.compactMap { depths[$0] }.max() ?? -1) + 1
      depths[grant.epoch] = max(depth, depths[grant.epoch] ?? 0)
      return EpochRecord(
        grant: grant, since: log.items[place].version.time, depth: depth,
        maker: log.devices[place], place: place)
    }
  }

  /// The epochs of a zone that no other epoch follows.
  package func newestEpochs(of zone: ZoneID) -> [EpochRecord] {
    let all = epochs(of: zone)
    let followed = Set(all.flatMap(\.grant.previous))
    return all.filter { !followed.contains($0.grant.epoch) }
  }

  /// A digest of everything that decides who holds which keys, for comparison.
  package func digestOfHolders(of zone: ZoneID) -> [UInt8] {
    var writer = ByteWriter(capacity: 1_024)
    for device in outcome.devices { writer.identifier(device.id) }
    for epoch in epochs(of: zone) { writer.raw(epoch.grant.epoch) }
    writer.varint(findings.index[.wrapAdd].count)
    return Blake2b.hash(writer.bytes, count: 16)
  }

  /// The epoch for new writes: the deepest usable one whose key is held, then the one of least id.
  package func writableEpoch(of zone: ZoneID, _ kind: ZoneKind, held: Set<[UInt8]>) -> EpochRecord?
  { heldEpochs(of: zone, held: held).first { isFresh($0, kind) && isValid($0) } }

  /// The epoch for a device that may use no epoch: the deepest one that the other members had.
  ///
  /// Under any other epoch, nobody could read the operation that makes the next one. An epoch that
  /// is over by the heads that the device's own logs cite is avoided while there is another, since
  /// every reader would refuse the pending segments under it.
  package func lastEpoch(of zone: ZoneID, held: Set<[UInt8]>, citing: [Frontier]) -> EpochRecord? {
    let epochs = heldEpochs(of: zone, held: held)
    let open = epochs.filter { epoch in
      Mutant.lastKeyIgnoresHeads.isActive
        || !citing.contains { isOver(epoch.grant.epoch, of: zone, at: $0) }
    }
    return open.first(where: isValid) ?? open.first ?? epochs.first(where: isValid) ?? epochs.first
  }

  private func heldEpochs(of zone: ZoneID, held: Set<[UInt8]>) -> [EpochRecord] {
    epochs(of: zone).filter { held.contains($0.grant.epoch) }.sorted {
      $0.depth != $1.depth
        ? $0.depth > $1.depth : $0.grant.epoch.lexicographicallyPrecedes($1.grant.epoch)
    }
  }

  /// Whether an epoch's recipients are exactly the devices that could read in its author's past.
  package func isValid(_ epoch: EpochRecord) -> Bool {
    guard findings.isLive[epoch.place] else { return false }
    return epoch.grant.wraps.map(\.recipient) == activeDevices(.past(epoch.place))
      || Mutant.wrapsToCachedMembers.isActive
  }

  /// Whether an epoch is still safe for new writes: nobody has lost the right to read since, every
  /// holder of its key belongs to the group, and its author knew of every history boundary.
  private func isFresh(_ epoch: EpochRecord, _ kind: ZoneKind) -> Bool {
    if Mutant.writesUnderExposedKey.isActive { return true }
    return history.isBeyondBoundaries(epoch)
      && epoch.grant.wraps.allSatisfy { outcome.isActive($0.recipient) }
      && !exposures(of: kind).contains { !isCovered($0, by: epoch.place) }
  }

  /// Whether a person whose removal a segment's author cites can read a segment under an epoch of a
  /// data zone.
  ///
  /// This is the only rule about keys that makes a reader refuse a segment.
  package func isOver(_ epoch: [UInt8], of zone: ZoneID, at heads: Frontier) -> Bool {
    return isOver(epoch, of: zone, in: LogView.cited(heads, in: findings))
  }

  func isOver(_ epoch: [UInt8], of zone: ZoneID, in view: LogView) -> Bool {
    let seen = exposures(of: .data).filter { isRemoval($0) && view.holds($0, in: findings) }
    guard !seen.isEmpty, let record = epochs(of: zone).first(where: { $0.grant.epoch == epoch })
    else { return false }
    return seen.contains { !log.sees(record.place, $0) }
  }

  /// Whether an epoch is over by everything that this device knows.
  package func isKnownOver(_ epoch: [UInt8], of zone: ZoneID) -> Bool {
    isOver(epoch, of: zone, in: .all)
  }

  /// The epochs of a zone that were made in the same change as an open automatic invitation.
  package func epochsOfOpenInvites(in zone: ZoneID) -> [EpochRecord] {
    guard history.withholdsKeys else { return [] }
    let places = Set(
      outcome.openInvites.compactMap {
        LogView.all.invite($0.operation.invite, in: findings)
      })
    return epochs(of: zone).filter { epoch in
      places.contains { log.items[$0].position == log.items[epoch.place].position }
    }
  }

  /// The control key that an automatic invitation's holder starts with; nil if it is not held.
  package func controlEpoch(
    of invite: Identifier, in control: ZoneID, held: Set<[UInt8]>
  ) -> [UInt8]? {
    guard let made = LogView.all.invite(invite, in: findings),
      log.terms(made)?.admission == .auto
    else { return nil }
    return epochs(of: control).filter { log.sees(made, $0.place) && held.contains($0.grant.epoch) }
      .max { $0.depth < $1.depth }?.grant.epoch
  }

  // MARK: Exposures

  /// The operations after which a person who may no longer read still knows the previous keys.
  ///
  /// A used-up invitation link remains in somebody's messages and opens the keys of its time, so
  /// records get new keys. The control log keeps its keys: relays grant access by them, and a
  /// person who just joined would lose access. A further join by the link exposes all keys.
  func exposures(of kind: ZoneKind) -> [Int] {
    findings.index.exposures.filter { place in
      switch log.operation(place) {
      case .join: return findings.isWaiting(place)
      case .inviteClose:
        guard findings.isLive[place],
          let invite = LogView.all.invite(log.invited[place], in: findings),
          let terms = log.terms(invite), terms.admission == .auto
        else { return false }
        return kind == .data
          || findings.live.uses[log.invited[place]].count { log.sees(place, $0) }
            < terms.maximumUses
      default: return findings.isLive[place]
      }
    }
  }

  /// Whether an epoch's author knew of an operation that exposed the previous keys.
  ///
  /// A person who joined without effect has only the invitation's keys, so its close suffices.
  private func isCovered(_ exposure: Int, by epoch: Int) -> Bool {
    if log.sees(epoch, exposure) { return true }
    guard case .join(let join) = log.operation(exposure) else { return false }
    return findings.live.closings[log.invitations[join.invite]].contains { log.sees(epoch, $0) }
  }

  private func isRemoval(_ place: Int) -> Bool {
    switch log.operation(place) {
    case .inviteClose, .join: false
    default: true
    }
  }

  private func activeDevices(_ view: LogView) -> [DeviceID] {
    findings.index.enrolments.keys.filter { view.enrolment(of: $0, in: findings) != nil }.sorted()
  }
}
