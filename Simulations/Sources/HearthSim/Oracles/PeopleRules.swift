import HearthCRDT
import HearthMembership
import HearthSync

/// What must hold of every members' log, however it was decided (O8).
struct PeopleRules {
  private let world: World
  private let device: SimDevice
  private let membership: Membership
  private let log: PeopleLog

  init(_ world: World, _ device: SimDevice) throws {
    self.world = world
    self.device = device
    membership = try device.membership()
    log = try PeopleLog(of: device, in: world)
  }

  /// All that a fold decides, as words that can be compared.
  static func words(_ membership: Membership) -> String {
    let people = membership.people.map { "\($0.id.low)=\($0.role.name)" }
    let devices = membership.devices.map { "\($0.id.low)\($0.isActive ? "+" : "-")" }
    let invites = membership.invites.map {
      "\($0.operation.invite.low)\($0.isClosed ? "x" : "")\($0.joins.map(\.low))"
    }
    let voids = membership.voided.map { "\($0.id.low):\($0.reason)" }
    return "owner \(membership.owner?.low ?? 0) people \(people) devices \(devices) "
      + "invites \(invites) void \(voids)"
  }

  func check() throws {
    guard membership.genesis != nil else { return }
    try somebodyOwns()
    guard log.isWhole else {
      // Of two histories of one life not all is kept (decision 0042).
      guard log.isForked else { throw fail("an operation counts that stands in no log") }
      return
    }
    try standingFollows()
    try invitationsHold()
    for place in log.entries.indices where log.entries[place].isLive { try isAllowed(place) }
    try pairsAgree()
    try voidsHaveReasons()
  }

  private func fail(_ text: String) -> Violation { world.fail(.membership, device, text) }

  private func somebodyOwns() throws {
    let owners = membership.people.filter { $0.role == .owner }.map(\.id)
    guard owners.count == 1, owners.first == membership.owner else {
      throw fail("the household has \(owners.count) owners")
    }
  }

  /// Roles and devices are what the operations with effect say, one after the other.
  private func standingFollows() throws {
    let state = log.standing()
    guard state.owner == membership.owner else {
      throw fail("the owner is not the last who took the household over")
    }
    let roles = Dictionary(
      membership.people.map { ($0.id, $0.role) }, uniquingKeysWith: { first, _ in first })
    guard roles == state.roles else {
      let names = Set(roles.keys).union(state.roles.keys).sorted()
        .filter { roles[$0] != state.roles[$0] }
        .map { "\(name($0)): \(roles[$0]?.name ?? "-") not \(state.roles[$0]?.name ?? "-")" }
      throw fail("roles differ from what the log says: \(names.joined(separator: ", "))")
    }
    let active = Set(membership.devices.map(\.id))
    guard active == Set(state.devices.keys) else {
      throw fail(
        "\(active.subtracting(state.devices.keys).count) devices too many, "
          + "\(Set(state.devices.keys).subtracting(active).count) too few")
    }
  }

  private func name(_ person: PersonID) -> String {
    world.devices.first { $0.person == person }?.name ?? "somebody"
  }

  /// No invitation lets in more than it allows, nor anybody after or beside its closing by its
  /// maker's person or by whoever ranks above who joins, but for those whom somebody of rank has
  /// confirmed: entry is final.
  private func invitationsHold() throws {
    var uses: [Identifier: [Int]] = [:]
    for place in log.entries.indices where log.entries[place].isLive && !isConfirmed(place) {
      switch log.entries[place].operation {
      case .join(let join): uses[join.invite, default: []].append(place)
      case .admit(let admit): uses[admit.join.invite, default: []].append(place)
      default: break
      }
    }
    for place in log.entries.indices where log.entries[place].isLive {
      switch log.entries[place].operation {
      case .inviteCreate(let invite):
        let count = uses[invite.invite]?.count ?? 0
        guard count <= invite.maximumUses else {
          throw fail("an invitation for \(invite.maximumUses) let in \(count)")
        }
      case .inviteClose(let id):
        let late = (uses[id] ?? []).first { use in
          !log.sees(place, use) && (log.sees(use, place) || speaks(place, against: use, by: id))
        }
        if let late {
          throw fail(
            "a closed invitation let somebody in: \(words(late)) "
              + "\(log.sees(late, place) ? "after" : "beside") \(words(place)), made by "
              + "\(invitation(id).map { words($0) } ?? "nobody")")
        }
      default: break
      }
    }
  }

  private func words(_ place: Int) -> String {
    let who = log.author(place).map { name($0) } ?? "somebody"
    return "\(log.entries[place].dot) by \(who), of rank \(rank(place))"
  }

  /// Whether a closing speaks against a joining that it had not seen: rank decides what happens at
  /// the same time, and only who made an invitation closes it whatever role it gives.
  private func speaks(_ closing: Int, against joining: Int, by id: Identifier) -> Bool {
    guard let made = invitation(id) else { return true }
    if let maker = log.author(made), maker == log.author(closing) { return true }
    return rank(closing) > rank(ofJoining: joining, by: made)
  }

  /// Where an invitation was made; nil for one that is not in the log.
  private func invitation(_ id: Identifier) -> Int? {
    log.entries.indices.first { place in
      guard case .inviteCreate(let invite) = log.entries[place].operation else { return false }
      return invite.invite == id
    }
  }

  /// The rank that a joining gives: that of the invitation's role, or of the person whose further
  /// device it brings.
  private func rank(ofJoining place: Int, by made: Int?) -> Int {
    let present = entrant(of: place).flatMap { log.standing(before: place).roles[$0] }
    var role = present
    if role == nil, let made, case .inviteCreate(let invite) = log.entries[made].operation {
      role = invite.role
    }
    return max(role?.rank ?? 0, Role.child.rank)
  }

  /// Who joins by an entry.
  private func entrant(of place: Int) -> PersonID? {
    switch log.entries[place].operation {
    case .join(let join): join.person
    case .admit(let admit): admit.join.person
    default: nil
    }
  }

  /// Whether an owner or admin above who joins, or for a further device an older one of the person,
  /// says in an operation with effect that a joining holds, gives the person a role, or seals a key
  /// to the device: all know of it.
  private func isConfirmed(_ place: Int) -> Bool {
    let entry = log.entries[place]
    if case .admit(let admit) = entry.operation {
      return approves(place, rank(ofJoining: place, by: invitation(admit.join.invite)))
    }
    guard case .join(let join) = entry.operation else { return false }
    let joining = rank(ofJoining: place, by: invitation(join.invite))
    return log.entries.indices.contains { later in
      guard log.entries[later].isLive, log.sees(later, place) else { return false }
      let then = log.standing(before: later)
      guard let author = then.devices[log.entries[later].dot.author.device] else { return false }
      if author.person == join.person {
        // An older device of the person may confirm a further one.
        guard isFurtherDevice(place, join, beside: author.place) else { return false }
      } else {
        let rank = then.roles[author.person]?.rank ?? 0
        guard rank >= Role.admin.rank, rank > joining else { return false }
      }
      switch log.entries[later].operation {
      case .confirm(let entries): return entries.contains(entry.id)
      case .epoch(let grant): return grant.wraps.contains { $0.recipient == entry.joiner }
      case .setRole(let subject, _, _):
        return subject == join.person && author.person != join.person
          && log.standing(before: place).roles[join.person] == nil
      default: return false
      }
    }
  }

  /// Whether an approval is by an owner or admin above the rank that it gives: it confirms itself.
  private func approves(_ place: Int, _ joining: Int) -> Bool {
    let then = log.standing(before: place)
    guard let approver = then.devices[log.entries[place].dot.author.device] else { return false }
    let rank = then.roles[approver.person]?.rank ?? 0
    return rank >= Role.admin.rank && rank > joining
  }

  /// Whether a joining brings a further device of somebody, by an invitation of after an older one.
  private func isFurtherDevice(
    _ place: Int, _ join: ControlOperation.Join, beside older: Int
  ) -> Bool {
    guard log.standing(before: place).roles[join.person] != nil else { return false }
    return log.entries.indices.contains { other in
      guard case .inviteCreate(let invite) = log.entries[other].operation else { return false }
      return invite.invite == join.invite && log.sees(other, older)
    }
  }

  // MARK: One operation

  /// Its author's device was one of the household's, and of the rank that it takes.
  private func isAllowed(_ place: Int) throws {
    let entry = log.entries[place]
    let then = log.standing(before: place)
    switch entry.operation {
    case .genesis, .join: return
    case .recover(let recover): return try hasWords(place, recover.person, then)
    default: break
    }
    guard let author = log.author(place, in: then),
      let role = then.roles[author]
    else { throw fail("an operation has effect whose author was a stranger: \(entry.dot)") }
    guard may(role, author, entry.operation, then) else {
      throw fail("\(name(author)), a \(role.name), did more than that allows: \(entry.dot)")
    }
  }

  /// Nobody comes in by words that the person did not have, nor for who does not belong.
  private func hasWords(
    _ place: Int, _ person: PersonID, _ then: PeopleLog.Standing
  ) throws {
    let named = log.entries.indices.contains { earlier in
      switch log.entries[earlier].operation {
      case .setRecovery, .rotateRecovery:
        log.sees(place, earlier) && log.author(earlier) == person
      default: false
      }
    }
    guard named, then.roles[person] != nil else {
      throw fail(
        "a device came by words that \(name(person)) did not have: \(log.entries[place].dot)")
    }
  }

  private func may(
    _ role: Role, _ author: PersonID, _ operation: ControlOperation, _ then: PeopleLog.Standing
  ) -> Bool {
    func isAbove(_ person: PersonID?) -> Bool {
      guard let person, let other = then.roles[person] else { return false }
      return role.rank >= 3 && role.rank > other.rank
    }
    switch operation {
    case .removeMember(let removed, _): return removed != author && isAbove(removed)
    case .revokeDevice(let device, _):
      let whose = then.devices[device]?.person
      return whose == author || isAbove(whose)
    case .setRole(let subject, let given, _):
      if subject == author { return given.rawValue < role.rawValue && role != .owner }
      return isAbove(subject) && given.rank < role.rank
    case .inviteCreate(let invite):
      return invite.person == author || role.rank >= 3 && invite.role.rank < role.rank
    case .admit, .adopt, .setPolicy: return role.rank >= 3
    case .transferOwner: return role == .owner
    case .acceptOwner(let offer):
      guard let offered = log.entries.first(where: { $0.id == offer }), offered.isLive,
        case .transferOwner(author, _) = offered.operation
      else { return false }
      return true
    case .leave: return role != .owner
    case .epoch: return role != .reader
    default: return true
    }
  }

  // MARK: Pairs

  /// Nobody of lower rank did anything beside the own removal or demotion.
  private func pairsAgree() throws {
    for striker in log.entries.indices where log.entries[striker].isLive {
      let victims: [Int]
      switch log.entries[striker].operation {
      case .removeMember(let person, _): victims = writings { $0.person == person }
      case .revokeDevice(let device, _): victims = writings { $0.deviceID == device }
      case .setRole(let person, let role, _) where role.rank < 3:
        victims = writings { $0.person == person }.filter { needsAdmin($0) }
      default: continue
      }
      for victim in victims
      where log.areConcurrent(striker, victim) && !isAcceptance(victim)
        && hadSeen(striker, whatAllowed: victim)
      {
        let (one, other) = (rank(striker), rank(victim))
        guard one <= other || log.author(striker) == log.author(victim) else {
          throw fail(
            "\(log.entries[victim].dot) has effect beside \(log.entries[striker].dot), which took "
              + "its author's rank")
        }
      }
    }
  }

  private func writings(_ isTheirs: (SimDevice) -> Bool) -> [Int] {
    let devices = Set(world.devices.filter(isTheirs).map(\.deviceID))
    return log.entries.indices.filter {
      log.entries[$0].isLive && devices.contains(log.entries[$0].dot.author.device)
    }
  }

  /// Whether whoever drew a line had seen the entry under which somebody wrote: nobody ends what
  /// they had not seen, and who comes again begins anew.
  private func hadSeen(_ line: Int, whatAllowed place: Int) -> Bool {
    let then = log.standing(before: place)
    let device = log.entries[place].dot.author.device
    guard let (person, enrolment) = then.devices[device] else {
      // By a joining that lets in who was not there.
      return log.entries[place].joiner != device || log.sees(line, place)
    }
    guard case .revokeDevice = log.entries[line].operation else {
      return then.begun[person].map { log.sees(line, $0) } ?? true
    }
    return log.sees(line, enrolment)
  }

  private func isAcceptance(_ place: Int) -> Bool {
    if case .acceptOwner = log.entries[place].operation { return true }
    return false
  }

  private func needsAdmin(_ place: Int) -> Bool {
    let author = log.author(place)
    switch log.entries[place].operation {
    case .removeMember, .adopt, .setPolicy, .transferOwner: return true
    case .inviteCreate(let invite): return invite.person != author
    case .setRole(let subject, _, _): return subject != author
    default: return false
    }
  }

  /// The rank of an entry's author when it wrote.
  private func rank(_ place: Int) -> Int {
    let then = log.standing(before: place)
    if let person = then.devices[log.entries[place].dot.author.device]?.person {
      return then.roles[person]?.rank ?? 0
    }
    // Who introduces itself: by what it became.
    let after = log.standing { $0 == place || log.sees(place, $0) }
    return log.author(place).flatMap { after.roles[$0]?.rank } ?? 0
  }

  // MARK: Without effect

  /// What is void by another operation happened beside that one, and a stranger was one.
  private func voidsHaveReasons() throws {
    let places = Dictionary(
      log.entries.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    for void in membership.voided {
      guard let place = places[void.id] else { continue }
      switch void.reason {
      case .overruled(let by, let rule):
        SimProbe.operationOverruled.hit()
        if rule == .invitationUsedUp { continue }
        guard let striker = places[by], log.areConcurrent(place, striker) else {
          throw fail("\(void.version.dot) lost to what did not happen at the same time")
        }
      case .notADevice:
        if log.author(place, in: log.standing(before: place)) != nil {
          throw fail("\(void.version.dot) counts as a stranger's, whose author was known")
        }
      default: break
      }
    }
  }
}
