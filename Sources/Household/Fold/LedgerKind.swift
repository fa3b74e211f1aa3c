/// The outcome of a completion.
package enum LedgerKind: String, Sendable {
  /// It counts for its occurrence.
  case credited
  /// Somebody else, or the same person, was credited first.
  case alsoDone = "also-done"
  /// Taken back.
  case undone
  /// It breaks a rule; see ``CompletionFault``.
  case invalid
  /// It has a date after today, and counts when that day comes.
  case ahead
}
