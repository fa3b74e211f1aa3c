import HearthCRDT
import HearthCrypto

/// The operations of a control log by whom and what they concern, in the log's order.
///
/// Questions about a device or a person touch the few operations that concern it, not the log.
struct ControlIndex: Sendable {
  /// The operations that began the group: one, or the same in several histories of a log.
  private(set) var geneses: [Int] = []
  /// Operations that make a device one of the group.
  private(set) var enrolments: [DeviceID: [Int]] = [:]
  /// Operations that end a device.
  private(set) var revocations: [DeviceID: [Int]] = [:]
  /// Operations that let a person in, further devices included.
  private(set) var additions: [PersonID: [Int]] = [:]
  /// Operations that end a person's membership.
  private(set) var removals: [PersonID: [Int]] = [:]
  /// Operations that end every other device of a person.
  private(set) var recoveries: [PersonID: [Int]] = [:]
  /// Operations that make a device one of a person by recovery words.
  private(set) var recovered: [PersonID: [Int]] = [:]
  /// Operations that set a role of a person; handing over sets two.
  private(set) var roles: [PersonID: [Int]] = [:]
  /// Operations that set the keys of a person's recovery words.
  private(set) var words: [PersonID: [Int]] = [:]
  private(set) var invites: [Identifier: [Int]] = [:]
  private(set) var uses: [Identifier: [Int]] = [:]
  private(set) var closings: [Identifier: [Int]] = [:]
  private(set) var transfers: [RecordID: [Int]] = [:]
  private(set) var acceptances: [Int] = []
  private(set) var policies: [Int] = []
  private(set) var epochs: [Int] = []
  private(set) var wrapAdds: [Int] = []
  private(set) var complaints: [Int] = []
  private(set) var forkProofs: [Int] = []
  /// Operations after which somebody may not read any more.
  private(set) var exposures: [Int] = []
  /// Everything written by a device.
  private(set) var writings: [DeviceID: [Int]] = [:]

  init(_ log: ControlLog, group: GroupID) {
    for (place, item) in log.items.enumerated() {
      writings[item.device, default: []].append(place)
      switch item.operation {
      case .epoch: epochs.append(place)
      case .wrapAdd: wrapAdds.append(place)
      case .complaint: complaints.append(place)
      case .forkProof: forkProofs.append(place)
      case .removeMember, .leave, .revokeDevice, .inviteClose: exposures.append(place)
      case .recover(let recover) where recover.revokesOthers: exposures.append(place)
      default: break
      }
      add(place, item, of: log, group: group)
    }
  }

  private mutating func add(
    _ place: Int, _ item: ControlItem, of log: ControlLog, group: GroupID
  ) {
    switch item.operation {
    case .genesis(let genesis):
      guard geneses.isEmpty || item.branch != nil, Membership.groupID(of: genesis) == group,
        Membership.cardID(of: genesis.device) == item.device
      else { return }
      geneses.append(place)
      addPerson(place, genesis.founder, item.device)
    case .join(let join):
      addPerson(place, join.person, item.device)
      uses[join.invite, default: []].append(place)
    case .admit(let admit):
      addPerson(place, admit.join.person, Membership.cardID(of: admit.join.device))
      uses[admit.join.invite, default: []].append(place)
    case .recover(let recover):
      enrolments[item.device, default: []].append(place)
      recovered[recover.person, default: []].append(place)
      if recover.revokesOthers { recoveries[recover.person, default: []].append(place) }
    case .removeMember(let removal): removals[removal.person, default: []].append(place)
    case .revokeDevice(let revocation):
      revocations[revocation.device, default: []].append(place)
    case .setRole(let change): roles[change.person, default: []].append(place)
    case .transferOwner: transfers[item.eventID, default: []].append(place)
    case .acceptOwner: acceptances.append(place)
    case .inviteCreate(let invite): invites[invite.invite, default: []].append(place)
    case .inviteClose(let invite): closings[invite, default: []].append(place)
    case .setPolicy: policies.append(place)
    case .leave, .setRecovery, .rotateRecovery, .epoch, .incarnate, .forkProof, .adopt,
      .complaint, .wrapAdd, .heartbeat, .branch, .unknown:
      break
    }
  }

  private mutating func addPerson(_ place: Int, _ person: PersonID, _ device: DeviceID) {
    enrolments[device, default: []].append(place)
    additions[person, default: []].append(place)
    roles[person, default: []].append(place)
  }

  // What concerns the author's own person is known once its device is.

  mutating func noteLeaving(_ place: Int, of person: PersonID) {
    ControlIndex.insert(place, into: &removals[person, default: []])
  }

  mutating func noteWords(_ place: Int, of person: PersonID) {
    ControlIndex.insert(place, into: &words[person, default: []])
  }

  mutating func noteHandingOver(_ place: Int, from owner: PersonID, to person: PersonID) {
    ControlIndex.insert(place, into: &roles[owner, default: []])
    ControlIndex.insert(place, into: &roles[person, default: []])
  }

  private static func insert(_ place: Int, into places: inout [Int]) {
    guard !places.contains(place) else { return }
    places.append(place)
    places.sort()
  }
}

extension Membership {
  /// The id of the device that would show these keys, valid or not.
  static func cardID(of card: DeviceCard) -> DeviceID {
    let domain: Domain = "HRTH/device/v1"
    return Identifier(bytes: Blake2b.hash(domain.bytes + card.signKey + card.boxKey, count: 16))
      ?? Identifier(high: 0, low: 0)
  }
}
