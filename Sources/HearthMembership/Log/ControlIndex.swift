import HearthCRDT

/// The operations of a control log in log order, with effect or without, by author and subject.
///
/// A query about a device or a person reads only the few operations about it, not the whole log.
struct ControlIndex: Sendable {
  /// The operations that created the group: one, or one for each branch of a forked log.
  private(set) var geneses: [Int] = []
  private(set) var enrolments: [DeviceID: [Int]] = [:]
  private(set) var revocations: [DeviceID: [Int]] = [:]
  /// Operations that admit a person or a further device of that person.
  private(set) var additions: [PersonID: [Int]] = [:]
  private(set) var removals: [PersonID: [Int]] = [:]
  /// Operations that enrol a device with a person's recovery words.
  private(set) var recovered: [PersonID: [Int]] = [:]
  /// Operations that change a person's role; an ownership handover changes two.
  private(set) var roleChanges: [PersonID: [Int]] = [:]
  /// Operations that set the public keys of a person's recovery words.
  private(set) var words: [PersonID: [Int]] = [:]
  /// Operations that make, use or close an invitation, by the invitation's number.
  private(set) var invites = NumberedLists()
  private(set) var uses = NumberedLists()
  /// Uses of all invitations.
  private(set) var joinings: [Int] = []
  private(set) var transfers: [RecordID: [Int]] = [:]
  /// Explicit confirmations, by the operation that they confirm.
  private(set) var confirmations: [RecordID: [Int]] = [:]
  /// Epoch operations, by the devices that receive their keys.
  private(set) var wraps: [DeviceID: [Int]] = [:]
  /// Operations after which a person or device may no longer read.
  private(set) var exposures: [Int] = []
  private var kinds: [UInt8: [Int]] = [:]
  /// All operations of a device, by the device's number.
  private(set) var writings = NumberedLists()

  init(_ log: ControlLog, group: GroupID) {
    for place in log.items.indices { add(place, of: log, group: group) }
  }

  /// All operations of a kind.
  subscript(kind: ControlOperation.Kind) -> [Int] { kinds[kind.rawValue] ?? [] }

  var acceptances: [Int] { self[.acceptOwner] }

  /// Adds an operation that follows all others in log order.
  mutating func add(_ place: Int, of log: ControlLog, group: GroupID) {
    let item = log.items[place]
    writings.append(place, to: log.deviceNumbers[place])
    kinds[item.operation.kind, default: []].append(place)
    switch item.operation {
    case .genesis(let genesis):
      guard geneses.isEmpty || item.branch != nil, ControlIdentity.groupID(of: genesis) == group,
        item.shown == item.device
      else { return }
      geneses.append(place)
      addPerson(place, genesis.founder, item.device)
    case .inviteCreate: invites.append(place, to: log.invited[place])
    case .join(let join):
      addPerson(place, join.person, item.device)
      addUse(place, of: log.invited[place])
    case .admit(let admit):
      addPerson(place, admit.join.person, item.shown ?? item.device)
      addUse(place, of: log.invited[place])
    case .recover(let recover):
      enrolments[item.device, default: []].append(place)
      recovered[recover.person, default: []].append(place)
    case .removeMember(let person, _): removals[person, default: []].append(place)
    case .revokeDevice(let device, _): revocations[device, default: []].append(place)
    case .setRole(let person, _, _): roleChanges[person, default: []].append(place)
    case .transferOwner: transfers[item.eventID, default: []].append(place)
    case .epoch(let grant):
      for wrap in grant.wraps { wraps[wrap.recipient, default: []].append(place) }
    case .confirm(let targets):
      for target in targets { confirmations[target, default: []].append(place) }
    default: break
    }
    if item.operation.mayExpose { exposures.append(place) }
  }

  private mutating func addPerson(_ place: Int, _ person: PersonID, _ device: DeviceID) {
    enrolments[device, default: []].append(place)
    additions[person, default: []].append(place)
  }

  private mutating func addUse(_ place: Int, of invitation: Int?) {
    uses.append(place, to: invitation)
    joinings.append(place)
  }

  /// Indexes an operation about its author's own person, once its verdict names that person.
  mutating func note(
    _ place: Int, _ item: ControlItem, by person: PersonID?, from formerOwner: PersonID?
  ) {
    guard let person else { return }
    switch item.operation {
    case .leave: ControlIndex.insert(place, into: &removals[person, default: []])
    case .setRecovery, .rotateRecovery: words[person, default: []].append(place)
    case .acceptOwner:
      for person in [formerOwner, person].compactMap({ $0 }) {
        ControlIndex.insert(place, into: &roleChanges[person, default: []])
      }
    default: break
    }
  }

  private static func insert(_ place: Int, into places: inout [Int]) {
    places.insert(place, at: places.partitionPoint { $0 > place })
  }
}
