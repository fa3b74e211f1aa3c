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
    // Those who are lied about write on.
    for device in plan.devices where device.build == "current" && device.name != name {
      let moment = at + chance.within(60_000...Generator.hour)
      step(
        moment, device.name, "edit", ["c\(chance.below(3))", "title=Canary \(chance.below(100))"])
      step(moment + 1_000, device.name, "tag", ["c\(chance.below(3))", "t\(chance.below(4))"])
      step(moment + 60_000, device.name, "sync")
    }
  }
}
