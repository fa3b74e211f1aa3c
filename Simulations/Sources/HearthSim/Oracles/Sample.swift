/// Where costly looks at rest are for some only: in plans from seeds, each by dice of its own.
extension World {
  /// Those of the devices to look at: all, or two by chance.
  func sample(of devices: [SimDevice], for domain: StaticString) -> [SimDevice] {
    guard plan.isSampled == true else { return devices }
    var chance = Chance(plan.seed, domain: domain)
    return World.two(of: devices, by: &chance)
  }

  /// Whether to look at all: always, or half of the time.
  func isDrawn(for domain: StaticString) -> Bool {
    guard plan.isSampled == true else { return true }
    var chance = Chance(plan.seed, domain: domain)
    return chance.happens(perMille: 500)
  }

  /// Two of the devices, in their order, or fewer if there are fewer.
  static func two(of devices: [SimDevice], by chance: inout Chance) -> [SimDevice] {
    var left = devices
    while left.count > 2 { left.remove(at: chance.below(left.count)) }
    return left
  }
}
