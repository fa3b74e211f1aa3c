import HearthCRDT

/// The effective operations, by author and subject, each list in log order.
struct LiveIndex: Sendable {
  private(set) var geneses: [Int] = []
  private(set) var enrolments = NumberedLists()
  private(set) var revocations = NumberedLists()
  /// Operations that admit a person, without further devices.
  private(set) var beginnings = NumberedLists()
  /// Joins of further devices, and recoveries.
  private(set) var furtherDevices = NumberedLists()
  /// Joins and removals of a person, and enrolments of a device, that later ones had not seen.
  private(set) var apartBeginnings = ApartPlaces()
  private(set) var apartRemovals = ApartPlaces()
  private(set) var apartEnrolments = ApartPlaces()
  /// Devices that enrolled under two people, with the operation of the second enrolment.
  private var shared: [Int: Int] = [:]
  /// Removals of a person, including voluntary leaves.
  private(set) var removals = NumberedLists()
  /// Recoveries that end all other devices of a person.
  private(set) var recoveries = NumberedLists()
  /// Operations that set a person's role; an ownership handover sets two.
  private(set) var roles = NumberedLists()
  /// Role operations, without joins, that may lower the rank of the person's operations.
  private(set) var roleChanges = NumberedLists()
  /// Role changes that lost to lower roles which their authors had not seen.
  private(set) var overruledRoles = NumberedLists()
  /// Operations that set the public keys of a person's recovery words.
  private(set) var words = NumberedLists()
  private(set) var invites = NumberedLists()
  private(set) var invitesToOneself = NumberedLists()
  private(set) var uses = NumberedLists()
  private(set) var closings = NumberedLists()
  /// Removals of an invitation's users, by the operation that made it; each ends the invitation.
  private(set) var removalsOfUsers = NumberedLists()
  /// Joins whose proof was checked, by the operation that made the invitation.
  private var attempts = NumberedLists()
  /// The invitations by which a person joined, by the person's number.
  private var entrances: [Int: [(place: Int, invite: Int)]] = [:]
  private(set) var transfers: [Int] = []
  private(set) var acceptances: [Int] = []
  /// Policy operations, by the number of their author.
  private(set) var policies: [Int: [Int]] = [:]

  mutating func truncate(to start: Int) {
    if start == 0 {
      self = LiveIndex()
      return
    }
    for path in LiveIndex.numbered { self[keyPath: path].truncate(to: start) }
    LiveIndex.truncate(&policies, to: start)
    for person in entrances.keys {
      while let last = entrances[person]?.last, last.place >= start {
        entrances[person]?.removeLast()
      }
    }
    apartBeginnings.truncate(to: start)
    apartRemovals.truncate(to: start)
    apartEnrolments.truncate(to: start)
    for (device, place) in shared where place >= start { shared[device] = nil }
    LiveIndex.truncate(&geneses, to: start)
    LiveIndex.truncate(&transfers, to: start)
    LiveIndex.truncate(&acceptances, to: start)
  }

  private static var numbered: [WritableKeyPath<LiveIndex, NumberedLists>] {
    [
      \.enrolments, \.revocations, \.beginnings, \.furtherDevices, \.removals, \.recoveries,
      \.roles, \.roleChanges, \.overruledRoles, \.words, \.invitesToOneself, \.invites,
      \.uses, \.closings, \.removalsOfUsers, \.attempts,
    ]
  }

  private static func truncate<Key>(_ lists: inout [Key: [Int]], to start: Int) {
    for key in lists.keys { truncate(&lists[key, default: []], to: start) }
  }

  private static func truncate(_ places: inout [Int], to start: Int) {
    while let last = places.last, last >= start { places.removeLast() }
  }

  mutating func withdraw(_ offer: Int) { transfers.removeAll { $0 == offer } }

  mutating func add(_ place: Int, _ verdict: Verdict, of log: ControlLog) {
    switch log.operation(place) {
    case .genesis:
      geneses.append(place)
      enrol(place, verdict, log)
    case .join, .admit:
      enrol(place, verdict, log)
      uses.append(place, to: log.invited[place])
    case .recover(let recover):
      addEnrolment(place, of: log)
      furtherDevices.append(place, to: log.comers[place])
      if recover.revokesOthers { recoveries.append(place, to: log.comers[place]) }
    case .removeMember(let removal):
      let person = log.people[removal.person]
      addRemoval(place, of: person, in: log)
      for entrance in (person.flatMap { entrances[$0] } ?? []).reversed()
      where log.sees(place, entrance.place) {
        removalsOfUsers.append(place, to: entrance.invite)
        break
      }
    case .leave: addRemoval(place, of: verdict.person.flatMap { log.people[$0] }, in: log)
    case .revokeDevice(let revocation):
      revocations.append(place, to: log.deviceNames[revocation.device])
    case .setRole(let change):
      roles.append(place, to: log.people[change.person])
      roleChanges.append(place, to: log.people[change.person])
    case .setRecovery, .rotateRecovery:
      if let person = verdict.person { words.append(place, to: log.people[person]) }
    case .inviteCreate(let invite):
      invites.append(place, to: log.invited[place])
      if let person = verdict.person, invite.person == person {
        invitesToOneself.append(place, to: log.people[person])
      }
    case .inviteClose: closings.append(place, to: log.invited[place])
    case .transferOwner: transfers.append(place)
    case .acceptOwner:
      acceptances.append(place)
      for person in [verdict.formerOwner, verdict.person].compactMap({ $0 }) {
        roles.append(place, to: log.people[person])
        roleChanges.append(place, to: log.people[person])
      }
    case .setPolicy: policies[log.author(place), default: []].append(place)
    default: break
    }
  }

  /// The number of joins by an invitation that were checked so far.
  func attempts(at invite: Int) -> Int { attempts[invite].count }

  /// Records that a join was checked, with effect or without.
  mutating func note(attempt place: Int, at invite: Int) { attempts.append(place, to: invite) }

  mutating func add(overruled place: Int, of person: PersonID, in log: ControlLog) {
    overruledRoles.append(place, to: log.people[person])
  }

  func isShared(_ device: Int) -> Bool { shared[device] != nil }

  private mutating func enrol(_ place: Int, _ verdict: Verdict, _ log: ControlLog) {
    addEnrolment(place, of: log)
    guard verdict.given != nil, let person = log.comers[place] else {
      furtherDevices.append(place, to: log.comers[place])
      return
    }
    apartBeginnings.note(place, after: beginnings[person], in: log)
    beginnings.append(place, to: person)
    roles.append(place, to: person)
    if let invite = verdict.invite { entrances[person, default: []].append((place, invite)) }
  }

  private mutating func addRemoval(_ place: Int, of person: Int?, in log: ControlLog) {
    apartRemovals.note(place, after: removals[person], in: log)
    removals.append(place, to: person)
  }

  private mutating func addEnrolment(_ place: Int, of log: ControlLog) {
    let device = log.entrants[place]
    apartEnrolments.note(place, after: enrolments[device], in: log)
    if shared[device] == nil, let last = enrolments[device].last,
      log.comers[last] != log.comers[place]
    {
      shared[device] = place
    }
    enrolments.append(place, to: device)
  }
}
