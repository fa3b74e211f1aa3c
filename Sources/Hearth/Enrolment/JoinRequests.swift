import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// Asks households to let this node in, and takes their answers.
struct JoinRequests: NodeWork {
  let core: NodeCore

  /// How many requests one invitation has room for.
  static let maximumRequests = 100

  /// How many answered requests are remembered.
  private static let maximumAnsweredJoins = 16

  /// Asks a household, and where the invitation is for a further device the private database too.
  ///
  /// - Returns: what the household was asked.
  func askAll(
    _ opened: InvitationCapsule, sealed: [UInt8], _ secret: InviteSecret, folder: String
  ) async throws -> PendingJoin {
    if let wanted = opened.person, wanted != person {
      try core.requireNobodyElse(than: opened.inviterName, besides: opened.group)
    }
    let companion = try secret.companion()
    let own =
      opened.companion.isEmpty
      ? nil : try InvitationCapsule(opening: opened.companion, with: companion)
    if let own { try ApplicationCheck.requireOwn(own, in: engine) }
    let pending = try await ask(opened, sealed: sealed, secret, folder: folder)
    // As with a link that lets in at once, a node that is in households believes nobody new.
    if let own, households().isEmpty {
      try transports.carryPrivateDatabase(over: folder)
      _ = try await ask(own, sealed: opened.companion, companion, folder: folder)
    }
    return pending
  }

  /// Puts a request to be let in where the approvers find it.
  func ask(
    _ capsule: InvitationCapsule, sealed: [UInt8], _ secret: InviteSecret, folder: String
  ) async throws -> PendingJoin {
    let present = try pending.allJoins()
    let transport = try connections.transport(folder)
    if let closer = try await closer(of: secret, on: transport) {
      // As for a link that lets in at once.
      throw SyncError(
        .used,
        "this invitation was closed, as \(closer) reported: ask \(capsule.inviterName) for a new "
          + "one")
    }
    if let known = present.first(where: { $0.secret == secret.text && $0.taken == nil }) {
      return known
    }
    let invite = try identifier(secret.publicKeys.inviteID)
    let slot = try await freeSlot(
      of: invite, in: connections.requestAccess(of: secret), on: transport)
    let wanted = capsule.person ?? person
    let request = try ApprovalRequests(engine: engine).requestToJoin(
      capsule, with: secret, person: wanted,
      personName: wanted == person ? profile.personName : capsule.inviterName,
      deviceName: profile.deviceName, slot: slot)
    var pending = PendingJoin(
      groupID: capsule.group.hex, groupName: capsule.groupName, inviterName: capsule.inviterName,
      roleName: capsule.role.name, folder: folder, askedMilliseconds: now(),
      number: capsule.person == nil
        ? JoinNumber.text(group: capsule.group, invite: invite, device: device, person: wanted)
        : JoinNumber.text(group: .zero, invite: .zero, device: device, person: wanted),
      secret: secret.text, capsule: Data(sealed), slot: slot, request: Data(request.bytes))
    pending.requestHash = Data(request.hash)
    pending.expiresMilliseconds = capsule.expiresMilliseconds
    pending.personID = capsule.person?.hex
    pending.isPrivate = capsule.database == .personal ? true : nil
    try await transport.publish(request.name, request.bytes)
    try core.pending.keep(
      try core.pending.allJoins().filter { $0.secret != secret.text } + [pending])
    return pending
  }

  private func freeSlot(
    of invite: Identifier, in access: MailboxAccess, on transport: any Transport
  ) async throws -> Int {
    for slot in 0..<JoinRequests.maximumRequests {
      let name = ApprovalNames.requestName(of: invite, slot: slot)
      connections.setMailbox(of: name.scope, to: access, on: transport)
      if try await transport.fetch(name) == nil { return slot }
    }
    throw HearthError(
      .notAllowed,
      "\(JoinRequests.maximumRequests) devices have already asked to join with this invitation: "
        + "ask for a new one")
  }

  /// Looks for answers to what was asked, and takes them.
  ///
  /// A request that somebody overwrote or removed is put there again.
  func settle() async throws {
    core.lastAdmissions = []
    let joins = try pending.allJoins()
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
            try privateDatabase.adopt(group)
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
    rest = answered.suffix(JoinRequests.maximumAnsweredJoins) + rest
    guard rest != joins else { return }
    // Another process may have asked meanwhile.
    try pending.keep(rest + (try pending.allJoins().filter { !joins.contains($0) }))
  }

  /// Whether a request waits for an answer.
  ///
  /// An answered request is open again if this device was removed since and the transport holds
  /// another answer: the request is still there, so an approver may admit the device once more. A
  /// device that left by itself does not return in this way.
  private func isOpen(_ join: inout PendingJoin) async throws -> Bool {
    guard let taken = join.taken else { return true }
    guard let group = Identifier(hex: join.groupID), let ending = ending(in: group),
      ending.kind == .removed || ending.kind == .revoked,
      try transports.list().contains(where: { $0.path == join.folder }),
      let answer = try await answer(
        to: join, of: group, on: connections.transport(join.folder)),
      segmentDigest(answer).hex != taken
    else { return false }
    join.taken = nil
    return true
  }

  /// What lies where this device finds the answer to a request.
  private func answer(
    to join: PendingJoin, of group: GroupID, on transport: any Transport
  ) async throws -> [UInt8]? {
    let name = ApprovalNames.answerName(to: device, of: group)
    connections.setMailbox(
      of: name.scope, to: try connections.requestAccess(of: InviteSecret(text: join.secret)),
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
    core.joiningGroup = group
    defer { core.joiningGroup = nil }
    let transport = try connections.transport(join.folder)
    let secret = try InviteSecret(text: join.secret)
    let answer = try await answer(to: join, of: group, on: transport)
    var isTaken = false
    if let answer { isTaken = try await take(answer, to: &join, of: group, over: transport) }
    if let answer, isTaken {
      if ApprovalRequests(engine: engine).isAdmitted(
        to: group, by: try identifier(secret.publicKeys.inviteID))
      {
        try becomeOwner(of: join, in: group)
        join.taken = segmentDigest(answer).hex
        return true
      }
      // A device that joined by other means keeps its request: if that joining ends, and the
      // removal arrives after the answer, only the answer has the keys.
      guard isIn(join) else { return false }
    }
    join.closedBy = try await closer(of: secret, on: transport)
    // A file there that is not an answer does not prevent an answer.
    if join.closedBy == nil, !isTaken { try await askAgain(&join, over: transport) }
    return false
  }

  /// Takes the keys of an answer if this device does not belong to the group, and the transport's
  /// control log.
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
        } catch let error as SyncError where [.unproven, .otherApplication].contains(error.code) {
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
      relay.client.directory.zones = try RelayMailboxes(at: relay, with: replicas)
        .accesses(joining: group)
    }
    _ = try await replicas.pull(zones(of: group), from: transport, named: join.folder)
    return true
  }

  /// Takes an answer that the members' log proves.
  ///
  /// - Throws: `unproven`, `otherApplication`, `notAuthentic`, `malformed`.
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
      let capsule = try JoiningByInvitation.begin(
        Array(join.capsule), with: secret, in: &draft, nowMilliseconds: 0)
      let opened = try AnswerAcceptance.open(
        answer: answer, to: capsule, asked: Array(hash), in: draft)
      try AnswerAcceptance.takeControl(of: opened, in: &draft)
      proven = opened
    }
    guard let opened = proven else { return }
    try takeBack(unlessDone: {
      _ = try JoiningByInvitation.begin(
        Array(join.capsule), with: secret, in: &engine, nowMilliseconds: 0)
      var draft = engine
      try AnswerAcceptance.accept(opened, in: &draft) { accepting in
        engine = accepting
        try replicas.take(members)
        accepting = engine
      }
      engine = draft
    })
  }

  /// Fetches the control log from a transport.
  private func fetchMembers(
    of group: GroupID, over transport: any Transport, _ join: PendingJoin
  ) async throws {
    try await connections.admit(
      to: group, over: transport, as: [(device, engine.identity.boxPair)])
    _ = try await replicas.pull(
      [engine.controlZone(of: group).id], from: transport, named: join.folder)
  }

  /// Makes this node the person's as whose device a household let it in.
  private func becomeOwner(of join: PendingJoin, in group: GroupID) throws {
    guard let wanted = membership(of: group).person(of: device), wanted.id != person,
      wanted.id.hex == join.personID
    else { return }
    try core.requireNobodyElse(than: wanted.name, besides: group)
    try core.become(wanted.id, named: wanted.name)
  }

  /// Who reported that an invitation was closed; nil if nobody did.
  func closer(
    of secret: InviteSecret, on transport: any Transport
  ) async throws -> String? {
    let name = RemovalNotices.name(of: try identifier(secret.publicKeys.inviteID))
    connections.setMailbox(
      of: name.scope, to: try connections.requestAccess(of: secret), on: transport)
    return try await transport.fetch(name).flatMap {
      RemovalNotices.teller(ofFarewell: $0, to: secret)
    }
  }

  private func askAgain(_ join: inout PendingJoin, over transport: any Transport) async throws {
    let secret = try InviteSecret(text: join.secret)
    let invite = try identifier(secret.publicKeys.inviteID)
    let access = try connections.requestAccess(of: secret)
    let name = ApprovalNames.requestName(of: invite, slot: join.slot)
    connections.setMailbox(of: name.scope, to: access, on: transport)
    guard let held = try await transport.fetch(name) else {
      return try await transport.publish(name, Array(join.request))
    }
    guard held != Array(join.request) else { return }
    // Somebody else took the place at the same time.
    join.slot = try await freeSlot(of: invite, in: access, on: transport)
    try await transport.publish(
      ApprovalNames.requestName(of: invite, slot: join.slot), Array(join.request))
  }
}
