import HearthCRDT
import HearthSync
import Household
import TestSupport
import Testing

/// A household whose devices write at random and meet now and then; device 0 is the owner's.
struct RandomFamily {
  let home: TestHousehold
  let seed: UInt64
  /// What each closed week and month held for each person when it was closed.
  private(set) var settled: [(PeriodSum, PersonID)] = []
  private var random: TestSupport.SplitMix64
  private var chores: [RecordID] = []

  init(seed: UInt64) throws {
    self.seed = seed
    random = TestSupport.SplitMix64(seed: seed)
    home = try TestHousehold(devices: 3)
    let (daily, chain) = (try rule(1), try rule(2))
    chores = [
      try home.add(ChoreDraft(title: "One", points: 5)),
      try home.add(
        ChoreDraft(
          title: "Two", points: 7, assignee: .rotation(home.people, .byTurn), rule: daily)),
      try home.add(ChoreDraft(title: "Three", points: 2, rule: chain)),
    ]
  }

  /// None, every day, or three days after the last time; begun today.
  private func rule(_ number: Int) throws -> RecurrenceRule? {
    switch number {
    case 1: try RecurrenceRule(.daily, from: home.today)
    case 2: try RecurrenceRule(.daily, every: 3, from: home.today, mode: .afterCompletion)
    default: nil
    }
  }

  /// Writes so many times; what a rule refuses is refused by a typed error.
  mutating func live(steps: Int) throws {
    for _ in 0..<steps {
      do {
        try step()
      } catch let error as HouseholdError {
        let known: [HouseholdError.Code] = [
          .alreadyDone, .choreArchived, .noSuchOccurrence, .badPeriod, .periodClosed, .notYours,
          .alreadyUndone, .tooEarly,
        ]
        #expect(known.contains(error.code), "\(error), seed \(seed)")
      }
      if random.oneIn(4) { home.day += 1 + random.below(4) }
      if random.oneIn(6) { try home.meet() }
    }
  }

  private mutating func step() throws {
    let device = random.below(3)
    let chore = chores[random.below(3)]
    let person = home.people[random.oneIn(4) ? random.below(3) : device]
    switch random.below(18) {
    case 0:
      var edit = ChoreEdit()
      edit.points = random.below(50)
      edit.assignee = random.oneIn(2) ? .person(person) : .nobody
      try home.write(device) { try $0.chores.edit(chore, edit, in: &$1) }
    case 1, 2:
      guard let entry = try home.state(device).ledger.lastUndoable(by: person) else { return }
      try home.write(device) {
        try $0.completions.undo(entry.event, by: person, isAdministrator: device == 0, in: &$1)
      }
    case 3: try home.write(device) { try $0.skips.add(chore, reason: "", in: &$1) }
    case 4:
      let policy = DuplicatePolicy.allCases[random.below(3)]
      let strict = random.oneIn(3) ? "yes" : "no"
      try home.write(device) {
        try $0.storedSettings.set("duplicate", policy.rawValue, in: &$1)
        try $0.storedSettings.set("strict-assignee", strict, in: &$1)
      }
    case 5:
      let start = ["mo", "su", "sa"][random.below(3)]
      try home.write(device) { try $0.storedSettings.set("week-start", start, in: &$1) }
    case 6:
      guard random.oneIn(4) else { return }
      try home.write(device) { try $0.chores.archive(chore, in: &$1) }
    case 7: try home.write(device) { try $0.chores.restore(chore, in: &$1) }
    case 14:
      var edit = ChoreEdit()
      edit.rule = .some(try rule(random.below(3)))
      try home.write(device) { try $0.chores.edit(chore, edit, in: &$1) }
      // The others may not have heard of the rule.
      for other in 0..<3 where random.oneIn(2) { try home.done(chore, by: other, on: other) }
    case 15:
      try home.write(device) { try $0.overrides.assign(chore, to: person, in: &$1) }
    case 8, 9: try close(random.oneIn(4) ? .month : .week, on: random.oneIn(4) ? device : 0)
    default:
      try home.done(
        chore, by: home.people.firstIndex(of: person) ?? 0, on: device, back: random.below(7))
    }
  }

  private mutating func close(_ kind: PeriodKind, on device: Int) throws {
    let days = try home.state(device).periods.days(of: kind, named: nil)
    try home.write(device) { state, builder in
      try state.periods.close(
        kind, first: days.first, last: days.last, in: &builder)
    }
    guard device == 0 else { return }
    for person in home.people {
      for sum in try home.state(0).totals.periods(kind, of: person)
      where sum.isClosed && days.first <= sum.first && sum.last <= days.last {
        settled.append((sum, person))
      }
    }
  }

  /// The changes in another order in which each still comes after its past.
  mutating func shuffledChanges() -> [TestChange] {
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
}
