import HearthCRDT

/// A completion and the facts that decide whether it counts.
struct FoldItem: Sendable {
  let completion: Completion
  /// Whether it has no fault of its own.
  let isValid: Bool
  /// The retractions that take it back.
  let retractions: [Dot]

  /// Whether it counts for its occurrence, paid or not.
  var counts: Bool { isValid && retractions.isEmpty }
}

/// The outcome of a completion.
struct Outcome: Equatable, Sendable {
  let kind: LedgerKind
  let points: Int
}
