/// What somebody who received some acts believes: the acts, one after the other in true time.
///
/// This is the eye of an honest device in the generator, and the test whether an act was
/// allowed in the past that it claims. It is no resolver: it knows the true order.
struct View {
  private let ledger: Ledger
  private(set) var roles: [Role?]
  private(set) var wasIn: [Bool]
  private(set) var active: [Bool]
  private(set) var wasActive: [Bool]
  private(set) var entry: [Int]
  private(set) var roleAct: [Int]
  private(set) var words: [Int?]
  private(set) var wordsAct: [Int]
  private(set) var isOpen: [Bool]
  private var wasOpen: [Bool]
  private(set) var closing: [Int]
  private(set) var joined: [[Int]]
  private(set) var confirmed: [Bool]
  private(set) var offers: [Int] = []
  private(set) var accepts: [Int] = []
  private var pending: [Int: Int] = [:]

  init(_ ledger: Ledger) {
    self.ledger = ledger
    let people = ledger.personIDs.count
    let devices = ledger.deviceIDs.count
    roles = Array(repeating: nil, count: people)
    wasIn = Array(repeating: false, count: people)
    roleAct = Array(repeating: -1, count: people)
    words = Array(repeating: nil, count: people)
    wordsAct = Array(repeating: -1, count: people)
    active = Array(repeating: false, count: devices)
    wasActive = active
    confirmed = active
    entry = Array(repeating: -1, count: devices)
    isOpen = Array(repeating: false, count: ledger.links.count)
    wasOpen = isOpen
    closing = Array(repeating: -1, count: ledger.links.count)
    joined = Array(repeating: [], count: ledger.links.count)
  }

  /// The view of somebody with exactly this past.
  init(_ ledger: Ledger, seeing past: Bits) {
    self.init(ledger)
    var view = self
    past.forEach { if ledger.closed[$0] { _ = view.apply($0) } }
    self = view
  }

  func rank(_ person: Int) -> Int { person < 0 ? 0 : roles[person]?.rank ?? 0 }

  /// Applies an act; false if it is not allowed here.
  mutating func apply(_ time: Int) -> Bool {
    let device = ledger.device[time]
    switch ledger.moves[time] {
    case .found: return found(time, device)
    case .join(let link, let person): return join(time, link, device, person)
    case .recover(let person, let key, let others):
      return recover(time, device, person, key, others)
    default: break
    }
    guard active[device], ledger.owner[device] >= 0 else { return false }
    let person = ledger.owner[device]
    guard let role = roles[person] else { return false }
    return act(time, person, role)
  }

  private mutating func act(_ time: Int, _ person: Int, _ role: Role) -> Bool {
    switch ledger.moves[time] {
    case .found, .join, .recover: return false
    case .invite(let link): return invite(time, link, person)
    case .close(let link): return close(time, link, person)
    case .admit(let link, let newcomer, let whom):
      guard role.rank >= 3, link >= 0, ledger.links[link].approval else { return false }
      let granted = ledger.links[link].forPerson.map { rank($0) } ?? ledger.links[link].role.rank
      guard role.rank > granted || whom == person else { return false }
      return enter(time, link, newcomer, whom)
    case .confirm(let newcomer): return confirm(time, newcomer, person)
    case .confirmHandover(let accept):
      return accept >= 0 && role.rank >= 3 && accepts.contains(accept)
    case .remove(let whom):
      guard role.rank >= 3, rank(whom) > 0, role.rank > rank(whom) else { return false }
      leave(whom, time)
      return true
    case .revoke(let other): return revoke(time, other, person)
    case .setRole(let whom, let new):
      let isOwnLowering = whom == person && role != .owner && new.rawValue < role.rawValue
      let isGiven =
        role.rank >= 3 && rank(whom) > 0 && role.rank > rank(whom) && role.rank > new.rank
      guard isOwnLowering || isGiven else { return false }
      roles[whom] = new
      roleAct[whom] = time
      return true
    case .leave:
      guard role != .owner else { return false }
      leave(person, time)
      return true
    case .setWords(let key, let consent):
      guard words[person] == consent else { return false }
      words[person] = key
      wordsAct[person] = time
      return true
    case .offer(let whom, let key):
      guard role == .owner, words[person] == key else { return false }
      return offer(time, whom, person)
    case .withdraw:
      guard role == .owner else { return false }
      offers = []
      return true
    case .accept(let offer): return accept(time, offer, person)
    case .seal: return role.rank >= 2
    case .heartbeat: return true
    }
  }

  private mutating func found(_ time: Int, _ device: Int) -> Bool {
    guard ledger.deviceIDs[device] == 0, ledger.acts[time].sequence == 0, !wasActive[device]
    else { return false }
    active[device] = true
    wasActive[device] = true
    entry[device] = time
    roles[0] = .owner
    wasIn[0] = true
    roleAct[0] = time
    return true
  }

  private mutating func invite(_ time: Int, _ link: Int, _ person: Int) -> Bool {
    guard link >= 0, ledger.links[link].issue == time else { return false }
    let own = rank(person)
    if let whom = ledger.links[link].forPerson {
      guard rank(whom) > 0, whom == person || (own >= 3 && own > rank(whom)) else {
        return false
      }
    } else {
      guard own >= 3, own > ledger.links[link].role.rank else { return false }
    }
    isOpen[link] = true
    wasOpen[link] = true
    return true
  }

  private mutating func close(_ time: Int, _ link: Int, _ person: Int) -> Bool {
    guard link >= 0, ledger.sees(time, ledger.links[link].issue) else { return false }
    let issuer = ledger.owner[ledger.device[ledger.links[link].issue]]
    guard rank(person) >= 3 || issuer == person else { return false }
    isOpen[link] = false
    if closing[link] < 0 { closing[link] = time }
    return true
  }

  private mutating func join(_ time: Int, _ link: Int, _ device: Int, _ person: Int) -> Bool {
    guard link >= 0, !ledger.links[link].approval, ledger.acts[time].sequence == 0
    else { return false }
    return enter(time, link, device, person)
  }

  private mutating func enter(_ time: Int, _ link: Int, _ device: Int, _ person: Int) -> Bool {
    guard !wasActive[device], ledger.owner[device] == person else { return false }
    let facts = ledger.links[link]
    guard ledger.sees(time, facts.issue) else { return false }
    if let whom = facts.forPerson {
      guard whom == person, rank(person) > 0 else { return false }
    } else if wasIn[person] {
      return false
    }
    guard isOpen[link], joined[link].count < facts.uses, ledger.acts[time].time <= facts.expires
    else {
      pending[device] = time
      return false
    }
    admit(time, link, device, person)
    return true
  }

  /// Whether nothing but its own time speaks against a joining that was applied last.
  func isMerelyLate(_ time: Int) -> Bool {
    guard case .join(let link, _) = ledger.moves[time], link >= 0,
      pending[ledger.device[time]] == time
    else { return false }
    return isOpen[link] && joined[link].count < ledger.links[link].uses
  }

  private mutating func admit(_ time: Int, _ link: Int, _ device: Int, _ person: Int) {
    active[device] = true
    wasActive[device] = true
    entry[device] = time
    joined[link].append(device)
    guard ledger.links[link].forPerson == nil else { return }
    roles[person] = ledger.links[link].role
    wasIn[person] = true
    roleAct[person] = time
  }

  /// A confirmation by somebody who had not seen the closing, or not the rival, counts.
  private mutating func confirm(_ time: Int, _ newcomer: Int, _ person: Int) -> Bool {
    let whom = ledger.owner[newcomer]
    if let entered = pending[newcomer], !active[newcomer], rank(person) >= 3 {
      take(entered, time, newcomer)
    }
    guard active[newcomer], rank(person) >= 3 else { return false }
    guard rank(person) > rank(whom) || whom == person else { return false }
    confirmed[newcomer] = true
    return true
  }

  private mutating func take(_ entered: Int, _ time: Int, _ newcomer: Int) {
    let link: Int
    switch ledger.moves[entered] {
    case .join(let number, _), .admit(let number, _, _): link = number
    default: return
    }
    // Nobody honest confirms a joining by a link that nobody was allowed to issue.
    guard wasOpen[link] else { return }
    if closing[link] >= 0, ledger.sees(time, closing[link]) { return }
    if joined[link].count >= ledger.links[link].uses {
      let rival = joined[link].last { !confirmed[$0] && !ledger.sees(time, entry[$0]) }
      guard let rival else { return }
      joined[link].removeAll { $0 == rival }
      active[rival] = false
      if ledger.links[link].forPerson == nil { roles[ledger.owner[rival]] = nil }
    }
    admit(entered, link, newcomer, ledger.owner[newcomer])
  }

  private mutating func recover(
    _ time: Int, _ device: Int, _ person: Int, _ key: Int, _ others: Bool
  ) -> Bool {
    guard !wasActive[device], ledger.owner[device] == person, words[person] == key,
      rank(person) > 0, ledger.acts[time].sequence == 0
    else { return false }
    if others {
      for other in active.indices where ledger.owner[other] == person { active[other] = false }
    }
    active[device] = true
    wasActive[device] = true
    entry[device] = time
    return true
  }

  private mutating func revoke(_ time: Int, _ other: Int, _ person: Int) -> Bool {
    let whom = ledger.owner[other]
    guard active[other], other != ledger.device[time] else { return false }
    guard whom == person || (rank(person) >= 3 && rank(person) > rank(whom)) else {
      return false
    }
    active[other] = false
    return true
  }

  private mutating func leave(_ person: Int, _ time: Int) {
    roles[person] = nil
    roleAct[person] = time
    for device in active.indices where ledger.owner[device] == person {
      active[device] = false
    }
  }

  private mutating func offer(_ time: Int, _ whom: Int, _ person: Int) -> Bool {
    guard rank(whom) > 0, whom != person else { return false }
    // A newer offer takes the place of those that its author had seen.
    offers.removeAll { ledger.sees(time, $0) }
    offers.append(time)
    return true
  }

  private mutating func accept(_ time: Int, _ offer: Int, _ person: Int) -> Bool {
    guard offer >= 0, offers.contains(offer) else { return false }
    guard case .offer(let whom, _) = ledger.moves[offer], whom == person else { return false }
    let former = ledger.owner[ledger.device[offer]]
    guard roles[former] == .owner else { return false }
    roles[former] = .admin
    roleAct[former] = time
    roles[person] = .owner
    roleAct[person] = time
    offers = []
    accepts.append(time)
    return true
  }

  /// The acts on which the act rests directly.
  func grounds(_ time: Int) -> [Int] {
    let device = ledger.device[time]
    var result: [Int] = []
    func rest(on act: Int) { if act >= 0, act != time { result.append(act) } }
    rest(on: entry[device])
    if ledger.owner[device] >= 0 { rest(on: roleAct[ledger.owner[device]]) }
    switch ledger.moves[time] {
    case .join(let link, _): if link >= 0 { rest(on: ledger.links[link].issue) }
    case .admit(let link, _, _): if link >= 0 { rest(on: ledger.links[link].issue) }
    case .confirm(let newcomer): rest(on: entry[newcomer])
    case .confirmHandover(let accept): rest(on: accept)
    case .accept(let offer): rest(on: offer)
    case .recover(let person, _, _): rest(on: wordsAct[person])
    case .offer:
      if ledger.owner[device] >= 0 { rest(on: wordsAct[ledger.owner[device]]) }
    default: break
    }
    return result
  }

}
