import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import Household

/// One chore whose rule comes and goes, done on three devices as no family would do it.
private struct WildChore {
  let home: TestHousehold
  private var random: TestSupport.SplitMix64
  private let chore: RecordID

  init(seed: UInt64) throws {
    random = TestSupport.SplitMix64(seed: seed)
    home = try TestHousehold(devices: 3)
    chore = try home.add(
      ChoreDraft(
        title: "Wild", points: 7,
        rule: try RecurrenceRule(.daily, every: 2, from: home.date(-9), mode: .afterCompletion)))
  }

  /// Every day, some days after the last time, one that cannot be read, or none.
  private mutating func changeRule(on device: Int) throws {
    let text: String? =
      switch random.below(6) {
      case 0: try RecurrenceRule(.daily, from: home.date(-9)).text
      case 1: "v2;tide=low"
      case 2: nil
      default:
        try RecurrenceRule(
          .daily, every: 1 + random.below(4), from: home.date(-9), mode: .afterCompletion
        ).text
      }
    let key = RecordKey(type: HouseholdSchema.chore, id: chore)
    try home.write(device) { _, builder in
      builder.append(key, .assign(ChoreField.rule, text.map(Value.text) ?? .null))
    }
  }

  /// A link or a day's occurrence, told at once or late, by a clock that is off or right.
  private mutating func complete(on device: Int) throws {
    let day = home.day - (random.oneIn(3) ? random.below(8) : 0)
    let key: Value =
      switch random.below(4) {
      case 0: .int(Int64(try Occurrence(CivilDate(dayNumber: day + random.below(2))).key))
      default: .null
      }
    let person = home.people[random.below(3)]
    let hours = Int64(random.oneIn(4) ? random.below(20) : 0)
    home.leadMilliseconds = random.oneIn(5) ? UInt64(random.below(72)) * 3_600_000 : 0
    defer { home.leadMilliseconds = 0 }
    try home.write(device) { _, builder in
      _ = builder.event(
        HouseholdSchema.completion,
        [
          EventField(CompletionField.chore, .id(chore)), EventField(CompletionField.key, key),
          EventField(CompletionField.person, .id(person)),
          EventField(CompletionField.day, .int(Int64(day))),
          EventField(
            CompletionField.doneAt,
            .int(
              Int64(home.milliseconds) - Int64(home.day - day) * 86_400_000 - hours * 3_600_000)),
        ])
    }
  }

  mutating func step() throws {
    let device = random.below(3)
    switch random.below(16) {
    case 0: try changeRule(on: device)
    case 1, 2:
      let ledger = try home.state(device).ledger.entries(of: nil).filter { $0.kind != .undone }
      guard !ledger.isEmpty else { return }
      let event = ledger[random.below(ledger.count)].event
      try home.write(device) { _, builder in
        _ = builder.event(
          HouseholdSchema.retraction, [EventField(RetractionField.event, .id(event))])
      }
    case 3:
      let policy = DuplicatePolicy.allCases[random.below(3)]
      try home.write(device) { try $0.storedSettings.set("duplicate", policy.rawValue, in: &$1) }
    case 4:
      guard random.oneIn(2) else { return }
      let days = try home.state(0).periods.days(of: .week, named: nil)
      try home.write(0) { try $0.periods.close(.week, first: days.first, last: days.last, in: &$1) }
    case 5: home.day += 1 + random.below(3)
    case 6: try home.meet()
    default: try complete(on: device)
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

@Suite("Chains that are folded in parts")
struct ChainRefoldTests {
  @Test("Rows kept in step equal rows computed anew, in every order of arrival", arguments: 0..<24)
  func parts(seed: Int) throws {
    var chore = try WildChore(seed: UInt64(seed) &* 7919 &+ 17)
    for number in 1...90 {
      do {
        try chore.step()
      } catch _ as HouseholdError {
        // What a rule refuses changes nothing.
      }
      guard number % 15 == 0 else { continue }
      for replica in chore.home.replicas {
        let kept = replica.dump
        try replica.rebuild()
        #expect(replica.dump == kept, "seed \(seed), after \(number) steps")
      }
    }
    try chore.home.meet()
    let dump = chore.home.replicas[0].dump
    for replica in chore.home.replicas { #expect(replica.dump == dump, "seed \(seed)") }
    for _ in 0..<2 {
      let other = TestReplica(projection: HouseholdProjection())
      for change in chore.shuffledChanges() { try other.apply(change) }
      #expect(other.dump == dump, "seed \(seed)")
    }
  }
}
