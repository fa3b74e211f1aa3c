import HearthCRDT

/// How far one author's log is applied in one zone, with the state needed to continue.
package struct LogHead: Equatable, Sendable {
  package let author: Author
  /// The last applied change; 0 before the first.
  package var sequence: UInt64
  /// The author's chain hash after that change.
  package var hash: [UInt8]
  /// The time of that change.
  package var time: HybridTime
  /// What the author had seen of others at that change.
  package var seen: Frontier
  /// What the author had seen of the control zone at that change.
  package var controlSeen: Frontier
  /// Where the author forked its log; no change from here on is applied.
  package var forkedAt: UInt64?

  package init(author: Author) {
    self.author = author
    sequence = 0
    hash = [UInt8](repeating: 0, count: 32)
    time = HybridTime(rawValue: 0)
    seen = Frontier()
    controlSeen = Frontier()
  }

  package init(
    author: Author, sequence: UInt64, hash: [UInt8], time: HybridTime, seen: Frontier,
    controlSeen: Frontier, forkedAt: UInt64?
  ) {
    self.author = author
    self.sequence = sequence
    self.hash = hash
    self.time = time
    self.seen = seen
    self.controlSeen = controlSeen
    self.forkedAt = forkedAt
  }

  /// What the author had seen when it wrote its next change, including its own log.
  package var past: Frontier {
    var past = seen
    past.advance(author, to: sequence)
    return past
  }

  /// Moves the head over its author's next change.
  mutating func advance(over change: Change, hash: [UInt8]) throws {
    guard let seen = seen.raised(by: change.seen),
      let controlSeen = controlSeen.raised(by: change.controlSeen)
    else { throw SyncError(.malformed, "the counts in change \(change.dot) exceed the limit") }
    sequence = change.dot.sequence
    self.hash = hash
    time = change.time
    self.seen = seen
    self.controlSeen = controlSeen
  }
}
