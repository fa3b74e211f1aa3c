/// Households some of whose members have changed programs.
///
/// Drawn from dice of its own: a plan is the quick one of its seed with one more member, who works
/// with the others for a while and then does harm; in every tenth family there is one of each role.
extension Generator {
  private static let hour = 3_600_000
  /// The hostile members of a family that has one of each role.
  private static let hostileMembers = [
    ("Mal", "reader"), ("Max", "child"), ("Mia", "member"), ("Moe", "admin"), ("May", "owner"),
  ]
  /// Which of ten families has a hostile member of each role.
  static let hostileFamily: UInt64 = 4

  /// Lets somebody in, gives a role, and turns that person's device against the others; in every
  /// tenth family one of each role, however few the others are.
  mutating func hostile(through end: Int) {
    let kept = chance
    defer { chance = kept }
    chance = Chance(seed, domain: "hostile")
    guard let founder = plan.devices.first(where: { $0.build == "current" })?.name,
      founder == plan.devices.first?.name
    else { return }
    let present = plan.devices.map(\.name)
    if seed % 10 != Generator.hostileFamily {
      plan.devices.append(Plan.Device(name: "Mal"))
      turn(
        "Mal", role: chance.pick(["member", "child", "reader", "admin"]), founder, present,
        through: end)
      return
    }
    for (name, role) in Generator.hostileMembers {
      var device = Plan.Device(name: name)
      if plan.relay != nil { device.way = .both }
      plan.devices.append(device)
      turn(name, role: role, founder, present, through: end)
    }
  }

  /// What one of them does, and what the others write upon it.
  private mutating func turn(
    _ name: String, role: String, _ founder: String, _ present: [String], through end: Int
  ) {
    // Who becomes the owner is an admin before, and turns last: only an owner removes an admin.
    let isOwner = role == "owner"
    step(300_000, founder, "role", [name, isOwner ? "admin" : role])
    step(301_000, founder, "sync")
    let at =
      isOwner
      ? end / 2 + 6 * Generator.hour + chance.below(end / 2 - 8 * Generator.hour)
      : Generator.hour + chance.below(end / 2)
    life(of: name, from: 400_000, through: at - 600_000)
    if isOwner {
      handOver(to: name, by: founder, before: at)
      step(at - 60_000, name, "sync")
    } else if chance.happens(perMille: 250) {
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
    let planting = World.plantingDeeds
    deeds.sort { !planting.contains($0) && planting.contains($1) }
    step(at, name, "hostile", deeds)
    if deeds.contains(where: planting.contains), present.count > 1 {
      // The two who meet other lives first hear nothing of each other meanwhile.
      let ways = Array(present.prefix(2))
      step(at - 1_000, "world", "cut", ways)
      for way in ways { step(at + 60_000, way, "sync") }
      step(at + 120_000, "world", "heal", ways)
    }
    // Those who are lied about write on.
    for device in plan.devices where device.build == "current" && present.contains(device.name) {
      let moment = at + chance.within(180_000...Generator.hour)
      for chore in 0..<3 {
        let title = "title=Canary \(chance.below(100))"
        step(moment + chore * 2_000, device.name, "edit", ["c\(chore)", title])
        step(moment + chore * 2_000 + 1_000, device.name, "tag", ["c\(chore)", "t0"])
      }
      step(moment + 60_000, device.name, "sync")
    }
  }

  /// Offers the household, which the heir takes as soon as the offer has come.
  private mutating func handOver(to heir: String, by founder: String, before at: Int) {
    step(at - 5 * Generator.hour, founder, "owner", [heir])
    step(at - 5 * Generator.hour + 1_000, founder, "sync")
    for hours in 1...4 {
      let moment = at - hours * Generator.hour
      step(moment, heir, "sync")
      step(moment + 1_000, heir, "accept-owner")
      step(moment + 2_000, heir, "sync")
    }
  }
}
