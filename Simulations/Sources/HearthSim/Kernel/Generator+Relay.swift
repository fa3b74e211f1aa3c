/// A relay, and what goes wrong with it.
///
/// Drawn from dice of its own: a plan is the quick one of its seed with a relay.
extension Generator {
  private static let hour = 3_600_000

  private enum Trouble: CaseIterable {
    case lines, crashes, oldImages, lies, garbage, quota, partitions, meanwhile
  }

  /// Gives the plan a relay.
  mutating func relay(through end: Int) {
    let kept = chance
    defer { chance = kept }
    chance = Chance(seed, domain: "relay-plan")
    plan.relay = Plan.Relay()
    plan.relay?.keepsPerMille = chance.pick([0, 300, 1_000])
    drawWays()
    var troubles: Set<Trouble> = []
    if !chance.happens(perMille: 100) {
      for trouble in Trouble.allCases where chance.happens(perMille: 450) {
        troubles.insert(trouble)
      }
    }
    if troubles.contains(.lines) { drawLines() }
    let names = plan.devices.map(\.name)
    for trouble in Trouble.allCases where troubles.contains(trouble) {
      draw(trouble, names, through: end)
    }
    if chance.happens(perMille: 400) { awayWhileKeysTurn(names, through: end) }
    if chance.happens(perMille: 150) { lostForGood(names, through: end) }
  }

  private mutating func drawWays() {
    let kind = chance.below(10)
    for place in plan.devices.indices {
      switch kind {
      case 0..<5: plan.devices[place].way = .relay
      case 5..<8: plan.devices[place].way = .both
      default: plan.devices[place].way = chance.pick([.relay, .both])
      }
    }
    // Who founds the household can be reached by everybody.
    if kind >= 8 { plan.devices[0].way = .both }
  }

  private mutating func drawLines() {
    plan.relay?.delayMilliseconds = [5, chance.pick([20, 300, 800])]
    plan.relay?.cutPerMille = chance.below(60)
    plan.relay?.mutePerMille = chance.below(15)
    plan.relay?.pieceBytes = chance.pick([7, 100, 1_400, 1 << 20])
    if chance.happens(perMille: 200) { plan.relay?.bytesPerSecond = 2_000 }
  }

  private mutating func moments(_ most: Int, through end: Int) -> [Int] {
    (0..<chance.within(1...most)).map { _ in 600_000 + chance.below(end - 600_000) }
  }

  private mutating func draw(_ trouble: Trouble, _ names: [String], through end: Int) {
    switch trouble {
    case .lines: break
    case .crashes: crashes(through: end)
    case .oldImages: oldImages(through: end)
    case .lies: lies(names, through: end)
    case .garbage: garbage(through: end)
    case .quota:
      let at = 600_000 + chance.below(end - 600_000)
      step(at, "relay", "quota", ["\(chance.pick([0, 4_000, 20_000]))"])
      step(at + chance.within(1...12) * Generator.hour, "relay", "quota", ["off"])
    case .partitions:
      for at in moments(6, through: end) {
        let name = chance.pick(names)
        let way = chance.pick(["\(name)>relay", "relay>\(name)", "\(name)-relay", "relay"])
        step(at, "world", "cut", [way])
        step(at + chance.within(60_000...12 * Generator.hour), "world", "heal", [way])
      }
    case .meanwhile:
      for at in moments(20, through: end) {
        let (one, other) = (chance.pick(names), chance.pick(names))
        step(at, one, "meanwhile", [other, "in=\(chance.within(1...12))"])
        step(at + 500, other, "tally", ["k0", "add", "1"])
        step(at + 1_000, one, "sync")
      }
    }
  }

  /// The relay's program or machine stops, or its disk fails.
  private mutating func crashes(through end: Int) {
    for at in moments(8, through: end) {
      switch chance.below(6) {
      case 0: step(at, "relay", "kill")
      case 1: step(at, "relay", "power")
      case 2, 3: step(at, "relay", "power", ["in=\(chance.within(1...40))"])
      default:
        let verb = chance.pick(["disk-error", "sync-error", "disk-full"])
        step(at, "relay", verb, ["in=\(chance.within(1...20))", "for=\(chance.within(1...3))"])
      }
    }
  }

  /// The relay is put back to an old state, or to nothing.
  private mutating func oldImages(through end: Int) {
    let at = 600_000 + chance.below(end / 2)
    step(at, "relay", "save", ["r0"])
    for back in moments(2, through: end) where back > at {
      switch chance.below(4) {
      case 0: step(back, "relay", "wipe")
      case 1: step(back, "relay", "rollback", ["r0", "told"])
      default: step(back, "relay", "rollback", ["r0"])
      }
    }
  }

  /// For a while the relay omits, damages, repeats or swaps what it gives.
  private mutating func garbage(through end: Int) {
    for at in moments(4, through: end) {
      let (verb, word) = chance.pick([
        ("omit", "200"), ("spoil", "30"), ("repeat", "100"), ("swap", "on"), ("omit", "1000"),
      ])
      step(at, "relay", verb, [word])
      step(
        at + chance.within(60_000...6 * Generator.hour), "relay", verb,
        [
          verb == "swap" ? "off" : "0"
        ])
    }
  }

  /// Two histories, or one without somebody's work, for some.
  private mutating func lies(_ names: [String], through end: Int) {
    for at in moments(2, through: end) {
      let victims = names.filter { _ in chance.happens(perMille: 400) }
      guard !victims.isEmpty else { continue }
      if chance.happens(perMille: 500) {
        step(at, "relay", "equivocate", victims)
      } else {
        step(
          at, "relay", "withhold",
          [chance.pick(names), "from=\(victims.joined(separator: ","))"])
      }
      step(at + chance.within(1...24) * Generator.hour, "relay", "honest")
    }
  }

  /// One is away while others are removed and invited, so that the access key changes, more than
  /// once; the one comes back, with work of its own.
  private mutating func awayWhileKeysTurn(_ names: [String], through end: Int) {
    let others = Array(names.dropFirst())
    guard others.count > 1 else { return }
    let (founder, away) = (names[0], chance.pick(others))
    let at = Generator.hour + chance.below(end / 2)
    step(at - 60_000, away, "sync")
    step(at, "world", "cut", ["\(away)-relay"])
    for number in 0..<chance.within(1...3) {
      let moment = at + (number + 1) * Generator.hour / 2
      step(moment, founder, "invite", ["turn\(number)", "uses=1"])
      step(moment + 1_000, founder, "close-invite", ["turn\(number)"])
      step(moment + 2_000, founder, "sync")
    }
    if chance.happens(perMille: 500), let gone = others.first(where: { $0 != away }) {
      step(at + 2 * Generator.hour, founder, "remove", [gone])
      step(at + 2 * Generator.hour + 1_000, founder, "sync")
      for place in 0..<3 {
        step(at + 3 * Generator.hour + place * 60_000, gone, "tally", ["k1", "add", "1"])
        step(at + 3 * Generator.hour + place * 60_000 + 1_000, gone, "sync")
      }
    }
    step(at + 2 * Generator.hour, away, "tally", ["k0", "add", "1"])
    step(at + 4 * Generator.hour, "world", "heal", ["\(away)-relay"])
    step(at + 4 * Generator.hour + 1_000, away, "sync")
  }

  /// The relay goes back to before somebody's last work, and so does that somebody.
  private mutating func lostForGood(_ names: [String], through end: Int) {
    let name = chance.pick(names)
    let at = Generator.hour + chance.below(end / 2)
    step(at, "relay", "save", ["lost"])
    step(at + 1, name, "save", ["lost"])
    step(at + 60_000, name, "tally", ["k0", "add", "1"])
    step(at + 61_000, name, "sync")
    step(at + 120_000, "relay", "rollback", ["lost"])
    step(at + 121_000, name, "rollback", ["lost"])
    step(at + 180_000, name, "sync")
  }
}
