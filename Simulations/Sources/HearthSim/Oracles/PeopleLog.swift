import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// The members' log of the household, read in the plainest way: who stood how in whose eyes.
///
/// Takes from the program which operations have effect, and checks that apart
/// (``PeopleRules``); all that follows from them is reckoned here anew, by causes alone.
struct PeopleLog {
  struct Entry {
    let dot: Dot
    /// What its author had seen; nobody unsees by beginning a new life.
    var cause: Frontier
    /// What it says itself that its author had seen: less, where a device went back in time.
    let stated: Frontier
    let operation: ControlOperation
    /// Why it has no effect; nil where it has.
    let void: VoidReason?
    var isLive: Bool { void == nil }
    let id: RecordID
    /// The device that it lets in; nil if it lets in none.
    let joiner: DeviceID?
  }

  /// Who is what, in somebody's eyes.
  struct Standing {
    var owner: PersonID?
    var roles: [PersonID: Role] = [:]
    /// The last role of each person who has gone.
    var formerRoles: [PersonID: Role] = [:]
    /// Where the membership of each person began who joined.
    var begun: [PersonID: Int] = [:]
    /// Whose each device is, and the operation that made it so.
    var devices: [DeviceID: (person: PersonID, place: Int)] = [:]
  }

  let entries: [Entry]
  /// Whether all that was decided about stands in the log itself.
  ///
  /// Of a device that contradicted itself there two histories count (decision 0042), of which one
  /// is only shown: by causes in numbers alone nothing can be reckoned then.
  let isWhole: Bool
  /// Whether some log of it ended in two histories.
  private(set) var isForked = false
  /// Whose device each is, as the world made them.
  private let people: [DeviceID: PersonID]

  /// The log as a device has it.
  init(of device: SimDevice, in world: World) throws {
    let engine = try device.engine()
    let group = try device.group()
    var states: [RecordID: EventState] = [:]
    if let control = engine.zones.first(where: { $0.group == group && $0.kind == .control }) {
      isForked = !control.forkEnds.isEmpty || control.heads.contains { $0.forkedAt != nil }
      for (id, event) in try engine.store.records.events(of: ControlOperation.type, in: control.id)
      {
        states[id] = event
      }
    }
    let audit = engine.membership(of: group).audit()
    let told = audit.compactMap { entry in
      states[entry.id].map {
        Entry(
          dot: $0.version.dot, cause: $0.cause ?? Frontier(), stated: $0.cause ?? Frontier(),
          operation: entry.operation, void: entry.void?.reason, id: entry.id,
          joiner: PeopleLog.joiner(of: entry.operation))
      }
    }
    isWhole = told.count == audit.count
    entries = PeopleLog.closed(told.map { PeopleLog.knowing(told, $0) })
    people = Dictionary(
      world.devices.map { ($0.deviceID, $0.person) }, uniquingKeysWith: { first, _ in first })
  }

  private static func joiner(of operation: ControlOperation) -> DeviceID? {
    switch operation {
    case .join(let join): ControlIdentity.deviceID(of: join.device)
    case .admit(let admit): ControlIdentity.deviceID(of: admit.join.device)
    case .recover(let recover): ControlIdentity.deviceID(of: recover.device)
    default: nil
    }
  }

  /// An entry with all that earlier lives of its device had seen in entries that did not know it.
  private static func knowing(_ told: [Entry], _ entry: Entry) -> Entry {
    var knowing = entry
    for other in told
    where other.dot.author.device == entry.dot.author.device
      && other.dot.author.incarnation < entry.dot.author.incarnation
      && !other.cause.covers(entry.dot)
    {
      knowing.cause = knowing.cause.joined(with: other.cause)
    }
    return knowing
  }

  /// The entries with all that those had seen which they cite: causes are closed, so whoever cites
  /// a later life of a device has seen what its earlier lives had.
  ///
  /// In the order of the log causes come first.
  private static func closed(_ entries: [Entry]) -> [Entry] {
    guard entries.contains(where: { $0.cause != $0.stated }) else { return entries }
    var closed: [Entry] = []
    for entry in entries {
      var entry = entry
      for earlier in closed where entry.cause.covers(earlier.dot) {
        entry.cause = entry.cause.joined(with: earlier.cause)
      }
      closed.append(entry)
    }
    return closed
  }

  /// Whose an entry's device was when it wrote; nil for a stranger, and for a life before the one
  /// in which the device came.
  func author(_ place: Int, in standing: Standing) -> PersonID? {
    let author = entries[place].dot.author
    guard let (person, enrolment) = standing.devices[author.device] else { return nil }
    let came = entries[enrolment].dot.author
    return came.device == author.device && author.incarnation < came.incarnation ? nil : person
  }

  func author(_ place: Int) -> PersonID? { people[entries[place].dot.author.device] }

  /// Whether the author of one entry knew another.
  func sees(_ later: Int, _ earlier: Int) -> Bool {
    earlier < later
      && (entries[later].cause.covers(entries[earlier].dot)
        || entries[later].dot == entries[earlier].dot)
  }

  func areConcurrent(_ one: Int, _ other: Int) -> Bool {
    one != other && !sees(one, other) && !sees(other, one)
  }

  // MARK: Standing

  func standing() -> Standing { standing { _ in true } }

  func standing(before place: Int) -> Standing { standing { sees(place, $0) } }

  /// Everybody's standing by the entries in view that have effect, one after the other.
  func standing(_ isInView: (Int) -> Bool) -> Standing {
    var state = Standing()
    let view = entries.indices.filter { entries[$0].isLive && isInView($0) }
    let endings = view.filter { isEnding($0) }
    for place in view {
      switch entries[place].operation {
      case .genesis(let genesis):
        state.owner = genesis.founder
        state.roles[genesis.founder] = .owner
        state.devices[entries[place].dot.author.device] = (genesis.founder, place)
      case .join(let join): add(place, join, endings, view, &state)
      case .admit(let admit): add(place, admit.join, endings, view, &state)
      case .recover(let recover):
        addDevice(place, of: recover.person, endings, &state)
        if recover.revokesOthers { end(place, endings, &state) }
      case .removeMember, .revokeDevice, .leave: end(place, endings, &state)
      case .setRole(let person, let role, _) where state.roles[person] != nil:
        state.roles[person] = role
      case .acceptOwner(let offer): handOver(place, offer, &state)
      default: break
      }
    }
    if let owner = state.owner { state.roles[owner] = .owner }
    return state
  }

  private func isEnding(_ place: Int) -> Bool {
    switch entries[place].operation {
    case .removeMember, .revokeDevice, .leave: true
    case .recover(let recover): recover.revokesOthers
    default: false
    }
  }

  /// Whether an entry ends a device of a person; of the person as a whole where no device is named.
  func ends(_ place: Int, _ device: DeviceID?, of person: PersonID) -> Bool {
    switch entries[place].operation {
    case .removeMember(let removed, _): removed == person
    case .leave: author(place) == person
    case .revokeDevice(let revoked, _): revoked == device
    case .recover(let recover):
      recover.revokesOthers && recover.person == person && device != nil
        && device != entries[place].joiner
    default: false
    }
  }

  private func add(
    _ place: Int, _ join: ControlOperation.Join, _ endings: [Int], _ view: [Int],
    _ state: inout Standing
  ) {
    addDevice(place, of: join.person, endings, &state)
    let after = endings.filter { !sees(place, $0) }
    guard state.roles[join.person] == nil,
      !after.contains(where: {
        ends($0, nil, of: join.person) && !isBeyond(place, $0, nil, join.person, endings)
      })
    else { return }
    // Who was confirmed stays, also where the invitation has lost its effect.
    for entry in entries {
      if case .inviteCreate(let invite) = entry.operation, invite.invite == join.invite {
        state.roles[join.person] = invite.role
        state.begun[join.person] = place
      }
    }
  }

  /// Whether an entry begins anew after an ending that another ending knows nothing beyond: nobody
  /// ends what they had not seen.
  private func isBeyond(
    _ entry: Int, _ ending: Int, _ device: DeviceID?, _ person: PersonID, _ endings: [Int]
  ) -> Bool {
    guard !sees(ending, entry) else { return false }
    return endings.contains { former in
      guard former != ending, sees(entry, former), ends(former, device, of: person) else {
        return false
      }
      return !entries.indices.contains { other in
        isBeginning(other, of: person) && sees(other, former) && sees(ending, other)
      }
    }
  }

  /// Whether an entry lets a person in, or a device of the person.
  func isBeginning(_ place: Int, of person: PersonID) -> Bool {
    switch entries[place].operation {
    case .join(let join): join.person == person
    case .admit(let admit): admit.join.person == person
    case .recover(let recover): recover.person == person
    default: false
    }
  }

  private func addDevice(
    _ place: Int, of person: PersonID, _ endings: [Int], _ state: inout Standing
  ) {
    guard let device = entries[place].joiner else { return }
    let isEnded = endings.contains {
      !sees(place, $0) && ends($0, device, of: person)
        && !isBeyond(place, $0, device, person, endings)
    }
    if !isEnded { state.devices[device] = (person, place) }
  }

  private func end(_ place: Int, _ endings: [Int], _ state: inout Standing) {
    for (device, owner) in state.devices where ends(place, device, of: owner.person) {
      if !sees(owner.place, place), !isBeyond(owner.place, place, device, owner.person, endings) {
        state.devices[device] = nil
      }
    }
    for person in state.roles.keys where ends(place, nil, of: person) {
      if let begun = state.begun[person], isBeyond(begun, place, nil, person, endings) { continue }
      state.formerRoles[person] = state.roles[person]
      state.roles[person] = nil
    }
  }

  private func handOver(_ place: Int, _ offer: RecordID, _ state: inout Standing) {
    guard let offered = entries.firstIndex(where: { $0.id == offer }), let heir = author(place)
    else { return }
    if let former = author(offered), state.roles[former] != nil { state.roles[former] = .admin }
    state.owner = heir
    state.roles[heir] = .owner
  }

  // MARK: What changes count for

  /// The entries with effect that end a device after it was enrolled for the last time in view.
  ///
  /// One that knows only an earlier enrolment, which was over by then, does not end this one.
  func endings(of device: DeviceID, _ person: PersonID, after enrolment: Int) -> [Int] {
    let endings = entries.indices.filter { entries[$0].isLive && isEnding($0) }
    return endings.filter {
      $0 != enrolment && ends($0, device, of: person) && !sees(enrolment, $0)
        && !isBeyond(enrolment, $0, device, person, endings)
    }
  }

  /// What a change counts for; nil for nothing.
  ///
  /// - Parameter heads: how much of this log its author had seen.
  func role(of dot: Dot, in zone: ZoneID, at heads: Frontier, _ then: Standing) -> Role? {
    let device = dot.author.device
    guard let (person, enrolment) = then.devices[device], var role = then.roles[person] else {
      return nil
    }
    let ends = endings(of: device, person, after: enrolment)
    func reaches(_ place: Int) -> Bool {
      dot.sequence <= (cut(place)?.sequence(of: dot.author, in: zone) ?? 0)
    }
    for place in ends where !reaches(place) {
      let isSaved = ends.contains { areConcurrent($0, place) && reaches($0) }
      guard isSaved else { return nil }
      SimProbe.cutWidened.hit()
    }
    for place in entries.indices where entries[place].isLive && !heads.covers(entries[place].dot) {
      guard case .setRole(person, let lower, _) = entries[place].operation,
        lower.rawValue < role.rawValue, !sees(enrolment, place), !reaches(place)
      else { continue }
      role = lower
    }
    return role
  }

  private func cut(_ place: Int) -> Cut? {
    switch entries[place].operation {
    case .removeMember(_, let cut), .revokeDevice(_, let cut), .setRole(_, _, let cut),
      .leave(let cut):
      cut
    case .recover(let recover): recover.revokesOthers ? recover.cut : nil
    default: nil
    }
  }
}

/// What each change of the household counts for, by the members' log of one device.
struct ChangeRoles {
  private var roles: [Dot: Role] = [:]
  /// How much of the members' log the author of each change had seen.
  private(set) var heads: [Dot: Frontier] = [:]
  private(set) var voids = 0
  /// Whether all stands in the log that decides about people: else this is a guess.
  let isWhole: Bool

  init(_ changes: [Dot: Change], in zone: ZoneID, by log: PeopleLog) {
    isWhole = log.isWhole
    var memo: (heads: Frontier, standing: PeopleLog.Standing)?
    var seen = Frontier()
    var author: Author?
    for dot in changes.keys.sorted() {
      guard let change = changes[dot] else { continue }
      if dot.author != author { (author, seen) = (dot.author, Frontier()) }
      seen = seen.raised(by: change.controlSeen) ?? seen
      let past = seen
      if memo?.heads != past {
        memo = (past, log.standing { past.covers(log.entries[$0].dot) })
      }
      heads[dot] = past
      guard let standing = memo?.standing else { continue }
      guard let role = log.role(of: dot, in: zone, at: past, standing) else {
        voids += 1
        continue
      }
      // A transaction counts as one: all of it, or nothing.
      let person = standing.devices[dot.author.device]?.person
      let isAllowed = change.operations.allSatisfy {
        Rights.allow($0, role, by: person) && Rights.mayDecide($0, role, standing)
      }
      if isAllowed { roles[dot] = role } else { SimProbe.operationOverRole.hit() }
    }
    if voids > 0 { SimProbe.changesVoid.hit() }
  }

  /// Nil for a change without effect.
  func role(_ dot: Dot) -> Role? { roles[dot] }
}
