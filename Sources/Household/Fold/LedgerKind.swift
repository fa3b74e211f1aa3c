/// What became of a completion.
package enum LedgerKind: String, Sendable {
  /// The one that counts for its occurrence.
  case credited
  /// Somebody else, or the same person, was credited first.
  case alsoDone = "also-done"
  /// Taken back.
  case undone
  /// It breaks a rule, see ``CompletionFault``.
  case invalid
  /// It is dated after today, and counts when that day comes.
  case ahead
}
