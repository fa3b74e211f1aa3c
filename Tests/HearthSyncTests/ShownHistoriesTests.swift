import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

/// How much of what is shown of a log with several histories counts.
@Suite("Shown histories")
struct ShownHistoriesTests {
  private static func life(_ number: UInt64, of device: Int = 1) -> Author {
    Author(device: EngineFamily.id(device), incarnation: number)
  }

  /// A segment of one change whose content, and that before it, are numbers.
  private static func segment(
    of life: Author = life(1), _ sequence: UInt64, _ before: Int, _ after: Int
  ) -> ShownSegment {
    func hash(_ number: Int) -> [UInt8] {
      [UInt8](repeating: UInt8(number & 0xff), count: 30)
        + [UInt8(number >> 8 & 0xff), UInt8(number >> 16)]
    }
    return ShownSegment(
      digest: EngineFamily.id(Int(life.incarnation) << 20 + after), author: life, first: sequence,
      chain: [hash(before), hash(after)],
      changes: [
        ShownChange(seen: .none, time: HybridTime(milliseconds: 1), citations: [], events: [])
      ])
  }

  @Test("A device shows no more than so many histories, and segments, of one life")
  func tree() throws {
    var tree = ShownTree()
    func takes(_ segment: ShownSegment) -> Bool {
      guard tree.mayTake(Stretch(segment), from: 5) else { return false }
      tree.add(Stretch(segment))
      return true
    }
    for number in 1...ShownTree.maximumHistories {
      #expect(takes(Self.segment(5, 0, number)))
    }
    #expect(!takes(Self.segment(5, 0, 1_000)), "one more history")
    #expect(!takes(Self.segment(5, 0, 1)), "shown already")
    #expect(!takes(Self.segment(7, 90, 91)), "hangs in the air")
    #expect(tree.histories == ShownTree.maximumHistories)
    var number = 1
    for sequence in 6... as PartialRangeFrom<UInt64> {
      number += 1
      let next = Self.segment(sequence, number == 2 ? 1 : number + 1_000, number + 1_001)
      guard number <= ShownTree.maximumSegments - ShownTree.maximumHistories + 1 else {
        #expect(!takes(next), "one more segment")
        break
      }
      #expect(takes(next), "segment \(number)")
    }
  }

  @Test("Histories are counted as pieces come together, in every order")
  func pieces() {
    // 1 - 2 - 3 - 4 and 2 - 13 - 14.
    let segments = [(1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 3, 4), (3, 2, 13), (4, 13, 14)]
    for seed in 0..<200 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      var tree = ShownTree()
      for (sequence, before, after) in segments.shuffled(using: &random) {
        tree.add(Stretch(Self.segment(UInt64(sequence), before, after)))
      }
      #expect(tree.histories == 2, "seed \(seed)")
    }
  }

  @Test("Of each life two histories count, and of all lives of a device so many more")
  func ledger() {
    var ledger = ShownLedger()
    func takes(_ segment: ShownSegment, isApplied: Bool = true, hasApplied: Bool = false) -> Bool {
      ledger.takes(Stretch(segment), isApplied: isApplied, hasApplied: hasApplied)
    }
    let allowed = ShownLedger.historiesOfLife + ShownLedger.moreHistories
    for number in 1...allowed { #expect(takes(Self.segment(5, 0, number)), "\(number)") }
    #expect(!takes(Self.segment(5, 0, 1_000)), "one more")
    // What goes on with one of them is none more, and of other lives two count still.
    for number in 1...300 {
      #expect(
        takes(
          Self.segment(5 + UInt64(number), number == 1 ? 1 : 2_000 + number - 1, 2_000 + number)))
    }
    let second = Self.life(2)
    #expect(takes(Self.segment(of: second, 1, 0, 1), isApplied: false))
    #expect(!takes(Self.segment(of: second, 1, 0, 2), isApplied: false), "keeps room for its own")
    #expect(takes(Self.segment(of: second, 1, 0, 3)), "its own")
    #expect(!takes(Self.segment(of: second, 1, 0, 4), isApplied: false, hasApplied: true))
    // Another device's are not in this account.
    let other = Self.life(1, of: 2)
    #expect(takes(Self.segment(of: other, 1, 0, 1), isApplied: false))
    #expect(takes(Self.segment(of: other, 1, 0, 2), isApplied: false))
    #expect(takes(Self.segment(of: other, 1, 0, 3), isApplied: false))
  }

  @Test("Histories count of so many lives of a device, of which those that it applied come in")
  func lives() {
    var ledger = ShownLedger()
    func takes(_ number: Int, isApplied: Bool) -> Bool {
      ledger.takes(
        Stretch(Self.segment(of: Self.life(UInt64(number)), 1, 0, 1)), isApplied: isApplied)
    }
    for number in 1...ShownLedger.moreHistories { #expect(takes(number, isApplied: false)) }
    #expect(!takes(900, isApplied: false), "one more that it has not applied")
    for number in 1...Limits.maximumLives { #expect(takes(1_000 + number, isApplied: true)) }
    #expect(!takes(2_000, isApplied: true), "one more life")
    #expect(takes(1_001, isApplied: true), "one that is there")
  }

  @Test("What one device shows without end takes nothing from what another one shows")
  func accounts() {
    let decoys = (1...200).map { Self.segment(5, 0, $0) }
    let own = Self.segment(5, 0, 1_000)
    let thief = EngineFamily.id(8)
    let histories = ShownHistories(
      decoys.map { .init(by: thief, segment: $0) } + [.init(by: EngineFamily.id(9), segment: own)],
      opened: [:])
    #expect(histories.counted.contains(own.digest))
    #expect(
      histories.counted.count == ShownLedger.historiesOfLife + ShownLedger.moreHistories + 1)
    #expect(histories.forks.ends == [Self.life(1): 5])
    #expect(histories.forks.runs.count == histories.counted.count)
  }
}
