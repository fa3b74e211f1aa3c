import Foundation
import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Joining by approval, on engines")
struct ApprovalEngineTests {
  private let now = EngineFamily.now

  @Test("Joining by approval: asked of any admin, answered later, and nothing is read before")
  func approval() throws {
    var family = try EngineFamily(3)
    try family.setRole(2, .admin, by: 0)
    try family.set(0, 1, 1)
    try family.meet([0, 1, 2])
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .child, admission: .approve, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    try family.meet([0, 1, 2])
    var newcomer = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &newcomer, nowMilliseconds: now)
    #expect(newcomer.zones.isEmpty)
    let request = try ApprovalRequests(engine: newcomer).requestToJoin(
      opened, with: made.secret, person: EngineFamily.id(40), personName: "Nina",
      deviceName: "tablet", slot: 0)
    #expect(throws: SyncError(.notAllowed, "")) {
      try ApprovalRequests(engine: family.members[1]).open(request: request.bytes, to: family.group)
    }
    // Not by whoever made the invitation.
    let read = try ApprovalRequests(engine: family.members[2]).open(
      request: request.bytes, to: family.group)
    #expect(read.personName == "Nina" && read.device == newcomer.device)
    let answer = try Approval.approve(
      read, named: "Home", in: &family.members[2], nowMilliseconds: now)
    #expect(throws: SyncError(.exists, "")) {
      try ApprovalRequests(engine: family.members[2]).open(request: request.bytes, to: family.group)
    }
    #expect(throws: SyncError(.notAuthentic, "")) {
      try AnswerAcceptance.open(
        answer: answer.bytes, to: opened, asked: request.hash, in: family.members[1])
    }
    try family.enter(&newcomer, with: answer, by: 2, opened, request)
    family.members.append(newcomer)
    try family.meet([0, 1, 2, 3])
    for member in 0..<4 {
      #expect(family.membership(member).role(of: newcomer.device) == .child)
    }
    #expect(try family.shown(3, 1) == .int(1))
    try family.set(3, 2, 2)
    try family.send(3, to: [1])
    #expect(try family.shown(1, 2) == .int(2))
    let entries = family.membership(1).audit()
    let admission = entries.first { $0.operation.kind == 7 }
    #expect(admission?.device == family.members[2].device && admission?.void == nil)
  }

  @Test("A request that this device cannot open may wait for another one; rubbish waits for nobody")
  func unanswered() throws {
    let family = try EngineFamily(1)
    var admin = family.members[0]
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .child, admission: .approve, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &admin, nowMilliseconds: now)
    let invite = try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
    var newcomer = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &newcomer, nowMilliseconds: now)
    let request = try ApprovalRequests(engine: newcomer).requestToJoin(
      opened, with: made.secret, person: EngineFamily.id(40), personName: "Nina",
      deviceName: "tablet", slot: 0)
    func waits(_ bytes: [UInt8], by invite: Identifier) -> Bool {
      ApprovalRequests(engine: admin).isUnanswered(request: bytes, by: invite, in: family.group)
    }
    #expect(waits(request.bytes, by: invite))
    #expect(!waits(request.bytes, by: EngineFamily.id(7)))
    var damaged = request.bytes
    damaged[damaged.count - 1] ^= 1
    #expect(!waits(damaged, by: invite) && !waits([1, 2, 3], by: invite))
    // It begins with the key that it is sealed to.
    var closed = request.bytes
    closed[0] ^= 1
    #expect(waits(closed, by: invite))
    let read = try ApprovalRequests(engine: admin).open(request: request.bytes, to: family.group)
    _ = try Approval.approve(read, named: "Home", in: &admin, nowMilliseconds: now)
    #expect(!waits(request.bytes, by: invite))
  }

  @Test("An admin of whom the inviter had not heard lets in who asks, and so does a later one")
  func unheardOfAdmin() throws {
    var family = try EngineFamily(4)
    try family.setRole(1, .admin, by: 0)
    try family.meet([0, 1, 2, 3])
    // At the same time: the owner makes a second admin, and the first admin invites.
    try family.setRole(2, .admin, by: 0)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .child, admission: .approve, maximumUses: 2,
      expiresMilliseconds: now * 2, in: &family.members[1], nowMilliseconds: now)
    #expect(family.membership(1).role(of: family.members[2].device) == .member)
    try family.meet([0, 1, 2, 3])
    // The keys of the time of inviting are over; the third becomes admin after everything else.
    try Rekeying.rekey(
      [family.control], of: family.group, in: &family.members[0], nowMilliseconds: now)
    try family.setRole(3, .admin, by: 0)
    try family.meet([0, 1, 2, 3])
    for (number, admin) in [2, 3].enumerated() {
      var newcomer = try EngineFamily.engine()
      let opened = try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &newcomer, nowMilliseconds: now)
      let request = try ApprovalRequests(engine: newcomer).requestToJoin(
        opened, with: made.secret, person: EngineFamily.id(60 + number), personName: "Nina",
        deviceName: "tablet", slot: number)
      let read = try ApprovalRequests(engine: family.members[admin]).open(
        request: request.bytes, to: family.group)
      let answer = try Approval.approve(
        read, named: "Home", in: &family.members[admin], nowMilliseconds: now)
      try family.enter(&newcomer, with: answer, by: admin, opened, request)
      family.members.append(newcomer)
      try family.meet(Array(family.members.indices))
      for member in family.members.indices {
        #expect(family.membership(member).role(of: newcomer.device) == .child)
      }
    }
    try expectClosedToOthers(made, of: &family)
  }

  /// Nobody outside opens a request, nor does who was removed before it was asked.
  private func expectClosedToOthers(
    _ made: MadeInvitation, of family: inout EngineFamily
  ) throws {
    let stranger = try EngineFamily(1)
    var late = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &late, nowMilliseconds: now)
    let request = try ApprovalRequests(engine: late).requestToJoin(
      opened, with: made.secret, person: EngineFamily.id(70), personName: "Otto",
      deviceName: "phone", slot: 2)
    #expect(throws: SyncError(.notAllowed, "")) {
      try ApprovalRequests(engine: stranger.members[0]).open(
        request: request.bytes, to: stranger.group)
    }
    try family.remove(3, by: 0)
    try family.send(0, to: [3])
    #expect(throws: SyncError(.notAllowed, "")) {
      try ApprovalRequests(engine: family.members[3]).open(request: request.bytes, to: family.group)
    }
    var damaged = request.bytes
    damaged[damaged.count - 1] ^= 1
    #expect(throws: SyncError(.notAuthentic, "")) {
      try ApprovalRequests(engine: family.members[0]).open(request: damaged, to: family.group)
    }
    #expect(throws: SyncError(.malformed, "")) {
      try ApprovalRequests(engine: family.members[0]).open(
        request: request.bytes + [UInt8](repeating: 0, count: 4_096), to: family.group)
    }
  }
}

extension EngineFamily {
  /// Takes a member's answer, with the members' log as that member has it.
  mutating func enter(
    _ newcomer: inout Engine<MemoryStore>, with answer: NamedBlob, by member: Int,
    _ capsule: InvitationCapsule, _ request: SentRequest
  ) throws {
    let log = try published(member, control)
    try AnswerAcceptance.accept(
      AnswerAcceptance.open(answer: answer.bytes, to: capsule, asked: request.hash, in: newcomer),
      in: &newcomer
    ) { _ = try $0.receive(log, in: control, nowMilliseconds: EngineFamily.now) }
  }
}
