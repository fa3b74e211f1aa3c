import HearthCRDT
import HearthCrypto
import HearthMembership

/// The keys of zones that newcomers receive.
struct NewcomerKeys<S: Store> {
  let engine: Engine<S>

  /// The zones of a group with the keys that a person may have, sealed to a key.
  ///
  /// - Parameter person: The person, if known; nil for a newcomer.
  func zoneGrants(
    of group: GroupID, to key: BoxPublicKey, for person: PersonID?
  ) throws -> [InvitationCapsule.ZoneGrant] {
    try engine.zones.filter { $0.group == group }.map { zone in
      let epochs = keys(of: zone, for: person)
      return InvitationCapsule.ZoneGrant(
        id: zone.id, kind: zone.kind, name: zone.name, tag: zone.secret.zoneTag,
        sealedSecret: try zone.secret.seal(to: key),
        epochs: try epochs.map { ($0.id, try $0.sealKey(to: key)) })
    }
  }

  /// The keys of a zone that a person may have.
  ///
  /// A further device of this device's person gets all keys of this device. Others get the keys
  /// since they joined, or the keys that newcomers may read. Keys that are known only from pending
  /// segments are excluded: this node does not know yet who was removed when they were made. They
  /// are handed on once it knows.
  private func keys(of zone: ZoneState, for person: PersonID?) -> [EpochKey] {
    let membership = engine.membership(of: zone.group)
    if person != nil, person == membership.person(of: engine.device)?.id { return zone.epochs }
    let told = Set(membership.keys.epochs(of: zone.id).map(\.grant.epoch))
    return openKeys(of: zone, for: person).filter {
      told.contains($0.id) || Mutant.handsOnUntoldKeys.isActive
    }
  }

  private func openKeys(of zone: ZoneState, for person: PersonID?) -> [EpochKey] {
    let membership = engine.membership(of: zone.group)
    guard zone.kind == .data, membership.history.withholdsKeys, !Mutant.invitesWithOldKeys.isActive
    else {
      return zone.epochs
    }
    if let person, !membership.entries.isForNewcomer(person) {
      let open = Set(
        membership.keys.epochs(of: zone.id).filter { membership.history.isOpen($0, to: person) }
          .map(\.grant.epoch))
      return zone.epochs.filter { open.contains($0.id) }
    }
    return keysForNewcomers(of: zone)
  }

  /// The keys of a zone that a current newcomer gets.
  ///
  /// If newcomers read only from their join on, this is the current key, which is replaced when
  /// somebody joins.
  func keysForNewcomers(of zone: ZoneState) -> [EpochKey] {
    let membership = engine.membership(of: zone.group)
    guard zone.kind == .data, membership.history.withholdsKeys else { return zone.epochs }
    guard membership.newcomers == .full else { return [zone.currentEpoch].compactMap { $0 } }
    let open = Set(
      membership.keys.epochs(of: zone.id).filter(membership.history.isOpenToAll).map(\.grant.epoch))
    return zone.epochs.filter { open.contains($0.id) }
  }
}
