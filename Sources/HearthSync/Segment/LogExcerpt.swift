import HearthCRDT
import HearthCrypto

/// The part of a stretch of an author's log that citations are checked against.
///
/// It holds the hashes, and what the changes had newly seen.
struct LogExcerpt: Sendable {
  /// A change that had newly seen something.
  struct News: Sendable {
    let sequence: UInt64
    let seen: [CitedHead]
    let controlSeen: [CitedHead]
  }

  let first: UInt64
  /// The citable prefix of the chain hash before the first change, then after each change.
  let hashes: [UInt64]
  /// The changes that had newly seen something, in order of sequence number.
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

  /// Excerpts changes that are being sealed.
  ///
  /// - Parameter end: The chain hash after the last change.
  init(_ changes: [Change], endingIn end: [UInt8]) {
    first = changes.first?.dot.sequence ?? 1
    hashes = (changes.map(\.previousHash) + [end]).map { CitedHead.prefix(of: $0) }
    news = changes.compactMap { LogExcerpt.news(of: $0) }
  }

  /// What a change had newly seen; nil if it had seen nothing new.
  static func news(of change: Change) -> News? {
    guard !change.seen.isEmpty || !change.controlSeen.isEmpty else { return nil }
    return News(
      sequence: change.dot.sequence, seen: change.seen.heads,
      controlSeen: change.controlSeen.heads)
  }

  var last: UInt64 { first + UInt64(hashes.count) - 2 }

  /// Whether a change lies in the stretch.
  func holds(_ sequence: UInt64) -> Bool { first <= sequence && sequence <= last }

  /// The citable prefix of the chain hash after a change of the stretch, or right before its first.
  func hash(after sequence: UInt64) -> UInt64 { hashes[Int(sequence - (first - 1))] }
}
