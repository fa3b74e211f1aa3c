import HearthCRDT
import HearthCrypto
import HearthMembership

/// Removal of people and devices, roles, and leaving.
///
/// Each call is one transaction of the control zone, or has no effect.
package enum MemberChanges {
  /// Removes a person, revoking the access of the person's devices.
  ///
  /// Changes of those devices beyond this node's applied ones are void everywhere. The same
  /// transaction makes new keys for the remaining members, and closes the person's open
  /// invitations.
  ///
  /// - Throws: `notFound`, `notAllowed`.
  package static func remove(
    _ person: PersonID, from group: GroupID, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let membership = engine.membership(of: group)
    guard membership.people.contains(where: { $0.id == person }) else {
      throw SyncError(.notFound, "there is no such person in the group")
    }
    let devices = Set(membership.devices.filter { $0.person == person }.map(\.id))
    let closings = RemovalCuts(engine: engine).closings(in: group) {
      membership.device($0.creator)?.person == person
        || $0.operation.admission == .auto && $0.joins.contains(person)
    }
    let removal = ControlOperation.removeMember(
      person: person,
      cut: RemovalCuts(engine: engine).cut(
        of: RemovalCuts(engine: engine).logs(of: person, in: membership), in: group))
    let keys =
      Mutant.rotatesAfterWrite.isActive
      ? []
      : try Rekeying.grants(of: engine.zoneIDs(of: group), in: group, without: devices, by: engine)
    try GroupOperations.perform(
      [removal] + closings + keys, in: group, by: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Revokes a lost, stolen or sold device; its person stays.
  ///
  /// Invitations made on the device are closed. The same transaction makes new keys, unless this
  /// device's person is a reader. In that case, the next writer makes them before anything more is
  /// written.
  ///
  /// - Throws: `notFound`, `notAllowed`; `invalidOperation` for this very device, which leaves or
  ///   is revoked by another device.
  package static func revoke(
    _ device: DeviceID, from group: GroupID, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let membership = engine.membership(of: group)
    guard membership.isActive(device) else {
      throw SyncError(.notFound, "there is no such device in the group")
    }
    guard device != engine.device else {
      throw SyncError(
        .invalidOperation, "a device cannot revoke itself: use another one of yours, or leave")
    }
    let revocation = ControlOperation.revokeDevice(
      device: device, cut: RemovalCuts(engine: engine).cut(of: [device], in: group))
    let closings = RemovalCuts(engine: engine).closings(in: group) { $0.creator == device }
    let keys =
      membership.role(of: engine.device) == .reader
      ? []
      : try Rekeying.grants(of: engine.zoneIDs(of: group), in: group, without: [device], by: engine)
    try GroupOperations.perform(
      [revocation] + closings + keys, in: group, by: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Changes a person's role; a lower role comes with new keys.
  ///
  /// Changes of the person's devices beyond this node's applied ones are judged by the lower role.
  /// Invitations that the person may no longer make are closed.
  package static func setRole(
    of person: PersonID, to role: Role, in group: GroupID, by engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let membership = engine.membership(of: group)
    guard let present = membership.people.first(where: { $0.id == person }) else {
      throw SyncError(.notFound, "there is no such person in the group")
    }
    let change = ControlOperation.setRole(
      person: person, role: role,
      cut: RemovalCuts(engine: engine).cut(
        of: RemovalCuts(engine: engine).logs(of: person, in: membership), in: group))
    let closings = RemovalCuts(engine: engine).closings(in: group) { invite in
      membership.device(invite.creator)?.person == person && invite.operation.person != person
        && (role.rank < Role.admin.rank || role.rank <= invite.operation.role.rank)
    }
    // A person who becomes a reader by this very change cannot make keys; the next writer does.
    let isOwn = person == membership.person(of: engine.device)?.id
    let keys =
      role.rawValue < present.role.rawValue && !(isOwn && role == .reader)
      ? try Rekeying.grants(of: engine.zoneIDs(of: group), in: group, without: [], by: engine) : []
    try GroupOperations.perform(
      [change] + closings + keys, in: group, by: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Leaves the group with all devices of this device's person.
  ///
  /// The remaining members make new keys when they learn of it.
  package static func leave(
    _ group: GroupID, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let membership = engine.membership(of: group)
    guard let person = membership.person(of: engine.device), membership.isActive(engine.device)
    else {
      throw SyncError(.notAllowed, "this device does not belong to the group")
    }
    let closings = RemovalCuts(engine: engine).closings(in: group) {
      membership.device($0.creator)?.person == person.id
    }
    let cut = RemovalCuts(engine: engine).cut(
      of: RemovalCuts(engine: engine).logs(of: person.id, in: membership), in: group)
    try GroupOperations.perform(
      closings + [.leave(cut)], in: group,
      by: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Notifies the group of this device's progress.
  package static func heartbeat(
    in group: GroupID, by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let frontiers = engine.zones.filter { $0.group == group }.map {
      ControlOperation.ZoneFrontier(zone: $0.id, frontier: $0.frontier)
    }
    try GroupOperations.perform(
      [.heartbeat(frontiers)], in: group, by: &engine, nowMilliseconds: nowMilliseconds)
  }
}

// MARK: - Recovery words
