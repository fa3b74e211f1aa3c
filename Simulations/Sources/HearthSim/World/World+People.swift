import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync

/// What people do to the household's people and devices, as steps of a plan.
extension World {
  /// The verbs that write into the members' log.
  static let peopleVerbs = [
    "remove", "revoke", "role", "owner", "accept-owner", "leave", "close-invite", "approve",
    "adopt", "newcomers", "words",
  ]

  func performOnPeople(_ step: Step, _ device: SimDevice) throws -> Bool {
    switch step.verb {
    case "invite": try attempt(step, on: device) { try self.invite(step, device) }
    case "join": try attempt(step, on: device) { try self.join(step, device) }
    case "ignore-members": ignoreMembers(step, device)
    case let verb where World.peopleVerbs.contains(verb):
      try attempt(step, on: device) {
        guard !device.isOldBuild else { throw StepFailure("an old program only exchanges") }
        try self.arrange(step, device)
        try self.acknowledgeArranged(step, device)
      }
    default: return false
    }
    return true
  }

  /// `invite [NAME] role= uses= days= for= [approve]`.
  private func invite(_ step: Step, _ device: SimDevice) throws {
    let role = try step.value("role").map { try self.role($0) } ?? .member
    let person = try step.value("for").map { try self.person($0) }
    let secret = try device.invite(
      uses: step.value("uses").flatMap { Int($0) } ?? 1_000, role: role,
      isApproved: step.words.contains("approve"), person: person,
      days: step.value("days").flatMap { UInt64($0) } ?? 30, at: now)
    if let home = device.home, person == nil, !step.words.contains("approve"),
      try device.membership().newcomers == .fromJoin
    {
      let stored = try device.engine().store.log.segments(of: home)
      closedByInvitation[secret.publicKeys.inviteID] = Set(stored.map(\.digest))
    }
    if let name = step.words.first, !name.contains("="), name != "approve" {
      invitations[name] = secret
    } else {
      invitation = secret
    }
    try acknowledgeArranged(step, device)
  }

  /// `join [NAME]`: also once more, by whom the household does not have any longer.
  private func join(_ step: Step, _ device: SimDevice) throws {
    let isBack = device.home != nil
    if isBack, try device.isMember() { return }
    let named = step.words.first.map { invitations[$0] } ?? invitation
    guard let named else { return }
    let report = try device.join(named, at: now)
    joins[device.index] = (now, step.words)
    if report == nil { return }
    // Whoever has opened another link before was given the keys in that one.
    let opened = device.openedInvitations
    let isFirst = opened.allSatisfy { $0 == opened.last }
    closedTo[device.index] =
      isBack || !isFirst ? nil : closedByInvitation[named.publicKeys.inviteID]
    if isBack { SimProbe.rejoined.hit() }
    try checker.arranged(device, in: self)
  }

  /// The device's program shuts its eyes to what is new of the members, as a thief's would.
  private func ignoreMembers(_ step: Step, _ device: SimDevice) {
    guard step.words.first != "off" else {
      device.frozenAtRelay = [:]
      return device.folder.unfreeze()
    }
    guard let engine = device.running?.engine else { return }
    for zone in engine.zones where zone.kind == .control {
      device.folder.freeze(zone.tag)
      if device.usesRelay { (try? device.relayWay())?.freeze(zone.tag) }
    }
    SimProbe.membersIgnored.hit()
  }

  func arrange(_ step: Step, _ device: SimDevice) throws {
    let words = step.words
    switch step.verb {
    case "remove":
      let person = try person(words.first ?? "")
      try device.arrange(at: now) {
        try MemberChanges.remove(person, from: $1, in: &$0, nowMilliseconds: $2)
      }
      SimProbe.personRemoved.hit()
    case "revoke":
      guard let other = self.device(named: words.first ?? "") else {
        throw StepFailure("revoke DEVICE")
      }
      try device.arrange(at: now) {
        try MemberChanges.revoke(other.deviceID, from: $1, in: &$0, nowMilliseconds: $2)
      }
      SimProbe.deviceRevoked.hit()
    case "role":
      let person = try person(words.first ?? "")
      let role = try role(words.last ?? "")
      try device.arrange(at: now) {
        try MemberChanges.setRole(of: person, to: role, in: $1, by: &$0, nowMilliseconds: $2)
      }
      SimProbe.roleChanged.hit()
    case "leave":
      try device.leave(at: now)
      SimProbe.personLeft.hit()
    case "approve": try approve(device)
    case "words": try makeWords(step, device)
    case "adopt": try adopt(device)
    case "newcomers":
      let rule: ControlOperation.Newcomers =
        step.words.first == "everything" ? .full : .fromJoin
      try device.arrange(at: now) {
        try GroupPolicy.setNewcomers(rule, of: $1, in: &$0, nowMilliseconds: $2)
      }
      SimProbe.ruleSet.hit()
    default: try arrangeOwner(step, device)
    }
  }

  private func approve(_ device: SimDevice) throws {
    let before = try device.membership()
    let known = Set((before.people + before.formerPeople).map(\.id))
    let stored = try device.home.map { try device.engine().store.log.segments(of: $0) } ?? []
    _ = try device.approveAll(at: now)
    let after = try device.membership()
    guard before.newcomers == .fromJoin else { return }
    for other in devices where after.isActive(other.deviceID) && !known.contains(other.person) {
      closedTo[other.index] = Set(stored.map(\.digest))
    }
  }

  private func arrangeOwner(_ step: Step, _ device: SimDevice) throws {
    switch step.verb {
    case "owner":
      let person = try person(step.words.first ?? "")
      let root = try words(of: device)
      _ = try device.arrange(at: now) {
        try OwnerTransfer.offer(
          of: $1, to: person, signing: { root.sign(domain: $0, $1) }, in: &$0, nowMilliseconds: $2)
      }
    case "accept-owner":
      let offer = try device.membership().offers.last { $0.to == device.person }
      guard let offer else { throw StepFailure("nobody offers the household") }
      try device.arrange(at: now) {
        try OwnerTransfer.accept(of: $1, offer: offer.id, in: &$0, nowMilliseconds: $2)
      }
      SimProbe.ownerChanged.hit()
    case "close-invite":
      let named = step.words.first.map { invitations[$0] } ?? invitation
      guard let named, let id = Identifier(bytes: named.publicKeys.inviteID) else {
        throw StepFailure("there is no such invitation")
      }
      try device.arrange(at: now) {
        try GroupPolicy.closeInvitation(id, of: $1, in: &$0, nowMilliseconds: $2)
      }
      SimProbe.inviteClosed.hit()
    default: throw StepFailure("there is no verb \(step.verb)")
    }
  }

  /// Takes over everything that counts for nothing.
  private func adopt(_ device: SimDevice) throws {
    let group = try device.group()
    let found = try VoidChanges(engine: device.engine()).quarantined(in: group)
    guard !found.isEmpty else { throw StepFailure("there is nothing to take over") }
    for quarantined in found {
      try device.arrange(at: now) {
        try Adoption.adopt(quarantined, in: $1, by: &$0, nowMilliseconds: $2)
      }
    }
    SimProbe.adopted.hit()
  }

  private func acknowledgeArranged(_ step: Step, _ device: SimDevice) throws {
    trace.note(
      "people", at: now, device: device.index, Chance.hash(step.verb.utf8),
      "\(step.verb) \(step.words.joined(separator: " "))")
    try checker.arranged(device, in: self)
  }

  func person(_ name: String) throws -> PersonID {
    guard let person = commands.people[name] else { throw StepFailure("nobody is \(name)") }
    return person
  }

  func role(_ name: String) throws -> Role {
    guard let role = Role(name: name) else { throw StepFailure("\(name) is no role") }
    return role
  }

  // MARK: Questions

  /// `role WHO`, `members`, `quarantined`, `owner`, `void`.
  func askPeople(_ what: String, _ subject: [String], _ device: SimDevice) throws -> String? {
    switch what {
    case "role":
      let person = try person(subject.first ?? "")
      return try device.membership().people.first { $0.id == person }?.role.name ?? "-"
    case "owner":
      let owner = try device.membership().owner
      return devices.first { $0.person == owner }?.name ?? "-"
    case "members": return "\(try device.membership().people.count)"
    case "devices": return "\(try device.membership().devices.count)"
    case "void": return "\(try device.membership().voided.count)"
    case "quarantined":
      let found = try VoidChanges(engine: device.engine()).quarantined(in: device.group())
      return "\(found.reduce(0) { $0 + $1.changes.count })"
    default: return nil
    }
  }
}
