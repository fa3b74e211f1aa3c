import HearthCRDT
import HearthSync
import Household
import TestSupport
import Testing

@Suite("Invariants over random families")
struct HouseholdInvariantTests {
  private func family(_ seed: Int, steps: Int = 50) throws -> RandomFamily {
    var family = try RandomFamily(seed: UInt64(seed) &* 7919 &+ 3)
    try family.live(steps: steps)
    return family
  }

  @Test("I1 and I10: every order of delivery gives the same dump and views", arguments: 0..<8)
  func everyOrder(seed: Int) throws {
    var family = try family(seed)
    try family.home.meet()
    let dump = family.home.replicas[0].dump
    #expect(!dump.isEmpty)
    for replica in family.home.replicas { #expect(replica.dump == dump, "seed \(seed)") }
    for _ in 0..<2 {
      let other = TestReplica(projection: HouseholdProjection())
      for change in family.shuffledChanges() { try other.apply(change) }
      #expect(other.dump == dump, "seed \(seed)")
      let view = try HouseholdState(source: other, today: family.home.today)
      let state = try family.home.state()
      let end = try family.home.date(400)
      #expect(try view.occurrences.due(through: end) == state.occurrences.due(through: end))
    }
  }

  @Test("Rows kept in step equal rows computed anew, before and after meeting", arguments: 0..<12)
  func rebuild(seed: Int) throws {
    let family = try family(seed, steps: 70)
    for isMet in [false, true] {
      if isMet { try family.home.meet() }
      for replica in family.home.replicas {
        let kept = replica.dump
        try replica.rebuild()
        #expect(replica.dump == kept, "seed \(seed)")
      }
    }
  }

  @Test("I2 and I4: one credited completion per occurrence, no occurrence twice", arguments: 0..<8)
  func onceOnly(seed: Int) throws {
    let family = try family(seed)
    try family.home.meet()
    var seen: Set<String> = []
    for row in family.home.replicas[0].rows(of: "ledger", where: []) {
      guard row[5] == .text("credited"), row[6] != .null else { continue }
      #expect(seen.insert("\(row[1]) \(row[6])").inserted, "seed \(seed)")
    }
    let open = try family.home.state().occurrences.due(through: family.home.date(300))
    #expect(Set(open.map { "\($0.chore) \($0.key)" }).count == open.count, "seed \(seed)")
  }

  @Test("I3: the total is the sum of the weeks, of the months and of the ledger", arguments: 0..<12)
  func sums(seed: Int) throws {
    let family = try family(seed, steps: 70)
    for isMet in [false, true] {
      if isMet { try family.home.meet() }
      for device in 0..<3 {
        let state = try family.home.state(device)
        for person in family.home.people {
          let total = try state.totals.points(of: person).total
          let ledger = try state.ledger.entries(of: person).reduce(0) { $0 + $1.points }
          #expect(total == ledger, "seed \(seed)")
          for kind in PeriodKind.allCases {
            let periods = try state.totals.periods(kind, of: person)
            #expect(periods.reduce(0) { $0 + $1.points } == total, "\(kind), seed \(seed)")
            let now = try family.home.today
            let present = periods.first { $0.first <= now && now <= $0.last }?.points ?? 0
            let points = try state.totals.points(of: person)
            #expect((kind == .week ? points.week : points.month) == present, "seed \(seed)")
          }
        }
      }
    }
  }

  @Test("R10: what a closed period held when it was closed, it holds for ever", arguments: 0..<16)
  func settled(seed: Int) throws {
    let family = try family(seed, steps: 80)
    try family.home.meet()
    let state = try family.home.state()
    for (sum, person) in family.settled {
      let now = try state.totals.periods(sum.period, of: person)
        .first { $0.first == sum.first && $0.isClosed }
      #expect(now?.points == sum.points, "\(sum), seed \(seed)")
    }
  }

  @Test("I7: what was done and undone changes nothing but the history", arguments: 0..<8)
  func undone(seed: Int) throws {
    let family = try family(seed)
    let home = family.home
    try home.meet()
    let chore = try home.add(
      ChoreDraft(title: "Four", points: 9, rule: try RecurrenceRule(.daily, from: home.today)))
    func picture() throws -> [String] {
      let state = try home.state()
      return try state.occurrences.due(through: home.date(300)).map { "\($0)" }
        + home.people.flatMap { person in
          try PeriodKind.allCases.flatMap {
            try state.totals.periods($0, of: person).map { "\($0)" }
          }
            + [
              "\(state.achievements.badges(of: person))",
              "\(state.achievements.streak(of: person))",
            ]
        } + Period.allCases.map { "\(try state.totals.leaderboard($0))" }
    }
    let before = try picture()
    let event = try home.done(chore, by: 0, on: 0)
    #expect(try picture() != before, "seed \(seed)")
    try home.write(0) { try $0.completions.undo(event, by: home.people[0], in: &$1) }
    #expect(try picture() == before, "seed \(seed)")
    #expect(try home.state().ledger.entry(event)?.kind == .undone)
  }

  @Test(
    "I9: the pages under one cursor are all entries once, whatever their size", arguments: 1...7)
  func pages(limit: Int) throws {
    let family = try family(limit)
    try family.home.meet()
    let state = try family.home.state()
    var shown: [RecordID] = []
    var cursor: String?
    repeat {
      let page = try state.ledger.history(after: cursor, limit: limit)
      #expect(page.arrivedEarlier == 0)
      shown += page.entries.map(\.event)
      cursor = page.next
    } while cursor != nil
    #expect(shown == (try state.ledger.entries(of: nil).map(\.event)))
    #expect(!shown.isEmpty)
  }
}
