import HearthCRDT
import HearthCrypto

// What those learn who hold a link that was closed, and no key of today.
extension Engine {
  /// Writes closings of invitations, each where the holders of its link can read it: under the key
  /// that the invitation carried, if keys were replaced since.
  ///
  /// Such a holder has the group's log up to the replacement only. It would join, and wait for ever
  /// for keys that nobody hands to it.
  ///
  /// - Returns: the operations that are left, with those closings whose key is still the present.
  mutating func writeClosings(
    among operations: [ControlOperation], in group: GroupID, nowMilliseconds: UInt64
  ) throws -> [ControlOperation] {
    var rest: [ControlOperation] = []
    for operation in operations {
      let control = try controlZone(of: group)
      guard case .inviteClose(let invite) = operation,
        let epoch = membership(of: group).controlEpoch(of: invite, in: control),
        epoch != control.currentEpoch?.id
      else {
        rest.append(operation)
        continue
      }
      for author in control.heads.map(\.author) where author.device == device {
        _ = try sealChanges(of: author, in: control)
      }
      _ = try writeControl([operation], group: group, nowMilliseconds: nowMilliseconds)
      var told = try controlZone(of: group)
      told.writeEpoch = epoch
      _ = try sealChanges(of: author, in: told)
    }
    return rest
  }

  /// Who closed an invitation, by what lies here and cannot be applied yet; nil if nobody did.
  ///
  /// Signed by somebody who may, in the eyes of this device.
  func closer(of invite: Identifier, in group: GroupID) throws -> String? {
    let membership = membership(of: group)
    let control = try controlZone(of: group)
    guard let made = membership.invites.first(where: { $0.operation.invite == invite }) else {
      return nil
    }
    let opener = SegmentOpener(zone: control, membership: membership)
    for segment in try store.pending(in: control.id) {
      guard case .opened(let opened)? = try? opener.open(segment.bytes),
        let person = membership.person(of: opened.author.device),
        membership.isActive(opened.author.device),
        person.role.rank >= Role.admin.rank
          || person.id == membership.person(of: made.creator)?.id
      else { continue }
      let operations = opened.changes.flatMap(\.controlOperations)
      if operations.contains(.inviteClose(invite: invite)) { return person.name }
    }
    return nil
  }

  /// Why this device is not in a group that it has joined, in words; nil if it is, or never was.
  ///
  /// It says so to itself only while it has all that the others have: else what lies here unread,
  /// a closing of its invitation, speaks against it.
  package func entryRefusal(to group: GroupID) -> String? {
    let membership = membership(of: group)
    guard let resolver = membership.resolved?.resolver else { return nil }
    if let place = resolver.enrolment(of: device, .all) {
      guard case .join(let join) = resolver.log.items[place].operation,
        let closer = (try? closer(of: join.invite, in: group)) ?? nil
      else { return nil }
      return "\(closer) closed the invitation"
    }
    let void = membership.voided.last { void in
      guard case .join = void.operation else { return false }
      return void.version.dot.author.device == device
    }
    return membership.device(device) == nil ? void.map { membership.words(for: $0) } : nil
  }
}

extension Membership {
  /// The key of the control zone with which an invitation's holder begins, if it lets in at once
  /// and the key is held.
  fileprivate func controlEpoch(of invite: Identifier, in control: ZoneState) -> [UInt8]? {
    guard let resolver = resolved?.resolver, let made = resolver.invite(invite, .all),
      made.operation.admission == .auto
    else { return nil }
    return epochs(of: control.id)
      .filter { resolver.log.sees(made.place, $0.place) && control.holdsEpoch($0.grant.epoch) }
      .max { $0.depth < $1.depth }?.grant.epoch
  }
}
