import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import Household

/// Completions as a changed program writes them: what they say is held against what their author
/// had seen, and against the day on which somebody looks.
@Suite("Forged completions")
struct ForgedCompletionTests {
  let home: TestHousehold

  init() throws { home = try TestHousehold(devices: 3) }

  /// Writes a completion past every check, on device 2 unless another one is named.
  @discardableResult
  private func forge(
    _ chore: RecordID, key: OccurrenceKey?, by person: Int, on device: Int = 2, day: Int? = nil,
    claiming recorder: Int? = nil
  ) throws -> RecordID {
    let day = day ?? home.day
    let lead = (day - home.day) * 86_400_000
    home.leadMilliseconds = UInt64(max(0, lead))
    defer { home.leadMilliseconds = 0 }
    return try home.write(device) { _, builder in
      let fields = [
        EventField(CompletionField.chore, .id(chore)),
        EventField(CompletionField.key, key.map { .int($0.rawValue) } ?? .null),
        EventField(CompletionField.person, .id(home.people[person])),
        EventField(CompletionField.day, .int(Int64(day))),
        EventField(CompletionField.doneAt, .int(Int64(home.milliseconds) + Int64(lead))),
        EventField(CompletionField.title, .text("forged")),
      ]
      // Where earlier programs put who recorded it.
      let claim = recorder.map { EventField(FieldID(.register, 7), .id(home.people[$0])) }
      return builder.event(HouseholdSchema.completion, fields + [claim].compactMap { $0 })
    }
  }

  private func key(_ offset: Int, slot: Int = 0) throws -> OccurrenceKey {
    OccurrenceKey(try Occurrence(home.date(offset), slot: slot))
  }

  private func daily(from offset: Int = 0) throws -> RecurrenceRule {
    try RecurrenceRule(.daily, from: home.date(offset))
  }

  private func fates() throws -> [LedgerKind] {
    try home.meet()
    for replica in home.replicas { #expect(replica.dump == home.replicas[0].dump) }
    return try home.kinds()
  }

  @Test("Two hundred days that the rule does not have, or that are far ahead, earn nothing")
  func manySlots() throws {
    let weekly = try home.add(
      ChoreDraft(title: "Bins", points: 4, rule: try RecurrenceRule(.weekly, from: home.date(0))))
    let everyDay = try home.add(ChoreDraft(title: "Cat", points: 4, rule: try daily()))
    for offset in 1...200 {
      if offset % 7 != 0 { try forge(weekly, key: try key(offset), by: 1) }
      if offset > 2 { try forge(everyDay, key: try key(offset), by: 1) }
    }
    try forge(weekly, key: try key(7, slot: 1), by: 1)
    try forge(weekly, key: nil, by: 1)
    try forge(weekly, key: .once, by: 1)
    #expect(try fates().allSatisfy { $0 == .invalid })
    #expect(try home.total(1) == 0)
    // What is due stays due for everybody, and whoever does it is paid.
    #expect(try home.state().occurrences.due(through: home.today).count == 2)
    try home.done(weekly, by: 0, on: 0)
    try home.done(everyDay, by: 0, on: 0)
    try home.meet()
    #expect(try home.total(0) == 8)
    let found = try home.state().audit.faults()
    let faults = found.map { "\($0.count) \($0.first.fault?.rawValue ?? "ahead")" }
    #expect(Set(faults) == ["175 no-such-occurrence", "198 too-early"])
    #expect(found.allSatisfy { $0.first.entry.by == home.people[2] })
  }

  @Test("What lies before the latest one earns nothing, but where every one stays due")
  func longPast() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 4, rule: try daily(from: -100)))
    for offset in -50 ... -1 { try forge(chore, key: try key(offset), by: 1) }
    #expect(try fates().allSatisfy { $0 == .invalid })
    #expect(try home.state().audit.faults().map(\.first.fault) == [.superseded])
    try home.set("missed", "stack")
    try forge(chore, key: try key(-3), by: 1)
    #expect(try home.total(1, on: 2) == 4)
    // As its author had seen it: the setting of now changes nothing.
    try home.set("missed", "roll")
    try forge(chore, key: try key(-4), by: 1)
    try home.meet()
    #expect(try home.total(1) == 4)
  }

  @Test("How far ahead one may be done: the first one, and what is due by the day after")
  func ahead() throws {
    for (rule, allowed, refused) in [
      (try daily(), [0, 1, 2], [3, 4]),
      (try RecurrenceRule(.daily, every: 3, from: home.date(1)), [1, 4], [7, 10]),
      (try RecurrenceRule(.weekly, from: home.date(2)), [2], [9, 16]),
      (try RecurrenceRule(.yearly, from: home.date(-30)), [335], []),
    ] {
      let chore = try home.add(ChoreDraft(title: "Any", points: 1, rule: rule))
      for offset in refused { try forge(chore, key: try key(offset), by: 1) }
      #expect(try fates().prefix(refused.count).allSatisfy { $0 == .invalid })
      for offset in allowed { try home.done(chore, by: 0, on: 0, key: try key(offset)) }
      for offset in refused {
        #expect(throws: HouseholdError(.tooEarly, "")) {
          try home.done(chore, by: 0, on: 0, key: try key(offset))
        }
      }
    }
  }

  @Test("An occurrence that was moved to an earlier day may be done on it")
  func moved() throws {
    let chore = try home.add(
      ChoreDraft(title: "Bins", points: 4, rule: try RecurrenceRule(.weekly, from: home.date(0))))
    try forge(chore, key: try key(14), by: 1)
    #expect(try fates() == [.invalid])
    try home.write(0) {
      try $0.overrides.move(chore, occurrence: try key(14), to: home.date(1), in: &$1)
    }
    // Who had not heard of it had no reason.
    try forge(chore, key: try key(14), by: 1)
    #expect(try fates() == [.invalid, .invalid])
    try forge(chore, key: try key(14), by: 1)
    #expect(try fates() == [.invalid, .invalid, .credited])
  }

  @Test(
    "The rule as its author had seen it decides: neither a new rule nor an old one takes work away")
  func ruleAsSeen() throws {
    let chore = try home.add(
      ChoreDraft(title: "Bins", points: 4, rule: try RecurrenceRule(.weekly, from: home.date(0))))
    var edit = ChoreEdit()
    edit.rule = .some(try RecurrenceRule(.weekly, from: home.date(1)))
    try home.write(0) { try $0.chores.edit(chore, edit, in: &$1) }
    try home.done(chore, by: 1, on: 1, key: try key(0))
    try forge(chore, key: try key(1), by: 2)
    // Once it has heard of the new rule, the old one's days are none any more.
    try home.meet()
    try forge(chore, key: try key(7), by: 2)
    #expect(try fates() == [.credited, .invalid, .invalid])
  }

  @Test("Work that is dated ahead counts when its day comes, the same for all who ask for a day")
  func datedAhead() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 4, rule: try daily()))
    let once = try home.add(ChoreDraft(title: "Fence", points: 9))
    let event = try forge(chore, key: try key(2), by: 1, day: home.day + 2)
    try forge(once, key: .once, by: 1, day: home.day + 200)
    #expect(try fates() == [.ahead, .ahead])
    #expect(try home.total(1) == 0 && home.state().ledger.entry(event)?.points == 0)
    #expect(
      try home.state().achievements.badges(of: home.people[1]).allSatisfy { $0.progress == 0 })
    #expect(
      try home.state().totals.leaderboard(.all).allSatisfy { $0.points == 0 && $0.completions == 0 }
    )
    #expect(try home.state().totals.periods(.week, of: home.people[1]).isEmpty)
    // It closes nothing: both are still to be done, and found.
    #expect(try home.state().occurrences.due(through: home.today).map(\.chore) == [chore, once])
    #expect(try home.state().chores.chore(once)?.next?.key == .once)
    #expect(try home.state().audit.faults().map(\.first.fault) == [nil])
    #expect(try home.state().audit.faults().map(\.count) == [2])
    // Whoever does it first is credited, and what was dated ahead is noted beside it.
    try home.done(once, by: 0, on: 0)
    try home.meet()
    #expect(try home.total(0) == 9)
    home.day += 1
    #expect(try fates() == [.credited, .ahead, .ahead])
    home.day += 1
    #expect(try fates() == [.credited, .credited, .ahead])
    for device in 0...2 { #expect(try home.total(1, on: device) == 4) }
    home.day += 198
    #expect(try fates() == [.credited, .credited, .alsoDone])
    #expect(try home.total(1) == 4 && home.total(0) == 9)
  }

  @Test("Who claims what somebody did, dated ahead, shares in nothing before that day")
  func sharedAhead() throws {
    try home.set("duplicate", "split")
    let once = try home.add(ChoreDraft(title: "Fence", points: 9))
    try home.done(once, by: 0, on: 0)
    try forge(once, key: .once, by: 1, day: home.day + 5)
    #expect(try fates() == [.credited, .ahead])
    for period in Period.allCases {
      #expect(try home.state().totals.leaderboard(period).map(\.points) == [9, 0, 0], "\(period)")
    }
    #expect(try home.state().ledger.entries(of: nil).map(\.points).sorted() == [0, 9])
    #expect(try home.state().totals.periods(.week, of: home.people[0]).map(\.points) == [9])
    home.day += 4
    #expect(try home.total(0) == 9 && home.total(1) == 0)
    home.day += 1
    #expect(try home.total(0) == 5 && home.total(1) == 4)
  }

  @Test("A chain counted from completion goes on from what counts, not from what is dated ahead")
  func chainAhead() throws {
    let rule = try RecurrenceRule(.daily, every: 3, from: home.date(0), mode: .afterCompletion)
    let chore = try home.add(ChoreDraft(title: "Plants", points: 2, rule: rule))
    let key = try #require(try home.state().chores.chore(chore)?.next?.key)
    try forge(chore, key: nil, by: 1, day: home.day + 50)
    try home.meet()
    #expect(try home.state().chores.chore(chore)?.next?.key == key)
    #expect(try home.state().occurrences.due(through: home.today).map(\.due) == [home.date(0)])
    try home.done(chore, by: 0, on: 0)
    #expect(try home.state().chores.chore(chore)?.next?.due == home.date(3))
    home.day += 50
    #expect(try home.state(2).chores.chore(chore)?.next?.due == home.date(53))
  }

  @Test("Who recorded an entry is who signed it, whatever it claims")
  func attribution() throws {
    let chore = try home.add(ChoreDraft(title: "Fence", points: 9))
    let event = try forge(chore, key: .once, by: 1, claiming: 0)
    try home.meet()
    let entry = try #require(try home.state().ledger.entry(event))
    #expect(entry.person == home.people[1] && entry.by == home.people[2])
    #expect(try home.state().ledger.lastUndoable(by: home.people[0]) == nil)
    #expect(throws: HouseholdError(.notYours, "")) {
      try home.write(0) { try $0.completions.undo(event, by: home.people[0], in: &$1) }
    }
    try home.write(2) { try $0.completions.undo(event, by: home.people[2], in: &$1) }
    #expect(try fates() == [.undone])
  }

  @Test("A skip of a day that the rule does not have closes nothing")
  func skips() throws {
    let chore = try home.add(
      ChoreDraft(title: "Bins", points: 4, rule: try RecurrenceRule(.weekly, from: home.date(-7))))
    home.day += 3
    try home.write(2) { _, builder in
      _ = builder.event(
        HouseholdSchema.skip,
        [
          EventField(SkipField.chore, .id(chore)),
          EventField(SkipField.key, .int(try key(3).rawValue)),
          EventField(SkipField.day, .day(try home.today)),
        ])
    }
    try home.meet()
    #expect(try home.state().occurrences.due(through: home.today).map(\.due) == [home.date(0)])
    try home.write(1) { try $0.skips.add(chore, reason: "", in: &$1) }
    try home.meet()
    #expect(try home.state().occurrences.due(through: home.today).isEmpty)
  }

  @Test("Nobody is paid, or takes the credit, for a chore that they have not seen")
  func unseen() throws {
    let rule = try daily()
    let chore = try home.write(0) {
      try $0.chores.add(ChoreDraft(title: "New", points: 3, rule: rule), milliseconds: 1, in: &$1)
    }
    try forge(chore, key: .once, by: 1)
    try forge(chore, key: try key(0), by: 1)
    try home.meet()
    try home.done(chore, by: 0, on: 0)
    #expect(try fates() == [.invalid, .invalid, .credited])
    #expect(try home.state().audit.faults().map(\.first.fault) == [.unknownChore])
    #expect(try home.total(0) == 3)
  }
}
