import HearthCRDT

@testable import HearthSync

/// The rules of membership once more, in the slowest and plainest way: every judgement folds the
/// whole past into a state, every strike looks at every pair.
///
/// Shares only the sorting of a log and the reading of what one operation saw with the program.
struct MembershipOracle {
  struct State {
    var owner: PersonID?
    var roles: [PersonID: Role] = [:]
    var devices: [DeviceID: PersonID] = [:]
    var everDevices: [DeviceID: Set<PersonID>] = [:]
    var everPeople: Set<PersonID> = []
    /// Where the present words of each person were named.
    var words: [PersonID: Int] = [:]
    /// Where each device came in, and by whose device's invitation.
    var entries: [DeviceID: (place: Int, by: DeviceID?)] = [:]
    var invites: [Identifier: Invite] = [:]
    var closed: Set<Identifier> = []
    var uses: [Identifier: Int] = [:]
    var offers: [RecordID: (place: Int, by: PersonID, to: PersonID)] = [:]
    var endings: [Int] = []
    /// The least suite.
    var suite: UInt8 = 1
  }

  struct Invite {
    let operation: ControlOperation.InviteCreate
    let by: PersonID
    let device: DeviceID
  }

  struct Verdict {
    var isLive = false
    var rank = 0
    var needs = 0
    var person: PersonID?
    var given: Role?
  }

  let log: ControlLog
  let group: GroupID
  var struck: Set<Int> = []
  var verdicts: [Verdict] = []

  init(_ items: [ControlItem], group: GroupID) {
    log = ControlLog(items)
    self.group = group
    repeat { judgeAll() } while strikeNext()
  }

  private mutating func judgeAll() {
    verdicts = [Verdict](repeating: Verdict(), count: log.items.count)
    for place in log.items.indices where !struck.contains(place) {
      let past = log.items.indices.filter { log.sees(place, $0) && verdicts[$0].isLive }
      verdicts[place] = judge(place, fold(past))
    }
  }

  var live: [Int] { log.items.indices.filter { verdicts[$0].isLive } }

  // MARK: Folding

  func fold(_ places: [Int]) -> State {
    var state = State()
    for place in places { apply(place, &state) }
    return state
  }

  private func enrol(_ place: Int, _ device: DeviceID, _ person: PersonID, _ state: inout State) {
    state.everDevices[device, default: []].insert(person)
    let ended = state.endings.contains { ending in
      !log.sees(place, ending) && ends(ending, device, person)
    }
    guard !ended else { return }
    state.devices[device] = person
    let used = invite(place).flatMap { state.invites[$0]?.device }
    state.entries[device] = (place, used)
  }

  private func ends(_ place: Int, _ device: DeviceID, _ person: PersonID) -> Bool {
    switch log.items[place].operation {
    case .revokeDevice(let revocation): revocation.device == device
    case .removeMember(let removal): removal.person == person
    case .leave: verdicts[place].person == person
    case .recover(let recover):
      recover.revokesOthers && recover.person == person && log.items[place].device != device
    default: false
    }
  }

  private func add(
    _ place: Int, _ join: ControlOperation.Join, _ state: inout State
  ) {
    state.uses[join.invite, default: 0] += 1
    state.everPeople.insert(join.person)
    enrol(place, Membership.cardID(of: join.device), join.person, &state)
    let isRemoved = state.endings.contains { ending in
      guard !log.sees(place, ending) else { return false }
      switch log.items[ending].operation {
      case .removeMember(let removal): return removal.person == join.person
      case .leave: return verdicts[ending].person == join.person
      default: return false
      }
    }
    if let role = verdicts[place].given, !isRemoved { state.roles[join.person] = role }
  }

  private func apply(_ place: Int, _ state: inout State) {
    let item = log.items[place]
    let person = verdicts[place].person
    switch item.operation {
    case .genesis(let genesis):
      state.owner = genesis.founder
      state.roles[genesis.founder] = .owner
      state.everPeople.insert(genesis.founder)
      enrol(place, item.device, genesis.founder, &state)
    case .inviteCreate(let invite):
      if let person, state.invites[invite.invite] == nil {
        state.invites[invite.invite] = Invite(
          operation: invite, by: person, device: item.device)
      }
    case .inviteClose(let id): state.closed.insert(id)
    case .join(let join): add(place, join, &state)
    case .admit(let admit): add(place, admit.join, &state)
    case .recover(let recover):
      if recover.revokesOthers { end(place, &state) }
      enrol(place, item.device, recover.person, &state)
    case .removeMember, .leave, .revokeDevice: end(place, &state)
    case .setRole(let change):
      if state.roles[change.person] != nil { state.roles[change.person] = change.role }
    case .transferOwner(let transfer):
      if let person { state.offers[item.id] = (place, person, transfer.to) }
    case .acceptOwner(let id):
      if let offer = state.offers[id] {
        if state.roles[offer.by] != nil { state.roles[offer.by] = .admin }
        state.owner = offer.to
        state.roles[offer.to] = .owner
      }
    case .setRecovery, .rotateRecovery: if let person { state.words[person] = place }
    case .setPolicy(let policy): state.suite = max(state.suite, policy.minimumSuite)
    default: break
    }
  }

  private func end(_ place: Int, _ state: inout State) {
    state.endings.append(place)
    for (device, person) in state.devices where ends(place, device, person) {
      state.devices[device] = nil
    }
    switch log.items[place].operation {
    case .removeMember(let removal): state.roles[removal.person] = nil
    case .leave: if let person = verdicts[place].person { state.roles[person] = nil }
    default: break
    }
  }

  // MARK: Judging

  private func judge(_ place: Int, _ state: State) -> Verdict {
    let item = log.items[place]
    var verdict = Verdict()
    switch item.operation {
    case .genesis(let genesis):
      verdict.person = genesis.founder
      verdict.given = .owner
      verdict.rank = 4
      verdict.isLive = Membership.groupID(of: genesis) == group
      return verdict
    case .join(let join):
      verdict.person = join.person
      let given = use(place, join, .auto, state)
      verdict.isLive = given.isAllowed
      verdict.given = given.role
      verdict.rank = (state.roles[join.person] ?? given.role)?.rank ?? 0
      return verdict
    case .recover(let recover):
      verdict.person = recover.person
      verdict.rank = state.roles[recover.person]?.rank ?? 0
      verdict.isLive =
        state.roles[recover.person] != nil && state.words[recover.person] != nil
        && state.devices[item.device] == nil
      return verdict
    default: break
    }
    guard let person = state.devices[item.device], let role = state.roles[person],
      let entry = state.entries[item.device]
    else { return verdict }
    let entered = log.items[entry.place].version.dot.author
    if entered.device == item.device,
      item.version.dot.author.incarnation < entered.incarnation
    {
      return verdict
    }
    verdict.person = person
    verdict.rank = role.rank
    judgeMember(place, person, state, &verdict)
    return verdict
  }

  private func judgeMember(
    _ place: Int, _ person: PersonID, _ state: State, _ verdict: inout Verdict
  ) {
    let rank = verdict.rank
    func above(_ subject: PersonID) -> Bool {
      guard let role = state.roles[subject] else { return false }
      verdict.needs = max(3, role.rank + 1)
      return rank >= 3 && rank > role.rank
    }
    switch log.items[place].operation {
    case .inviteCreate(let invite):
      guard state.invites[invite.invite] == nil, invite.maximumUses > 0 else { return }
      if invite.person == person {
        verdict.isLive = true
      } else if invite.person.map({ state.roles[$0] == nil }) ?? true {
        verdict.needs = max(3, invite.role.rank + 1)
        verdict.isLive = rank >= 3 && invite.role.rank < rank
      }
    case .inviteClose(let id):
      guard let invite = state.invites[id] else { return }
      if invite.by != person { verdict.needs = 3 }
      verdict.isLive = invite.by == person || rank >= 3
    case .admit(let admit):
      let given = use(place, admit.join, .approve, state)
      verdict.given = given.role
      guard let role = given.role ?? state.roles[admit.join.person] else { return }
      verdict.needs = admit.join.person == person ? 3 : max(3, role.rank + 1)
      verdict.isLive =
        given.isAllowed && rank >= 3 && (admit.join.person == person || role.rank < rank)
    case .removeMember(let removal):
      verdict.isLive = removal.person != person && above(removal.person)
    case .revokeDevice(let revocation):
      guard let subject = state.devices[revocation.device] else { return }
      verdict.isLive = subject == person || above(subject)
    case .setRole(let change):
      verdict.given = change.role
      if change.person == person {
        verdict.isLive = rank < 4 && change.role.rawValue < (state.roles[person]?.rawValue ?? 0)
      } else {
        let isAbove = above(change.person)
        verdict.needs = max(verdict.needs, change.role.rank + 1)
        verdict.isLive = isAbove && change.role.rank < rank
      }
    case .transferOwner(let transfer):
      verdict.needs = 4
      verdict.isLive =
        rank == 4 && state.roles[transfer.to] != nil && state.words[person] != nil
    case .acceptOwner(let id):
      guard let offer = state.offers[id], offer.to == person, state.owner == offer.by,
        offer.by != person
      else { return }
      verdict.isLive = !state.offers.values.contains { log.sees($0.place, offer.place) }
    case .leave: verdict.isLive = rank < 4
    case .setRecovery: verdict.isLive = state.words[person] == nil
    case .rotateRecovery(let rotation):
      guard let named = state.words[person] else { return }
      guard case .device(let second, _) = rotation.consent else {
        verdict.isLive = true
        return
      }
      let asking = log.items[place].device
      guard second != asking, state.devices[second] == person, let own = state.entries[asking],
        let other = state.entries[second]
      else { return }
      verdict.isLive =
        log.sees(named, own.place) && log.sees(named, other.place) && other.by != asking
    default: judgeRest(place, state.roles[person], state, &verdict)
    }
  }

  /// What changes neither people nor devices.
  private func judgeRest(
    _ place: Int, _ role: Role?, _ state: State, _ verdict: inout Verdict
  ) {
    let isAdmin = (role?.rank ?? 0) >= 3
    switch log.items[place].operation {
    case .adopt: (verdict.needs, verdict.isLive) = (3, isAdmin)
    case .setPolicy(let policy):
      (verdict.needs, verdict.isLive) = (3, isAdmin && policy.minimumSuite >= state.suite)
    case .epoch: verdict.isLive = role != .reader
    default: verdict.isLive = true
    }
  }

  private func use(
    _ place: Int, _ join: ControlOperation.Join, _ admission: ControlOperation.Admission,
    _ state: State
  ) -> (isAllowed: Bool, role: Role?) {
    let device = Membership.cardID(of: join.device)
    guard let made = state.invites[join.invite], made.operation.admission == admission,
      state.devices[device] == nil, !state.closed.contains(join.invite),
      state.uses[join.invite, default: 0] < made.operation.maximumUses,
      log.items[place].version.time.milliseconds <= made.operation.expiresMilliseconds,
      made.operation.person == nil || made.operation.person == join.person
    else { return (false, nil) }
    let (invite, inviter) = (made.operation, made.by)
    let rank = state.roles[inviter]?.rank ?? 0
    guard state.devices[made.device] == inviter,
      invite.person == inviter || rank >= 3 && rank > invite.role.rank
    else { return (false, nil) }
    if state.roles[join.person] != nil {
      return (invite.person == join.person && inviter == join.person, nil)
    }
    let isKnown = state.everPeople.contains(join.person)
    let wasTheirs = state.everDevices[device]?.contains(join.person) ?? false
    return (!isKnown || invite.person != nil || wasTheirs, invite.role)
  }

  // MARK: Striking

  private mutating func strikeNext() -> Bool {
    let live = live
    for invite in Set(live.compactMap(invite)).sorted() {
      let uses = live.filter { self.invite($0) == invite }
      let closed = uses.filter { use in
        live.contains { closing in
          log.items[closing].operation == .inviteClose(invite: invite)
            && log.areConcurrent(closing, use)
        }
      }
      let maximum =
        live.compactMap { place -> Int? in
          guard case .inviteCreate(let made) = log.items[place].operation, made.invite == invite
          else { return nil }
          return made.maximumUses
        }.first ?? 0
      let victims = closed.isEmpty ? Array(uses.dropFirst(maximum)) : closed
      if !victims.isEmpty {
        struck.formUnion(victims)
        return true
      }
    }
    for place in live {
      guard let person = added(place), verdicts[place].given != nil else { continue }
      let isSecond = live.contains {
        $0 < place && added($0) == person && verdicts[$0].given != nil
          && log.areConcurrent($0, place)
      }
      if isSecond {
        struck.insert(place)
        return true
      }
    }
    // Words named without words by a device revoked at the same time; then first words twice.
    let words = live.filter { namesWordsAlone($0) }
    var fallen = words.filter { place in
      live.contains { other in
        guard case .revokeDevice(let revocation) = log.items[other].operation,
          revocation.device == log.items[place].device, log.areConcurrent(other, place)
        else { return false }
        return verdicts[other].person == verdicts[place].person || power(other) > power(place)
      }
    }
    if fallen.isEmpty {
      fallen = words.filter { place in
        words.contains {
          log.areConcurrent($0, place) && log.items[$0].operation.kind == 14
            && log.items[place].operation.kind == 14
            && verdicts[$0].person == verdicts[place].person
        }
      }
    }
    if !fallen.isEmpty {
      let people = fallen.compactMap { verdicts[$0].person }
      struck.formUnion(fallen.filter { verdicts[$0].person == people.min() })
      return true
    }
    for striker in live.sorted(by: isBefore) {
      let victims = live.filter {
        log.areConcurrent($0, striker) && beats(striker, $0)
      }
      if !victims.isEmpty {
        struck.formUnion(victims)
        return true
      }
    }
    return false
  }

  private func invite(_ place: Int) -> Identifier? {
    switch log.items[place].operation {
    case .join(let join): join.invite
    case .admit(let admit): admit.join.invite
    default: nil
    }
  }

  private func added(_ place: Int) -> PersonID? {
    switch log.items[place].operation {
    case .genesis(let genesis): genesis.founder
    case .join(let join): join.person
    case .admit(let admit): admit.join.person
    default: nil
    }
  }

  private func offer(_ place: Int) -> Int? {
    guard case .acceptOwner(let id) = log.items[place].operation else { return nil }
    return log.items.firstIndex { $0.id == id }
  }

  private func isBefore(_ left: Int, _ right: Int) -> Bool {
    func key(_ place: Int) -> (Int, Int, Int) {
      switch log.items[place].operation {
      case .rotateRecovery: (namesWordsAlone(place) ? 1 : 0, -power(place), place)
      case .recover: (2, -power(place), place)
      case .acceptOwner: (3, -4, offer(place) ?? place)
      case .leave: (5, -power(place), place)
      default: (4, -power(place), place)
      }
    }
    return key(left) < key(right)
  }

  /// First words, or words that a second device agrees to.
  private func namesWordsAlone(_ place: Int) -> Bool {
    switch log.items[place].operation {
    case .setRecovery: return true
    case .rotateRecovery(let rotation):
      if case .device = rotation.consent { return true }
      return false
    default: return false
    }
  }

  /// An author's rank, less what others took from it at the same time.
  private func power(_ place: Int) -> Int {
    guard let person = verdicts[place].person else { return verdicts[place].rank }
    let caps = live.filter { log.areConcurrent($0, place) }.compactMap { other -> Int? in
      switch log.items[other].operation {
      case .setRole(let change) where change.person == person: return change.role.rank
      case .acceptOwner:
        guard let made = offer(other), verdicts[made].person == person,
          verdicts[other].person != person
        else { return nil }
        return 3
      default: return nil
      }
    }
    return min(verdicts[place].rank, caps.min() ?? 9)
  }

  /// Whether an operation outlives its device's revocation by the person's own.
  private func outlives(_ victim: Int, _ striker: Int) -> Bool {
    switch log.items[victim].operation {
    case .leave, .recover, .acceptOwner: return true
    case .revokeDevice(let revocation): return revocation.device == log.items[striker].device
    case .rotateRecovery: return !namesWordsAlone(victim)
    default: return false
    }
  }

  private func beats(_ striker: Int, _ victim: Int) -> Bool {
    let one = verdicts[striker]
    let other = verdicts[victim]
    let done = log.items[victim].operation
    let isTaking = offer(victim) != nil
    let (mine, theirs) = (power(striker), power(victim))
    let higher = mine > theirs
    switch log.items[striker].operation {
    case .removeMember(let removal):
      if isTaking { return false }
      if other.person == removal.person, higher { return true }
      if case .setRole(let change) = done, change.person == removal.person {
        return mine >= theirs
      }
      return added(victim) == removal.person && mine >= theirs
    case .revokeDevice(let revocation):
      guard log.items[victim].device == revocation.device, !isTaking else { return false }
      return one.person == other.person ? !outlives(victim, striker) : higher
    case .leave:
      return other.person == one.person && !outlives(victim, striker)
    case .setRole(let change):
      if case .setRole(let rival) = done, rival.person == change.person {
        if mine != theirs
          ? higher
          : (change.role.rawValue, striker)
            < (rival.role.rawValue, victim)
        {
          return true
        }
      }
      if case .removeMember(let removal) = done, removal.person == change.person, higher {
        return true
      }
      return other.person == change.person && other.needs > change.role.rank && !isTaking
        && (higher || one.person == change.person)
    case .join, .admit:
      guard one.given != nil, case .removeMember(let removal) = done else { return false }
      return removal.person == added(striker) && higher
    case .recover(let recover):
      if case .recover = done { return false }
      return recover.revokesOthers && other.person == recover.person
        && log.items[victim].device != log.items[striker].device
    case .rotateRecovery:
      switch done {
      case .recover(let recover): return recover.person == one.person
      case .setRecovery, .rotateRecovery: return other.person == one.person
      default: return false
      }
    case .acceptOwner: return takingBeats(striker, victim)
    default: return false
    }
  }

  private func takingBeats(_ striker: Int, _ victim: Int) -> Bool {
    guard let heir = verdicts[striker].person, let offered = offer(striker) else { return false }
    let other = verdicts[victim]
    switch log.items[victim].operation {
    case .removeMember(let removal) where removal.person == heir: return other.person != heir
    case .setRole(let change) where change.person == heir: return true
    case .leave where other.person == heir: return true
    case .revokeDevice(let revocation):
      let owners = log.items.indices.filter { enrols($0, revocation.device) == heir }
      if !owners.isEmpty, other.person != heir { return true }
    case .acceptOwner:
      if other.person != heir, let rival = offer(victim), rival > offered { return true }
    default: break
    }
    return other.person == verdicts[offered].person && other.needs >= 4
  }

  private func enrols(_ place: Int, _ device: DeviceID) -> PersonID? {
    switch log.items[place].operation {
    case .genesis(let genesis) where log.items[place].device == device: genesis.founder
    case .join(let join) where log.items[place].device == device: join.person
    case .recover(let recover) where log.items[place].device == device: recover.person
    case .admit(let admit) where Membership.cardID(of: admit.join.device) == device:
      admit.join.person
    default: nil
    }
  }

  /// As ``Membership/summary``.
  var summary: String {
    let state = fold(live)
    let people = state.roles.keys.sorted().map { "\($0.low):\(state.roles[$0]?.name ?? "")" }
      .joined(separator: " ")
    let devices = state.devices.keys.sorted().map { "\($0.hex.prefix(4))" }.joined(separator: " ")
    let voided = log.items.indices.filter { !verdicts[$0].isLive }
      .map { "\(log.items[$0].id.high & 0xffff)#\(log.items[$0].id.low)" }.joined(separator: " ")
    return "owner \(state.owner?.low ?? 0) | \(people) | \(devices) | void \(voided)"
  }
}
