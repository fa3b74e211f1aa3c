import HearthCRDT
import HearthSync
import Household
import TestSupport
import Testing

@Suite("The instant of work")
struct DoneAtTests {
  private static let perDay: Int64 = 24 * 60 * 60 * 1000
  private static let doneAt = FieldID(.register, 5)
  let home: TestHousehold
  let chore: RecordID

  init() throws {
    home = try TestHousehold()
    let rule = try RecurrenceRule(.daily, from: home.date(-30))
    chore = try home.add(ChoreDraft(title: "Cat", points: 3, rule: rule))
  }

  private func fields(_ event: RecordID) throws -> [EventField] {
    let key = RecordKey(type: HouseholdSchema.completion, id: event)
    return try #require(home.replicas[0].event(key)).fields
  }

  private func doneAt(_ event: RecordID) throws -> Int64 {
    try #require(try fields(event).first { $0.field == DoneAtTests.doneAt }?.value.int)
  }

  @Test("R9: the instant lies on the day of the work, as many days back", arguments: 0...7)
  func onItsDay(back: Int) throws {
    let event = try home.done(chore, by: 0, on: 0, back: back)
    let now = Int64(home.milliseconds)
    #expect(try doneAt(event) == now - Int64(back) * DoneAtTests.perDay)
    #expect(try home.kinds() == [.credited])
  }

  @Test(
    "R9: what may be written at the far end counts for every reader, whatever the clock's lead",
    arguments: [0, 60_000, 300_000] as [UInt64], [0, 1, 720, 1439])
  func farEnd(lead: UInt64, minute: UInt64) throws {
    home.minute = 1438
    home.leadMilliseconds = lead
    let now = UInt64(home.day * 1440 + 1439) * 60_000
    let event = try home.write(0) { state, builder in
      try state.completions.add(
        chore, occurrence: nil, by: home.people[0],
        doneAt: (home.date(-7), CivilTime(minuteOfDay: Int(minute))),
        milliseconds: UInt64(home.day * 1440) * 60_000 + minute * 60_000, nowMilliseconds: now,
        in: &builder)
    }
    let day = try doneAt(event) / DoneAtTests.perDay
    #expect(day == Int64(home.day - 7))
    #expect(try home.kinds() == [.credited])
  }

  @Test("R9: a time of today that is still to come is written as the present, and counts")
  func ahead() throws {
    let now = home.milliseconds
    let event = try home.write(0) { state, builder in
      try state.completions.add(
        chore, occurrence: nil, by: home.people[0], doneAt: (home.today, nil),
        milliseconds: now + 7_200_000, nowMilliseconds: now,
        in: &builder)
    }
    #expect(try doneAt(event) == Int64(now))
    #expect(try home.kinds() == [.credited])
  }

  @Test(
    "R9: readers take what lies five minutes ahead of its change to eight days before it",
    arguments: [(300_000, true), (300_001, false), (-691_200_000, true), (-691_200_001, false)]
      as [(Int64, Bool)])
  func bounds(distance: Int64, isValid: Bool) throws {
    let template = try fields(try home.done(chore, by: 0, on: 0))
    home.minute = 720
    let written = Int64(home.day * 1440 + 721) * 60_000
    let instant = written + distance
    let event = try home.write(0) { _, builder in
      builder.event(
        HouseholdSchema.completion,
        template.map { field in
          switch field.field {
          case FieldID(.register, 2):
            EventField(field.field, .int(instant / DoneAtTests.perDay * 32))
          case FieldID(.register, 4):
            EventField(field.field, .int(instant / DoneAtTests.perDay))
          case DoneAtTests.doneAt: EventField(field.field, .int(instant))
          default: field
          }
        })
    }
    let kind = try home.state().ledger.entry(event)?.kind
    #expect((kind == .credited || kind == .alsoDone) == isValid && (kind == .invalid) == !isValid)
  }
}
