import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

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

  @Test("Groups of places that lead to each other come after all to which they lead")
  func components() {
    for seed in 0..<300 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let count = Int(random.next() % 9) + 1
      let successors = (0..<count).map { _ in
        (0..<count).filter { _ in random.next() % 4 == 0 }
      }
      var reaches = (0..<count).map { from in (0..<count).map { $0 == from } }
      for _ in 0..<count {
        for from in 0..<count {
          for over in successors[from] {
            for to in 0..<count where reaches[over][to] { reaches[from][to] = true }
          }
        }
      }
      let components = stronglyConnectedComponents(successors)
      #expect(components.flatMap { $0 }.sorted() == Array(0..<count), "seed \(seed)")
      var done: Set<Int> = []
      for component in components {
        for one in component {
          #expect(component.allSatisfy { reaches[one][$0] && reaches[$0][one] }, "seed \(seed)")
          #expect(
            (0..<count).allSatisfy { to in
              !reaches[one][to] || done.contains(to) || component.contains(to)
            }, "seed \(seed)")
        }
        done.formUnion(component)
      }
    }
  }

  @Test("What is seen with what is shown is the least that holds itself, also where numbers lie")
  func sights() {
    for seed in 0..<500 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      func frontier() -> Frontier {
        Frontier(
          (1...4).compactMap { device in
            random.next() % 2 == 0 ? nil : (Self.life(1, of: device), random.next() % 6 + 1)
          })
      }
      let showings = (0..<Int(random.next() % 8)).map { _ in
        (
          dot: Dot(
            author: Self.life(1, of: Int(random.next() % 4) + 1), sequence: random.next() % 6 + 1),
          seen: frontier()
        )
      }
      let sights = Sights(showings)
      for _ in 0..<5 {
        let start = frontier()
        var least = start
        for _ in 0...showings.count {
          for showing in showings where least.covers(showing.dot) {
            least = least.joined(with: showing.seen)
          }
        }
        #expect(sights.widened(start) == least, "seed \(seed)")
      }
    }
  }

  @Test(
    "A device has not unseen what its other histories had, and those before and after are its own")
  func beside() {
    for seed in 0..<60 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      var world = MembershipWorld()
      for person in 1...2 {
        let invite = world.invite(0, .admin)
        let hand = world.addHand(person: person)
        world.tell(hand, 0)
        world.join(hand, invite)
        world.tell(0, hand)
      }
      var copies = [0]
      for _ in 0..<4 {
        let length = world.written.filter { $0.hand == 0 }.count
        copies.append(
          world.fork(0, at: UInt64(length) - random.next() % 3, isFirst: random.next() % 2 == 0))
        for copy in copies {
          if random.next() % 2 == 0 {
            world.write(1, .heartbeat([]))
            world.tell(copy, 1)
          }
          world.write(copy, .heartbeat([]))
        }
      }
      let (items, shown) = world.compiled()
      let forks = MembershipWorld.forks(shown)
      var placed = items
      let causes = ForkedCauses(forks, items: &placed)
      for number in forks.runs.indices {
        let line = Set(forks.line(to: number))
        let names = Set(causes.runs)
        var expected = Frontier()
        for item in placed {
          guard let other = item.branch, !line.contains(other),
            !forks.line(to: other).contains(number)
          else { continue }
          expected = expected.joined(with: item.cause)
        }
        let found = causes.beside[causes.runs[number]] ?? Frontier()
        for device in [1, 2] {
          let author = world.hands[device].author
          #expect(found[author] == expected[author], "seed \(seed), run \(number)")
        }
        #expect(found.entries.allSatisfy { !names.contains($0.author) }, "seed \(seed)")
      }
    }
  }
}
