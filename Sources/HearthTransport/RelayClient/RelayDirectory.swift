import HearthCRDT
import HearthRelayProtocol

/// The mailboxes of zones and rendezvous, with their keys.
package struct RelayDirectory: Sendable {
  /// The mailbox of each zone, by the zone's tag.
  package var zones: [Identifier: MailboxAccess] = [:]
  /// The mailbox of each invitation or recovery bundle, by the bundle's scope.
  package var capsules: [Identifier: MailboxAccess] = [:]
  /// The zones' mailboxes that may be parents of other mailboxes, the preferred one first.
  package var parents: [Identifier] = []

  package init() {}

  /// Returns an access whose possible parent mailboxes are filled in if it names none.
  package func completing(_ access: MailboxAccess) -> MailboxAccess {
    guard access.child != nil, access.parents.isEmpty else { return access }
    var access = access
    access.parents = parents
    return access
  }

  /// Returns the access of the zone whose mailbox this is.
  func zone(of mailbox: Identifier) -> MailboxAccess? {
    zones.values.first { $0.mailbox == mailbox }
  }
}
