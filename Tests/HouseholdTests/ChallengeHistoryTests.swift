import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import Household

@Suite("The challenge history")
struct ChallengeHistoryTests {
  /// Devices that choose, do, skip and take back at random, and meet now and then.
  private func live(seed: Int, steps: Int = 60) throws -> TestChallenges {
    var random = TestSupport.SplitMix64(seed: UInt64(seed) &* 7919 &+ 11)
    let person = TestChallenges(devices: 3)
    for _ in 0..<steps {
      let device = random.below(3)
      do {
        switch random.below(8) {
        case 0, 1: try person.draw(random.below(5), on: device)
        case 2: try person.pick(random.below(5), on: device)
        case 3, 4:
          try person.done(random.oneIn(2) ? 1 + random.below(5) : nil, on: device)
        case 5: try person.skip(SkipReason.allCases[random.below(7)], on: device)
        case 6:
          guard random.oneIn(4), try person.challenges(device).lastEntry() != nil else { continue }
          try person.undoLast(on: device)
        default: if random.oneIn(3) { try person.meet() }
        }
      } catch let error as HouseholdError {
        let known: [HouseholdError.Code] = [.noChallenge, .alreadyDone, .alreadySkipped]
        #expect(known.contains(error.code), "\(error), seed \(seed)")
      }
      if random.oneIn(9) { person.day += 1 + random.below(2) }
    }
    return person
  }

  @Test("Every order of delivery gives the same rows, days and numbers", arguments: 0..<10)
  func everyOrder(seed: Int) throws {
    var random = TestSupport.SplitMix64(seed: UInt64(seed) &+ 5)
    let person = try live(seed: seed, steps: 150)
    try person.meet()
    let dump = person.replicas[0].dump
    #expect(dump.count > 3, "seed \(seed)")
    let numbers = try person.challenges().statistics()
    for device in 1..<3 {
      #expect(person.replicas[device].dump == dump, "seed \(seed)")
      #expect(try person.challenges(device).statistics() == numbers, "seed \(seed)")
    }
    for _ in 0..<3 {
      let other = TestReplica(projection: HouseholdProjection())
      for change in person.shuffledChanges(&random) { try other.apply(change) }
      #expect(other.dump == dump, "seed \(seed)")
      let challenges = PersonChallenges(source: other, today: try person.today)
      for offset in 0..<60 {
        let day = try person.date(offset)
        #expect(
          try challenges.challenge(on: day) == person.challenges().challenge(on: day),
          "seed \(seed)")
      }
    }
  }

  @Test("Rows kept in step equal rows computed anew, before and after meeting", arguments: 0..<10)
  func rebuild(seed: Int) throws {
    let person = try live(seed: seed, steps: 90)
    for isMet in [false, true] {
      if isMet { try person.meet() }
      for replica in person.replicas {
        let kept = replica.dump
        try replica.rebuild()
        #expect(replica.dump == kept, "seed \(seed)")
      }
    }
  }

  @Test("No day has a challenge twice, and what is completed is in the history", arguments: 0..<6)
  func once(seed: Int) throws {
    let person = try live(seed: seed, steps: 90)
    try person.meet()
    let entries = try person.history()
    #expect(Set(entries.map { "\($0.day) \($0.card.key.id)" }).count == entries.count)
    for offset in 0..<60 {
      let day = try person.date(offset)
      guard let challenge = try person.challenges().challenge(on: day) else { continue }
      let own = entries.first { $0.day == day && $0.card.key == challenge.card.key }
      #expect(challenge.entry == own, "seed \(seed)")
      let done = entries.filter { $0.day == day && $0.outcome == .completed }.count
      let isDone = challenge.state == .completed
      #expect(challenge.alsoDone.count + (isDone ? 1 : 0) == done, "seed \(seed)")
    }
  }

  @Test("The pages are all entries once, newest first, whatever their size", arguments: 1...7)
  func pages(limit: Int) throws {
    let person = try live(seed: 3, steps: 150)
    try person.meet()
    let all = try person.history()
    #expect(all.count > 8)
    let days = all.map(\.day)
    #expect(days == days.sorted(by: >))
    func paged(_ category: String?, _ first: CivilDate?) throws -> [ChallengeEntry] {
      var shown: [ChallengeEntry] = []
      var cursor: String?
      repeat {
        let page = try person.challenges().history(
          of: category, since: first, after: cursor, limit: limit)
        #expect(page.arrivedEarlier == 0)
        #expect(page.entries.count <= limit)
        shown += page.entries
        cursor = page.next
      } while cursor != nil
      return shown
    }
    #expect(try paged(nil, nil) == all)
    let middle = all[all.count / 2].day
    #expect(try paged(nil, middle) == all.filter { $0.day >= middle })
    let category = all[0].card.category
    let ofCategory = all.filter { $0.card.category == category }
    #expect(ofCategory.count > 1 && ofCategory.count < all.count)
    #expect(try paged(category, nil) == ofCategory)
    #expect(try paged(category, middle) == ofCategory.filter { $0.day >= middle })
  }

  @Test("What arrives before a page's place is announced, and no page shows anything twice")
  func arrived() throws {
    let person = TestChallenges()
    for _ in 0..<5 {
      try person.draw(1)
      try person.done()
      person.day += 1
    }
    let first = try person.challenges().history(after: nil, limit: 2)
    try person.draw(2)
    try person.done()
    let second = try person.challenges().history(after: first.next, limit: 2)
    #expect(second.arrivedEarlier == 1)
    #expect(!second.entries.contains { first.entries.contains($0) })
    for wrong in ["", "1.2.3", "a.b.c.d", "1.2.\(Identifier.zero.hex).0", "1.2.3.4.5"] {
      #expect(throws: HouseholdError(.badCursor, "")) {
        try person.challenges().history(after: wrong, limit: 2)
      }
    }
  }

  @Test("An entry is found by the beginning of its name")
  func prefix() throws {
    let person = TestChallenges()
    try person.draw(1)
    try person.done()
    let entry = try #require(try person.challenges().lastEntry())
    #expect(
      try person.challenges().entries(idPrefix: String(entry.attempt.hex.prefix(8))) == [entry])
    #expect(try person.challenges().entries(idPrefix: "ffffffff").isEmpty)
    #expect(try person.challenges().entries(idPrefix: "no").isEmpty)
    try person.undoLast()
    #expect(throws: HouseholdError(.noSuchEntry, "")) {
      try person.write(0) { try $0.undo(entry, in: &$1) }
    }
  }

  @Test("Days in a row: today does not break while it lasts, a day without one does")
  func streaks() throws {
    let person = TestChallenges()
    func numbers() throws -> [Int] {
      let numbers = try person.challenges().statistics()
      return [numbers.streak, numbers.longestStreak]
    }
    #expect(try numbers() == [0, 0])
    for _ in 0..<3 {
      try person.draw(1)
      try person.done()
      person.day += 1
    }
    #expect(try numbers() == [3, 3])
    try person.draw(1)
    try person.skip()
    #expect(try numbers() == [3, 3])
    person.day += 1
    #expect(try numbers() == [0, 3])
    try person.draw(1)
    try person.done()
    try person.pick(2)
    try person.done(4)
    #expect(try numbers() == [1, 3])
    let statistics = try person.challenges().statistics()
    #expect(statistics.completed == 5)
    #expect(statistics.skipped == 1)
    #expect(statistics.rated == 1 && statistics.stars == 4)
    #expect(statistics.categories.map(\.name) == ["calm", "connection"])
    #expect(statistics.categories.map(\.completed) == [4, 1])
  }
}
