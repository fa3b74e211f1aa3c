import Household

/// Expands a seed to a plan: first a configuration, then what people do and what goes wrong.
///
/// Swarm testing (Groce et al. 2012): every family of faults is off in half of the plans, so that
/// rare combinations are not drowned by common ones; a tenth of the plans is calm altogether, a
/// tenth has one family at its worst.
struct Generator {
  /// How long and how many.
  enum Mode: String, Codable, Sendable, CaseIterable {
    /// 3 to 6 devices, 3 days, about 120 commands.
    case quick
    /// 4 to 10 devices, 60 to 200 days.
    case deep
    /// 11 devices of 5 people, 10 days, 300 operations on the household's people.
    case people
    /// What a quick seed is, with a relay.
    case relay
    /// What a quick seed is, with newcomers who read from their joining on.
    case newcomers
    /// What a quick seed is, with a member whose program is changed.
    case hostile
  }

  enum Family: CaseIterable {
    case carrier, damage, partitions, power, disk, clocks, lives, folders, versions, lateness
  }

  let seed: UInt64
  let mode: Mode
  /// What it was asked for: quick plans with something on top have names of their own.
  private let kind: Mode
  var chance: Chance
  var plan = Plan()
  private var weights: [Family: Int] = [:]
  private var chores: [String] = []

  static func plan(seed: UInt64, mode: Mode) -> Plan {
    var generator = Generator(seed: seed, mode: mode)
    return mode == .people ? generator.makePeople() : generator.make()
  }

  private init(seed: UInt64, mode: Mode) {
    self.seed = seed
    self.mode = [.relay, .newcomers, .hostile].contains(mode) ? .quick : mode
    kind = mode
    chance = Chance(seed, domain: "plan", self.mode == .quick ? 0 : mode == .deep ? 1 : 2)
  }

  static let names = [
    "Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gil", "Hana", "Ivo", "Jo",
  ]
  static let dayMilliseconds = 86_400_000

  private mutating func make() -> Plan {
    plan.seed = seed
    plan.name = "\(kind.rawValue)-\(seed)"
    plan.isSampled = true
    drawWeights()
    let number = mode == .quick ? chance.within(3...6) : chance.within(4...10)
    plan.devices = Generator.names.prefix(number).map { Plan.Device(name: $0) }
    let days = mode == .quick ? 3 : chance.within(60...200)
    // A date anywhere in these years: months of all lengths, both changes of the clocks.
    plan.startMilliseconds += UInt64(chance.below(1_500)) * UInt64(Generator.dayMilliseconds)
    if weight(.versions) > 0 {
      for place in 1..<number where chance.happens(perMille: 300) {
        plan.devices[place].build = "old"
      }
      // Somebody must be able to write.
      plan.devices[number - 1].build = "current"
    }
    if weight(.lateness) > 0 {
      for place in 1..<number where chance.happens(perMille: 300) {
        plan.devices[place].joinsLater = true
      }
    }
    drawCarrier()
    let end = days * Generator.dayMilliseconds
    work(through: end)
    trouble(through: end)
    situations(through: end)
    people(through: end)
    recovery(through: end)
    if kind == .relay { relay(through: end) }
    if kind == .newcomers { newcomers(through: end) }
    if kind == .hostile || seed % 10 == Generator.hostileFamily { hostile(through: end) }
    sortSteps()
    return plan
  }

  mutating func sortSteps() {
    // Lines are costly, and needed only where instants are equal.
    plan.steps.sort {
      $0.atMilliseconds != $1.atMilliseconds
        ? $0.atMilliseconds < $1.atMilliseconds : $0.line < $1.line
    }
  }

  // MARK: The configuration

  private mutating func drawWeights() {
    let kind = chance.below(10)
    if kind == 0 { return }
    if kind == 1 {
      weights[chance.pick(Family.allCases)] = 100
      return
    }
    for family in Family.allCases where chance.happens(perMille: 500) {
      weights[family] = chance.within(1...100)
    }
  }

  func weight(_ family: Family) -> Int { weights[family] ?? 0 }

  private mutating func drawCarrier() {
    plan.carrier.isShared = chance.happens(perMille: 300)
    plan.disks.profile = chance.happens(perMille: 500) ? "ordered" : "adversarial"
    let rate = weight(.carrier)
    if rate > 0 {
      plan.carrier.delayMilliseconds = [50, chance.pick([5_000, 60_000, 3_600_000])]
      plan.carrier.lossPerMille = chance.below(3 * rate)
      plan.carrier.resurrectPerMille = chance.below(2 * rate)
    }
    if weight(.damage) > 0 {
      plan.carrier.cutPerMille = chance.below(weight(.damage))
      plan.carrier.flipPerMille = chance.below(weight(.damage))
    }
  }

  // MARK: Work

  mutating func step(_ at: Int, _ device: String, _ verb: String, _ words: [String] = []) {
    plan.steps.append(Step(at: UInt64(at), device, verb, words))
  }

  private mutating func work(through end: Int) {
    for (place, device) in plan.devices.enumerated() where device.joinsLater {
      var at = chance.below(end / 2) + 1_000
      // A try may fail while files are on their way.
      for _ in 0..<4 {
        step(at, plan.devices[place].name, "join")
        at += chance.within(60_000...Generator.dayMilliseconds / 4)
      }
    }
    // The same few chores half of the time, so that people meet.
    let hot = chance.within(1...4)
    var verbs: [String] = []
    for (verb, most) in [
      ("complete", 100), ("add", 20), ("edit", 40), ("undo", 20), ("skip", 15), ("archive", 8),
      ("restore", 8), ("tag", 15), ("untag", 10), ("assign", 15), ("assign-once", 8), ("move", 8),
      ("set", 6), ("rename-self", 3), ("tally", 60),
    ] where verb == "complete" || verb == "add" || chance.happens(perMille: 600) {
      verbs += Array(repeating: verb, count: chance.within(1...most))
    }
    for place in 0..<3 { add(at: 60_000 * (place + 1), by: writers[0].name) }
    let number = mode == .quick ? chance.within(60...180) : chance.within(300...900)
    for _ in 0..<number {
      let at = 300_000 + chance.below(end - 300_000)
      command(chance.pick(verbs), at: at, by: chance.pick(writers).name, hot: hot)
    }
    for device in plan.devices where device.build == "old" {
      for _ in 0..<chance.within(3...15) {
        tally(at: 300_000 + chance.below(end - 300_000), by: device.name)
      }
      guard chance.happens(perMille: 400) else { continue }
      let at = 300_000 + chance.below(end - 300_000)
      step(at, device.name, "upgrade")
    }
    exchange(through: end)
    bursts(through: end)
  }

  /// Much at once: so many small segments that they are merged, or so many bytes that a snapshot
  /// pays.
  private mutating func bursts(through end: Int) {
    let kind = chance.below(12)
    let at = chance.below(end / 2) + 600_000
    guard kind < 3 else { return }
    // Only administrators make snapshots, and the founder is one.
    let writer = kind < 2 ? chance.pick(plan.devices).name : plan.devices[0].name
    for place in 0..<(kind < 2 ? 140 : 30) {
      // Different records, so that a snapshot has many chunks: two, or four or five, which cost
      // three times as much.
      let size = seed % 16 == 0 ? "110" : "40"
      let words = kind < 2 ? ["k1", "add", "1"] : ["b\(place)", "bulk", size]
      step(at + place * 4_000, writer, "tally", words)
      step(at + place * 4_000 + 2_000, writer, "sync")
    }
  }

  private mutating func tally(at: Int, by device: String) {
    var names = Tally.names
    if plan.devices.contains(where: { $0.name == device && $0.build == "old" }) {
      names.removeLast()
    }
    let number = chance.below(100)
    let mark = "m\(chance.below(3))"
    let what: [String]
    switch chance.below(24) {
    case 20..<23: what = ["type", "\(number)", "\(chance.below(5))"]
    case 23: what = ["cut", "#\(chance.below(4) + 1)"]
    case 0..<6: what = ["label", "\(number)"]
    case 6..<8: what = ["note", "\(number)"]
    case 8..<10: what = ["price", "\(number)"]
    case 10..<13: what = ["add", "\(number - 30)"]
    case 13..<16: what = ["mark", mark]
    case 16..<18: what = ["unmark", mark]
    default: what = ["delete"]
    }
    step(at, device, "tally", [chance.pick(names)] + what)
  }

  /// The last tally once more, half of the time word by word, by somebody else.
  private mutating func repeatTally(at: Int, by device: String) {
    guard chance.happens(perMille: 500), let last = plan.steps.last, last.verb == "tally" else {
      return tally(at: at, by: device)
    }
    step(at, device, "tally", last.words)
  }

  private mutating func exchange(through end: Int) {
    for device in plan.devices {
      let every = chance.pick(
        mode == .quick ? [3_600_000, 7_200_000, 14_400_000] : [28_800_000, 57_600_000, 86_400_000])
      var at = chance.below(every)
      while at < end {
        step(at, device.name, "sync")
        at += every / 2 + chance.below(every)
      }
    }
  }

  private static let rules = [
    "freq=daily;every=1;wkst=mo", "freq=daily;every=2;wkst=mo",
    "freq=weekly;every=1;on=mo,th;wkst=mo", "freq=weekly;every=2;on=tu,su;wkst=mo",
    "freq=monthly;every=1;on=31;wkst=mo", "freq=monthly;every=1;on=last;wkst=mo",
  ]

  private static let completionRules = [
    "freq=daily;every=3", "freq=daily;every=3", "freq=weekly;every=1", "freq=monthly;every=1",
    "freq=yearly;every=1",
  ]

  mutating func add(at: Int, by device: String) {
    let name = "c\(chores.count)"
    chores.append(name)
    var words = [name, "title=Canary \(name)", "points=\(chance.within(0...20))"]
    let day =
      Int(plan.startMilliseconds / UInt64(Generator.dayMilliseconds))
      + at / Generator.dayMilliseconds
    if let date = try? CivilDate(dayNumber: day) {
      switch chance.below(4) {
      case 0: words.append("due=\(date.iso)")
      case 1:
        let rule = chance.pick(Generator.completionRules)
        words.append("rule=v1;mode=completion;from=\(date.iso);\(rule);wkst=mo")
      case 2, 3:
        words.append("rule=v1;mode=calendar;from=\(date.iso);\(chance.pick(Generator.rules))")
      default: break
      }
    }
    if chance.happens(perMille: 300) {
      let turn = chance.pick(["date", "turn", "least", "random"])
      words.append("assign=\(turn):" + plan.devices.prefix(3).map(\.name).joined(separator: ","))
    }
    step(at, device, "add", words)
  }

  private mutating func command(_ verb: String, at: Int, by device: String, hot: Int) {
    let chore =
      chance.happens(perMille: 500)
      ? chores[chance.below(min(hot, chores.count))] : chance.pick(chores)
    switch verb {
    case "add": add(at: at, by: device)
    case "undo", "sync": step(at, device, verb)
    case "tally":
      tally(at: at, by: device)
      // Another one writes the same before it can know.
      if chance.happens(perMille: 400) {
        repeatTally(at: at + chance.below(60_000), by: chance.pick(writers).name)
      }
    case "edit":
      step(
        at, device, verb,
        [
          chore,
          chance.pick([
            "title=Canary \(chance.below(100))", "points=\(chance.below(30))",
            "note=Canary note \(chance.below(9))",
          ]),
        ])
    case "tag", "untag": step(at, device, verb, [chore, "t\(chance.below(4))"])
    case "assign", "assign-once":
      step(at, device, verb, [chore, chance.pick(plan.devices).name])
    case "move":
      let day =
        Int(plan.startMilliseconds / UInt64(Generator.dayMilliseconds))
        + at / Generator.dayMilliseconds + chance.below(6)
      guard let date = try? CivilDate(dayNumber: day) else { return }
      step(at, device, verb, [chore, "to=\(date.iso)"])
    case "set":
      step(
        at, device, verb,
        chance.pick([
          ["missed", "stack"], ["missed", "roll"], ["week-start", "sunday"],
          ["week-start", "monday"], ["day-start", "\(chance.below(6))"],
          ["missed", "never-overdue"], ["duplicate", "each"], ["duplicate", "split"],
          ["duplicate", "first"], ["strict-assignee", "yes"], ["strict-assignee", "no"],
          ["missed", "-"], ["duplicate", "-"],
        ]))
    case "rename-self": step(at, device, verb, ["Canary \(chance.below(100))"])
    case "complete": complete(chore, at: at, by: device)
    default: step(at, device, verb, [chore])
    }
  }

  /// Somebody does a chore, and maybe another one at nearly the same time.
  private mutating func complete(_ chore: String, at: Int, by device: String) {
    if chance.happens(perMille: 200) {
      // Two do the same.
      step(at, device, "complete", [chore])
      step(at + chance.below(60_000), chance.pick(plan.devices).name, "complete", [chore])
    } else if chance.happens(perMille: 150) {
      // Two note that a third has done it.
      let by = "by=\(chance.pick(plan.devices).name)"
      step(at, device, "complete", [chore, by])
      step(at + chance.below(60_000), chance.pick(plan.devices).name, "complete", [chore, by])
    } else if chance.happens(perMille: 60) {
      // It is really done once more before long, by somebody who knows of the first time.
      step(at, device, "complete", [chore])
      step(at + chance.within(60_000...30_000_000), device, "complete", [chore, "early"])
    } else {
      step(at, device, "complete", [chore])
    }
  }
}
