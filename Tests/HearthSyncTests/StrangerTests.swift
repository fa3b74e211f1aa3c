import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

/// Whoever has an old key of the members' zone can seal logs of devices without number (T7).
///
/// They take no place that somebody needs who belongs to the household, or comes to it.
@Suite("Strangers in the members' log")
struct StrangerTests {
  private let now = EngineFamily.now

  /// The log of a new device that begins with a joining, sealed with a member's keys.
  ///
  /// - Parameter secret: that of the invitation; without it the proof is made up.
  private func stranger(
    _ number: Int, by invite: Identifier, _ secret: InviteSecret?, in family: EngineFamily
  ) throws -> [UInt8] {
    let engine = try EngineFamily.engine()
    var join = ControlOperation.Join(
      invite: invite, person: EngineFamily.id(1_000 + number), personName: "S",
      device: OwnCards(engine: engine).card(named: "s"), proof: [UInt8](repeating: 7, count: 64))
    if let secret {
      join.proof = secret.sign(ControlSignature.joinHash(of: join, group: family.group))
    }
    var forge = try Forge(family.members[0], family.control)
    forge.author = Author(device: engine.device, incarnation: engine.incarnation)
    forge.head = LogHead(author: forge.author)
    let dot = Dot(author: forge.author, sequence: 1)
    let id = eventID(in: family.control, type: ControlOperation.type, dot: dot, index: 0)
    let body = ControlOperation.join(join).encoded
    let change = Change(
      dot: dot, previousHash: forge.head.hash,
      seen: forge.zone.frontier.difference(from: Frontier()), controlSeen: .none,
      time: HybridTime(milliseconds: now),
      operations: [
        Operation(
          RecordKey(type: ControlOperation.type, id: id),
          .event([EventField(ControlOperation.bodyField, .bytes(body))]))
      ])
    return try forge.seal([change], .init(signer: engine.identity))
  }

  @Test("Negative 37: devices for which nothing vouches get no place, and others still join")
  func withoutInvitation() throws {
    var family = try EngineFamily(3)
    let invite = try #require(family.members[0].membership(of: family.group).invites.first)
    let before = try family.members[0].zone(family.control).heads.count
    let logs = try (0..<400).map { number in
      let by = number % 2 == 0 ? invite.operation.invite : EngineFamily.id(number)
      return try stranger(number, by: by, nil, in: family)
    }
    for member in family.members.indices {
      let report = try family.members[member].receive(
        logs, in: family.control, nowMilliseconds: now)
      #expect(report.applied == 0)
      #expect(try family.members[member].zone(family.control).heads.count == before)
    }
    try family.join(9)
    try family.settle()
    #expect(family.members[1].membership(of: family.group).people.count == 4)
    #expect(try family.digests().count == 1)
  }

  @Test("Negative 37: holders of a link get as many places as it allows and a few more")
  func crowd() throws {
    var family = try EngineFamily(3)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    try family.settle()
    let before = try family.members[0].zone(family.control).heads.count
    let invite = try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
    let logs = try (0..<100).map { try stranger($0, by: invite, made.secret, in: family) }
    _ = try family.members[1].receive(logs, in: family.control, nowMilliseconds: now)
    _ = try family.members[2].receive(logs.reversed(), in: family.control, nowMilliseconds: now)
    let places = 1 + EntryJudge.spareUses
    for member in [1, 2] {
      #expect(try family.members[member].zone(family.control).heads.count == before + places)
    }
    // What one member saw the others need; then all have the same logs, and no more of them come.
    for member in [1, 2] {
      try MemberChanges.heartbeat(
        in: family.group, by: &family.members[member], nowMilliseconds: now)
    }
    for _ in 0..<3 { try family.settle() }
    let heads = try family.members.map { try $0.zone(family.control).heads }
    #expect(heads.allSatisfy { $0 == heads[0] })
    #expect(heads[0].count <= before + 2 * places)
    #expect(family.members.map { $0.membership(of: family.group).people.count } == [4, 4, 4])
  }

  @Test("Negative 37: whoever joins looks first for the logs that the inviter had")
  func expectedLogs() throws {
    var family = try EngineFamily(3)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    var newcomer = try EngineFamily.engine()
    _ = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &newcomer, nowMilliseconds: now)
    let zone = try newcomer.controlZone(of: family.group)
    let preference = ListingPreference(of: zone)
    #expect(
      preference.devices.isSuperset(of: family.members.map { zone.authorTag(of: $0.device) }))
    let logs = family.members.map {
      TagAuthor(tag: zone.authorTag(of: $0.device), incarnation: $0.author.incarnation)
    }
    #expect(preference.logs == Set(logs))
  }

  @Test("What somebody had seen who waits for it gets a place, whichever comes first")
  func citedByWhatWaits() throws {
    for isCitedFirst in [true, false] {
      var family = try EngineFamily(3)
      let made = try InvitationMaking.invite(
        to: family.group, named: "Home", role: .member, maximumUses: 1,
        expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
      try family.settle()
      let invite = try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
      let logs = try (0..<40).map { try stranger($0, by: invite, made.secret, in: family) }
      let places = 1 + EntryJudge.spareUses
      let first = Array(logs.prefix(places))
      _ = try family.members[1].receive(first, in: family.control, nowMilliseconds: now)
      _ = try family.members[2].receive(
        logs.suffix(places), in: family.control, nowMilliseconds: now)
      let before = try family.members[2].zone(family.control).heads.count
      let known = Set(try family.published(1, family.control))
      try MemberChanges.heartbeat(in: family.group, by: &family.members[1], nowMilliseconds: now)
      let news = try family.published(1, family.control).filter { !known.contains($0) }
      for batch in isCitedFirst ? [news, first] : [first, news] {
        _ = try family.members[2].receive(batch, in: family.control, nowMilliseconds: now)
      }
      let control = try family.members[2].zone(family.control)
      #expect(control.heads.count == before + places, "cited first: \(isCitedFirst)")
      #expect(
        try control.head(of: family.members[1].author)
          == family.members[1].zone(family.control).head(of: family.members[1].author))
    }
  }
}
