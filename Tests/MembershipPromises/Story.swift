/// A random history in the making: who is there, who lies, who hears whom.
struct Story {
  var random: SplitMix64
  var world = World()
  var ledger = Ledger()
  /// Devices that take part, in the order in which they appeared.
  var devices: [Int] = [0]
  /// Devices of liars and of strangers who may find links.
  var liars: [Int] = []
  /// Links that liars know.
  var found: [Int] = []
  /// Which words a liar holds, by person.
  var words: [Int: Int] = [:]
  var side: [Int: Int] = [:]
  var nextWords = 1
  var nextKey = 1
  /// What clocks say; nil where no time passes and no link expires.
  var clocks: Clocks?
  /// Which numbers of people tell who made them.
  var makers: Makers
  let target: Int

  init(seed: UInt64, grace: Int? = nil) {
    random = SplitMix64(seed: seed)
    clocks = grace.map { Clocks(seed: seed, grace: $0) }
    makers = Makers(seed: seed)
    target = Self.length(&random)
    note(world.write(0, .found))
  }

  /// Mostly short histories: liars do most harm in few acts, and those are the cheap ones.
  private static func length(_ random: inout SplitMix64) -> Int {
    switch random.below(100) {
    case 0..<50: 6 + random.below(14)
    case 50..<88: 14 + random.below(16)
    case 88..<98: 28 + random.below(24)
    default: 50 + random.below(40)
    }
  }

  var isFull: Bool { world.acts.count >= target }

  /// Keeps the ledger with the world.
  @discardableResult
  mutating func note(_ id: Int) -> Int {
    while ledger.count < world.acts.count { ledger.append(world.acts[ledger.count]) }
    return id
  }

  @discardableResult
  mutating func write(_ device: Int, _ deed: Deed, _ claim: Claim = .everything) -> Int {
    let time = claimedTime(device)
    return note(world.write(device, deed, claim, at: time))
  }

  func view(_ device: Int) -> View {
    View(ledger, seeing: ledger.bits(world.received[device] ?? [:]))
  }

  /// What is really so.
  func trueView() -> View {
    var all = Bits()
    for time in 0..<ledger.count { all[time] = true }
    return View(ledger, seeing: all)
  }

  func isLiar(_ device: Int) -> Bool { world.liars.contains(device) }

  mutating func newDevice() -> Int {
    var number = 1 + random.below(90)
    while devices.contains(number) || world.logs[number] != nil {
      number = 1 + random.below(90)
    }
    return number
  }

  mutating func newPerson() -> Int {
    var number = 1 + random.below(60)
    while ledger.place(ofPerson: number) != nil || makers.unused.contains(number) {
      number = 1 + random.below(60)
    }
    return number
  }

  mutating func add(_ device: Int) {
    devices.append(device)
    side[device] = random.below(2)
  }

  mutating func corrupt(_ device: Int) {
    world.corrupt(device)
    if !liars.contains(device) { liars.append(device) }
  }

  func person(_ device: Int) -> Int? { world.persons[device] }

  /// Persons that are in by a view, by their real numbers.
  func people(_ view: View) -> [Int] {
    ledger.personIDs.indices.filter { $0 < view.roles.count && view.roles[$0] != nil }
      .map { ledger.personIDs[$0] }
  }

  func active(_ view: View) -> [Int] {
    ledger.deviceIDs.indices.filter { $0 < view.active.count && view.active[$0] }
      .map { ledger.deviceIDs[$0] }
  }

  func role(_ person: Int, _ view: View) -> Role? {
    ledger.place(ofPerson: person).flatMap { $0 < view.roles.count ? view.roles[$0] : nil }
  }

  func isActive(_ device: Int, _ view: View) -> Bool {
    guard let place = ledger.place(ofDevice: device), place < view.active.count else {
      return false
    }
    return view.active[place]
  }

  /// Links by their numbers that are open by a view.
  func openLinks(_ view: View) -> [Int] {
    var result: [Int] = []
    for act in world.acts {
      guard case .invite(let id, _, _, _, _, _) = act.deed, let link = link(id) else { continue }
      if link < view.isOpen.count, view.isOpen[link] { result.append(id) }
    }
    return result
  }

  func link(_ number: Int) -> Int? {
    ledger.links.indices.first {
      if case .invite(let id, _, _, _, _, _) = ledger.acts[ledger.links[$0].issue].deed {
        return id == number
      }
      return false
    }
  }
}

extension Story {
  /// Two devices exchange what they have; honest admins confirm what looks right.
  mutating func gossip() {
    guard let one = random.pick(devices), let other = random.pick(devices), one != other else {
      return
    }
    if side[one] != side[other] && random.chance(80) { return }
    sync(one, other)
    if random.chance(60) { sync(other, one) }
    review(other)
    closeOver(other, later: 0)
  }

  /// The automatic confirmations of an honest device.
  mutating func review(_ device: Int) {
    guard !isLiar(device), !isFull, let person = person(device) else { return }
    let view = view(device)
    guard isActive(device, view), let own = role(person, view), own.rank >= 3 else { return }
    for newcomer in active(view) where newcomer != device && !isFull {
      guard looksRight(newcomer, own, view, device), random.chance(65) else { continue }
      write(device, .confirm(device: newcomer))
    }
    reviewHandover(device, person, view)
  }

  private func looksRight(_ newcomer: Int, _ own: Role, _ view: View, _ device: Int) -> Bool {
    guard let place = ledger.place(ofDevice: newcomer), !view.confirmed[place] else {
      return false
    }
    let person = ledger.owner[place]
    guard person >= 0, view.rank(person) < own.rank else { return false }
    let entry = view.entry[place]
    guard entry >= 0 else { return false }
    guard case .join(let link, _) = ledger.moves[entry] else { return true }
    if view.closing[link] >= 0, !ledger.sees(view.closing[link], entry) { return false }
    let seen = ledger.bits(world.received[device] ?? [:])
    guard isTimely(entry, link, seen) else { return false }
    var rivals = 0
    seen.forEach {
      if case .join(let other, _) = ledger.moves[$0], other == link { rivals += 1 }
    }
    return rivals <= ledger.links[link].uses
  }

  private mutating func reviewHandover(_ device: Int, _ person: Int, _ view: View) {
    guard !isFull, role(person, view) != .owner else { return }
    let seen = ledger.bits(world.received[device] ?? [:])
    var accepts: [Int] = []
    var done: [Int] = []
    seen.forEach {
      if case .accept = ledger.moves[$0], ledger.closed[$0] { accepts.append($0) }
      if case .confirmHandover(let accept) = ledger.moves[$0] { done.append(accept) }
    }
    for accept in accepts where !done.contains(accept) && random.chance(80) {
      let heir = ledger.owner[ledger.device[accept]]
      if view.roles[heir] == .owner, view.roleAct[heir] == accept {
        write(device, .confirmHandover(accept: ledger.acts[accept].id))
      }
    }
  }
}
