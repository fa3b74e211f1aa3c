import HearthCRDT

/// SplitMix64 (Steele, Lea, Flood 2014), the generator of the shared workload.
struct Random {
  private var state: UInt64

  init(_ seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func below(_ bound: Int) -> Int {
    Int(next() % UInt64(bound))
  }
}

/// The shared workload made here, operation by operation, without a file and without keeping it.
///
/// `hearth-bench verify` compares it with a file of the reference generator.
enum Generator {
  private static let vocabulary = """
    wash dry fold sweep mop dust vacuum wipe scrub rinse water feed walk brush trim mow rake plant \
    sort recycle compost empty load unload polish iron hang stack tidy clear check refill replace \
    repair paint oil sharpen order buy cook bake prepare set table kitchen hall garden garage \
    attic cellar window door floor stairs lamp shelf drawer oven sink bath towel
    """.split(separator: " ").map(String.init)
  private static let rules = [
    "FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO", "FREQ=WEEKLY;BYDAY=SA,SU",
    "FREQ=MONTHLY;BYMONTHDAY=1", "", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TH",
  ]
  private static let tags = [
    "kitchen", "garden", "pets", "weekly", "kids", "laundry", "outside", "quick",
  ]
  private static let start: Int64 = 1_760_000_000_000
  private static let day: Int64 = 86_400_000
  private static let week: Int64 = 7 * day

  static func choreID(_ number: Int) -> UInt64 {
    var random = Random(0xC0FFEE + UInt64(number))
    return random.next()
  }

  private static func words(_ random: inout Random, _ count: Int) -> Value {
    var bits = random.next()
    var text = ""
    while text.utf8.count < count {
      if bits < 64 { bits = random.next() }
      text += vocabulary[Int(bits & 63) % vocabulary.count] + " "
      bits >>= 6
    }
    return .text(String(text.dropLast().prefix(count)))
  }

  private static func value(_ random: inout Random, _ field: Int) -> Value {
    switch field {
    case 0: words(&random, 24)
    case 1: words(&random, 60)
    case 2: .text("member-\(random.below(6))")
    case 3: .int(start + Int64(random.below(90)) * day)
    case 4: .int(Int64(1 + random.below(50)))
    default: .bool(random.below(2) == 1)
    }
  }

  private static func create(_ random: inout Random, _ number: Int) -> Action {
    let first = random.below(8)
    let second = (first + 1 + random.below(7)) % 8
    var values = (0..<5).map { value(&random, $0) }
    values += [.bool(false), .int(start + Int64(number) * 1_000), .null]
    values += [.text(rules[random.below(6)]), .text("\(tags[first]),\(tags[second])")]
    return .create(id: choreID(number), values: values)
  }

  private static func edit(_ random: inout Random, among count: Int) -> Action {
    let id = choreID(random.below(count))
    let field = random.below(6)
    return .set(id: id, field: field, value: value(&random, field))
  }

  /// `count` creates, then `edits` field edits, handed over in groups of `group`.
  static func base(
    _ count: Int, _ edits: Int, group: Int, _ body: ([Action]) throws -> Void
  ) rethrows {
    var random = Random(1)
    var actions: [Action] = []
    for number in 0..<(count + edits) {
      actions.append(
        number < count ? create(&random, number) : edit(&random, among: count))
      if actions.count == group {
        try body(actions)
        actions.removeAll(keepingCapacity: true)
      }
    }
    if !actions.isEmpty { try body(actions) }
  }

  /// Field edits of chores that exist.
  static func edits(among count: Int, _ number: Int, seed: UInt64) -> [Action] {
    var random = Random(seed)
    return (0..<number).map { _ in edit(&random, among: count) }
  }

  /// The edits of two replicas; in every tenth the second writes the field that the first writes.
  static func conflicting(
    among count: Int, _ number: Int, seed: UInt64
  ) -> (first: [Action], second: [Action]) {
    let first = edits(among: count, number, seed: seed)
    var second = edits(among: count, number, seed: seed + 1_000)
    var random = Random(seed + 2_000)
    for place in stride(from: 0, to: number, by: 10) {
      guard case .set(let id, let field, _) = first[place] else { continue }
      second[place] = .set(id: id, field: field, value: value(&random, field))
    }
    return (first, second)
  }

  /// Awards of one replica.
  static func awards(_ number: Int, seed: UInt64) -> [Action] {
    var random = Random(seed)
    return (0..<number).map { _ in
      let offset = Int64(random.next() % UInt64(52 * week))
      let member = String(random.below(200))
      let padded = String(repeating: "0", count: 3 - member.count) + member
      return .award(
        Award(
          member: "m" + padded, points: Int64(1 + random.below(20)),
          milliseconds: start + offset, week: offset / week))
    }
  }
}
