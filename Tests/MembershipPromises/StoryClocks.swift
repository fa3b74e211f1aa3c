/// What clocks say in a random history, from a stream of numbers of its own: what the seed tells
/// besides stays as it is.
struct Clocks {
  var random: SplitMix64
  /// How long after the expiry of a link honest owners and admins still confirm by themselves
  /// whoever arrives.
  let grace: Int

  init(seed: UInt64, grace: Int) {
    random = SplitMix64(seed: seed ^ 0x5DEE_CE66_D0B1_7C3A)
    self.grace = grace
  }

  /// How much time passes.
  mutating func step() -> Int {
    if random.chance(60) { return 0 }
    return random.chance(10) ? 40 : 1 + random.below(4)
  }

  mutating func expiry(_ now: Int) -> Int { random.chance(25) ? .max : now + random.below(10) }

  /// The time that suits a liar.
  mutating func anyTime(_ now: Int) -> Int {
    switch random.below(4) {
    case 0: now
    case 1: 0
    case 2: random.below(now + 1)
    default: now + random.below(12)
    }
  }
}

/// What honest owners and admins do by their clocks, whenever they sync.
///
/// First they close the links that they know to be over, the grace included. Then they read, and
/// confirm whoever is in time. Then they close what is over without the grace. A closing thus had
/// not seen a joining that its author first sees after the expiry. Whoever first hears of the link
/// itself together with the joining can have closed nothing, and does not confirm.
extension Story {
  mutating func passTime() {
    guard let step = clocks?.step() else { return }
    world.wait(until: world.now + step)
  }

  mutating func expiry() -> Int { clocks?.expiry(world.now) ?? .max }

  /// What a liar claims the time to be.
  mutating func claimedTime(_ device: Int) -> Int? {
    guard isLiar(device) else { return nil }
    return clocks?.anyTime(world.now)
  }

  mutating func sync(_ from: Int, _ to: Int) {
    closeOver(to, later: clocks?.grace ?? 0)
    world.sync(from, to)
  }

  mutating func deliver(_ id: Int, to device: Int) {
    closeOver(device, later: clocks?.grace ?? 0)
    world.deliver(id, to: device)
  }

  /// An honest device closes the links that it knows and that were over so long ago.
  mutating func closeOver(_ device: Int, later grace: Int) {
    guard clocks != nil, !isFull, !isLiar(device), let person = person(device),
      ledger.links.contains(where: { isOver($0, grace) })
    else { return }
    let view = view(device)
    guard isActive(device, view), let own = role(person, view) else { return }
    for number in openLinks(view) where !isFull {
      guard let place = link(number), isOver(ledger.links[place], grace) else { continue }
      let maker = ledger.owner[ledger.device[ledger.links[place].issue]]
      let isOwn = maker >= 0 && ledger.personIDs[maker] == person
      guard isOwn || (own.rank >= 3 && own.rank > granted(place, view)) else { continue }
      write(device, .close(invite: number))
    }
  }

  private func isOver(_ link: Ledger.Link, _ grace: Int) -> Bool {
    link.expires < .max && world.now > link.expires + grace
  }

  private func granted(_ link: Int, _ view: View) -> Int {
    let facts = ledger.links[link]
    return facts.forPerson.map { view.rank($0) } ?? facts.role.rank
  }

  /// Whether an honest device confirms a joining by itself, as far as clocks are concerned.
  func isTimely(_ entry: Int, _ link: Int, _ seen: Bits) -> Bool {
    guard let clocks else { return true }
    var isClosed = false
    var isOpposed = false
    seen.forEach {
      guard case .close(link) = ledger.moves[$0] else { return }
      isClosed = true
      if !ledger.sees($0, entry) { isOpposed = true }
    }
    if isOpposed { return false }
    return isClosed || !isOver(ledger.links[link], clocks.grace)
  }

  /// A person approves somebody who joined, whatever speaks against it.
  mutating func approveSometimes() {
    guard !isFull, clocks?.random.chance(10) == true,
      let device = clocks?.random.pick(devices), !isLiar(device), let person = person(device)
    else { return }
    let view = view(device)
    guard isActive(device, view), let own = role(person, view), own.rank >= 3 else { return }
    var waiting: [Int] = []
    ledger.bits(world.received[device] ?? [:]).forEach {
      guard case .join(let link, _) = ledger.moves[$0], link >= 0,
        granted(link, view) < own.rank
      else { return }
      let newcomer = ledger.device[$0]
      if !view.confirmed[newcomer] { waiting.append(ledger.deviceIDs[newcomer]) }
    }
    guard let newcomer = clocks?.random.pick(waiting) else { return }
    write(device, .confirm(device: newcomer))
  }
}
