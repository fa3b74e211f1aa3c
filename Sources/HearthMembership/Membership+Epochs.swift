import HearthCRDT
import HearthCrypto

/// An epoch of a zone, as the control log announces it.
package struct EpochRecord: Sendable {
  package let grant: ControlOperation.EpochGrant
  /// The creation time, by the clock of the device that made it.
  package let since: HybridTime
  /// The length of the longest chain of epochs below it.
  package let depth: Int
  /// The device that made it.
  package let maker: DeviceID
  let place: Int
}

extension Membership {
  /// The epochs of a zone in log order, also by unauthorized authors, since segments may use them.
  package func epochs(of zone: ZoneID) -> [EpochRecord] {
    var depths: [[UInt8]: Int] = [:]
    return resolver.epochPlaces.compactMap { place in
      guard case .epoch(let grant) = resolver.log.operation(place), grant.zone == zone
      else { return nil }
      let depth = (grant.previous.compactMap { depths[$0] }.max() ?? -1) + 1
      depths[grant.epoch] = max(depth, depths[grant.epoch] ?? 0)
      return EpochRecord(
        grant: grant, since: resolver.log.items[place].version.time, depth: depth,
        maker: resolver.log.devices[place], place: place)
    }
  }

  /// Whether the log assigns a known epoch's key to no current device.
  package func isLost(keyTagged tag: Bytes16, of zone: ZoneID, _ kind: ZoneKind) -> Bool {
    let all = epochs(of: zone)
    guard let made = all.first(where: { (try? EpochKey.tag(ofID: $0.grant.epoch)) == tag })
    else { return false }
    return !devices.contains { toldKeys(of: zone, kind, all, by: $0.id).contains(made.grant.epoch) }
  }

  /// A digest of everything that decides who holds which keys, for comparison.
  package func digestOfHolders(of zone: ZoneID) -> [UInt8] {
    var writer = ByteWriter(capacity: 1_024)
    for device in devices { writer.identifier(device.id) }
    for epoch in epochs(of: zone) { writer.raw(epoch.grant.epoch) }
    writer.varint(resolver.index.wrapAdds.count)
    return Blake2b.hash(writer.bytes, count: 16)
  }

  /// The epoch for new writes: the deepest usable one whose key is held, then the one of least id.
  package func writableEpoch(
    of zone: ZoneID, _ kind: ZoneKind, held: Set<[UInt8]>
  ) -> EpochRecord? {
    heldEpochs(of: zone, held: held).first { isFresh($0, kind) && isValid($0) }
  }

  /// The epoch for a device that may use no epoch: the deepest one that the other members had.
  ///
  /// Under any other epoch, nobody could read the operation that makes the next one. An epoch that
  /// is over by the heads that the device's own logs cite is avoided while there is another, since
  /// every reader would refuse the pending segments under it.
  package func lastEpoch(
    of zone: ZoneID, held: Set<[UInt8]>, citing: [Frontier]
  ) -> EpochRecord? {
    let epochs = heldEpochs(of: zone, held: held)
    let open = epochs.filter { epoch in
      Mutant.lastKeyIgnoresHeads.isActive
        || !citing.contains { isOver(epoch.grant.epoch, of: zone, at: $0) }
    }
    return open.first(where: isValid) ?? open.first ?? epochs.first(where: isValid)
      ?? epochs.first
  }

  private func heldEpochs(of zone: ZoneID, held: Set<[UInt8]>) -> [EpochRecord] {
    epochs(of: zone).filter { held.contains($0.grant.epoch) }
      .sorted {
        $0.depth != $1.depth
          ? $0.depth > $1.depth : $0.grant.epoch.lexicographicallyPrecedes($1.grant.epoch)
      }
  }

  /// Whether an epoch's recipients are exactly the devices that could read in its author's past.
  package func isValid(_ epoch: EpochRecord) -> Bool {
    guard resolver.isLive[epoch.place] else { return false }
    return epoch.grant.wraps.map(\.recipient) == resolver.activeDevices(.past(epoch.place))
      || Mutant.wrapsToCachedMembers.isActive
  }

  /// Whether an epoch is still safe for new writes: nobody has lost the right to read since, every
  /// holder of its key belongs to the group, and its author knew of every history boundary.
  private func isFresh(_ epoch: EpochRecord, _ kind: ZoneKind) -> Bool {
    if Mutant.writesUnderExposedKey.isActive { return true }
    return isBeyondThresholds(epoch)
      && epoch.grant.wraps.allSatisfy { isActive($0.recipient) }
      && !resolver.exposures(of: kind).contains { !resolver.isCovered($0, by: epoch.place) }
  }

  /// Whether a person whose removal a segment's author cites can read a segment under an epoch of a
  /// data zone.
  ///
  /// This is the only rule about keys that makes a reader refuse a segment.
  package func isOver(_ epoch: [UInt8], of zone: ZoneID, at heads: Frontier) -> Bool {
    return isOver(epoch, of: zone, in: resolver.cited(heads))
  }

  func isOver(_ epoch: [UInt8], of zone: ZoneID, in view: ControlResolver.View) -> Bool {
    let seen = resolver.exposures(of: .data)
      .filter { resolver.isRemoval($0) && resolver.holds($0, view) }
    guard !seen.isEmpty,
      let record = epochs(of: zone).first(where: { $0.grant.epoch == epoch })
    else { return false }
    return seen.contains { !resolver.log.sees(record.place, $0) }
  }

  /// The epochs of a zone that no other epoch follows.
  package func newestEpochs(of zone: ZoneID) -> [EpochRecord] {
    let all = epochs(of: zone)
    let followed = Set(all.flatMap(\.grant.previous))
    return all.filter { !followed.contains($0.grant.epoch) }
  }

  /// The public recovery keys of every current member who has some, by person, and those that a
  /// returning `comer` has from an earlier membership.
  package func recoveryKeys(
    with comer: PersonID? = nil
  ) -> [(person: PersonID, keys: ControlOperation.RecoveryKeys)] {
    var ids = Set(people.map(\.id))
    if let comer, !Mutant.returnsWithoutWords.isActive { ids.insert(comer) }
    return ids.sorted().compactMap { person in
      resolver.recoveryKeys(of: person, .all).map { (person, $0.keys) }
    }
  }

  /// The public keys of a person's recovery words; nil if the person has none.
  package func recoveryKeys(of person: PersonID) -> ControlOperation.RecoveryKeys? {
    resolver.recoveryKeys(of: person, .all)?.keys
  }
}

extension ControlResolver {
  fileprivate var epochPlaces: [Int] { index.epochs }

  /// The operations after which a person who may no longer read still knows the previous keys.
  ///
  /// A used-up invitation link remains in somebody's messages and opens the keys of its time, so
  /// records get new keys. The control log keeps its keys: relays grant access by them, and a
  /// person who just joined would lose access. A further join by the link exposes all keys.
  func exposures(of kind: ZoneKind) -> [Int] {
    index.exposures.filter { place in
      switch log.operation(place) {
      case .join: return isWaiting(place)
      case .inviteClose:
        guard isLive[place], let invite = invite(log.invited[place], .all),
          let terms = log.terms(invite), terms.admission == .auto
        else { return false }
        return kind == .data
          || live.uses[log.invited[place]].count { log.sees(place, $0) } < terms.maximumUses
      default: return isLive[place]
      }
    }
  }

  /// Whether an epoch's author knew of an operation that exposed the previous keys.
  ///
  /// A person who joined without effect has only the invitation's keys, so its close suffices.
  fileprivate func isCovered(_ exposure: Int, by epoch: Int) -> Bool {
    if log.sees(epoch, exposure) { return true }
    guard case .join(let join) = log.operation(exposure) else { return false }
    return live.closings[log.invitations[join.invite]].contains { log.sees(epoch, $0) }
  }

  fileprivate func isRemoval(_ place: Int) -> Bool {
    switch log.operation(place) {
    case .inviteClose, .join: false
    default: true
    }
  }
}
