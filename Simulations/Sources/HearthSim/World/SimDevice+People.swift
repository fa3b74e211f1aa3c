import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport
import InlineExecution

/// A household that was asked to let a device in.
struct AskedJoin {
  let secret: InviteSecret
  let capsule: [UInt8]
  let request: SentRequest
  let group: GroupID
}

// What people do to the household's people and devices, as the shell of the product does it.
extension SimDevice {
  var deviceID: DeviceID { Identifier(bytes: identity.publicKeys.deviceID) ?? .zero }

  /// The household's group.
  func group() throws -> GroupID {
    guard let home else { throw StepFailure("\(name) is in no household") }
    return try engine().zone(home).group
  }

  /// Who belongs to the household, as far as it is known here.
  func membership() throws -> Membership {
    try engine().membership(of: group())
  }

  /// The members in the eyes of somebody who had seen so much of their log, as this device has it.
  func membership(seenBy frontier: Frontier) throws -> Membership {
    let (engine, group) = (try engine(), try group())
    let seen = try engine.store.records.events(
      of: ControlOperation.type, in: engine.controlZone(of: group).id
    ).filter { frontier.covers($0.1.version.dot) }
    return Membership(group: group, events: seen)
  }

  /// Whether somebody counts the joining that this device believes in, whatever came after it: only
  /// then is there anybody who hands it keys, or makes some under those that it has.
  func isKnown(to informed: SimDevice, in world: World) throws -> Bool {
    let others = try informed.membership()
    guard let theirs = others.device(deviceID) else { return false }
    if try disputesOffer(with: others) { return false }
    // A copy, or what was put back, is not told of a joining that its like has gone through since:
    // it needs the link that brought the keys, and that may be gone by now.
    if theirs.isActive && copies == 0 { return true }
    return try membership().device(deviceID)?.since == theirs.since
      && (theirs.isActive || !wasOutBeforeKeys(of: theirs.person, by: informed, in: world))
  }

  /// Whether whoever ended this device's membership did so before anybody had given it the key
  /// under which the members' log was written then.
  ///
  /// Somebody made that key beside its joining, and whoever read of both ended the joining first,
  /// as one that came too late. Nobody hands keys to one who is out, and a link that is over leads
  /// to no newer ones: it cannot read of its end, and is told that a key is missing.
  private func wasOutBeforeKeys(
    of person: PersonID, by informed: SimDevice, in world: World
  ) throws -> Bool {
    let control = try informed.engine().controlZone(of: informed.group()).id
    let endings = try PeopleLog(of: informed, in: world).entries.filter { entry in
      guard entry.isLive else { return false }
      switch entry.operation {
      case .removeMember(let removed, _): return removed == person
      case .revokeDevice(let revoked, _): return revoked == deviceID
      default: return false
      }
    }
    return try !endings.isEmpty
      && endings.allSatisfy { ending in
        let before = try informed.membership(seenBy: ending.stated)
        guard before.isActive(deviceID) else { return true }
        let told = before.keyHolders.toldKeys(
          of: control, .control, before.keys.epochs(of: control), by: deviceID)
        return !before.keys.newestEpochs(of: control).contains { told.contains($0.grant.epoch) }
      }
  }

  /// Whether an offer of the household was taken and ended at the same time, and this device is out
  /// and goes on as the owner's.
  ///
  /// Either its person took the offer, which was over in others' eyes; or ended it, and others
  /// confirmed the taking. What decides is told under a key that this device lacks, as it is out:
  /// it knows no better.
  func disputesOffer(with others: Membership) throws -> Bool {
    guard let theirs = others.device(deviceID), !theirs.isActive else { return false }
    func ended(by view: Membership) -> [Dot] {
      view.voided.compactMap { void in
        if case .overruled(_, .offerEnded) = void.reason { void.version.dot } else { nil }
      }
    }
    let hasTaken = ended(by: others).contains {
      others.device($0.author.device)?.person == theirs.person
    }
    let hasEnded = try ended(by: membership()).contains { taking in
      !others.voided.contains { $0.version.dot == taking }
    }
    if hasTaken || hasEnded { SimProbe.neverToldOfOffersEnd.hit() }
    return hasTaken || hasEnded
  }

  /// Makes an invitation and puts its capsule into the folder.
  func invite(
    uses: Int, role: Role = .member, isApproved: Bool = false, person: PersonID? = nil,
    days: UInt64 = 30, at time: UInt64
  ) throws -> InviteSecret {
    takeTurn()
    let now = clock.wall(at: time)
    let ways = try ways()
    let group = try group()
    return try withEngine { engine in
      let made = try InvitationMaking.invite(
        to: group, named: "home", role: role, admission: isApproved ? .approve : .auto,
        person: person, maximumUses: uses, expiresMilliseconds: now + days * 86_400_000,
        in: &engine, nowMilliseconds: now)
      for way in ways {
        way.lay(made.capsuleName.scope, in: try .rendezvous(of: made.secret, mayCreate: true))
        try runInline { try await way.transport.publish(made.capsuleName, made.capsule) }
        if isApproved, let relay = way.relay {
          _ = try runInline {
            try await relay.relay.client.open(SimDevice.requestAccess(of: made.secret))
          }
        }
      }
      return made.secret
    }
  }

  /// Does something to the household's people, by the clock of this device.
  func arrange<Result>(
    at time: UInt64,
    _ body: (inout Engine<ReplicaStore>, GroupID, UInt64) throws -> Result
  ) throws -> Result {
    takeTurn()
    let now = clock.wall(at: time)
    let group = try group()
    return try withEngine { try body(&$0, group, now) }
  }

  /// Whether news of the members are here that cannot be opened.
  func waitsForMembersKeys() throws -> Bool { try !closedOperations().isEmpty }

  /// Whether what waits for keys may be a member's: not of those alone whose logs are here and who
  /// do not belong to the household.
  func mayWaitForMembers() throws -> Bool {
    let engine = try engine()
    for zone in engine.zones where zone.kind == .control {
      let membership = engine.membership(of: zone.group)
      let outsiders = Set(
        zone.heads.map(\.author.device).filter { !membership.isActive($0) }
          .map { zone.authorTag(of: $0) })
      for pending in try engine.store.pending.segments(in: zone.id) where pending.reason == .epoch {
        let header = try Envelope.parseHeader(pending.bytes, minimumSuite: 1)
        let tag = Identifier(bytes: header.authorTag.array)
        if tag.map({ !outsiders.contains($0) }) ?? true { return true }
      }
    }
    return false
  }

  /// The segments of members' logs that wait here for a key, with the tags of their epochs.
  func closedOperations() throws -> [Identifier: [UInt8]] {
    let engine = try engine()
    var closed: [Identifier: [UInt8]] = [:]
    for zone in engine.zones where zone.kind == .control {
      for pending in try engine.store.pending.segments(in: zone.id) where pending.reason == .epoch {
        closed[pending.digest] = try Envelope.parseHeader(pending.bytes, minimumSuite: 1).epochTag
          .array
      }
    }
    return closed
  }

  /// The segments of members' logs that were opened here.
  func openedOperations() throws -> Set<Identifier> {
    let engine = try engine()
    return try engine.zones.filter { $0.kind == .control }.reduce(into: []) { opened, zone in
      opened.formUnion(try engine.store.log.segments(of: zone.id).map(\.digest))
    }
  }

  // MARK: Joining by approval

  /// Puts a request to be let in where the approvers find it.
  func ask(
    _ opened: InvitationCapsule, _ capsule: [UInt8], _ secret: InviteSecret,
    with engine: Engine<ReplicaStore>
  ) throws {
    guard asked == nil else { throw StepFailure("\(name) has asked already") }
    guard let invite = Identifier(bytes: secret.publicKeys.inviteID) else { return }
    let access = try SimDevice.requestAccess(of: secret)
    var slot = 0
    while try fetch(ApprovalNames.requestName(of: invite, slot: slot), in: access) != nil {
      slot += 1
    }
    let request = try ApprovalRequests(engine: engine).requestToJoin(
      opened, with: secret, person: person, personName: name, deviceName: name, slot: slot)
    asked = AskedJoin(secret: secret, capsule: capsule, request: request, group: opened.group)
    try publish(request.blob, in: access)
  }

  /// Looks for the answers to what was asked, and takes them.
  func settleJoin(at now: UInt64) throws {
    try askOnceMore()
    guard let asked else { return }
    if try settle(asked, at: now) {
      self.asked = nil
    } else if home != nil, try !isMember() {
      // Somebody may have let it in by an earlier request, and not by the last one.
      for known in answered.reversed() {
        guard let answer = try answer(to: known.asked), answer != known.answer else { continue }
        if try settle(known.asked, at: now) { return }
      }
    }
  }

  /// Looks for the answer to one request, and takes it.
  ///
  /// - Returns: whether this device is in by it.
  private func settle(_ asked: AskedJoin, at now: UInt64) throws -> Bool {
    let access = try SimDevice.requestAccess(of: asked.secret)
    guard let answer = try answer(to: asked) else {
      if try fetch(asked.request.name, in: access) == nil {
        try publish(asked.request.blob, in: access)
      }
      return false
    }
    let ways = try ways()
    net?.relay.rules.pardon([deviceID])
    let entered = try withEngine { engine -> ZoneID? in
      var wasIn: Bool
      repeat {
        wasIn = engine.membership(of: asked.group).isActive(engine.device)
        if !wasIn {
          let opened = try JoiningByInvitation.begin(
            asked.capsule, with: asked.secret, in: &engine, nowMilliseconds: 0)
          guard
            let given = try? AnswerAcceptance.open(
              answer: answer, to: opened, asked: asked.request.hash, in: engine)
          else { return nil }
          do {
            try AnswerAcceptance.accept(given, in: &engine) { engine in
              for way in ways { try take(asked.group, over: way, &engine, now) }
            }
          } catch let error as SyncError where error.code == .unproven {
            return nil
          }
        } else {
          for way in ways { try take(asked.group, over: way, &engine, now) }
        }
      } while wasIn && !engine.membership(of: asked.group).isActive(engine.device)
      let invite = Identifier(bytes: asked.secret.publicKeys.inviteID) ?? .zero
      guard ApprovalRequests(engine: engine).isAdmitted(to: asked.group, by: invite) else {
        return nil
      }
      return engine.zones.first { $0.group == asked.group && $0.kind == .data }?.id
    }
    // An answer of an earlier time, or of somebody who could not give it, changes nothing.
    guard let entered else { return false }
    home = entered
    answered.removeAll { $0.asked.request.hash == asked.request.hash }
    answered.append((asked, answer))
    SimProbe.approved.hit()
    return true
  }

  private func take(
    _ group: GroupID, over way: Way, _ engine: inout Engine<ReplicaStore>, _ now: UInt64
  ) throws {
    if let relay = way.relay {
      try engine.admit(
        to: group, over: relay.relay, as: [(deviceID, identity.boxPair)], anchorFile: anchor,
        nowMilliseconds: now)
    }
    var report = TransportReport(setting: name)
    try engine.pull(
      engine.controlZone(of: group).id, from: way.transport, anchorFile: anchor,
      nowMilliseconds: now, &report)
  }

  private func answer(to asked: AskedJoin) throws -> [UInt8]? {
    try fetch(
      ApprovalNames.answerName(to: deviceID, of: asked.group),
      in: SimDevice.requestAccess(of: asked.secret))
  }

  /// As the product does: where this device was removed, and somebody let it in by a request that
  /// was answered before, it looks for that answer.
  private func askOnceMore() throws {
    guard asked == nil, home != nil, try !isMember() else { return }
    for (place, known) in answered.enumerated().reversed() {
      guard let answer = try answer(to: known.asked), answer != known.answer else { continue }
      asked = known.asked
      answered.remove(at: place)
      return
    }
  }

  /// Lets in everybody who asks and whose request is here.
  ///
  /// - Returns: how many.
  func approveAll(at time: UInt64) throws -> Int {
    let invites = try membership().invites
      .filter { $0.operation.admission == .approve && !$0.isClosed }
    var count = 0
    var seen: Set<[UInt8]> = []
    for (invite, way) in try invites.flatMap({ invite in try ways().map { (invite, $0) } }) {
      let access = try SimDevice.requestAccess(of: invite.operation)
      var slot = 0
      while let bytes = try way.fetch(
        ApprovalNames.requestName(of: invite.operation.invite, slot: slot), in: access)
      {
        slot += 1
        guard seen.insert(bytes).inserted else { continue }
        let made = try arrange(at: time) { engine, group, now -> (NamedBlob, DeviceID)? in
          guard let request = try? ApprovalRequests(engine: engine).open(request: bytes, to: group)
          else { return nil }
          return (
            try Approval.approve(request, named: "home", in: &engine, nowMilliseconds: now),
            request.device
          )
        }
        guard let made else { continue }
        // Of several answers to one device the last leads in.
        answers.removeAll { $0.device == made.1 }
        answers.append((made.0, access, made.1))
        count += 1
      }
    }
    try publishAnswers()
    return count
  }

  /// Puts answers where newcomers look for them.
  func publishAnswers() throws {
    guard !answers.isEmpty, home != nil else { return }
    let group = try group()
    for (answer, access, device) in answers
    where try ApprovalRequests(engine: engine()).approver(of: device, in: group) == deviceID {
      for way in try ways() where try way.fetch(answer.name, in: access) != answer.bytes {
        try runInline { try await way.transport.publish(answer.name, answer.bytes) }
      }
    }
  }

  // MARK: Leaving

  /// Leaves after giving the others what only this device has.
  func leave(at time: UInt64) throws {
    let report = try sync(at: time)
    guard report.failure == nil else { throw StepFailure("the others could not be told") }
    try arrange(at: time) { engine, group, now in
      try MemberChanges.leave(group, in: &engine, nowMilliseconds: now)
    }
    answered = []
  }

  /// Gives the others the news that this person has left, which no exchange does any more.
  func sayFarewell() throws {
    guard home != nil else { return }
    let membership = try membership()
    guard !membership.isActive(deviceID), membership.device(deviceID) != nil else { return }
    let last = membership.audit().last { entry in
      guard entry.void == nil else { return false }
      return switch entry.operation {
      case .removeMember(let removed, _): removed == person
      case .revokeDevice(let revoked, _): revoked == deviceID
      case .leave: entry.person == person
      default: false
      }
    }
    guard case .leave? = last?.operation else { return }
    let anchor = anchor
    let group = try group()
    for way in try ways() { try sayFarewell(to: group, over: way.transport, anchor) }
  }

  private func sayFarewell(
    to group: GroupID, over folder: any Transport, _ anchor: SimAnchorFile
  ) throws {
    try withEngine { engine in
      for zone in engine.zones where zone.group == group {
        _ = try Sealing.seal(zone.id, in: &engine)
        try Anchor.keepUp(anchor, with: engine)
        let state = try engine.zone(zone.id)
        let listing = try runInline { try await folder.list(zoneTag: state.tag) }
        let stored = try engine.store.log.segments(of: state.id)
        let plan = SyncPlan(zone: state, stored: stored, pending: [])
        let trusted = try NameTrust(engine: engine).trustedNames(
          of: state, in: listing, stored: stored)
        let own = plan.publications(
          to: listing, stored: stored, trusted: trusted, of: state, by: engine.device)
        for (segment, name) in own where segment.author.device == engine.device {
          guard let bytes = try engine.store.log.bytes(of: segment.digest, in: state.id) else {
            continue
          }
          try runInline { try await folder.publish(name, bytes) }
        }
      }
    }
  }
}
