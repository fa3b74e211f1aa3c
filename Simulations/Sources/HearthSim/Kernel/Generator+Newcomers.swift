/// A household whose newcomers read from their joining on.
///
/// Drawn from dice of its own: a plan is the quick one of its seed with the rule, and who comes.
extension Generator {
  private static let hour = 3_600_000

  /// Sets the rule, lets people in under it, some of them while others are away, and now and then
  /// sets it back.
  mutating func newcomers(through end: Int) {
    let kept = chance
    defer { chance = kept }
    chance = Chance(seed, domain: "newcomers")
    let present = plan.devices.filter { $0.build == "current" && !$0.joinsLater }.map(\.name)
    guard let founder = present.first else { return }
    let start = Generator.hour + chance.below(end / 3)
    step(start, founder, "newcomers", ["from-joining"])
    step(start + 1_000, founder, "sync")
    if let second = present.dropFirst().first {
      step(start - 600_000, founder, "role", [second, "admin"])
      step(start - 599_000, founder, "sync")
      step(start - 300_000, second, "sync")
    }
    for (number, name) in ["Nia", "Noa", "Nell"].prefix(chance.within(1...3)).enumerated() {
      plan.devices.append(Plan.Device(name: name, joinsLater: true))
      let at = start + Generator.hour + chance.below(end - start - 12 * Generator.hour)
      comes(name, number, at: at, by: chance.pick(Array(present.prefix(2))), present)
      life(of: name, from: at + 2 * Generator.hour, through: end)
    }
    for number in 0..<chance.below(3) {
      let at = start + Generator.hour + chance.below(end - start - 2 * Generator.hour)
      let host = chance.pick(Array(present.prefix(2)))
      switch chance.below(4) {
      case 0: step(at, host, "newcomers", ["everything"])
      case 1: step(at, host, "newcomers", ["from-joining"])
      case 2: step(at, host, "remove", [chance.pick(present)])
      default: step(at, host, "invite", ["unused\(number)", "uses=1"])
      }
      step(at + 1_000, host, "sync")
    }
  }

  /// Somebody comes, and somebody who is away works on under the keys of then.
  private mutating func comes(
    _ name: String, _ number: Int, at: Int, by host: String, _ present: [String]
  ) {
    let others = present.filter { $0 != host }
    if !others.isEmpty, chance.happens(perMille: 600) {
      let away = chance.pick(others)
      // What comes from there comes late; what goes there, later still.
      let ways =
        chance.happens(perMille: 500)
        ? plan.devices.map(\.name).filter { $0 != away }.map { "\($0)>\(away)" } : [away]
      step(at - 1_000, "world", "cut", ways)
      work(of: away, at: at - 300_000)
      work(of: away, at: at + 60_000)
      step(at + chance.within(2...8) * Generator.hour, "world", "heal", ways)
    }
    let asks = chance.happens(perMille: 300)
    step(at, host, "invite", ["now\(number)", "uses=1"] + (asks ? ["approve"] : []))
    step(at + 1_000, host, "sync")
    for retry in 1..<5 {
      let moment = at + retry * Generator.hour
      step(moment, name, "join", ["now\(number)"])
      step(moment + 60_000, name, "sync")
      guard asks else { continue }
      step(moment + 600_000, host, "approve")
      step(moment + 601_000, host, "sync")
    }
  }
}
