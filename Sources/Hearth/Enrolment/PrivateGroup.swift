import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport

/// The status of a node with its person's private database.
package struct PrivateDatabaseStatus: Sendable {
  /// The zone of its records.
  package let zone: ZoneState
  /// Its devices, including this one; only this one while it is not shared.
  package let devices: [MemberDevice]
  /// Whether transports carry it.
  package let isShared: Bool
  /// The private database that this node was invited to and is not in yet.
  package let pending: PendingPrivate?
  /// The end of this device's membership in it; nil while it is a member.
  package let ending: Ending?
}

/// The private database of a node's person that is in use.
struct PrivateGroup: NodeWork {
  let core: NodeCore

  /// The zone of the person's own records; nil only for a node whose creation was interrupted.
  var zone: ZoneState? {
    engine.zones.first { $0.group == engine.privateGroup && $0.kind == .data }
  }

  /// Returns the status of this node with its person's private database.
  func status() throws -> PrivateDatabaseStatus? {
    guard let zone else { return nil }
    return PrivateDatabaseStatus(
      zone: zone, devices: membership(of: zone.group).devices,
      isShared: ExchangeScope(engine: engine).isPrivateDatabaseShared,
      pending: try pending.privateDatabase(),
      ending: ending(in: zone.group))
  }

  /// Returns the private database's group, if this device belongs to it and it is in its person's
  /// name.
  func ownGroup() -> GroupID? {
    engine.privateGroup.flatMap { group in
      let membership = membership(of: group)
      return membership.isActive(device) && membership.person(of: device)?.id == person
        ? group : nil
    }
  }

  /// Whether a device belongs to this node's person in a group that contains both devices.
  func isOwn(_ other: DeviceID, in group: GroupID) -> Bool {
    let membership = membership(of: group)
    return membership.isActive(other) && membership.isActive(device)
      && membership.person(of: other)?.id == person && membership.person(of: device)?.id == person
  }

  /// Makes a group the private database in use, and copies the previous one's records into it.
  ///
  /// Settings that the person made there win over settings of this device: only records that nobody
  /// wrote there are added. The former group stays unchanged and is not used any more.
  func adopt(_ group: GroupID) throws {
    guard let former = zone, former.group != group,
      let zone = engine.zones.first(where: { $0.group == group && $0.kind == .data })
    else { return try PrivateGroupChoice.use(group, in: &engine) }
    var draft = engine
    try store.transaction {
      draft = engine
      try ZoneCopy(core: core).copy(from: former.id, to: zone.id, with: &draft)
      try PrivateGroupChoice.use(group, in: &draft)
    }
    engine = draft
    announce()
  }

  /// Creates a private database in this person's name, if the node belonged to another one before.
  func found() throws {
    guard let own = engine.privateGroup, membership(of: own).isActive(device),
      membership(of: own).person(of: device)?.id != person, try !pending.awaitsPrivateDatabase()
    else { return }
    let founding = GroupFounding(
      database: .personal, zoneNames: [NodeCore.privateName], person: person,
      personName: profile.personName, deviceName: profile.deviceName)
    let created = try GroupCreation.create(founding, in: &engine, nowMilliseconds: now())
    try adopt(created.group)
  }

  // MARK: Lost devices

  /// Revokes own devices in the private database that were revoked in the households.
  ///
  /// - Parameter hasWords: whether the person has recovery words.
  func revokeLost(hasWords: () throws -> Bool) throws {
    guard let own = ownGroup() else { return }
    for lost in ExchangeScope(engine: engine).devicesToCutOff() {
      let name = membership(of: own).device(lost)?.card.name ?? "a device"
      try MemberChanges.revoke(lost, from: own, in: &engine, nowMilliseconds: now())
      let notice = Notice(
        kind: .access, zone: zone?.id, device: lost,
        text: "\(name) was revoked in a household: it gets no more changes of your private "
          + "database either"
          + (try hasWords()
            ? "; it knows where your recovery bundle is, so make new recovery words: `hearth words "
              + "rotate`" : ""),
        milliseconds: now())
      try store.transaction { try store.notices.add(notice) }
    }
  }
}

extension NodeWork {
  /// The private database of the node's person that is in use.
  var privateDatabase: PrivateGroup { PrivateGroup(core: core) }
}
