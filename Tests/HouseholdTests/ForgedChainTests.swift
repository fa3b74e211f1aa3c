import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import Household

/// Chains counted from completion as a changed program continues them, and as families do.
@Suite("Chains that are done too often")
struct ForgedChainTests {
  let home: TestHousehold

  init() throws { home = try TestHousehold(devices: 3) }

  /// Every three days after the last time, worth 4 points.
  private func plants(
    every days: Int = 3, from offset: Int = 0, end: RecurrenceRule.End = .never
  ) throws -> RecordID {
    let rule = try RecurrenceRule(
      .daily, every: days, from: home.date(offset), mode: .afterCompletion, end: end)
    return try home.add(ChoreDraft(title: "Plants", points: 4, rule: rule))
  }

  private func fields(
    _ chore: RecordID, key: OccurrenceKey? = nil, day: Int, doneAt: Int64
  ) -> [EventField] {
    [
      EventField(CompletionField.chore, .id(chore)),
      EventField(CompletionField.key, key.map { .int($0.rawValue) } ?? .null),
      EventField(CompletionField.person, .id(home.people[2])),
      EventField(CompletionField.day, .int(Int64(day))),
      EventField(CompletionField.doneAt, .int(doneAt)),
      EventField(CompletionField.title, .text("forged")),
    ]
  }

  /// Writes a completion on device 2 past every check, so many days back.
  private func forge(_ chore: RecordID, key: OccurrenceKey? = nil, back: Int = 0) throws {
    try home.write(2) { _, builder in
      _ = builder.event(
        HouseholdSchema.completion,
        fields(
          chore, key: key, day: home.day - back,
          doneAt: Int64(home.milliseconds) - Int64(back) * 86_400_000))
    }
  }

  private func fates() throws -> [LedgerKind] {
    try home.meet()
    for replica in home.replicas { #expect(replica.dump == home.replicas[0].dump) }
    let kept = home.replicas[0].dump
    try home.replicas[0].rebuild()
    #expect(home.replicas[0].dump == kept)
    return try home.kinds()
  }

  @Test("Of two hundred in a row two count, the due one and the first ahead, and undo helps")
  func inARow() throws {
    let chore = try plants()
    for _ in 1...200 { try forge(chore) }
    let fates = try fates()
    #expect(fates.prefix(2) == [.credited, .credited])
    #expect(fates.dropFirst(2).allSatisfy { $0 == .invalid })
    #expect(try home.total(2) == 8)
    let faults = try home.state().audit.faults()
    #expect(faults.map(\.count) == [198] && faults.map(\.first.fault) == [.tooEarly])
    #expect(throws: HouseholdError(.tooEarly, "")) { try home.done(chore, by: 0, on: 0) }
    // The rest were written by somebody who knew of those two, so none takes their place.
    for entry in try home.state().ledger.entries(of: nil) where entry.kind == .credited {
      try home.write(0) {
        try $0.completions.undo(entry.event, by: home.people[0], isAdministrator: true, in: &$1)
      }
    }
    try home.done(chore, by: 0, on: 0)
    try home.meet()
    #expect(try home.total(2) == 0 && home.total(0) == 4)
    #expect(try home.state().chores.chore(chore)?.next?.due == home.date(3))
  }

  @Test("A family may do it early, though not time after time")
  func early() throws {
    let chore = try plants()
    for isAllowed in [true, true, false, true, true, false, true] {
      if isAllowed {
        try home.done(chore, by: 0, on: 0)
      } else {
        #expect(throws: HouseholdError(.tooEarly, "")) { try home.done(chore, by: 0, on: 0) }
      }
      home.day += 1
    }
    #expect(try fates() == [.credited, .credited, .credited, .credited, .credited])
    // Every other day is always early, and always counts.
    let other = try plants()
    for _ in 0..<6 {
      try home.done(other, by: 1, on: 0)
      home.day += 2
    }
    #expect(try home.total(1) == 24)
  }

  @Test("Who had not heard of the others did what was due, on whatever day and however many")
  func apart() throws {
    let chore = try plants()
    for device in 0..<3 {
      try home.done(chore, by: device, on: device)
      home.day += 1
    }
    #expect(try fates() == [.credited, .credited, .credited])
    #expect(try (0..<3).allSatisfy { try home.total($0) == 4 })
    // On one day it is one work, also for whoever does it early after hearing of it.
    let other = try plants()
    for device in 0..<3 { try home.done(other, by: device, on: device) }
    try home.meet()
    try home.done(other, by: 0, on: 0)
    #expect(try fates().suffix(4) == [.credited, .alsoDone, .alsoDone, .credited])
  }

  @Test("Days back and forth, a clock that runs backwards and one transaction help nobody")
  func tricks() throws {
    let days = try plants(from: -30)
    for place in 0..<60 { try forge(days, back: place % 2 * 7) }
    #expect(try fates().count { $0 == .credited } == 4)
    let clock = try plants(from: -30)
    for place in 0..<60 {
      home.leadMilliseconds = UInt64(60 - place) * 120_000
      try forge(clock)
    }
    home.leadMilliseconds = 0
    #expect(try fates().count { $0 == .credited } == 6)
    let whole = try plants(from: -30)
    try home.write(2) { _, builder in
      for place in 0..<60 {
        _ = builder.event(
          HouseholdSchema.completion,
          fields(
            whole, day: home.day,
            doneAt: Int64(home.milliseconds) - Int64(place % 2) * 13 * 3_600_000))
      }
    }
    let counted = try fates().filter { $0 == .credited || $0 == .alsoDone }
    #expect(counted.count == 8)
    #expect(try home.total(2) <= 32)
  }

  @Test("Devices of one person that hide from each other are paid like one")
  func hidden() throws {
    let home = try TestHousehold(devices: 12)
    let rule = try RecurrenceRule(.daily, every: 3, from: home.date(0), mode: .afterCompletion)
    let chore = try home.add(ChoreDraft(title: "Plants", points: 4, rule: rule))
    for _ in 0..<2 {
      for device in 0..<12 {
        // Half a day apart from the last one, so that it is not the same work.
        let hours = Int64(device % 2) * 13
        try home.write(device) { _, builder in
          _ = builder.event(
            HouseholdSchema.completion,
            fields(
              chore, day: home.day, doneAt: Int64(home.milliseconds) - hours * 3_600_000))
        }
      }
    }
    try home.meet()
    for replica in home.replicas { #expect(replica.dump == home.replicas[0].dump) }
    #expect(try home.kinds().count { $0 == .credited } == 2)
    #expect(try home.total(2) == 8)
    let kept = home.replicas[0].dump
    try home.replicas[0].rebuild()
    #expect(home.replicas[0].dump == kept)
  }

  @Test("Done, undone and done again is one link each time, up to a bound")
  func undone() throws {
    let chore = try plants()
    for _ in 1..<ChainPast.maximumSeen {
      let event = try home.done(chore, by: 0, on: 0)
      try home.write(0) { try $0.completions.undo(event, by: home.people[0], in: &$1) }
    }
    #expect(try fates().allSatisfy { $0 == .undone })
    try home.done(chore, by: 0, on: 0)
    #expect(try home.total(0) == 4)
    #expect(throws: HouseholdError(.tooEarly, "")) { try home.done(chore, by: 0, on: 0) }
  }

  @Test("Nothing follows the last link of a rule that ends, for whoever knows of it")
  func ended() throws {
    let chore = try plants(every: 2, end: .until(home.date(3)))
    try home.done(chore, by: 0, on: 0)
    try home.meet()
    home.day += 2
    try home.done(chore, by: 0, on: 0)
    // Ben has not heard of it.
    home.day += 1
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    home.day += 10
    try forge(chore)
    #expect(try fates() == [.credited, .credited, .credited, .invalid])
    #expect(try home.state().audit.faults().map(\.first.fault) == [.noSuchOccurrence])
  }

  @Test("Nobody does it more than a year before it begins")
  func farAhead() throws {
    try forge(try plants(from: 367))
    try forge(try plants(from: 366))
    #expect(try fates() == [.invalid, .credited])
  }

  @Test("Under a rule that cannot be read one a day counts, whatever it is called")
  func unreadable() throws {
    let chore = try home.add(ChoreDraft(title: "Moon", points: 4))
    try home.write(0) { _, builder in
      builder.append(
        RecordKey(type: HouseholdSchema.chore, id: chore),
        .assign(ChoreField.rule, .text("v2;moon=full")))
    }
    try home.meet()
    for offset in 0..<60 {
      try forge(chore, key: OccurrenceKey(try Occurrence(home.date(offset))))
    }
    try forge(chore)
    try forge(chore, key: .once)
    #expect(try fates().prefix(1) == [.credited])
    #expect(try fates().dropFirst().allSatisfy { $0 == .alsoDone })
    #expect(try home.total(2) == 4)
    #expect(try home.state().chores.chore(chore)?.next == nil)
    #expect(throws: HouseholdError(.alreadyDone, "")) { try home.done(chore, by: 0, on: 0) }
    home.day += 1
    #expect(try home.state().chores.chore(chore)?.next?.key == .once)
    try home.done(chore, by: 0, on: 0)
    #expect(try fates().last == .credited)
    #expect(try home.total(0) == 4)
  }
}
