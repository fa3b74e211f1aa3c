import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import Household

@Suite("A person's challenge of the day")
struct ChallengeTests {
  private func refused(_ code: HouseholdError.Code, _ body: () throws -> Void) {
    #expect(throws: HouseholdError(code, "")) { try body() }
  }

  @Test("A day has none, then one that is pending, skipped, done, and taken back again")
  func states() throws {
    let person = TestChallenges()
    #expect(try person.shown() == "none")
    refused(.noChallenge) { try person.done() }
    refused(.noChallenge) { try person.skip() }
    try person.draw(1)
    #expect(try person.shown() == "1 pending")
    try person.skip(.noTime)
    #expect(try person.shown() == "1 skipped")
    #expect(try person.history().first?.reason == .noTime)
    refused(.alreadySkipped) { try person.skip() }
    try person.done(4, "well")
    #expect(try person.shown() == "1 completed")
    #expect(try person.history().map(\.rating) == [4])
    refused(.alreadyDone) { try person.done() }
    refused(.alreadyDone) { try person.skip() }
    refused(.alreadyDone) { try person.pick(1) }
    try person.undoLast()
    #expect(try person.shown() == "1 skipped")
    try person.undoLast()
    #expect(try person.shown() == "1 pending")
    #expect(try person.challenges().lastEntry() == nil)
    try person.done()
    #expect(try person.shown() == "1 completed")
    person.day += 1
    #expect(try person.shown() == "none")
  }

  @Test("Stars outside 1 to 5 and notes beyond the limit are refused, at the limit they are kept")
  func bounds() throws {
    let person = TestChallenges()
    try person.draw(1)
    for stars in [0, 6, -1] { refused(.badRating) { try person.done(stars) } }
    let note = String(repeating: "n", count: Validation.maximumNoteBytes)
    refused(.badNote) { try person.done(1, note + "n") }
    try person.done(1, note)
    #expect(try person.history().map(\.note) == [note])
  }

  @Test("What is picked takes the place of what there is; what was done that day stays known")
  func picked() throws {
    let person = TestChallenges()
    try person.draw(1)
    try person.pick(2)
    #expect(try person.shown() == "2 pending")
    try person.done()
    try person.pick(3)
    #expect(try person.shown() == "3 pending, also 2")
    try person.skip(.weather)
    try person.pick(3)
    #expect(try person.shown() == "3 pending, also 2")
    try person.done()
    #expect(try person.shown() == "3 completed, also 2")
    #expect(try person.challenges().statistics().streak == 1)
    #expect(try person.challenges().statistics().completed == 2)
  }

  @Test("Of what two devices drew apart the first is shown on both, and completing either counts")
  func drawnApart() throws {
    for doer in [0, 1] {
      let person = TestChallenges()
      try person.draw(1, on: 0)
      try person.draw(2, on: 1)
      try person.meet()
      #expect(try [person.shown(0), person.shown(1)] == ["1 pending", "1 pending"])
      let other = TestChallenges()
      try other.draw(1, on: 0)
      try other.draw(2, on: 1)
      try other.done(on: doer)
      try other.meet()
      let done = "\(doer + 1) completed"
      #expect(try [other.shown(0), other.shown(1)] == [done, done])
      // The other one is no second challenge of the day.
      #expect(try other.history().count == 1)
    }
  }

  @Test("Of what two devices completed apart the first assignment is shown, the day counts once")
  func completedApart() throws {
    let person = TestChallenges()
    try person.draw(1, on: 0)
    try person.draw(2, on: 1)
    try person.done(on: 1)
    try person.done(on: 0)
    try person.meet()
    for device in 0..<2 {
      #expect(try person.shown(device) == "1 completed, also 2")
      #expect(try person.history(device).count == 2)
      #expect(try person.challenges(device).statistics().longestStreak == 1)
    }
  }

  @Test("What one device picks holds before what another draws at the same time, first or last")
  func pickedApart() throws {
    for picker in [0, 1] {
      let person = TestChallenges()
      for device in 0..<2 {
        if device == picker {
          try person.pick(5, on: device)
        } else {
          try person.draw(1, on: device)
        }
      }
      try person.meet()
      #expect(try [person.shown(0), person.shown(1)] == ["5 pending", "5 pending"])
    }
  }

  @Test("What was drawn gives way to another that was done that day; what was picked does not")
  func gaveWay() throws {
    for isPicked in [false, true] {
      let person = TestChallenges()
      try person.draw(1, on: 0)
      try person.meet()
      try person.done(on: 0)
      // Device 1 replaces what it has seen and knows nothing of the completion.
      if isPicked { try person.pick(2, on: 1) } else { try person.draw(2, on: 1) }
      try person.meet()
      let wanted = isPicked ? "2 pending, also 1" : "1 completed"
      #expect(try [person.shown(0), person.shown(1)] == [wanted, wanted])
    }
  }

  @Test("One challenge done on two devices is one entry with the last word on it")
  func doneTwice() throws {
    let person = TestChallenges()
    try person.draw(1)
    try person.meet()
    try person.done(2, "first", on: 0)
    try person.done(5, nil, on: 1)
    try person.meet()
    let entry = try #require(try person.history().first)
    #expect(try person.history(1) == [entry])
    #expect(try person.history().count == 1)
    #expect(entry.rating == 5)
    #expect(entry.note == "first")
    // Taken back is all of it, and what another device says without having seen that stays.
    let third = TestChallenges(devices: 3)
    try third.draw(1)
    try third.meet()
    for device in 0..<3 { try third.done(device + 1, on: device) }
    for device in 0..<2 {
      for change in third.changes.prefix(3) { try third.replicas[device].apply(change) }
    }
    try third.undoLast(on: 0)
    #expect(try third.shown(0) == "1 pending")
    try third.meet()
    #expect(try third.history(0).map(\.rating) == [3])
    #expect(try third.history(1) == third.history(0))
  }

  @Test("Completed goes before skipped, whichever was first")
  func completedBeforeSkipped() throws {
    for doer in [0, 1] {
      let person = TestChallenges()
      try person.draw(1)
      try person.meet()
      for device in 0..<2 {
        if device == doer { try person.done(on: device) } else { try person.skip(on: device) }
      }
      try person.meet()
      #expect(try [person.shown(0), person.shown(1)] == ["1 completed", "1 completed"])
      #expect(try person.history().count == 1)
    }
  }

  /// An attempt as an event of its own, as a device writes what another database held.
  private func copy(
    of fields: [EventField], as number: UInt64, _ change: (inout [EventField]) -> Void = { _ in }
  ) -> Operation {
    var fields = fields
    change(&fields)
    return Operation(
      RecordKey(type: HouseholdSchema.challengeAttempt, id: RecordID(high: number, low: 1)),
      .event(fields))
  }

  @Test("Attempts that were written again are one, of one day, in every order; undone stays undone")
  func copies() throws {
    let person = TestChallenges(devices: 2)
    try person.draw(1)
    try person.done(3)
    guard case .event(let fields)? = person.changes.last?.operations.last?.body else {
      Issue.record("no event")
      return
    }
    let attempt = try #require(fields.first { $0.field == AttemptField.attempt })
    let copies = [
      copy(of: fields, as: 1), copy(of: fields, as: 2),
      copy(of: fields, as: 3) { fields in
        let place = fields.firstIndex { $0.field == AttemptField.day } ?? 0
        fields[place] = EventField(AttemptField.day, .int(Int64(TestChallenges.start + 1)))
      },
    ]
    func dump(_ operations: [Operation]) throws -> [String] {
      let replica = TestReplica(projection: HouseholdProjection())
      let author = Author(device: DeviceID(high: 7, low: 9), incarnation: 1 << 32)
      for (place, operation) in operations.enumerated() {
        let dot = Dot(author: author, sequence: UInt64(place + 1))
        try replica.apply(
          TestChange(
            version: Version(dot: dot, time: HybridTime(milliseconds: 1)), past: replica.known,
            operations: [operation]))
      }
      let kept = replica.dump
      try replica.rebuild()
      #expect(replica.dump == kept)
      // The first of the copies, by its event, is the one that counts.
      let challenges = PersonChallenges(source: replica, today: try person.today)
      let days = try challenges.history(after: nil, limit: 9).entries.map(\.day)
      #expect(try days == [CivilDate](repeating: person.today, count: days.count))
      return kept
    }
    let first = try dump(copies)
    #expect(first.count == 1)
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      #expect(try dump(order.map { copies[$0] }) == first)
    }
    let undo = Operation(
      RecordKey(type: HouseholdSchema.challengeUndo, id: RecordID(high: 4, low: 1)),
      .event([EventField(ChallengeUndoField.attempt, attempt.value)]))
    for place in 0...3 {
      var all = copies
      all.insert(undo, at: place)
      #expect(try dump(all).isEmpty)
    }
  }

  @Test("Values of one day's record that were written together stay together")
  func together() throws {
    let person = TestChallenges(devices: 3)
    for device in 0..<3 { try person.draw(device + 1, on: device) }
    try person.meet()
    let record = try #require(
      person.replicas[0].record(
        PersonChallenges.record(of: try person.today, in: person.replicas[0].zone)))
    let candidates = DayCandidate.all(of: record)
    #expect(candidates.count == 3)
    for candidate in candidates {
      let number = try #require(Int(candidate.card.key.id.dropFirst(10)))
      #expect(try candidate.card == TestChallenges.card(number))
    }
  }

  @Test("A value that another version wrote alone does not hide the challenge")
  func alone() throws {
    let person = TestChallenges()
    try person.draw(1)
    try person.write(0) { challenges, builder in
      builder.append(
        PersonChallenges.record(of: challenges.today, in: builder.zone),
        .assign(DailyField.title, .text("Better")))
    }
    #expect(try person.challenges().challenge(on: person.today)?.card.title == "Better")
    #expect(try person.shown() == "1 pending")
  }

  @Test("An event that makes no sense is no entry, and its neighbours stay")
  func nonsense() throws {
    let person = TestChallenges()
    try person.draw(1)
    try person.done()
    guard case .event(let fields)? = person.changes.last?.operations.last?.body else {
      Issue.record("no event")
      return
    }
    func rows(_ field: FieldID, _ value: Value) throws -> Int {
      let replica = TestReplica(projection: HouseholdProjection())
      let bad = copy(of: fields, as: 1) { fields in
        fields.removeAll { $0.field == field }
        fields.append(EventField(field, value))
      }
      let other = copy(of: fields, as: 2) { fields in
        fields.removeAll { $0.field == AttemptField.attempt }
        fields.append(EventField(AttemptField.attempt, .bytes([UInt8](repeating: 8, count: 16))))
        fields.removeAll { $0.field == AttemptField.challenge }
        fields.append(EventField(AttemptField.challenge, .text("another")))
      }
      let author = Author(device: DeviceID(high: 7, low: 9), incarnation: 1 << 32)
      try replica.apply(
        TestChange(
          version: Version(
            dot: Dot(author: author, sequence: 1), time: HybridTime(milliseconds: 1)),
          past: Frontier(), operations: [bad, other]))
      return replica.dump.count
    }
    #expect(try rows(AttemptField.note, .text("fine")) == 2)
    for (field, value) in [
      (AttemptField.attempt, Value.bytes([1])), (AttemptField.attempt, .null),
      (AttemptField.day, .int(.max)), (AttemptField.day, .text("today")),
      (AttemptField.at, .int(-1)), (AttemptField.at, .int(.max)),
      (AttemptField.outcome, .text("improved")), (AttemptField.title, .text("")),
      (AttemptField.title, .text(String(repeating: "t", count: 201))),
      (AttemptField.challenge, .text("")),
      (AttemptField.challenge, .text(String(repeating: "c", count: 65))),
      (AttemptField.catalogue, .text("hearth")), (AttemptField.minutes, .int(1_441)),
      (AttemptField.category, .text(String(repeating: "c", count: 33))),
    ] {
      #expect(try rows(field, value) == 1, "\(field) \(value)")
    }
  }
}
