import HearthCRDT

/// The operations that count, by whom and what they concern, each list in the log's order.
struct LiveIndex: Sendable {
  private(set) var geneses: [Int] = []
  /// Operations that make a device one of the group.
  private(set) var enrolments: [DeviceID: [Int]] = [:]
  /// Operations that end a device.
  private(set) var revocations: [DeviceID: [Int]] = [:]
  /// Operations that let a person in, without further devices.
  private(set) var beginnings: [PersonID: [Int]] = [:]
  /// Joinings of further devices, and recoveries.
  private(set) var furtherDevices: [PersonID: [Int]] = [:]
  /// Beginnings and removals of a person, and enrolments of a device, that later ones had not seen.
  private(set) var apartBeginnings = ApartPlaces()
  private(set) var apartRemovals = ApartPlaces()
  private(set) var apartEnrolments = ApartPlaces()
  /// Devices that came as two people's, and with which operation.
  private var shared: [DeviceID: Int] = [:]
  /// Removals of a person, and leavings.
  private(set) var removals: [PersonID: [Int]] = [:]
  /// Recoveries that end every other device of a person.
  private(set) var recoveries: [PersonID: [Int]] = [:]
  /// Operations that set a role of a person; a hand-over sets two.
  private(set) var roles: [PersonID: [Int]] = [:]
  /// Those of them that may take rank from what the person wrote: letting somebody in does not.
  private(set) var roleChanges: [PersonID: [Int]] = [:]
  /// Roles that lost to lower ones which their authors had not seen.
  private(set) var overruledRoles: [PersonID: [Int]] = [:]
  /// Operations that set the keys of a person's recovery words.
  private(set) var words: [PersonID: [Int]] = [:]
  private(set) var invites: [Identifier: [Int]] = [:]
  /// Invitations that a person made.
  private(set) var invitesMade: [PersonID: [Int]] = [:]
  private(set) var uses: [Identifier: [Int]] = [:]
  private(set) var closings: [Identifier: [Int]] = [:]
  /// Removals of people who came by an invitation, by the operation that made it: with each of them
  /// it ends.
  private(set) var removalsOfUsers: [Int: [Int]] = [:]
  /// Joinings whose proof was looked at, by the operation that made the invitation.
  private var attempts: [Int: [Int]] = [:]
  /// The invitations by which a person came.
  private var entrances: [PersonID: [(place: Int, invite: Int)]] = [:]
  private(set) var transfers: [Int] = []
  private(set) var acceptances: [Int] = []
  /// Operations that set the rules, by the number of their author.
  private(set) var policies: [Int: [Int]] = [:]

  /// Forgets everything from a place on.
  mutating func truncate(to start: Int) {
    if start == 0 {
      self = LiveIndex()
      return
    }
    for path in LiveIndex.byIdentifier { LiveIndex.truncate(&self[keyPath: path], to: start) }
    LiveIndex.truncate(&attempts, to: start)
    LiveIndex.truncate(&removalsOfUsers, to: start)
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

  private static var byIdentifier: [WritableKeyPath<LiveIndex, [Identifier: [Int]]>] {
    [
      \.enrolments, \.revocations, \.beginnings, \.furtherDevices, \.removals, \.recoveries,
      \.roles, \.roleChanges, \.overruledRoles, \.words, \.invites, \.invitesMade, \.uses,
      \.closings,
    ]
  }

  private static func truncate<Key>(_ lists: inout [Key: [Int]], to start: Int) {
    for key in lists.keys { truncate(&lists[key, default: []], to: start) }
  }

  private static func truncate(_ places: inout [Int], to start: Int) {
    while let last = places.last, last >= start { places.removeLast() }
  }

  /// Takes an offer out again.
  mutating func withdraw(_ offer: Int) {
    transfers.removeAll { $0 == offer }
  }

  /// Adds an operation that counts.
  mutating func add(_ place: Int, _ verdict: Verdict, of log: ControlLog) {
    switch log.items[place].operation {
    case .genesis(let genesis):
      geneses.append(place)
      enrol(place, log.items[place].device, genesis.founder, verdict, log)
    case .join(let join):
      enrol(place, log.items[place].device, join.person, verdict, log)
      uses[join.invite, default: []].append(place)
    case .admit(let admit):
      enrol(
        place, log.items[place].shown ?? log.items[place].device, admit.join.person, verdict, log)
      uses[admit.join.invite, default: []].append(place)
    case .recover(let recover):
      addEnrolment(place, log.items[place].device, recover.person, of: log)
      furtherDevices[recover.person, default: []].append(place)
      if recover.revokesOthers { recoveries[recover.person, default: []].append(place) }
    case .removeMember(let removal):
      addRemoval(place, of: removal.person, in: log)
      for entrance in (entrances[removal.person] ?? []).reversed()
      where log.sees(place, entrance.place) {
        removalsOfUsers[entrance.invite, default: []].append(place)
        break
      }
    case .leave:
      if let person = verdict.person { addRemoval(place, of: person, in: log) }
    case .revokeDevice(let revocation):
      revocations[revocation.device, default: []].append(place)
    case .setRole(let change):
      roles[change.person, default: []].append(place)
      roleChanges[change.person, default: []].append(place)
    case .setRecovery, .rotateRecovery:
      if let person = verdict.person { words[person, default: []].append(place) }
    case .inviteCreate(let invite):
      invites[invite.invite, default: []].append(place)
      if let person = verdict.person { invitesMade[person, default: []].append(place) }
    case .inviteClose(let invite): closings[invite, default: []].append(place)
    case .transferOwner: transfers.append(place)
    case .acceptOwner:
      acceptances.append(place)
      for person in [verdict.formerOwner, verdict.person].compactMap({ $0 }) {
        roles[person, default: []].append(place)
        roleChanges[person, default: []].append(place)
      }
    case .setPolicy: policies[log.causality.column[log.changes[place]], default: []].append(place)
    default: break
    }
  }

  /// How many joinings by an invitation were looked at so far.
  func attempts(at invite: Int) -> Int { attempts[invite]?.count ?? 0 }

  /// Notes that a joining was looked at, whether it counts or not.
  mutating func note(attempt place: Int, at invite: Int) {
    attempts[invite, default: []].append(place)
  }

  /// Adds a role that lost to another one.
  mutating func add(overruled place: Int, of person: PersonID) {
    overruledRoles[person, default: []].append(place)
  }

  /// Whether a device came as several people's.
  func isShared(_ device: DeviceID) -> Bool { shared[device] != nil }

  private mutating func enrol(
    _ place: Int, _ device: DeviceID, _ person: PersonID, _ verdict: Verdict, _ log: ControlLog
  ) {
    addEnrolment(place, device, person, of: log)
    if verdict.given == nil {
      furtherDevices[person, default: []].append(place)
    } else {
      apartBeginnings.note(place, after: beginnings[person] ?? [], in: log)
      beginnings[person, default: []].append(place)
      roles[person, default: []].append(place)
      if let invite = verdict.invite { entrances[person, default: []].append((place, invite)) }
    }
  }

  private mutating func addRemoval(_ place: Int, of person: PersonID, in log: ControlLog) {
    if let known = removals[person] { apartRemovals.note(place, after: known, in: log) }
    removals[person, default: []].append(place)
  }

  private mutating func addEnrolment(
    _ place: Int, _ device: DeviceID, _ person: PersonID, of log: ControlLog
  ) {
    if let known = enrolments[device] {
      apartEnrolments.note(place, after: known, in: log)
      if shared[device] == nil, let last = known.last, log.items[last].operation.comer != person {
        shared[device] = place
      }
    }
    enrolments[device, default: []].append(place)
  }
}
