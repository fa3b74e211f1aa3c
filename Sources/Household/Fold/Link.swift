import HearthCRDT

/// A completion that closed an occurrence, with the other completions of the same work.
struct Link {
  /// Whether it was done under a rule that counts from completion.
  let isChain: Bool
  /// The first dot of each author; a frontier that covers one of them knew of the link.
  let dots: [Dot]
  /// The last day that any of the completions names.
  let lastDay: CivilDate
  /// The last calendar date that it closed.
  let lastDate: CivilDate?

  init(head: LedgerRow, members: [LedgerRow]) {
    isChain = head.key == nil
    // A frontier that covers a later dot of an author also covers its first.
    var firsts: [Author: Dot] = [:]
    for dot in members.map(\.version.dot) {
      firsts[dot.author] = min(firsts[dot.author] ?? dot, dot)
    }
    dots = firsts.values.sorted()
    lastDay = members.map(\.day).max() ?? head.day
    lastDate = members.compactMap { $0.key == .once ? nil : $0.key?.occurrence?.date }.max()
  }

  func isKnown(to cause: Frontier) -> Bool { dots.contains { cause.covers($0) } }
}
