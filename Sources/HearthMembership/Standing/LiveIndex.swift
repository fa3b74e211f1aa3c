import HearthCRDT

/// The effective operations, by author and subject, each list in log order.
struct LiveIndex: Sendable {
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
  private(set) var roles = NumberedLists()
  /// Role changes that lost to lower roles which their authors had not seen.
  private(set) var overruledRoles = NumberedLists()
  private(set) var words = NumberedLists()
  private(set) var invites = NumberedLists()
  private(set) var invitesToOneself = NumberedLists()
  private(set) var uses = NumberedLists()
  private(set) var closings = NumberedLists()
  /// Removals of an invitation's users, by the operation that made it; each ends the invitation.
  private(set) var removalsOfUsers = NumberedLists()
  /// Joins whose proof was checked, by the operation that made the invitation.
  private var attempts = NumberedLists()
  private(set) var transfers: [Int] = []
  private(set) var acceptances: [Int] = []
  /// Policy operations, by the number of their author.
  private(set) var policies = NumberedLists()

  mutating func truncate(to start: Int) {
    if start == 0 {
      self = LiveIndex()
      return
    }
    for path in LiveIndex.numbered { self[keyPath: path].truncate(to: start) }
    apartBeginnings.truncate(to: start)
    apartRemovals.truncate(to: start)
    apartEnrolments.truncate(to: start)
    for (device, place) in shared where place >= start { shared[device] = nil }
    LiveIndex.truncate(&transfers, to: start)
    LiveIndex.truncate(&acceptances, to: start)
  }

  private static var numbered: [WritableKeyPath<LiveIndex, NumberedLists>] {
    [
      \.enrolments, \.revocations, \.beginnings, \.furtherDevices, \.removals, \.recoveries,
      \.roles, \.overruledRoles, \.words, \.invitesToOneself, \.invites, \.uses, \.closings,
      \.removalsOfUsers, \.attempts, \.policies,
    ]
  }

  private static func truncate(_ places: inout [Int], to start: Int) {
    while let last = places.last, last >= start { places.removeLast() }
  }

  mutating func withdraw(_ offer: Int) { transfers.removeAll { $0 == offer } }

  mutating func add(_ place: Int, _ verdicts: [Verdict], of log: ControlLog) {
    let verdict = verdicts[place]
    switch log.operation(place) {
    case .genesis: enrol(place, verdict, log)
    case .join, .admit:
      enrol(place, verdict, log)
      uses.append(place, to: log.invited[place])
    case .recover(let recover):
      addEnrolment(place, of: log)
      furtherDevices.append(place, to: log.comers[place])
      if recover.revokesOthers { recoveries.append(place, to: log.comers[place]) }
    case .removeMember(let removed, _):
      let person = log.people[removed]
      addRemoval(place, of: person, in: log)
      let entrance = beginnings[person].last { log.sees(place, $0) && verdicts[$0].invite != nil }
      removalsOfUsers.append(place, to: entrance.flatMap { verdicts[$0].invite })
    case .leave: addRemoval(place, of: log.people[verdict.person], in: log)
    case .revokeDevice(let device, _): revocations.append(place, to: log.deviceNames[device])
    case .setRole(let person, _, _): roles.append(place, to: log.people[person])
    case .setRecovery, .rotateRecovery: words.append(place, to: log.people[verdict.person])
    case .inviteCreate(let invite):
      invites.append(place, to: log.invited[place])
      if invite.person == verdict.person {
        invitesToOneself.append(place, to: log.people[invite.person])
      }
    case .inviteClose: closings.append(place, to: log.invited[place])
    case .transferOwner: transfers.append(place)
    case .acceptOwner:
      acceptances.append(place)
      for person in [verdict.formerOwner, verdict.person] {
        roles.append(place, to: log.people[person])
      }
    case .setPolicy: policies.append(place, to: log.author(place))
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
    let person = log.comers[place]
    guard verdict.given != nil else { return furtherDevices.append(place, to: person) }
    apartBeginnings.note(place, after: beginnings[person], in: log)
    beginnings.append(place, to: person)
    roles.append(place, to: person)
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
