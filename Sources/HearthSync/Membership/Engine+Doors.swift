import HearthCRDT
import HearthMembership

extension Engine {
  /// The devices of a group and the invitations that let in at once, as far as epochs of the
  /// control zone passed them by, in order of recipient; those alone whose door this device can
  /// find.
  ///
  /// O(e·r) for the e latest epochs and r recipients.
  package func passedBy(in group: GroupID) throws -> [PassedBy] {
    let control = try controlZone(of: group)
    return membership(of: group).passedBy(
      in: control.id, held: control.heldEpochs, latest: MailboxAccess.maximumKeys)
  }
}
