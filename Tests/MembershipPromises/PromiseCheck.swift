/// The entry points.
package enum PromiseCheck {
  /// The random history of a seed.
  ///
  /// - Parameter grace: nil where no time passes and no link expires; else how long after the
  ///   expiry of a link honest owners and admins still confirm by themselves whoever arrives.
  package static func history(seed: UInt64, grace: Int? = nil) -> History {
    Story.tell(seed: seed, grace: grace)
  }

  /// The first promise that the resolver breaks in the random history of the seed, if any.
  package static func random(
    seed: UInt64, promises: Set<Promise> = Set(Promise.allCases),
    strictness: Strictness = .all, resolve: Resolve
  ) -> Broken? {
    Checker(Story.tell(seed: seed), promises: promises, strictness: strictness, seed: seed)
      .firstBroken(resolve)
  }

  /// The regression plans T1 to T10; `Plan.failure` checks one.
  package static let plans: [Plan] = regressionPlans()
}

extension Story {
  /// Tells a whole random history.
  static func tell(seed: UInt64, grace: Int? = nil) -> History {
    var story = Story(seed: seed, grace: grace)
    story.gather()
    var turns = 0
    while !story.isFull && turns < 400 {
      turns += 1
      story.turn()
    }
    return story.world.history
  }

  /// The first people come, partly liars.
  private mutating func gather() {
    if random.chance(15) { corrupt(0) }
    if random.chance(70) { nameWords(0, 0) }
    let count = target < 16 ? 1 + random.below(2) : 2 + random.below(3)
    for place in 0..<count where !isFull {
      let roles: [Role] =
        place == 0
        ? [.admin] : [.admin, .admin, .member, .member, .child, .reader]
      guard let role = random.pick(roles) else { continue }
      _ = welcome(role, host: 0, confirm: random.chance(85), liar: random.chance(30))
    }
    if random.chance(50), let host = random.pick(devices) {
      double(host, liar: random.chance(40))
    }
    if random.chance(70) {
      world.syncAll(devices)
    }
  }

  private mutating func turn() {
    passTime()
    approveSometimes()
    if random.chance(8) { for device in devices { side[device] = random.below(2) } }
    for _ in 0..<random.below(5) { gossip() }
    if isFull { return }
    switch random.below(100) {
    case 0..<4: if let device = random.pick(devices), random.chance(30) { corrupt(device) }
    case 4..<9: if devices.count < 12 { find() }
    case 9..<14: if devices.count < 12 { recover() }
    default:
      guard let device = random.pick(devices) else { return }
      if isLiar(device) { attack(device) } else { honest(device) }
    }
  }
}
