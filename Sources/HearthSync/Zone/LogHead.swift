import HearthCRDT

/// How far one author's log is applied in one zone, and what is needed to go on.
package struct LogHead: Equatable, Sendable {
  package let author: Author
  /// The last change applied, 0 before the first.
  package var sequence: UInt64
  /// The author's chain hash after it.
  package var hash: [UInt8]
  /// Its time.
  package var time: HybridTime
  /// What the author had seen of others at it.
  package var seen: Frontier
  /// What the author had seen of the control zone at it.
  package var controlSeen: Frontier
  /// The author published a second history from here on: nothing later is applied.
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

  /// What the author had seen when it wrote its next change, its own log included.
  package var past: Frontier {
    var past = seen
    past.advance(author, to: sequence)
    return past
  }
}
