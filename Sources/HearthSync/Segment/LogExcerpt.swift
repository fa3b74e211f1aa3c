import HearthCRDT
import HearthCrypto

/// A stretch of an author's log, as far as those who cite it are checked: hashes, and what its
/// changes had newly seen.
struct LogExcerpt: Sendable {
  /// A change that had newly seen something.
  struct News: Sendable {
    let sequence: UInt64
    let seen: [CitedHead]
    let controlSeen: [CitedHead]
  }

  /// The first change.
  let first: UInt64
  /// What is cited of the chain hash before the first change, then after each.
  let hashes: [UInt64]
  /// In order of number.
  let news: [News]

  init(first: UInt64, hashes: [UInt64], news: [News]) {
    self.first = first
    self.hashes = hashes
    self.news = news
  }

  init(_ segment: OpenedSegment) {
    first = segment.first
    hashes = segment.chain.map { CitedHead.prefix(of: $0) }
    news = segment.changes.compactMap { LogExcerpt.news(of: $0) }
  }

  /// The same of changes that are sealed now.
  ///
  /// - Parameter end: the chain hash after the last.
  init(_ changes: [Change], endingIn end: [UInt8]) {
    first = changes.first?.dot.sequence ?? 1
    hashes = (changes.map(\.previousHash) + [end]).map { CitedHead.prefix(of: $0) }
    news = changes.compactMap { LogExcerpt.news(of: $0) }
  }

  /// What a change had newly seen; nil where that is nothing.
  static func news(of change: Change) -> News? {
    guard !change.seen.isEmpty || !change.controlSeen.isEmpty else { return nil }
    return News(
      sequence: change.dot.sequence, seen: change.seen.heads,
      controlSeen: change.controlSeen.heads)
  }

  /// The last change.
  var last: UInt64 { first + UInt64(hashes.count) - 2 }

  /// Whether a change is in the stretch.
  func holds(_ sequence: UInt64) -> Bool { first <= sequence && sequence <= last }

  /// What is cited of the chain hash after a change of the stretch, or right before its first.
  func hash(after sequence: UInt64) -> UInt64 { hashes[Int(sequence - (first - 1))] }
}
