/// The outcome of a repair of a group's mailboxes at a relay.
package enum RelayRepair: Equatable, Sendable {
  /// Authorized members manage the mailboxes. Describes what was cleared for each author.
  case cleared([String])
  /// Authorized members manage the mailboxes. Nothing was checked, because the previous round
  /// failed.
  case unread
  /// The mailboxes were recreated under other names, because nobody authorized managed them.
  case moved
  /// This device is not listed as a manager yet. Describes the current managers.
  case managedBy([String])
  /// Somebody has taken every name under which the mailboxes could be recreated.
  case noPlace
  /// The relay refused; the reason in words.
  case failed(String)
}
