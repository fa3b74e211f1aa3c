import HearthCRDT
import HearthSync
import Household
import TestSupport
import Testing

@Suite("The household state")
struct HouseholdStateTests {
  let home: TestHousehold

  init() throws { home = try TestHousehold(devices: 3) }

  /// Three devices that write apart: completions, an undo, edits, a skip, settings, an archive.
  private func writeApart(seed: UInt64) throws {
    var random = TestSupport.SplitMix64(seed: seed)
    let rule = try RecurrenceRule(.daily, every: 2, from: home.date(0))
    let chain = try RecurrenceRule(.daily, every: 3, from: home.date(0), mode: .afterCompletion)
    let chores = [
      try home.add(ChoreDraft(title: "One", points: 5)),
      try home.add(
        ChoreDraft(
          title: "Two", points: 7, assignee: .rotation(home.people, .byTurn), rule: rule)),
      try home.add(ChoreDraft(title: "Three", points: 2, rule: chain)),
    ]
    for _ in 0..<14 {
      let device = random.below(3)
      let chore = chores[random.below(3)]
      let person = home.people[random.below(3)]
      do {
        switch random.below(8) {
        case 0:
          var edit = ChoreEdit()
          edit.points = random.below(50)
          try home.write(device) { try $0.chores.edit(chore, edit, in: &$1) }
        case 1:
          guard let entry = try home.state(device).ledger.lastUndoable(by: person) else { continue }
          try home.write(device) { try $0.completions.undo(entry.event, by: person, in: &$1) }
        case 2: try home.write(device) { try $0.skips.add(chore, reason: "", in: &$1) }
        case 3:
          let policy = DuplicatePolicy.allCases[random.below(3)]
          try home.write(device) {
            try $0.storedSettings.set("duplicate", policy.rawValue, in: &$1)
          }
        case 4:
          if random.oneIn(3) { try home.write(device) { try $0.chores.archive(chore, in: &$1) } }
        default: try home.done(chore, by: random.below(3), on: device)
        }
      } catch let error as HouseholdError {
        #expect([.alreadyDone, .choreArchived, .noSuchOccurrence, .tooEarly].contains(error.code))
      }
      if random.oneIn(5) { home.day += 1 }
      if random.oneIn(9) { try home.meet() }
    }
  }

  /// The changes in another order in which each still comes after its past.
  private func shuffled(_ random: inout TestSupport.SplitMix64) -> [TestChange] {
    var waiting = home.changes.shuffled(using: &random)
    var order: [TestChange] = []
    var known = Frontier()
    while let place = waiting.firstIndex(where: { known.covers($0.past) }) {
      let change = waiting.remove(at: place)
      known.advance(change.version.dot.author, to: change.version.dot.sequence)
      order.append(change)
    }
    #expect(waiting.isEmpty)
    return order
  }

  @Test("Every arrival order gives the same rows and the same views", arguments: 0..<24)
  func permutations(seed: UInt64) throws {
    try writeApart(seed: seed)
    try home.meet()
    let state = try home.state()
    let dump = home.replicas[0].dump
    #expect(!dump.isEmpty)
    var random = TestSupport.SplitMix64(seed: seed ^ 0xabcd)
    for _ in 0..<5 {
      let other = TestReplica(projection: HouseholdProjection())
      for change in shuffled(&random) { try other.apply(change) }
      #expect(other.dump == dump, "seed \(seed)")
      let view = try HouseholdState(source: other, today: home.today)
      #expect(
        try view.chores.all(includingArchived: true) == state.chores.all(includingArchived: true))
      let end = try home.date(60)
      #expect(try view.occurrences.due(through: end) == state.occurrences.due(through: end))
    }
    // The sums are those of the ledger (I3), and nobody is credited twice for one thing (I2).
    let ledger = try state.ledger.entries(of: nil)
    for person in home.people {
      let own = ledger.filter { $0.person == person }
      #expect(try state.totals.points(of: person).total == own.reduce(0) { $0 + $1.points })
    }
  }

  @Test("R26: pages hold every entry once, and say how many arrived for earlier pages")
  func history() throws {
    let rule = try RecurrenceRule(.daily, from: home.date(0))
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: rule))
    for _ in 0..<45 {
      try home.done(chore, by: 0, on: 0)
      home.day += 1
    }
    let first = try home.state().ledger.history(after: nil, limit: 20)
    let late = try home.add(ChoreDraft(title: "Dog", points: 1))
    try home.done(late, by: 1, on: 0)
    let second = try home.state().ledger.history(after: first.next, limit: 20)
    #expect(second.arrivedEarlier == 1)
    let third = try home.state().ledger.history(after: second.next, limit: 20)
    #expect(third.entries.count == 5)
    #expect(third.next == nil)
    #expect(third.arrivedEarlier == 0)
    let shown = (first.entries + second.entries + third.entries).map(\.event)
    #expect(Set(shown).count == 45)
    for text in ["", "x", "1.2.3.4", "1.2.\(late.hex).0", String(repeating: "1.", count: 80)] {
      #expect(throws: HouseholdError(.badCursor, "")) {
        try home.state().ledger.history(after: text, limit: 20)
      }
    }
  }

  private func adding(_ draft: ChoreDraft) -> HouseholdError.Code? {
    do {
      _ = try home.write(0) {
        try $0.chores.add(draft, milliseconds: 1, in: &$1)
      }
      return nil
    } catch { return (error as? HouseholdError)?.code }
  }

  @Test("Every bound of a chore holds at its value and fails beyond it")
  func bounds() throws {
    func text(_ count: Int) -> String { String(repeating: "x", count: count) }
    #expect(adding(ChoreDraft(title: text(200))) == nil)
    #expect(adding(ChoreDraft(title: text(201))) == .badTitle)
    #expect(adding(ChoreDraft(title: "  ")) == .badTitle)
    #expect(adding(ChoreDraft(title: "a", note: text(16_384))) == nil)
    #expect(adding(ChoreDraft(title: "a", note: text(16_385))) == .badNote)
    #expect(adding(ChoreDraft(title: "a", points: 100_000)) == nil)
    #expect(adding(ChoreDraft(title: "a", points: 100_001)) == .badPoints)
    #expect(adding(ChoreDraft(title: "a", points: -1)) == .badPoints)
    #expect(adding(ChoreDraft(title: "a", tags: (0..<32).map { "t\($0)" })) == nil)
    #expect(adding(ChoreDraft(title: "a", tags: (0..<33).map { "t\($0)" })) == .badTags)
    #expect(adding(ChoreDraft(title: "a", tags: [text(40)])) == nil)
    #expect(adding(ChoreDraft(title: "a", tags: [text(41)])) == .badTags)
    #expect(adding(ChoreDraft(title: "a", assignee: .rotation([], .byDate))) == .badAssignment)
  }

  @Test("Work may be entered seven days late, not eight, and not ahead")
  func days() throws {
    let rule = try RecurrenceRule(.daily, from: home.date(0))
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: rule))
    home.day += 20
    try home.done(chore, by: 0, on: 0, back: 7)
    #expect(try home.total(0) == 1)
    for back in [8, -1] {
      #expect(throws: HouseholdError(.badDay, "")) {
        try home.done(chore, by: 0, on: 0, back: back)
      }
    }
  }

  @Test("R24: settings have known keys and checked values; clearing brings the default back")
  func settings() throws {
    try home.set("week-start", "su")
    #expect(try home.state(1).settings.weekStart == .sunday)
    #expect(try home.state(1).storedSettings.all().map(\.key) == ["week-start"])
    for (key, value) in [("colour", "red"), ("week-start", "sunday"), ("day-start", "7")] {
      #expect(throws: HouseholdError(.badSetting, "")) { try home.set(key, value) }
    }
    try home.write(0) { try $0.storedSettings.set("week-start", nil, in: &$1) }
    #expect(try home.state().settings.weekStart == .monday)
    #expect(try home.state().storedSettings.value(of: "week-start") == nil)
  }

  @Test("Assignments survive their text, and other text is refused")
  func assignments() {
    for kind in RotationKind.allCases {
      let value = Assignment.rotation(home.people, kind)
      #expect(Assignment(text: value.text) == value)
    }
    #expect(Assignment(text: Assignment.person(home.people[0]).text) == .person(home.people[0]))
    #expect(Assignment(text: "nobody") == .nobody)
    let twice = Assignment.rotation([home.people[0], home.people[0]], .byDate)
    for text in ["", "nobody ", "person x", "rotation date ", "rotation date a,b", twice.text] {
      #expect(Assignment(text: text) == nil)
    }
  }

  @Test("A skipped link of a chain has no calendar day, though its number could be one")
  func skippedLink() throws {
    let rule = try RecurrenceRule(.daily, every: 3, from: home.date(0), mode: .afterCompletion)
    let chore = try home.add(ChoreDraft(title: "Filter", points: 1, rule: rule))
    try home.write(0) { try $0.skips.add(chore, reason: "", in: &$1) }
    let skip = try #require(try home.state(0).skips.last(by: home.people[0]))
    #expect(skip.chore == chore && skip.date == nil)
  }

  @Test("The last own skip is found and taken back for ever, whatever others skipped")
  func skipTakenBack() throws {
    let rule = try RecurrenceRule(.daily, every: 2, from: home.date(0))
    let chore = try home.add(ChoreDraft(title: "Plants", points: 1, rule: rule))
    try home.meet()
    let (me, other) = (home.people[0], home.people[1])
    #expect(try home.state(0).skips.last(by: me) == nil)
    try home.write(0) { try $0.skips.add(chore, reason: "", in: &$1) }
    try home.meet()
    try home.write(1) { try $0.skips.add(chore, reason: "", in: &$1) }
    try home.meet()
    #expect(try home.state(0).chores.chore(chore)?.next?.due == home.date(4))
    let skip = try #require(try home.state(0).skips.last(by: me))
    #expect(skip.chore == chore && skip.choreTitle == "Plants")
    #expect(try skip.date == home.date(0))
    #expect(throws: HouseholdError(.notYours, "")) {
      try home.write(1) { try $0.skips.undo(skip.event, by: other, in: &$1) }
    }
    try home.write(0) { try $0.skips.undo(skip.event, by: me, in: &$1) }
    try home.meet()
    #expect(try home.state(1).chores.chore(chore)?.next?.due == home.date(0))
    #expect(try home.state(0).skips.last(by: me) == nil)
    #expect(throws: HouseholdError(.alreadyUndone, "")) {
      try home.write(0) { try $0.skips.undo(skip.event, by: me, in: &$1) }
    }
    #expect(throws: HouseholdError(.noSuchEntry, "")) {
      try home.write(0) { try $0.skips.undo(chore, by: me, in: &$1) }
    }
  }
}
