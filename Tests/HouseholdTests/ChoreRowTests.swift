import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import Household

/// A household in which chores of every kind are done, skipped, moved, edited and archived.
private struct BusyFamily {
  let home: TestHousehold
  private var random: TestSupport.SplitMix64
  private var chores: [RecordID] = []
  private var skips: [RecordID] = []

  init(seed: UInt64) throws {
    random = TestSupport.SplitMix64(seed: seed)
    home = try TestHousehold(devices: 2)
    let start = try home.date(0)
    let rules = [
      nil, try RecurrenceRule(.daily, from: start), try RecurrenceRule(.weekly, from: start),
      try RecurrenceRule(.daily, every: 3, from: start, mode: .afterCompletion),
      try RecurrenceRule(.monthly, from: start, end: .count(2)),
      try RecurrenceRule(
        .daily, every: 2, from: start,
        at: [CivilTime(hour: 8, minute: 0), CivilTime(hour: 18, minute: 0)]),
      try RecurrenceRule(.weekly, from: home.date(30), end: .until(home.date(50))),
    ]
    for (place, rule) in rules.enumerated() {
      chores.append(try home.add(ChoreDraft(title: "Chore \(place)", points: 1, rule: rule)))
    }
    chores.append(try home.add(ChoreDraft(title: "Once", due: home.date(9))))
  }

  mutating func live(steps: Int) throws {
    for _ in 0..<steps {
      do {
        try step()
      } catch _ as HouseholdError {
        // What a rule refuses changes nothing.
      }
      if random.oneIn(3) { home.day += 1 + random.below(3) }
      if random.oneIn(5) { try home.meet() }
    }
  }

  private mutating func step() throws {
    let device = random.below(2)
    let chore = chores[random.below(chores.count)]
    let person = home.people[device]
    switch random.below(14) {
    case 0:
      let policy = MissedPolicy.allCases[random.below(3)].rawValue
      try home.write(device) { try $0.storedSettings.set("missed", policy, in: &$1) }
    case 1, 2:
      let day = try CivilDate(dayNumber: home.day + random.below(40) - 20)
      try home.write(device) { try $0.overrides.move(chore, to: day, in: &$1) }
    case 3, 4: try home.write(device) { try $0.skips.add(chore, reason: "", in: &$1) }
    case 5:
      guard let skip = skips.randomElement(using: &random) else { return }
      try home.write(device) { _, builder in
        _ = builder.event(
          HouseholdSchema.retraction,
          [EventField(RetractionField.event, .id(skip))])
      }
    case 6: try home.write(device) { try $0.chores.archive(chore, in: &$1) }
    case 7, 8: try home.write(device) { try $0.chores.restore(chore, in: &$1) }
    case 9:
      var edit = ChoreEdit()
      edit.title = "Chore \(random.below(100))"
      edit.due = .some(random.oneIn(2) ? try home.date(random.below(90)) : nil)
      if random.oneIn(3) { edit.rule = .some(try RecurrenceRule(.weekly, from: home.today)) }
      try home.write(device) { try $0.chores.edit(chore, edit, in: &$1) }
    case 10:
      guard let entry = try home.state(device).ledger.lastUndoable(by: person) else { return }
      try home.write(device) {
        try $0.completions.undo(entry.event, by: person, isAdministrator: true, in: &$1)
      }
    default:
      try home.done(chore, by: device, on: device, back: random.below(5))
    }
    skips = home.replicas[device].ids(of: HouseholdSchema.skip)
  }
}

@Suite("The table by which chores are found")
struct ChoreRowTests {
  /// What is open, from every chore.
  private func all(_ state: HouseholdState, through last: CivilDate) throws -> Set<String> {
    var found: Set<String> = []
    for id in try state.chores.all(includingArchived: true).map(\.id) {
      guard let schedule = try state.occurrences.schedule(of: id) else { continue }
      for one in try state.occurrences.views(of: schedule, through: last)
      where (one.due ?? last) <= last {
        found.insert("\(one)")
      }
    }
    return found
  }

  @Test("It leaves out no open occurrence, whatever day is asked for", arguments: 0..<8)
  func nothingIsMissed(seed: Int) throws {
    var family = try BusyFamily(seed: UInt64(seed) &* 7919 &+ 11)
    for _ in 0..<5 {
      try family.live(steps: 18)
      for replica in family.home.replicas {
        for ahead in [-40, 0, 7, 400] {
          for shift in [-10, 0, 25] {
            let today = try CivilDate(dayNumber: family.home.day + shift)
            let state = try HouseholdState(source: replica, today: today)
            let last = try CivilDate(dayNumber: family.home.day + shift + ahead)
            let open = try state.occurrences.due(through: last)
            #expect(
              try Set(open.map { "\($0)" }) == all(state, through: last),
              "seed \(seed), day \(family.home.day)")
          }
        }
      }
    }
  }

  @Test("It is the same computed step by step, anew, and in every order", arguments: 0..<8)
  func pure(seed: Int) throws {
    var family = try BusyFamily(seed: UInt64(seed) &* 104_729 &+ 5)
    try family.live(steps: 90)
    for isMet in [false, true] {
      if isMet { try family.home.meet() }
      for replica in family.home.replicas {
        let kept = replica.dump
        try replica.rebuild()
        #expect(replica.dump == kept, "seed \(seed)")
      }
    }
    #expect(family.home.replicas[0].dump == family.home.replicas[1].dump, "seed \(seed)")
  }

  @Test("What can never be due is not looked at, and what has no day always is")
  func rows() throws {
    let home = try TestHousehold()
    let once = try home.add(ChoreDraft(title: "Once", due: home.date(3)))
    let free = try home.add(ChoreDraft(title: "Free"))
    let later = try home.add(
      ChoreDraft(title: "Later", rule: try RecurrenceRule(.weekly, from: home.date(20))))
    func open(_ day: Int) throws -> [RecordID] {
      try home.replicas[0].rows(of: "chores", in: ChoreRow.open(through: home.date(day)))
        .compactMap { $0[0].identifier }
    }
    #expect(try open(2) == [free])
    #expect(try open(3) == [once, free])
    #expect(try open(20) == [later, once, free])
    home.day += 3
    try home.done(once, by: 0, on: 0)
    #expect(try open(19) == [free])
    try home.write(0) { try $0.chores.archive(free, in: &$1) }
    #expect(try open(19).isEmpty)
    home.day += 18
    try home.done(later, by: 0, on: 0)
    #expect(try open(26).isEmpty)
    #expect(try open(27) == [later])
    try home.write(0) {
      try $0.overrides.move(later, to: try home.date(23), in: &$1)
    }
    #expect(try open(22).isEmpty)
    #expect(try open(23) == [later])
  }

  @Test("A title finds its chores, archived ones where they are asked for")
  func titles() throws {
    let home = try TestHousehold()
    let one = try home.add(ChoreDraft(title: "Dishes"))
    let two = try home.add(ChoreDraft(title: "Dishes"))
    _ = try home.add(ChoreDraft(title: "Dishes of cats"))
    func found(_ isAll: Bool) throws -> [RecordID] {
      try home.state().chores.titles(equalTo: "Dishes", includingArchived: isAll).map(\.id)
    }
    #expect(try found(false) == [one, two])
    try home.write(0) { try $0.chores.archive(two, in: &$1) }
    #expect(try found(false) == [one])
    #expect(try found(true) == [one, two])
    #expect(try home.state().chores.titles(includingArchived: true).count == 3)
  }
}
