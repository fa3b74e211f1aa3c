/// What was put right of a group's mailboxes at a relay.
package enum RelayRepair: Equatable, Sendable {
  /// The mailboxes are managed by who may: how much of whom was cleared, in words.
  case cleared([String])
  /// They were made anew under other names, as nobody managed them who may.
  case moved
  /// This device is not listed yet as a manager; who is, in words.
  case managedBy([String])
  /// Somebody has taken every name under which they could be made anew.
  case noPlace
}
