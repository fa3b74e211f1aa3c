import FamilyModel

/// A family of devices that write facts apart and meet when told; a fact a change.
struct TestFamily {
  static let start = 20_000  // 2024-10-04, a Friday
  let ada = ModelID(high: 9, low: 1)
  let ben = ModelID(high: 9, low: 2)
  let cleo = ModelID(high: 9, low: 3)
  let chore = ModelID(high: 3, low: 1)
  var day = TestFamily.start
  /// Minutes of the day; each fact takes one.
  var minute = 480
  /// How far a device's clock is off.
  var skewMinutes = [0, 0, 0]
  private(set) var facts: [ModelFact] = []
  private var heads: [[ModelAuthor: UInt64]] = [[:], [:], [:]]
  private var events: UInt64 = 0

  /// Every device gets everything.
  mutating func meet() {
    var all: [ModelAuthor: UInt64] = [:]
    for known in heads { all.merge(known) { max($0, $1) } }
    heads = heads.map { _ in all }
  }

  @discardableResult
  mutating func write(_ device: Int, _ kind: ModelFactKind) -> ModelFact {
    minute += 1
    let author = ModelAuthor(high: 7, low: UInt64(device), incarnation: 1)
    let past = ModelPast(heads[device])
    let sequence = heads[device][author, default: 0] + 1
    heads[device][author] = sequence
    let milliseconds = now + skewMinutes[device] * 60_000
    let stamp = ModelStamp(
      time: UInt64(milliseconds) << 16, authorHigh: 7, authorLow: UInt64(device), incarnation: 1,
      sequence: sequence)
    let fact = ModelFact(stamp: stamp, past: past, place: 0, kind: kind)
    facts.append(fact)
    return fact
  }

  var now: Int { (day * 1440 + minute) * 60_000 }

  /// A chore of these fields, known to all.
  mutating func add(_ fields: ModelChoreField..., chore: ModelID? = nil) {
    for field in fields { write(0, .choreField(chore ?? self.chore, field)) }
    meet()
  }

  mutating func set(_ field: ModelChoreField, on device: Int) {
    write(device, .choreField(chore, field))
  }

  @discardableResult
  mutating func done(
    _ person: ModelID, on device: Int, key: Int64 = 0, recordedBy: ModelID? = nil,
    day: Int? = nil, at milliseconds: Int? = nil, chore: ModelID? = nil
  ) -> ModelID {
    events += 1
    let event = ModelID(high: 5, low: events)
    let isChain = model.shown(chore ?? self.chore).rule?.isAfterCompletion == true
    let back = (self.day - (day ?? self.day)) * 86_400_000
    write(
      device,
      .completion(
        ModelCompletion(
          event: event, chore: chore ?? self.chore, key: isChain ? nil : key, person: person,
          recordedBy: recordedBy ?? person, day: day ?? self.day,
          doneAtMilliseconds: Int64(milliseconds ?? (now - back)))))
    return event
  }

  @discardableResult
  mutating func skip(_ key: Int64, on device: Int, by person: ModelID? = nil) -> ModelID {
    events += 1
    let event = ModelID(high: 5, low: events)
    write(device, .skip(event: event, chore: chore, key: key, by: person ?? ada, day: day))
    return event
  }

  mutating func undo(
    _ event: ModelID, by person: ModelID, as role: ModelRole = .member, on device: Int = 2
  ) {
    write(device, .retraction(event: event, by: person, role: role))
  }

  var model: FamilyModel { FamilyModel(facts: facts, today: day) }

  /// The fates of the completions in the total order.
  var kinds: [ModelEntry.Kind] { model.ledger.map(\.kind) }

  /// The points of Ada, Ben and Cleo.
  var totals: [Int] { [ada, ben, cleo].map(model.total) }

  /// The due day of the next occurrence, counted from the first day of the test.
  var next: Int? { model.nextOccurrence(chore)?.due.map { $0 - TestFamily.start } }
}

/// The key of a calendar occurrence so many days after the first day of the test.
func key(_ offset: Int) -> Int64 { Int64(TestFamily.start + offset) * 32 }

/// A rule that begins so many days after the first day of the test.
func rule(
  every interval: Int = 1, _ unit: ModelRule.Unit = .day, from offset: Int = 0, until: Int? = nil,
  afterCompletion: Bool = false
) -> ModelChoreField {
  .rule(
    ModelRule(
      every: interval, unit, from: TestFamily.start + offset,
      until: until.map { TestFamily.start + $0 }, afterCompletion: afterCompletion))
}

/// A small generator of repeatable chance (SplitMix64, Steele and others 2014).
struct Chance: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
