/// What people do to the household's people: short stories, and single steps at any time.
extension Generator {
  private static let hour = 3_600_000

  /// Draws them in some of the plans, by dice of their own.
  mutating func people(through end: Int) {
    let kept = chance
    defer { chance = kept }
    chance = Chance(seed, domain: "people", mode == .quick ? 0 : 1)
    guard chance.happens(perMille: 400) else { return }
    let present = plan.devices.filter { $0.build == "current" && !$0.joinsLater }.map(\.name)
    guard let founder = present.first, present.count > 1 else { return }
    furtherDevices(of: present, through: end)
    let newcomers = ["Kim", "Lea"].prefix(chance.below(3))
    for name in newcomers {
      plan.devices.append(Plan.Device(name: name, joinsLater: true))
      life(of: name, from: end / 4, through: end)
    }
    var admins = [founder]
    for (place, name) in present.enumerated() where place > 0 {
      guard place == 1 || chance.happens(perMille: 600) else { continue }
      let role =
        place == 1
        ? "admin" : chance.pick(["admin", "admin", "member", "child", "child", "reader"])
      step(310_000 + place * 1_000, founder, "role", [name, role])
      if role == "admin" { admins.append(name) }
    }
    step(320_000, founder, "sync")
    for name in present.dropFirst() {
      step(330_000 + chance.below(600_000), name, "sync")
    }
    let stories = chance.within(1...3)
    for number in 0..<stories {
      let at = Generator.hour + chance.below(end - 12 * Generator.hour)
      story(number, at: at, admins, present, Array(newcomers))
    }
    singleSteps(present, Array(newcomers), through: end)
  }

  /// A storm: eleven devices of five people, three hundred operations on who belongs to the
  /// household, and partitions.
  mutating func makePeople() -> Plan {
    plan.seed = seed
    plan.name = "people-\(seed)"
    plan.isSampled = true
    let people = Array(Generator.names.prefix(5))
    plan.devices = people.map { Plan.Device(name: $0) }
    for (place, kind) in ["Tablet", "Tablet", "Tablet", "Tablet", "Tablet", "Laptop"].enumerated() {
      let owner = people[place % people.count]
      plan.devices.append(Plan.Device(name: owner + kind, of: owner))
    }
    let names = plan.devices.map(\.name)
    let end = 10 * Generator.dayMilliseconds
    plan.carrier.isShared = chance.happens(perMille: 300)
    for place in 0..<3 { add(at: 60_000 * (place + 1), by: names[0]) }
    step(200_000, names[0], "role", ["Ben", "admin"])
    step(210_000, names[0], "role", ["Cleo", "admin"])
    step(220_000, names[0], "sync")
    for name in names { life(of: name, from: 300_000, through: end) }
    for number in 0..<300 {
      let at = Generator.hour + end / 310 * number + chance.below(Generator.hour)
      anything(number, at: at, people, names)
    }
    for _ in 0..<20 {
      let at = Generator.hour + chance.below(end - 12 * Generator.hour)
      let way = chance.pick([chance.pick(names), "\(chance.pick(names))>\(chance.pick(names))"])
      step(at, "world", "cut", [way])
      step(at + chance.within(1...10) * Generator.hour, "world", "heal", [way])
    }
    sortSteps()
    return plan
  }

  /// One operation of the storm, and what makes it known; by somebody who may, more often than not.
  private mutating func anything(
    _ number: Int, at: Int, _ people: [String], _ names: [String]
  ) {
    let actor = chance.pick([chance.pick(["Ada", "Ben", "Cleo", "AdaTablet"]), chance.pick(names)])
    let other = chance.pick(people)
    step(at + 1_000, actor, "sync")
    switch chance.below(20) {
    case 0, 1: step(at, actor, "remove", [other])
    case 2: step(at, actor, "revoke", [chance.pick(names)])
    case 3..<7:
      step(
        at, actor, "role", [other, chance.pick(["admin", "admin", "member", "child", "reader"])])
    case 7: step(at, actor, "owner", [other])
    case 8: step(at, other, "accept-owner")
    case 9: step(at, actor, "close-invite", ["in\(chance.below(number + 1))"])
    case 10: step(at, actor, "adopt")
    case 11 where chance.happens(perMille: 200): step(at, actor, "leave")
    case 12:
      step(at, actor, "approve")
    case 13, 14:
      // To a further device of one's own.
      let name = "own\(number)"
      step(at, other, "invite", [name, "for=\(other)", "uses=1"])
      step(at + 1_000, other, "sync")
      for device in names where device.hasPrefix(other) {
        step(at + Generator.hour, device, "join", [name])
      }
    default:
      let name = "in\(number)"
      let kind = chance.happens(perMille: 200) ? ["approve"] : []
      step(
        at, actor, "invite",
        [name, "uses=\(chance.within(1...3))", "role=\(chance.pick(["member", "child"]))"] + kind)
      for retry in 1..<4 {
        step(at + retry * Generator.hour, chance.pick(names), "join", [name])
      }
    }
  }

  /// Some people use two devices.
  private mutating func furtherDevices(of present: [String], through end: Int) {
    guard chance.happens(perMille: 400) else { return }
    for _ in 0..<chance.within(1...2) {
      let owner = chance.pick(present)
      let name = owner + "Tablet"
      guard !plan.devices.contains(where: { $0.name == name }) else { continue }
      plan.devices.append(Plan.Device(name: name, of: owner))
      life(of: name, from: 400_000, through: end)
      guard chance.happens(perMille: 500) else { continue }
      let at = Generator.hour + chance.below(end - 2 * Generator.hour)
      step(at, owner, "revoke", [name])
      if chance.happens(perMille: 500) {
        step(at - 60_000, "world", "cut", ["\(owner)-\(name)"])
        step(at + 1_000, name, "revoke", [owner])
        step(at + Generator.hour, "world", "heal", ["\(owner)-\(name)"])
      }
    }
  }

  /// What every device does now and then.
  mutating func life(of name: String, from start: Int, through end: Int) {
    let every = mode == .quick ? 2 * Generator.hour : 24 * Generator.hour
    var at = start + chance.below(every)
    while at < end {
      step(at, name, "sync")
      if chance.happens(perMille: 400) {
        step(at + 1_000, name, "tally", [chance.pick(Tally.names), "add", "\(chance.below(9))"])
      } else if chance.happens(perMille: 300) {
        step(at + 1_000, name, "complete", ["c\(chance.below(3))"])
      }
      at += every / 2 + chance.below(every)
    }
  }

  mutating func work(of name: String, at: Int, count: Int = 4) {
    for place in 0..<count {
      let moment = at + place * 60_000
      switch chance.below(5) {
      case 0: step(moment, name, "edit", ["c0", "points=\(chance.below(30))"])
      case 1: step(moment, name, "complete", ["c\(chance.below(3))", "early"])
      case 2: step(moment, name, "undo")
      default: step(moment, name, "tally", [chance.pick(Tally.names), "add", "1"])
      }
      step(moment + 30_000, name, "sync")
    }
  }

  private mutating func story(
    _ number: Int, at: Int, _ admins: [String], _ present: [String], _ newcomers: [String]
  ) {
    let host = chance.pick(admins)
    let others = present.filter { $0 != host }
    let other = chance.pick(others)
    switch chance.below(8) {
    case 0: mutualRemoval(at: at, host, other)
    case 1: removal(at: at, host, other, number)
    case 2: theft(at: at, host, other)
    case 3: demotion(at: at, host, other)
    case 4: approval(number, at: at, host, newcomers.first ?? other)
    case 5: scarceInvitation(number, at: at, host, newcomers + [other])
    case 6: handingOver(at: at, present[0], other, host)
    default: twoRemovals(at: at, present[0], host, present)
    }
  }

  private mutating func mutualRemoval(at: Int, _ one: String, _ other: String) {
    step(at - 1_000, "world", "cut", ["\(one)"])
    step(at, one, "remove", [other])
    step(at + 1_000, other, "remove", [one])
    step(at + 2_000, one, "sync")
    step(at + 3_000, other, "sync")
    work(of: one, at: at + 60_000)
    work(of: other, at: at + 60_000)
    step(at + 3 * Generator.hour, "world", "heal", ["\(one)"])
  }

  /// The removed one does not hear of it for a while, and comes back later.
  private mutating func removal(at: Int, _ host: String, _ away: String, _ number: Int) {
    let isOneWay = chance.happens(perMille: 500)
    let ways =
      isOneWay ? plan.devices.map(\.name).filter { $0 != away }.map { "\($0)>\(away)" } : [away]
    work(of: away, at: at - 600_000, count: 2)
    step(at - 1_000, "world", "cut", ways)
    step(at, host, "remove", [away])
    step(at + 1_000, host, "sync")
    work(of: away, at: at + 60_000)
    work(of: host, at: at + 70_000)
    step(at + 3 * Generator.hour, "world", "heal", ways)
    if chance.happens(perMille: 400) {
      step(at + 4 * Generator.hour, host, "adopt")
      step(at + 4 * Generator.hour + 1_000, host, "sync")
    }
    guard chance.happens(perMille: 600) else { return }
    step(at + 5 * Generator.hour, host, "invite", ["back\(number)", "uses=2"])
    step(at + 5 * Generator.hour + 1_000, host, "sync")
    for retry in 0..<3 { step(at + (6 + retry) * Generator.hour, away, "join", ["back\(number)"]) }
    work(of: away, at: at + 9 * Generator.hour)
  }

  private mutating func theft(at: Int, _ host: String, _ thief: String) {
    step(at - 1_000, thief, "sync")
    step(at, thief, "ignore-members")
    step(at + 1_000, host, chance.pick(["remove", "revoke"]), [thief])
    step(at + 2_000, host, "sync")
    work(of: thief, at: at + 60_000, count: 6)
    work(of: host, at: at + 90_000, count: 6)
    if chance.happens(perMille: 500) {
      step(at + 4 * Generator.hour, thief, "ignore-members", ["off"])
      step(at + 4 * Generator.hour + 1_000, thief, "sync")
    }
  }

  private mutating func demotion(at: Int, _ host: String, _ other: String) {
    step(at - 1_000, "world", "cut", [other])
    step(at, host, "role", [other, chance.pick(["child", "reader", "child", "member"])])
    step(at + 1_000, host, "sync")
    step(at + 2_000, other, "edit", ["c0", "title=Canary late"])
    step(at + 3_000, other, "undo")
    work(of: other, at: at + 60_000)
    step(at + 2 * Generator.hour, "world", "heal", [other])
    guard chance.happens(perMille: 400) else { return }
    step(at + 4 * Generator.hour, host, "role", [other, "member"])
  }

  private mutating func approval(_ number: Int, at: Int, _ host: String, _ newcomer: String) {
    if !plan.devices.contains(where: { $0.name == newcomer && $0.joinsLater }) {
      step(at - Generator.hour, host, "remove", [newcomer])
      step(at - Generator.hour + 1_000, host, "sync")
    }
    step(at, host, "invite", ["ap\(number)", "approve", "uses=\(chance.within(1...2))"])
    step(at + 1_000, host, "sync")
    step(at + Generator.hour, newcomer, "join", ["ap\(number)"])
    for retry in 0..<4 {
      let moment = at + (2 + retry) * Generator.hour
      step(moment, host, "approve")
      step(moment + 1_000, host, "sync")
      step(moment + Generator.hour / 2, newcomer, "sync")
    }
  }

  /// More come than an invitation lets in, while it is closed.
  private mutating func scarceInvitation(
    _ number: Int, at: Int, _ host: String, _ newcomers: [String]
  ) {
    step(at, host, "invite", ["few\(number)", "uses=\(chance.within(1...2))"])
    step(at + 1_000, host, "sync")
    let isClosed = chance.happens(perMille: 500)
    step(at + Generator.hour, "world", "cut", newcomers)
    for (place, name) in newcomers.enumerated() {
      step(at + Generator.hour + 60_000 + place * 1_000, name, "join", ["few\(number)"])
      work(of: name, at: at + Generator.hour + 120_000, count: 2)
    }
    if isClosed {
      step(at + Generator.hour + 61_500, host, "close-invite", ["few\(number)"])
      step(at + Generator.hour + 63_000, host, "sync")
    }
    step(at + 3 * Generator.hour, "world", "heal", newcomers)
  }

  private mutating func handingOver(at: Int, _ owner: String, _ heir: String, _ admin: String) {
    step(at, owner, "owner", [heir])
    step(at + 1_000, owner, "sync")
    step(at + Generator.hour, heir, "sync")
    step(at + Generator.hour + 30_000, "world", "cut", [heir])
    step(at + Generator.hour + 60_000, heir, "accept-owner")
    step(at + Generator.hour + 61_000, admin, chance.pick(["remove", "role"]), [heir, "member"])
    step(at + Generator.hour + 62_000, heir, "remove", [owner])
    step(at + 2 * Generator.hour, "world", "heal", [heir])
  }

  /// Two remove two others at the same time, so that neither new key leaves out both.
  private mutating func twoRemovals(
    at: Int, _ owner: String, _ admin: String, _ present: [String]
  ) {
    let rest = present.filter { $0 != owner && $0 != admin }
    guard owner != admin, rest.count > 1 else { return mutualRemoval(at: at, owner, present[1]) }
    step(at - 1_000, "world", "cut", [owner])
    step(at, owner, "remove", [rest[0]])
    step(at + 1_000, admin, "remove", [rest[1]])
    step(at + 2_000, owner, "sync")
    step(at + 3_000, admin, "sync")
    step(at + Generator.hour, "world", "heal", [owner])
    for name in rest { work(of: name, at: at + 60_000, count: 2) }
    for name in [owner, admin] { work(of: name, at: at + 2 * Generator.hour) }
  }

  /// Anybody anything at any time; most of it is refused.
  private mutating func singleSteps(
    _ present: [String], _ newcomers: [String], through end: Int
  ) {
    for number in 0..<chance.within(0...8) {
      let at = Generator.hour + chance.below(end - 2 * Generator.hour)
      let (one, other) = (chance.pick(present), chance.pick(present + newcomers))
      switch chance.below(12) {
      case 0: step(at, one, "remove", [other])
      case 1: step(at, one, "revoke", [other])
      case 2, 3:
        step(at, one, "role", [other, chance.pick(["admin", "member", "child", "reader"])])
      case 4: step(at, one, "owner", [other])
      case 5: step(at, one, "accept-owner")
      case 6: step(at, one, chance.happens(perMille: 300) ? "leave" : "adopt")
      case 7: step(at, one, "close-invite")
      case 8: step(at, one, "adopt")
      default:
        let name = "in\(number)"
        step(at, one, "invite", [name, "role=\(chance.pick(["member", "child", "admin"]))"])
        step(at + 1_000, one, "sync")
        for retry in 1..<4 { step(at + retry * Generator.hour / 2, other, "join", [name]) }
      }
    }
  }
}
