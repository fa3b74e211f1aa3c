import HearthCRDT
import HearthCrypto

/// An epoch of a zone, as the control log announces it.
package struct EpochRecord: Sendable {
  package let grant: ControlOperation.EpochGrant
  /// When it was made, by the clock of the device that made it.
  package let since: HybridTime
  /// How many epochs are below it on the longest way.
  package let depth: Int
  /// The device that made it.
  package let maker: DeviceID
  let place: Int
}

extension Membership {
  /// The epochs of a zone, in the log's order; those of authors without the right included, as
  /// there may be segments under them.
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

  /// Whether a known epoch's key is with nobody who belongs to the group now, as far as the log
  /// says.
  package func isLost(keyTagged tag: Bytes16, of zone: ZoneID, _ kind: ZoneKind) -> Bool {
    let all = epochs(of: zone)
    guard let made = all.first(where: { (try? EpochKey.tag(ofID: $0.grant.epoch)) == tag })
    else { return false }
    return !devices.contains { toldKeys(of: zone, kind, all, by: $0.id).contains(made.grant.epoch) }
  }

  /// What decides which keys are with somebody, to be compared.
  package func digestOfHolders(of zone: ZoneID) -> [UInt8] {
    var writer = ByteWriter(capacity: 1_024)
    for device in devices { writer.identifier(device.id) }
    for epoch in epochs(of: zone) { writer.raw(epoch.grant.epoch) }
    writer.varint(resolver.index.wrapAdds.count)
    return Blake2b.hash(writer.bytes, count: 16)
  }

  /// The epoch to write a zone under: of those that may be used the deepest, then the least id.
  ///
  /// - Parameter held: the epochs whose keys are at hand.
  package func writableEpoch(
    of zone: ZoneID, _ kind: ZoneKind, held: Set<[UInt8]>
  ) -> EpochRecord? {
    heldEpochs(of: zone, held: held).first { isFresh($0, kind) && isValid($0) }
  }

  /// The epoch under which a device goes on that may use none: the deepest that the others had, or
  /// nobody could read what makes the next one.
  ///
  /// Not one that is over by what its changes cite, while there is another: everybody would refuse
  /// what waits to be sealed.
  ///
  /// - Parameter citing: The control heads that the device's own logs cite.
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

  /// The epochs whose keys are at hand, the deepest first, then that of the least id.
  private func heldEpochs(of zone: ZoneID, held: Set<[UInt8]>) -> [EpochRecord] {
    epochs(of: zone).filter { held.contains($0.grant.epoch) }
      .sorted {
        $0.depth != $1.depth
          ? $0.depth > $1.depth : $0.grant.epoch.lexicographicallyPrecedes($1.grant.epoch)
      }
  }

  /// Whether an epoch's recipients are exactly the devices that read, in its author's eyes.
  package func isValid(_ epoch: EpochRecord) -> Bool {
    guard resolver.isLive[epoch.place] else { return false }
    return epoch.grant.wraps.map(\.recipient) == resolver.activeDevices(.past(epoch.place))
      || Mutant.wrapsToCachedMembers.isActive
  }

  /// Whether nobody lost the right to read since the epoch was made, everybody who has its key
  /// belongs to the group, and no newcomer came who is not given it.
  private func isFresh(_ epoch: EpochRecord, _ kind: ZoneKind) -> Bool {
    if Mutant.writesUnderExposedKey.isActive { return true }
    return isBeyondThresholds(epoch)
      && epoch.grant.wraps.allSatisfy { isActive($0.recipient) }
      && !resolver.exposures(of: kind).contains { !resolver.isCovered($0, by: epoch.place) }
  }

  /// Whether a segment under an epoch can be read by somebody whose removal its author cites.
  ///
  /// The one thing about keys that a reader refuses: the author had seen that the epoch is over.
  package func isOver(_ epoch: [UInt8], of zone: ZoneID, at heads: Frontier) -> Bool {
    return isOver(epoch, of: zone, in: resolver.cited(heads))
  }

  /// The same in a view.
  func isOver(_ epoch: [UInt8], of zone: ZoneID, in view: ControlResolver.View) -> Bool {
    let seen = resolver.exposures(of: .data)
      .filter { resolver.isRemoval($0) && resolver.holds($0, view) }
    guard !seen.isEmpty,
      let record = epochs(of: zone).first(where: { $0.grant.epoch == epoch })
    else { return false }
    return seen.contains { !resolver.log.sees(record.place, $0) }
  }

  /// Whether a device was a reader's at these control heads: it cannot make a key, so what it says
  /// of people comes under an old one.
  package func isReader(_ device: DeviceID, at heads: Frontier) -> Bool {
    guard !Mutant.readersNeedNewKeys.isActive else {
      return false
    }
    let view = resolver.view(of: device, citing: heads)
    return resolver.person(of: device, view).map { resolver.role(of: $0, view) == .reader } ?? false
  }

  /// The epochs of a zone that no other follows.
  package func newestEpochs(of zone: ZoneID) -> [EpochRecord] {
    let all = epochs(of: zone)
    let followed = Set(all.flatMap(\.grant.previous))
    return all.filter { !followed.contains($0.grant.epoch) }
  }

  /// The public recovery keys of everybody who is in the group and has some, by person.
  ///
  /// - Parameter comer: who comes in as well; one who was in before has words from then.
  package func recoveryKeys(
    with comer: PersonID? = nil
  ) -> [(person: PersonID, keys: ControlOperation.RecoveryKeys)] {
    var ids = Set(people.map(\.id))
    if let comer, !Mutant.returnsWithoutWords.isActive { ids.insert(comer) }
    return ids.sorted().compactMap { person in
      resolver.recoveryKeys(of: person, .all).map { (person, $0.keys) }
    }
  }

  /// The public keys of a person's recovery words; nil if it has none.
  package func recoveryKeys(of person: PersonID) -> ControlOperation.RecoveryKeys? {
    resolver.recoveryKeys(of: person, .all)?.keys
  }
}

extension ControlResolver {
  fileprivate var epochPlaces: [Int] { index.epochs }

  /// The operations after which keys of before are known to somebody who may not read any more.
  ///
  /// A link that was used up is still in somebody's messages, and it opens the keys of then. So
  /// records get new keys. The members' log keeps its keys: relays let in by them, and whoever just
  /// joined would stand before a door. Should somebody else use the link, that joining exposes all.
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

  /// Whether an epoch was made by somebody who knew of what exposed the keys of before.
  ///
  /// Who joined without effect has the keys of the invitation, so it is enough to have known of its
  /// closing.
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
