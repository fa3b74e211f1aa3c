import HearthCRDT
import HearthCrypto
import HearthMembership

/// Why an invitation does not admit anybody any more.
package struct ClosedInvitations<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// The name of the person who closed an invitation, according to pending segments; nil if nobody
  /// did.
  ///
  /// A pending closing counts only if this device considers its signer entitled to close the
  /// invitation. Segments of strangers stay closed: their signatures would cost every command.
  func closer(of invite: Identifier, in group: GroupID) throws -> String? {
    let membership = engine.membership(of: group)
    let control = try engine.controlZone(of: group)
    guard let made = membership.invites.first(where: { $0.operation.invite == invite }) else {
      return nil
    }
    let opener = SegmentOpener(zone: control, membership: membership)
    for entry in try engine.store.pending.entries(in: control.id) {
      guard let device = control.deviceByTag[entry.authorTag], membership.isActive(device),
        let person = membership.person(of: device),
        person.role.rank >= Role.admin.rank
          || person.id == membership.person(of: made.creator)?.id,
        let bytes = try engine.store.pending.bytes(of: entry.digest, in: control.id),
        case .opened(let opened)? = try? opener.open(bytes)
      else { continue }
      let operations = opened.changes.flatMap(\.controlOperations)
      if operations.contains(.inviteClose(invite: invite)) { return person.name }
    }
    return nil
  }

  /// Why this device is not in a group that it joined, in words; nil if it is, or never was.
  ///
  /// A device that considers itself a member may lack the others' changes: a pending closing of its
  /// invitation is evidence against it.
  package func entryRefusal(to group: GroupID) -> String? {
    let membership = engine.membership(of: group)
    if let entry = membership.entries.entry(of: engine.device) {
      guard case .join(let join) = entry,
        let closer = (try? closer(of: join.invite, in: group)) ?? nil
      else { return nil }
      return "\(closer) closed the invitation"
    }
    let void = membership.voided.last { void in
      guard case .join = void.operation else { return false }
      return void.version.dot.author.device == engine.device
    }
    return membership.device(engine.device) == nil ? void.map { membership.words(for: $0) } : nil
  }
}
