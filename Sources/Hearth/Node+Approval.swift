import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// A household that was asked to let this node in, and has not answered yet.
package struct PendingJoin: Codable, Equatable, Sendable {
  package let groupID: String
  package let groupName: String
  package let inviterName: String
  package let roleName: String
  /// The folder or relay over which the household is asked.
  package let folder: String
  package let askedMilliseconds: UInt64
  /// Thirty digits that both sides see, to know that the request is this device's.
  package let number: String
  let secret: String
  let capsule: Data
  var slot: Int
  var request: Data
  /// Who told that the invitation was closed; nil while it is open, as far as is known.
  package var closedBy: String?
  /// Whose device this one becomes by it; nil where it stays its person's.
  var personID: String?
  /// Whether it is the person's private database that was asked for.
  package var isPrivate: Bool?
  /// The digest of the answer that was taken; nil while there is none.
  var taken: String?
  /// What the request says, as an answer names it; nil where an earlier version asked.
  var requestHash: Data?
  /// What is told of an answer that lies there and is not proven; nil while there is none.
  package var unproven: String?
  /// Until when somebody can be let in by the invitation; nil where an earlier version asked.
  package var expiresMilliseconds: UInt64?

  /// Whether the time of the invitation is over, by a clock.
  package func isOver(at milliseconds: UInt64) -> Bool {
    expiresMilliseconds.map { $0 < milliseconds } ?? false
  }
}

/// Somebody who asks to be let in, as an admin sees it.
package struct WaitingJoin: Sendable {
  package let request: JoinRequest
  /// Thirty digits that the newcomer's device shows too.
  package let number: String
  /// What the newcomer may do.
  package let role: Role
  /// Who made the invitation.
  package let inviterName: String
  /// Who used the invitation up, where nobody can be let in by it any more.
  package let usedBy: [String]?
}

/// Digits by which two people know that a request is the one they speak of.
///
/// A further device of a person shows the same ones for everything that it asks for.
private func requestNumber(
  group: GroupID, invite: Identifier, device: DeviceID, person: PersonID
) -> String {
  // A frontier's bytes begin with a count and never with these letters.
  FrontierFingerprint(
    canonicalBytes: Array("HRTH/join-number/v1".utf8) + group.bytes + invite.bytes + device.bytes
      + person.bytes
  ).description
}

// MARK: - Asking

extension Node {
  private static let pendingFact = "joins.pending"
  /// How many requests one invitation has room for.
  package static let maximumRequests = 100

  /// How many answered requests are remembered.
  private static let maximumAnsweredJoins = 16

  /// The households that were asked to let this node in.
  package func pendingJoins() throws -> [PendingJoin] {
    try keptJoins().filter { $0.taken == nil }
  }

  /// The same, and before them what was answered.
  private func keptJoins() throws -> [PendingJoin] {
    guard let encoded = try store.fact(Node.pendingFact) else { return [] }
    return try JSONDecoder().decode([PendingJoin].self, from: Data(encoded))
  }

  private func keep(_ joins: [PendingJoin]) throws {
    let encoded = joins.isEmpty ? nil : Array(try JSONEncoder().encode(joins))
    try store.transaction { try store.setFact(Node.pendingFact, encoded) }
  }

  /// Asks a household, and where the invitation is for a further device the private database too.
  ///
  /// - Returns: what the household was asked.
  func askAll(
    _ opened: InvitationCapsule, sealed: [UInt8], _ secret: InviteSecret, folder: String
  ) async throws -> PendingJoin {
    if let wanted = opened.person, wanted != person {
      try requireNobodyElse(than: opened.inviterName, besides: opened.group)
    }
    let pending = try await ask(opened, sealed: sealed, secret, folder: folder)
    // As with a link that lets in at once, a node that is in households believes nobody new.
    if !opened.companion.isEmpty, households().isEmpty {
      try core.transports.carryPrivateDatabase(over: folder)
      let companion = try secret.companion()
      let own = try InvitationCapsule(opening: opened.companion, with: companion)
      _ = try await ask(own, sealed: opened.companion, companion, folder: folder)
    }
    return pending
  }

  /// Puts a request to be let in where the approvers find it.
  func ask(
    _ capsule: InvitationCapsule, sealed: [UInt8], _ secret: InviteSecret, folder: String
  ) async throws -> PendingJoin {
    let present = try keptJoins()
    let transport = try core.connections.transport(folder)
    if let teller = try await teller(of: secret, on: transport) {
      // As for a link that lets in at once.
      throw SyncError(
        .used,
        "this invitation was closed, as \(teller) reported: ask \(capsule.inviterName) for a new "
          + "one")
    }
    if let known = present.first(where: { $0.secret == secret.text && $0.taken == nil }) {
      return known
    }
    let invite = try identifier(secret.publicKeys.inviteID)
    let slot = try await freeSlot(
      of: invite, in: core.connections.requestAccess(of: secret), on: transport)
    let wanted = capsule.person ?? person
    let request = try engine.requestToJoin(
      capsule, with: secret, person: wanted,
      personName: wanted == person ? profile.personName : capsule.inviterName,
      deviceName: profile.deviceName, slot: slot)
    var pending = PendingJoin(
      groupID: capsule.group.hex, groupName: capsule.groupName, inviterName: capsule.inviterName,
      roleName: capsule.role.name, folder: folder, askedMilliseconds: now(),
      number: capsule.person == nil
        ? requestNumber(group: capsule.group, invite: invite, device: device, person: wanted)
        : requestNumber(group: .zero, invite: .zero, device: device, person: wanted),
      secret: secret.text, capsule: Data(sealed), slot: slot, request: Data(request.bytes))
    pending.requestHash = Data(request.hash)
    pending.expiresMilliseconds = capsule.expiresMilliseconds
    pending.personID = capsule.person?.hex
    pending.isPrivate = capsule.database == .personal ? true : nil
    try await transport.publish(request.name, request.bytes)
    try keep(try keptJoins().filter { $0.secret != secret.text } + [pending])
    return pending
  }

  private func freeSlot(
    of invite: Identifier, in access: MailboxAccess, on transport: any Transport
  ) async throws -> Int {
    for slot in 0..<Node.maximumRequests {
      let name = Engine<ReplicaStore>.requestName(of: invite, slot: slot)
      core.connections.setMailbox(of: name.scope, to: access, on: transport)
      if try await transport.fetch(name) == nil { return slot }
    }
    throw HearthError(
      .notAllowed,
      "\(Node.maximumRequests) devices have already asked to join with this invitation: ask for a "
        + "new one")
  }

  /// Looks for answers to what was asked, and takes them.
  ///
  /// A request that somebody overwrote or removed is put there again.
  func settleJoins() async throws {
    core.lastAdmissions = []
    let joins = try keptJoins()
    var answered: [PendingJoin] = []
    var rest: [PendingJoin] = []
    for var join in joins {
      do {
        guard try await isOpen(&join) else {
          answered.append(join)
          continue
        }
        if try await settle(&join) {
          guard let group = Identifier(hex: join.groupID) else { continue }
          if join.isPrivate == true {
            try adoptPrivate(group)
          } else {
            core.lastAdmissions.append(try recordZone(of: group))
            answered.append(join)
          }
        } else if join.closedBy == nil || !isIn(join) {
          rest.append(join)
        }
      } catch is TransportError {
        rest.append(join)
      }
    }
    rest = answered.suffix(Node.maximumAnsweredJoins) + rest
    guard rest != joins else { return }
    // Another process may have asked meanwhile.
    try keep(rest + (try keptJoins().filter { !joins.contains($0) }))
  }

  /// Whether a request waits for an answer.
  ///
  /// One that was answered does so again where this device was removed since and another answer
  /// lies there: the request still does too, and whoever has it may let in by it once more. Nobody
  /// who left by itself comes back like that.
  private func isOpen(_ join: inout PendingJoin) async throws -> Bool {
    guard let taken = join.taken else { return true }
    guard let group = Identifier(hex: join.groupID), let ending = ending(in: group),
      ending.kind == .removed || ending.kind == .revoked,
      try core.transports.list().contains(where: { $0.path == join.folder }),
      let answer = try await answer(
        to: join, of: group, on: core.connections.transport(join.folder)),
      segmentDigest(answer).hex != taken
    else { return false }
    join.taken = nil
    return true
  }

  /// What lies where this device finds the answer to a request.
  private func answer(
    to join: PendingJoin, of group: GroupID, on transport: any Transport
  ) async throws -> [UInt8]? {
    let name = Engine<ReplicaStore>.answerName(to: device, of: group)
    core.connections.setMailbox(
      of: name.scope, to: try core.connections.requestAccess(of: InviteSecret(text: join.secret)),
      on: transport)
    return try await transport.fetch(name)
  }

  /// Whether this device came into the household by another way meanwhile.
  private func isIn(_ join: PendingJoin) -> Bool {
    Identifier(hex: join.groupID).map { engine.membership(of: $0).isActive(device) } ?? false
  }

  /// - Returns: whether this device is in.
  private func settle(_ join: inout PendingJoin) async throws -> Bool {
    guard let group = Identifier(hex: join.groupID) else { return false }
    joiningGroup = group
    defer { joiningGroup = nil }
    let transport = try core.connections.transport(join.folder)
    let secret = try InviteSecret(text: join.secret)
    let answer = try await answer(to: join, of: group, on: transport)
    var isTaken = false
    if let answer { isTaken = try await take(answer, to: &join, of: group, over: transport) }
    if let answer, isTaken {
      if engine.isAdmitted(to: group, by: try identifier(secret.publicKeys.inviteID)) {
        try becomeOwner(of: join, in: group)
        join.taken = segmentDigest(answer).hex
        return true
      }
      // Who is in by another way keeps the question: where that way is ended, and the removal was
      // slower than the answer, the keys of the answer are the only ones.
      guard isIn(join) else { return false }
    }
    join.closedBy = try await teller(of: secret, on: transport)
    // What lies there and is no answer keeps nobody from giving one.
    if join.closedBy == nil, !isTaken { try await askAgain(&join, over: transport) }
    return false
  }

  /// Takes the keys of an answer where this device is out, and what the transport has of the
  /// members.
  ///
  /// - Returns: false where it is not an answer, or not proven: anybody can put a file there.
  private func take(
    _ answer: [UInt8], to join: inout PendingJoin, of group: GroupID, over transport: any Transport
  ) async throws -> Bool {
    var wasIn: Bool
    repeat {
      wasIn = engine.membership(of: group).isActive(device)
      if wasIn {
        try await fetchMembers(of: group, over: transport, join)
      } else {
        do {
          join.unproven = nil
          try await accept(answer, to: join, of: group, over: transport)
        } catch let error as SyncError where error.code == .unproven {
          join.unproven = error.message
          return false
        } catch is SyncError {
          return false
        }
      }
      // The news may tell that another way in was ended: then the answer is needed after all.
    } while wasIn && !engine.membership(of: group).isActive(device)
    guard join.isPrivate == true else { return true }
    if let relay = transport as? RelayTransport {
      // The answer brought the keys of the records' mailbox.
      relay.directory.zones = try RelayMailboxes(at: relay, with: replicas)
        .accesses(joining: group)
    }
    _ = try await replicas.pull(zones(of: group), from: transport, named: join.folder)
    return true
  }

  /// Takes an answer that the members' log proves.
  ///
  /// - Throws: `unproven`, `notAuthentic`, `malformed`.
  private func accept(
    _ answer: [UInt8], to join: PendingJoin, of group: GroupID, over transport: any Transport
  ) async throws {
    guard let hash = join.requestHash else {
      throw SyncError(
        .unproven,
        "an earlier version of this program sent the request: join again with a new invitation")
    }
    let secret = try InviteSecret(text: join.secret)
    var proven: JoinAnswer?
    let members = try await replicas.draftMembers(
      of: group, over: transport, named: join.folder, as: [(device, engine.identity.boxPair)],
      under: schema.policy
    ) { draft in
      let capsule = try draft.beginJoining(Array(join.capsule), with: secret, nowMilliseconds: 0)
      let opened = try draft.open(answer: answer, to: capsule, asked: Array(hash))
      try draft.takeControl(of: opened)
      proven = opened
    }
    guard let opened = proven else { return }
    try takeBack(unlessDone: {
      _ = try engine.beginJoining(Array(join.capsule), with: secret, nowMilliseconds: 0)
      var draft = engine
      try draft.accept(opened) { accepting in
        engine = accepting
        try replicas.take(members)
        accepting = engine
      }
      engine = draft
    })
  }

  /// Fetches what a transport has of the members.
  private func fetchMembers(
    of group: GroupID, over transport: any Transport, _ join: PendingJoin
  ) async throws {
    try await core.connections.admit(
      to: group, over: transport, as: [(device, engine.identity.boxPair)])
    _ = try await replicas.pull(
      [engine.controlZone(of: group).id], from: transport, named: join.folder)
  }

  /// Makes this node the person's as whose device a household let it in.
  private func becomeOwner(of join: PendingJoin, in group: GroupID) throws {
    guard let wanted = membership(of: group).person(of: device), wanted.id != person,
      wanted.id.hex == join.personID
    else { return }
    try requireNobodyElse(than: wanted.name, besides: group)
    try become(wanted.id, named: wanted.name)
  }

  /// Who told that an invitation was closed.
  func teller(
    of secret: InviteSecret, on transport: any Transport
  ) async throws -> String? {
    let name = Engine<ReplicaStore>.farewellName(of: try identifier(secret.publicKeys.inviteID))
    core.connections.setMailbox(
      of: name.scope, to: try core.connections.requestAccess(of: secret), on: transport)
    return try await transport.fetch(name).flatMap {
      Engine<ReplicaStore>.teller(ofFarewell: $0, to: secret)
    }
  }

  private func askAgain(_ join: inout PendingJoin, over transport: any Transport) async throws {
    let secret = try InviteSecret(text: join.secret)
    let invite = try identifier(secret.publicKeys.inviteID)
    let access = try core.connections.requestAccess(of: secret)
    let name = Engine<ReplicaStore>.requestName(of: invite, slot: join.slot)
    core.connections.setMailbox(of: name.scope, to: access, on: transport)
    guard let held = try await transport.fetch(name) else {
      return try await transport.publish(name, Array(join.request))
    }
    guard held != Array(join.request) else { return }
    // Somebody else took the place at the same time.
    join.slot = try await freeSlot(of: invite, in: access, on: transport)
    try await transport.publish(
      Engine<ReplicaStore>.requestName(of: invite, slot: join.slot), Array(join.request))
  }
}

// MARK: - Answering

extension Node {
  /// The requests to join a group that lie on the transports and that this device can read, in
  /// order of person's name.
  package func waitingJoins(of group: GroupID) async throws -> [WaitingJoin] {
    try await alone {
      let membership = membership(of: group)
      guard let own = membership.role(of: device), own.rank >= Role.admin.rank else { return [] }
      var found: [DeviceID: WaitingJoin] = [:]
      let invites = membership.invites.filter { $0.operation.admission == .approve && !$0.isClosed }
      for setting in try core.transports.list(of: group) where !invites.isEmpty {
        let transport = try core.connections.transport(setting.path)
        for invite in invites {
          try await visitRequests(by: invite.operation, on: transport) { bytes in
            guard let request = try? engine.open(request: bytes, to: group),
              request.invite == invite.operation.invite
            else { return }
            found[request.device] = WaitingJoin(
              request: request,
              number: requestNumber(
                group: invite.operation.person == nil ? group : .zero,
                invite: invite.operation.person == nil ? request.invite : .zero,
                device: request.device, person: request.person),
              role: invite.operation.role,
              inviterName: membership.person(of: invite.creator)?.name ?? "",
              usedBy: invite.usesLeft > 0
                ? nil : invite.joins.compactMap { membership.person($0)?.name })
          }
        }
      }
      return found.values.sorted {
        ($0.request.personName, $0.request.device) < ($1.request.personName, $1.request.device)
      }
    }
  }

  /// The requests by invitations that are closed: nobody can be let in by them any more.
  package func endedRequests(of group: GroupID) async throws -> [JoinRequest] {
    try await alone {
      let membership = membership(of: group)
      guard let own = membership.role(of: device), own.rank >= Role.admin.rank else { return [] }
      let invites = membership.invites.filter { $0.operation.admission == .approve && $0.isClosed }
      var found: [JoinRequest] = []
      for setting in try core.transports.list(of: group) {
        let transport = try core.connections.transport(setting.path)
        for invite in invites {
          try await visitRequests(by: invite.operation, on: transport) { bytes in
            guard let request = try? engine.open(request: bytes, to: group),
              request.invite == invite.operation.invite
            else { return }
            found.append(request)
          }
        }
      }
      return found
    }
  }

  /// Closes invitations by approval that are over, once nobody waits for an answer by them.
  ///
  /// - Parameters:
  ///   - settings: the transports that answered; of others the requests are not known.
  ///   - unread: groups of which a transport refused a zone.
  /// - Returns: whether there were any.
  func closeSettledInvitations(
    over settings: [TransportSetting], except unread: Set<GroupID>
  ) async throws -> Bool {
    var hasClosed = false
    for group in engine.exchangedGroups where !unread.contains(group) {
      let ways = try core.transports.list(of: group)
      guard !ways.isEmpty, ways.allSatisfy({ settings.contains($0) }) else { continue }
      for invite in engine.settledInvites(in: group) {
        var isAwaited = false
        for way in ways where !isAwaited {
          let isWhole = try await visitRequests(
            by: invite, on: core.connections.transport(way.path)
          ) { bytes in
            let isOpen = engine.isUnanswered(request: bytes, by: invite.invite, in: group)
            isAwaited = isAwaited || isOpen
          }
          isAwaited = isAwaited || !isWhole
        }
        // Others may have done so meanwhile.
        guard !isAwaited, engine.settledInvites(in: group).contains(invite) else { continue }
        try engine.closeInvitation(invite.invite, of: group, nowMilliseconds: now())
        announce()
        hasClosed = true
      }
    }
    return hasClosed
  }

  /// Visits the files of the requests by an invitation, one after the other.
  ///
  /// What lies there and cannot be opened is for others or rubbish.
  ///
  /// - Returns: false where one could not be read.
  @discardableResult
  private func visitRequests(
    by invite: ControlOperation.InviteCreate, on transport: any Transport,
    _ visit: ([UInt8]) -> Void
  ) async throws -> Bool {
    let access = try core.connections.requestAccess(of: invite)
    for slot in 0..<Node.maximumRequests {
      let name = Engine<ReplicaStore>.requestName(of: invite.invite, slot: slot)
      core.connections.setMailbox(of: name.scope, to: access, on: transport)
      do {
        guard let bytes = try await transport.fetch(name) else { return true }
        visit(bytes)
      } catch is TransportError {
        return false
      }
    }
    return true
  }

  /// Lets in whoever asked, and puts the answer on every transport of the household.
  ///
  /// - Throws: `notAllowed` with the reason.
  package func approve(_ waiting: WaitingJoin, named groupName: String) async throws -> SyncReport {
    try await alone {
      if let names = waiting.usedBy {
        throw HearthError(
          .notAllowed,
          "this invitation was used by \(names.joined(separator: ", ")) and admits nobody else: "
            + "make another one with `hearth invite --approve`")
      }
      let request = waiting.request
      var draft = engine
      let moment = now()
      try store.transaction {
        draft = engine
        let answer = try draft.approve(request, named: groupName, nowMilliseconds: moment)
        let kept = KeptAnswer(
          groupID: request.group.hex, deviceID: request.device.hex, scope: answer.name.scope.hex,
          bytes: Data(answer.bytes), madeMilliseconds: moment, inviteID: request.invite.hex)
        let encoded = try JSONEncoder().encode(try keptAnswers() + [kept])
        try store.setFact(Node.answersFact, Array(encoded))
      }
      engine = draft
      announce()
      return try await sync()
    }
  }
}
