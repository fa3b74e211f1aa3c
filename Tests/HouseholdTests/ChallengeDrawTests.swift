import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import Household

@Suite("The draw of a day's challenge")
struct ChallengeDrawTests {
  private let anna = PersonID(high: 9, low: 1)

  private func offer(
    _ number: Int, version: UInt64 = 1, company: ChallengeCompany? = .solo,
    cost: ChallengeCost? = .free, difficulty: Int? = 1
  ) throws -> ChallengeOffer {
    ChallengeOffer(
      try TestChallenges.card(number), version: version, text: "", company: company, cost: cost,
      difficulty: difficulty)
  }

  private func drawn(
    _ offers: [ChallengeOffer], _ day: Int = 0, filter: ChallengeFilter = ChallengeFilter(),
    doneLately: Set<ChallengeKey> = [], for person: PersonID? = nil
  ) throws -> String? {
    ChallengeDraw.draw(
      among: offers, filter: filter, doneLately: doneLately, for: person ?? anna,
      on: try CivilDate(dayNumber: 20_000 + day))?.card.key.id
  }

  @Test("It follows from person, day and catalogue alone, not from the order of what is offered")
  func deterministic() throws {
    let offers = try (0..<40).map { try offer($0) }
    var random = TestSupport.SplitMix64(seed: 1)
    let days = try (0..<100).map { try drawn(offers, $0) }
    #expect(try (0..<100).map { try drawn(offers.shuffled(using: &random), $0) } == days)
    // What was not drawn does not matter: a device that knows fewer mostly draws the same.
    let fewer = try (0..<100).map { day in
      try drawn(offers.filter { $0.card.key.id == days[day] || $0.card.minutes % 2 == 0 }, day)
    }
    #expect(fewer == days)
    #expect(Set(days).count > 25, "the draw has favourites")
    let ben = PersonID(high: 9, low: 2)
    #expect(try (0..<100).map { try drawn(offers, $0, for: ben) } != days)
    let newer = try (0..<40).map { try offer($0, version: 2) }
    #expect(try (0..<100).map { try drawn(newer, $0) } != days)
    #expect(try drawn([]) == nil)
  }

  @Test("Each challenge is drawn about as often as any other")
  func fair() throws {
    let offers = try (0..<10).map { try offer($0) }
    var counts: [String: Int] = [:]
    for day in 0..<2_000 { counts[try drawn(offers, day) ?? "", default: 0] += 1 }
    // 200 each are expected; the bounds are beyond five standard deviations.
    #expect(counts.count == 10 && counts.values.allSatisfy { (130...270).contains($0) })
  }

  @Test("What was done lately is left out, until nothing is left")
  func lately() throws {
    let offers = try (0..<3).map { try offer($0) }
    var done: Set<ChallengeKey> = []
    for _ in offers {
      let next = try #require(try drawn(offers, doneLately: done))
      let key = try #require(offers.first { $0.card.key.id == next }).card.key
      #expect(done.insert(key).inserted)
    }
    #expect(try drawn(offers, doneLately: done) == nil)
  }

  @Test("Done lately is what was completed in so many days before today, today not counted")
  func rest() throws {
    let person = TestChallenges()
    for number in [1, 2, 3] {
      try person.draw(number)
      if number == 2 { try person.skip() } else { try person.done() }
      person.day += 1
    }
    try person.draw(4)
    try person.done()
    func lately(_ days: Int) throws -> [String] {
      try person.challenges().done(inDaysBefore: days).sorted().map { String($0.id.dropFirst(10)) }
    }
    #expect(try lately(0).isEmpty)
    #expect(try lately(1) == ["3"])
    #expect(try lately(2) == ["3"])
    #expect(try lately(3) == ["1", "3"])
    #expect(try lately(365) == ["1", "3"])
    #expect(try person.challenges().lastDone().count == 3)
  }

  @Test("A wish lets pass what fits it, and nothing that says nothing about it")
  func filter() throws {
    func passes(_ offer: ChallengeOffer, _ change: (inout ChallengeFilter) -> Void) -> Bool {
      var filter = ChallengeFilter()
      change(&filter)
      return filter.accepts(offer)
    }
    let plain = try offer(15)  // movement, 20 minutes
    let silent = try offer(15, company: nil, cost: nil, difficulty: nil)
    #expect(passes(silent) { _ in })
    #expect(passes(plain) { $0.categories = ["calm", "movement"] })
    #expect(!passes(plain) { $0.categories = ["calm"] })
    #expect(passes(plain) { $0.minutes = 20 })
    #expect(!passes(plain) { $0.minutes = 19 })
    #expect(passes(try offer(15, difficulty: 3)) { $0.difficulty = 3 })
    #expect(!passes(try offer(15, difficulty: 4)) { $0.difficulty = 3 })
    #expect(!passes(silent) { $0.difficulty = 5 })
    #expect(passes(try offer(15, company: .pair)) { $0.companies = [.pair, .solo] })
    #expect(!passes(try offer(15, company: .pair)) { $0.companies = [.solo] })
    #expect(!passes(silent) { $0.companies = Set(ChallengeCompany.allCases) })
    for (place, price) in ChallengeCost.allCases.enumerated() {
      for (limit, most) in ChallengeCost.allCases.enumerated() {
        #expect(passes(try offer(15, cost: price)) { $0.cost = most } == (place <= limit))
      }
    }
    #expect(!passes(silent) { $0.cost = .large })
    let timeless = try #require(
      ChallengeCard(
        key: plain.card.key, catalogueName: "hearth", title: "Any", category: "calm", minutes: 0))
    let unknown = ChallengeOffer(
      timeless, version: 1, text: "", company: nil, cost: nil, difficulty: nil)
    #expect(!passes(unknown) { $0.minutes = 1_440 })
  }
}
