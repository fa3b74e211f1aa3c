import TestSupport
import Testing

@testable import HearthCRDT

@Suite("Frontiers")
struct FrontierTests {
  /// Every frontier of three authors with marks up to 2.
  static let all: [Frontier] = (0..<27).map { (number: UInt64) -> Frontier in
    frontier((3, number % 3), (1, number / 3 % 3), (2, number / 9))
  }

  @Test("join and meet are a lattice on every triple of small frontiers")
  func lattice() {
    for a in FrontierTests.all {
      #expect(a.joined(with: a) == a && a.met(with: a) == a)
      #expect(a.joined(with: Frontier()) == a && a.met(with: Frontier()).isEmpty)
      for b in FrontierTests.all {
        let (join, meet) = (a.joined(with: b), a.met(with: b))
        #expect(join == b.joined(with: a) && meet == b.met(with: a))
        #expect(join.covers(a) && join.covers(b) && a.covers(meet) && b.covers(meet))
        #expect(a.joined(with: meet) == a && a.met(with: join) == a)
        #expect(a.covers(b) == (join == a) && a.covers(b) == (meet == b))
        for c in FrontierTests.all.prefix(9) {
          #expect(join.joined(with: c) == a.joined(with: b.joined(with: c)))
          #expect(meet.met(with: c) == a.met(with: b.met(with: c)))
        }
      }
    }
  }

  @Test("entries stay in order of author, without zeros, however they come")
  func canonicalForm() {
    for seed in 0..<50 {
      var random = SplitMix64(seed: UInt64(seed))
      var pairs = (0..<random.below(30)).map { _ in
        (author(random.below(9)), UInt64(random.below(5)))
      }
      let frontier = Frontier(pairs)
      pairs.shuffle(using: &random)
      #expect(Frontier(pairs) == frontier, "seed \(seed)")
      let authors = frontier.entries.map(\.author)
      #expect(authors == Set(authors).sorted(), "seed \(seed)")
      for (author, sequence) in pairs { #expect(frontier[author] >= sequence, "seed \(seed)") }
      #expect(frontier.entries.allSatisfy { $0.sequence > 0 }, "seed \(seed)")
    }
  }

  @Test("a frontier raised by its difference from an earlier one is itself")
  func difference() {
    for a in FrontierTests.all {
      for b in FrontierTests.all where a.covers(b) {
        let difference = a.difference(from: b)
        #expect(b.raised(by: difference) == a)
        #expect(difference.isEmpty == (a == b))
        #expect(difference.heads.allSatisfy { $0.sequence == a[$0.author] })
      }
    }
  }

  @Test("a mark may reach 2^63 - 1 and no further, and nothing is cited twice")
  func maximum() {
    func citing(_ sequence: UInt64) -> FrontierDifference {
      FrontierDifference(heads: [CitedHead(author: author(1), sequence: sequence, hash: 7)])
    }
    let some = frontier((1, 5))
    #expect(
      some.raised(by: citing(Frontier.maximumSequence))?[author(1)] == Frontier.maximumSequence)
    #expect(some.raised(by: citing(Frontier.maximumSequence + 1)) == nil)
    #expect(some.raised(by: citing(6))?[author(1)] == 6)
    #expect(some.raised(by: citing(5)) == nil)
    #expect(some.raised(by: citing(4)) == nil)
  }

  @Test("what is cited of a chain hash is its first eight bytes, the greatest first")
  func citedHash() {
    let hash = (1...32 as ClosedRange<UInt8>).map { $0 }
    #expect(CitedHead.prefix(of: hash) == 0x0102_0304_0506_0708)
  }

  @Test("withdrawing takes exactly the mark back")
  func withdraw() {
    var marks = frontier((1, 1), (2, 5))
    marks.withdraw(Dot(author: author(2), sequence: 4))
    #expect(marks[author(2)] == 5)
    marks.withdraw(Dot(author: author(2), sequence: 5))
    marks.withdraw(Dot(author: author(1), sequence: 1))
    marks.withdraw(Dot(author: author(3), sequence: 1))
    #expect(marks == frontier((2, 4)))
  }
}
