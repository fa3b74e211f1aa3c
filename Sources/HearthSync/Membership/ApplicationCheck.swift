import HearthCRDT
import HearthMembership

/// Keeps a node out of the groups of other applications.
///
/// The founding of a group decides. The bundle of an invitation is checked first, so that a link of
/// another application is refused before anything is written or sent.
package enum ApplicationCheck {
  /// Requires that a bundle names the node's application, whether that is true or not.
  ///
  /// - Throws: `otherApplication`.
  package static func requireOwn(
    _ bundle: InvitationCapsule, in engine: Engine<some Store>
  ) throws {
    guard bundle.application != engine.application else { return }
    throw SyncError(
      .otherApplication,
      "the invitation is to a group of the application \(bundle.application.name), not of "
        + "\(engine.application.name): follow it with that application")
  }

  /// Requires that a group's founding names the node's application.
  ///
  /// - Throws: `otherApplication`; `notFound` where the founding has not arrived.
  package static func requireOwnFounding(
    of group: GroupID, in engine: Engine<some Store>
  ) throws {
    guard let founding = engine.membership(of: group).genesis else {
      throw SyncError(.notFound, "the members' log does not hold the founding of the group")
    }
    guard founding.application != engine.application else { return }
    throw SyncError(
      .otherApplication,
      "the group belongs to the application \(founding.application.name), as its founding says, "
        + "not to \(engine.application.name): nothing of it was kept")
  }
}
