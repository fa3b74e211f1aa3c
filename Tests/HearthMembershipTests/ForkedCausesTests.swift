import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

/// What is seen with shown histories of a log, and what a device has not unseen by having several.
@Suite("Causes of logs with several histories")
struct ForkedCausesTests {
  private static func life(_ number: UInt64, of device: Int = 1) -> Author {
    Author(device: EngineFamily.id(device), incarnation: number)
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
