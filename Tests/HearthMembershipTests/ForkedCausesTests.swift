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
        let author = Self.life(1, of: Int(random.next() % 4) + 1)
        return Sights.Showing(
          dot: Dot(author: author, sequence: random.next() % 6 + 1), name: author, seen: frontier())
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

  @Test("Operations of a log see with what was shown what each of them sees by itself")
  func widening() {
    for seed in 0..<300 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let authors = (1...30).map { Self.life(1, of: $0) }.sorted()
      func frontier(_ count: Int) -> Frontier {
        Frontier((0..<count).map { _ in (authors[random.below(30)], UInt64(1 + random.below(6))) })
      }
      let showings = (0..<random.below(12)).map { _ in
        let author = authors[random.below(30)]
        return Sights.Showing(
          dot: Dot(author: author, sequence: UInt64(1 + random.below(6))), name: author,
          seen: frontier(4))
      }
      let sights = Sights(showings)
      var items: [ControlItem] = []
      for author in authors.prefix(6) {
        var cause = Frontier()
        for sequence in 1...UInt64(1 + random.below(6)) {
          cause = cause.joined(with: frontier(random.oneIn(4) ? 40 : random.below(3)))
          items.append(
            ControlItem(
              id: Identifier(high: author.device.high, low: sequence),
              version: Version(
                dot: Dot(author: author, sequence: sequence), time: HybridTime(milliseconds: 1)),
              cause: cause, operation: .heartbeat([])))
        }
      }
      for (item, widened) in zip(items, sights.widening(items)) {
        var own = item.cause
        own.advance(item.position.author, to: item.position.sequence)
        let expected = sights.widened(own)
        var found = widened.cause.joined(with: widened.more)
        found.advance(item.position.author, to: item.position.sequence)
        #expect(found == expected, "seed \(seed), \(item.position)")
      }
    }
  }

  /// A household in which one device has several histories that set words and beat, each seen by
  /// some others, and shown at times.
  private static func histories(_ random: inout SplitMix64) -> Findings {
    var world = MembershipWorld()
    for _ in 1...3 { _ = world.member(.admin, by: .auto) }
    var copies = [1]
    for _ in 0..<12 {
      let reached = world.hands[1].seen[world.hands[1].author]
      if copies.count < 5, random.oneIn(2) {
        let start = max(2, reached + 1 - UInt64(random.below(3)))
        copies.append(world.fork(1, at: start, isFirst: random.oneIn(2)))
      }
      for copy in copies where random.oneIn(2) {
        world.write(copy, random.oneIn(2) ? .setRecovery(MembershipWorld.words) : .heartbeat([]))
      }
      let witness = 2 + random.below(2)
      if random.oneIn(2) { world.tell(witness, copies[random.below(copies.count)]) }
      world.write(witness, .heartbeat([]))
      if random.oneIn(3) { world.show(copies[random.below(copies.count)], by: witness) }
      if random.oneIn(2) { world.tell(copies[random.below(copies.count)], witness) }
    }
    return world.fold().resolver.findings
  }

  @Test("Who has seen words in two histories, and who has seen one history alone")
  func witnesses() {
    var (doubled, seen) = (0, 0)
    for seed in 0..<200 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let fold = Self.histories(&random)
      let log = fold.log
      let witnesses = BranchWitnesses(fold)
      let doubledWords = DoubledWords(log)
      for place in log.items.indices {
        let own = log.items.indices.filter {
          log.devices[$0] == log.devices[place] && log.operation($0).words != nil
            && log.sees(place, $0)
        }
        let isDoubled = own.contains { one in own.contains { log.areBranches(one, $0) } }
        #expect(doubledWords.areSeen(by: place, in: log) == isDoubled, "seed \(seed)")
        if isDoubled { doubled += 1 }
        for other in log.items.indices where log.areBranches(place, other) {
          let ranks = log.items.indices.filter { witness in
            if case .branch = log.operation(witness) { return false }
            return fold.isLive[witness] && log.devices[witness] != log.devices[place]
              && log.sees(witness, place) && !log.sees(witness, other)
          }.map { fold.rank($0) }
          #expect(witnesses.rank(of: place, beside: other) == ranks.max() ?? 0, "seed \(seed)")
          if !ranks.isEmpty { seen += 1 }
        }
      }
    }
    #expect(doubled > 50 && seen > 200, "\(doubled), \(seen)")
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
          expected = expected.joined(with: causes.knowledge(of: item))
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
