/// A number that changes by addition: every addition counts exactly once.
///
/// The counter stores one total for each author, with the last change included in it. Each addition
/// is applied once because each change is. Totals wrap around on overflow, equally on every
/// replica.
package struct Counter: Equatable, Sendable {
  /// One author's share.
  package struct Share: Equatable, Sendable {
    /// The author.
    package let author: Author
    /// The author's last change in the total.
    package internal(set) var sequence: UInt64
    /// The sum of the author's additions.
    package internal(set) var total: Int64

    package init(author: Author, sequence: UInt64, total: Int64) {
      self.author = author
      self.sequence = sequence
      self.total = total
    }
  }

  /// The shares in order of author.
  package private(set) var shares: [Share]

  /// Takes shares in any order, with at most one for each author.
  package init(_ shares: [Share] = []) {
    self.shares = shares.sorted { $0.author < $1.author }
  }

  init(sortedShares: [Share]) {
    shares = sortedShares
  }

  /// The sum of all shares.
  package var value: Int64 {
    shares.reduce(0) { $0 &+ $1.total }
  }

  /// Adds an amount to an author's share.
  package mutating func add(_ delta: Int64, dot: Dot) {
    if let place = shares.firstIndex(where: { $0.author == dot.author }) {
      if Mutant.counterAsRegister.isActive { shares[place].total = 0 }
      shares[place].total &+= delta
      shares[place].sequence = max(shares[place].sequence, dot.sequence)
    } else {
      let share = Share(author: dot.author, sequence: dot.sequence, total: delta)
      Probe.counterShared.hit(if: !shares.isEmpty)
      shares.insert(share, at: shares.firstIndex { dot.author < $0.author } ?? shares.count)
    }
  }

  /// Takes for each author the share that includes more changes: commutative, associative,
  /// idempotent.
  package func joined(with other: Counter) -> Counter {
    var result: [Share] = []
    var place = 0
    for share in shares {
      while place < other.shares.count, other.shares[place].author < share.author {
        result.append(other.shares[place])
        place += 1
      }
      if place < other.shares.count, other.shares[place].author == share.author {
        let twin = other.shares[place]
        result.append(share.sequence < twin.sequence ? twin : share)
        place += 1
      } else {
        result.append(share)
      }
    }
    result.append(contentsOf: other.shares[place...])
    return Counter(sortedShares: result)
  }
}
