import HearthCRDT
import HearthCrypto
import HearthMembership
import TestSupport
import Testing

@testable import HearthSync

@Suite("Answers to requests to join")
struct AnswerTests {
  private let now = EngineFamily.now

  /// Somebody who asks a household with an owner, two admins and a reader.
  private struct Asking {
    var family: EngineFamily
    var newcomer: Engine<MemoryStore>
    let capsule: InvitationCapsule
    let request: SentRequest

    init() throws {
      let now = EngineFamily.now
      family = try EngineFamily(4)
      for (member, role) in [(1, Role.admin), (2, .admin), (3, .reader)] {
        try family.setRole(member, role, by: 0)
      }
      let made = try InvitationMaking.invite(
        to: family.group, named: "Home", role: .member, admission: .approve, maximumUses: 2,
        expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
      try family.meet([0, 1, 2, 3])
      newcomer = try EngineFamily.engine()
      capsule = try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &newcomer, nowMilliseconds: now)
      request = try ApprovalRequests(engine: newcomer).requestToJoin(
        capsule, with: made.secret, person: EngineFamily.id(40), personName: "Nina",
        deviceName: "tablet", slot: 0)
    }

    func opened(by member: Int) throws -> JoinRequest {
      try ApprovalRequests(engine: family.members[member]).open(
        request: request.bytes, to: family.group)
    }

    mutating func answer(by member: Int) throws -> [UInt8] {
      try Approval.approve(
        opened(by: member), named: "Home", in: &family.members[member],
        nowMilliseconds: EngineFamily.now
      ).bytes
    }

    /// An answer that a member makes up, with what another engine calls the group's zones.
    func forged(by member: Int, saying capsule: InvitationCapsule) throws -> [UInt8] {
      let liar = family.members[member]
      let answer = JoinAnswer(
        by: liar.identity, showing: try OwnCards(engine: liar).ownCard(in: family.group),
        saying: capsule,
        to: try opened(by: 0))
      return try SealedBox.seal(answer.encoded, to: newcomer.identity.publicKeys.boxKey)
    }

    func capsule(_ zones: [InvitationCapsule.ZoneGrant]) -> InvitationCapsule {
      InvitationCapsule(
        group: family.group, database: .shared, groupName: "Home", inviterName: "P0",
        role: .member, expiresMilliseconds: .max, zones: zones, controlFrontier: Frontier())
    }

    mutating func take(_ answer: [UInt8], logOf member: Int) throws {
      let log = try family.published(member, family.control)
      let control = family.control
      try AnswerAcceptance.accept(
        AnswerAcceptance.open(answer: answer, to: capsule, asked: request.hash, in: newcomer),
        in: &newcomer
      ) { _ = try $0.receive(log, in: control, nowMilliseconds: EngineFamily.now) }
    }
  }

  @Test("What a reader makes up leaves nothing behind, and the true answer leads in after it")
  func forgedByReader() throws {
    var asking = try Asking()
    let before = try asking.family.members[3].zone(asking.family.zone)
    // The true members' log, and a data zone under a key of the reader's own.
    let stranger = try EngineFamily(1)
    let key = asking.newcomer.identity.publicKeys.boxKey
    let own = try NewcomerKeys(engine: asking.family.members[3]).zoneGrants(
      of: asking.family.group, to: key, for: nil)
    let false1 = try NewcomerKeys(engine: stranger.members[0]).zoneGrants(
      of: stranger.group, to: key, for: nil)
    let lie = try asking.forged(
      by: 3,
      saying: asking.capsule(
        own.filter { $0.kind == .control } + false1.filter { $0.kind == .data }))
    // Once while nobody has let anybody in, and once beside the true admission.
    for isIn in [false, true] {
      let truth = isIn ? try asking.answer(by: 1) : []
      #expect(throws: SyncError(.unproven, "")) { try asking.take(lie, logOf: isIn ? 1 : 0) }
      #expect(asking.newcomer.zones.isEmpty)
      #expect(asking.newcomer.membership(of: asking.family.group).people.isEmpty)
      guard isIn else { continue }
      try asking.take(truth, logOf: 1)
    }
    let engine = asking.newcomer
    #expect(engine.membership(of: asking.family.group).isActive(engine.device))
    #expect(Set(engine.zones.map(\.id)) == [asking.family.control, asking.family.zone])
    #expect(try engine.zone(asking.family.zone).tag == before.tag)
  }

  @Test("An admin's name on the answer needs that admin's key, and a reader's admission is none")
  func borrowedName() throws {
    var asking = try Asking()
    let family = asking.family
    let key = asking.newcomer.identity.publicKeys.boxKey
    let says = asking.capsule(
      try NewcomerKeys(engine: family.members[3]).zoneGrants(of: family.group, to: key, for: nil))
    _ = try asking.answer(by: 1)
    let named = JoinAnswer(
      by: family.members[3].identity,
      showing: try OwnCards(engine: family.members[1]).ownCard(in: family.group),
      saying: says, to: try asking.opened(by: 0))
    let sealed = try SealedBox.seal(named.encoded, to: key)
    #expect(throws: SyncError(.notAuthentic, "")) { try asking.take(sealed, logOf: 1) }
    // The reader writes an admission too: its role does not allow it.
    let admit = try asking.opened(by: 0).admit
    _ = try ControlWriting.write(
      [.admit(admit)], group: family.group, in: &asking.family.members[3], nowMilliseconds: now)
    let lie = try asking.forged(by: 3, saying: says)
    try asking.family.meet([0, 1, 2, 3])
    #expect(throws: SyncError(.unproven, "")) { try asking.take(lie, logOf: 1) }
    #expect(asking.newcomer.zones.isEmpty)
  }

  @Test("Of two who let somebody in at the same time each proves it, whoever's answer lies there")
  func concurrent() throws {
    for first in [1, 2] {
      var asking = try Asking()
      let answers = [1: try asking.answer(by: 1), 2: try asking.answer(by: 2)]
      try asking.family.meet([0, 1, 2, 3])
      try asking.take(try #require(answers[first]), logOf: 0)
      let engine = asking.newcomer
      #expect(engine.membership(of: asking.family.group).isActive(engine.device))
      #expect(engine.zones.count == 2)
    }
  }

  @Test("A cut or changed answer, one for another request, and one nobody signed are none")
  func damaged() throws {
    var asking = try Asking()
    let truth = try asking.answer(by: 1)
    let inside = try asking.newcomer.identity.openSealed(truth)
    let key = asking.newcomer.identity.publicKeys.boxKey
    let body = try AnswerAcceptance.open(
      answer: truth, to: asking.capsule, asked: asking.request.hash, in: asking.newcomer
    ).body
    for count in [0, 1, 16, truth.count / 2, truth.count - 1] {
      #expect(throws: SyncError(.notAuthentic, "")) {
        try asking.take(Array(truth.prefix(count)), logOf: 1)
      }
    }
    for count in stride(from: 0, to: inside.count, by: 7) {
      let cut = try SealedBox.seal(Array(inside.prefix(count)), to: key)
      #expect(throws: SyncError(.malformed, "")) { try asking.take(cut, logOf: 1) }
    }
    #expect(throws: SyncError(.malformed, "")) {
      try asking.take(SealedBox.seal(body, to: key), logOf: 1)
    }
    var changed = inside
    changed[inside.count - 80] ^= 1
    #expect(throws: SyncError(.notAuthentic, "")) {
      try asking.take(SealedBox.seal(changed, to: key), logOf: 1)
    }
    #expect(throws: SyncError(.notAuthentic, "")) {
      try AnswerAcceptance.open(
        answer: truth, to: asking.capsule, asked: [UInt8](repeating: 0, count: 64),
        in: asking.newcomer)
    }
    #expect(asking.newcomer.zones.isEmpty)
    try asking.take(truth, logOf: 1)
  }

  @Test("An older answer opens only what it opened then, and the newer one leads in")
  func older() throws {
    var asking = try Asking()
    let old = try asking.answer(by: 1)
    try asking.family.meet([0, 1, 2, 3])
    try MemberChanges.remove(
      EngineFamily.id(40), from: asking.family.group, in: &asking.family.members[0],
      nowMilliseconds: now)
    try asking.family.meet([0, 1, 2, 3])
    let new = try asking.answer(by: 2)
    try asking.take(old, logOf: 2)
    let group = asking.family.group
    #expect(!asking.newcomer.membership(of: group).isActive(asking.newcomer.device))
    try asking.take(new, logOf: 2)
    #expect(asking.newcomer.membership(of: group).isActive(asking.newcomer.device))
  }
}
