/// A household one of whose members has a changed program.
///
/// Drawn from dice of its own: a plan is the quick one of its seed with one more member, who works
/// with the others for a while and then does harm.
extension Generator {
  private static let hour = 3_600_000

  /// Lets somebody in, gives a role, and turns that person's device against the others.
  mutating func hostile(through end: Int) {
    let kept = chance
    defer { chance = kept }
    chance = Chance(seed, domain: "hostile")
    guard let founder = plan.devices.first(where: { $0.build == "current" })?.name,
      founder == plan.devices.first?.name
    else { return }
    let name = "Mal"
    plan.devices.append(Plan.Device(name: name))
    let role = chance.pick(["member", "child", "reader", "admin"])
    step(300_000, founder, "role", [name, role])
    step(301_000, founder, "sync")
    let at = Generator.hour + chance.below(end / 2)
    life(of: name, from: 400_000, through: at - 600_000)
    if chance.happens(perMille: 250) {
      step(at - 300_000, founder, "remove", [name])
      step(at - 299_000, founder, "sync")
      // Half of those who are removed have heard of it.
      if chance.happens(perMille: 500) { step(at - 60_000, name, "sync") }
    } else {
      step(at - 60_000, name, "sync")
    }
    var deeds: [String] = []
    for _ in 0..<chance.within(1...3) { deeds.append(chance.pick(World.hostileDeeds)) }
    // Under other lives nothing of the present one follows.
    deeds.sort { $0 != "plant" && $1 == "plant" }
    step(at, name, "hostile", deeds)
    let present = plan.devices.map(\.name).filter { $0 != name }
    if deeds.contains("plant"), present.count > 1 {
      // The two who meet other lives first hear nothing of each other meanwhile.
      let ways = Array(present.prefix(2))
      step(at - 1_000, "world", "cut", ways)
      for way in ways { step(at + 60_000, way, "sync") }
      step(at + 120_000, "world", "heal", ways)
    }
    // Those who are lied about write on.
    for device in plan.devices where device.build == "current" && device.name != name {
      let moment = at + chance.within(180_000...Generator.hour)
      for chore in 0..<3 {
        let title = "title=Canary \(chance.below(100))"
        step(moment + chore * 2_000, device.name, "edit", ["c\(chore)", title])
        step(moment + chore * 2_000 + 1_000, device.name, "tag", ["c\(chore)", "t0"])
      }
      step(moment + 60_000, device.name, "sync")
    }
  }
}
