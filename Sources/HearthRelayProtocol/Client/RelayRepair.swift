/// What was put right of a group's mailboxes at a relay.
package enum RelayRepair: Equatable, Sendable {
  /// The mailboxes are managed by who may: how much of whom was cleared, in words.
  case cleared([String])
  /// They are managed by who may, and nothing was looked at, as the round before it failed.
  case unread
  /// They were made anew under other names, as nobody managed them who may.
  case moved
  /// This device is not listed yet as a manager; who is, in words.
  case managedBy([String])
  /// Somebody has taken every name under which they could be made anew.
  case noPlace
  /// The relay did not do it, in words.
  case failed(String)
}
