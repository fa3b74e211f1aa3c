import HearthCRDT
import HearthSync

/// What a continuous sync needs to know of a node at the end of a round.
package struct RoundEnd: Sendable {
  /// What to watch from now on.
  let source: NewsSource
  /// The zones with changes that came during the round, too late for it.
  let unsent: [String]

  /// Looks at what follows from the round of a node that has just ended.
  package init(of node: Node) async throws {
    (source, unsent) = try await node.working { core in
      (
        try NewsSources(core: core).all(),
        try NodeInspection(core: core).zones().filter { $0.unsealed > 0 }
          .map { "\($0.zone.id.hex) \($0.changes)" }
      )
    }
  }
}

/// Decides after each round of a continuous sync whether another one follows at once.
package struct NewsRounds {
  /// The watch that began before the last round, so that nothing is missed after it.
  package private(set) var watch: NewsWatch
  private var lastUnsent: [String] = []

  /// Begins to watch, before the first round.
  package init(_ source: NewsSource) throws {
    watch = try NewsWatch(source)
  }

  /// Notes the end of a round.
  ///
  /// - Returns: whether another round follows at once: there is more to watch than before, or
  ///   something came too late for this one.
  package mutating func isMoreDue(after end: RoundEnd) throws -> Bool {
    if end.source != watch.source {
      watch = try NewsWatch(end.source)
      return true
    }
    // What stays unsent in a second round, as nobody takes it, waits for news.
    guard end.unsent != lastUnsent else { return false }
    lastUnsent = end.unsent
    return !lastUnsent.isEmpty
  }
}
