import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

/// What recovery words and links for further devices let in is bounded for each person.
@Suite("Devices that come at a person's expense")
struct SponsoredDeviceTests {
  /// A sealed change of a device, as whoever has a member's keys makes it.
  private func sealed(
    _ operations: [ControlOperation], naming words: [UInt8]? = nil, by signer: DeviceIdentity,
    after head: LogHead, in family: EngineFamily
  ) throws -> [UInt8] {
    var forge = try Forge(family.members[0], family.control)
    forge.author = head.author
    let dot = Dot(author: head.author, sequence: head.sequence + 1)
    let known = forge.zone.frontier.difference(from: Frontier())
    let change = Change(
      dot: dot, previousHash: head.hash, seen: head.sequence == 0 ? known : .none,
      controlSeen: .none, time: HybridTime(milliseconds: now + 1),
      operations: operations.enumerated().map { index, operation in
        let key = RecordKey(
          type: ControlOperation.type,
          id: eventID(in: family.control, type: ControlOperation.type, dot: dot, index: index))
        let field = EventField(ControlOperation.bodyField, .bytes(operation.encoded))
        let named = words.map { EventField(ControlOperation.wordsField, .bytes($0)) }
        return Operation(key, .event([field] + (named.map { [$0] } ?? [])))
      })
    return try forge.seal([change], .init(signer: signer))
  }

  private func first(_ engine: Engine<MemoryStore>) -> Dot {
    Dot(author: engine.author, sequence: 1)
  }

  /// Logs of new devices that recovery words let in.
  private func byWords(
    _ count: Int, _ words: SigningKeyPair, of member: Int, revoking: Bool = false,
    naming named: [UInt8]? = nil, in family: EngineFamily
  ) throws -> [[UInt8]] {
    let person = try family.person(member)
    return try (0..<count).map { _ in
      let engine = try EngineFamily.engine()
      var recover = ControlOperation.Recover(
        person: person, device: OwnCards(engine: engine).card(named: "new"),
        revokesOthers: revoking,
        cut: Cut(entries: []), signature: [])
      recover.signature = words.sign(
        domain: ControlSignature.recoverDomain,
        ControlSignature.signedBytes(
          group: family.group, dot: first(engine), recover.signedBody))
      return try sealed(
        [.recover(recover)], naming: named, by: engine.identity,
        after: LogHead(author: engine.author),
        in: family)
    }
  }

  private func devices(of person: PersonID, at member: Int, _ family: EngineFamily) -> Int {
    family.membership(member).allDevices.count { $0.person == person }
  }

  private func authors(_ member: Int, _ family: EngineFamily) throws -> [Author] {
    try family.members[member].zone(family.control).heads.map(\.author)
  }

  @discardableResult
  private func receive(
    _ blobs: [[UInt8]], at member: Int, _ family: inout EngineFamily
  ) throws -> ReceiveReport {
    try family.members[member].receive(blobs, in: family.control, nowMilliseconds: now)
  }

  @Test("Of words replaced often a recovery names its own, and without a name few are tried")
  func namedWords() throws {
    var family = try EngineFamily(2)
    var words = [try family.nameWords(of: 1)]
    for _ in 0..<7 {
      let next = try SigningKeyPair(seed: SecretKey.random())
      let old = try #require(words.last)
      try RecoveryKeys.rotate(
        sign: next.publicKey.bytes,
        box: try DeviceIdentity.generate().identity.boxPair.publicKey.bytes, in: family.group,
        consent: { .recovery(signature: old.sign(domain: $0, $1)) }, by: &family.members[1],
        nowMilliseconds: now)
      words.append(next)
    }
    try family.settle()
    let person = try family.person(1)
    func letIn(_ place: Int, naming named: Int?) throws -> Bool {
      let log = try byWords(
        1, words[place], of: 1, naming: named.map { words[$0].publicKey.bytes }, in: family)
      var copy = try EngineFamily.copied(family.members[0])
      let report = try copy.receive(log, in: family.control, nowMilliseconds: now)
      #expect(report.refused.isEmpty)
      #expect(report.applied == (report.waiting[.author] == nil ? 1 : 0))
      return report.applied == 1
    }
    // The first four and the present ones are tried without a name.
    #expect(try (0..<8).map { try letIn($0, naming: nil) } == (0..<8).map { $0 < 4 || $0 == 7 })
    for place in 0..<8 {
      #expect(try letIn(place, naming: place))
      #expect(try !letIn(place, naming: (place + 1) % 8))
    }
    // The program itself says which words it shows.
    family.members.append(try family.bareDevice())
    try RecoveryKeys.recover(
      person, in: family.group, deviceName: "new", revokingOthers: false,
      signing: { words[7].sign(domain: $0, $1) }, by: &family.members[2], nowMilliseconds: now)
    let opener = SegmentOpener(
      zone: try family.members[2].zone(family.control), membership: family.membership(2))
    let named = try family.published(2, family.control).flatMap { bytes -> [[UInt8]] in
      guard case .opened(let segment) = try opener.open(bytes) else { return [] }
      return segment.changes.compactMap(\.namedWords)
    }
    #expect(named == [words[7].publicKey.bytes])
  }

  @Test("Recovery words let in 64 devices of a person, and those that others have seen everywhere")
  func words() throws {
    #expect(Limits.maximumDevices == 64)
    var family = try EngineFamily(3)
    let words = try family.nameWords(of: 1)
    try family.settle()
    let person = try family.person(1)
    let logs = try byWords(100, words, of: 1, in: family)
    let orders = [(0, logs), (2, logs.reversed()), (1, Array(logs.suffix(50)) + logs)]
    for (member, order) in orders {
      let taken = try receive(Array(order.prefix(63)), at: member, &family)
      #expect(taken.applied == 63 && taken.refused.isEmpty)
      let rest = try receive(logs, at: member, &family)
      #expect(rest.applied == 0 && rest.refused.count == 37)
      #expect(devices(of: person, at: member, family) == 64)
      let told = family.members[member].store.notices.all().filter { $0.kind == .limit }
      #expect(told.count == 1)
      #expect(told.first?.text.contains("words and links of P1 let in more devices") == true)
    }
    // The person's own word gives no place, and is not held back.
    try MemberChanges.heartbeat(in: family.group, by: &family.members[1], nowMilliseconds: now)
    try receive(try family.published(1, family.control), at: 0, &family)
    #expect(devices(of: person, at: 0, family) == 64)
    let own = family.members[1].author
    #expect(
      try family.members[0].zone(family.control).head(of: own)
        == family.members[1].zone(family.control).head(of: own))
    // What others have seen has a place everywhere, and nothing else.
    for member in [0, 2] {
      try MemberChanges.heartbeat(
        in: family.group, by: &family.members[member], nowMilliseconds: now)
    }
    for _ in 0..<3 { try family.settle() }
    #expect(devices(of: person, at: 0, family) == 101)
    #expect(try authors(0, family) == authors(2, family))
    #expect(try authors(0, family) == authors(1, family))
    try family.join(9)
    try family.settle()
    #expect(family.membership(2).people.count == 4)
  }

  @Test("Once somebody has used the words up, they still let in a device that revokes the others")
  func revoking() throws {
    #expect(Limits.maximumSpareDevices == 16)
    var family = try EngineFamily(3)
    let words = try family.nameWords(of: 1)
    try family.settle()
    let person = try family.person(1)
    let logs = try byWords(70, words, of: 1, in: family)
    for member in [0, 2] {
      let report = try receive(logs, at: member, &family)
      #expect(report.applied == 63)
    }
    var bare = try family.bareDevice()
    #expect(throws: SyncError(.notAllowed, "")) {
      try RecoveryKeys.recover(
        person, in: family.group, deviceName: "new", revokingOthers: false,
        signing: { words.sign(domain: $0, $1) }, by: &bare, nowMilliseconds: now)
    }
    try RecoveryKeys.recover(
      person, in: family.group, deviceName: "new", revokingOthers: true,
      signing: { words.sign(domain: $0, $1) }, by: &bare, nowMilliseconds: now)
    family.members.append(bare)
    try family.send(3, to: [0, 1, 2])
    for member in [0, 1, 2] {
      let present = family.membership(member).devices.filter { $0.person == person }
      #expect(present.map(\.id) == [bare.device], "member \(member)")
    }
    // These places end, too: nothing tells a thief who has the words from their owner.
    let more = try byWords(20, words, of: 1, revoking: true, in: family)
    let report = try receive(more, at: 0, &family)
    #expect(report.applied == 15 && report.refused.count == 5)
  }

  @Test("What comes by a person's link for further devices is counted, with effect or without")
  func link() throws {
    var family = try EngineFamily(3)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .reader, person: try family.person(1),
      maximumUses: 1_000, expiresMilliseconds: now * 2, in: &family.members[1], nowMilliseconds: now
    )
    try family.settle()
    let invite = try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
    // Under names that the link does not allow.
    let logs = try (0..<120).map { number in
      let engine = try EngineFamily.engine()
      var join = ControlOperation.Join(
        invite: invite, person: EngineFamily.id(2_000 + number), personName: "S",
        device: OwnCards(engine: engine).card(named: "s"), proof: [])
      join.proof = made.secret.sign(ControlSignature.joinHash(of: join, group: family.group))
      return try sealed(
        [.join(join)], by: engine.identity, after: LogHead(author: engine.author), in: family)
    }
    for member in [0, 2] {
      let before = try authors(member, family).count
      let report = try receive(Array(logs.prefix(50)), at: member, &family)
      #expect(report.applied == 50)
      family.members[member] = try EngineFamily.reopened(family.members[member])
      try receive(Array(logs.dropFirst(50)), at: member, &family)
      #expect(try authors(member, family).count == before + 63, "member \(member)")
      #expect(family.membership(member).people.count == 3)
    }
    try family.join(9)
    try family.settle()
    #expect(family.membership(2).people.count == 4)
  }

  @Test("Devices that somebody without the right to let in named share 256 incarnations")
  func strangers() throws {
    var family = try EngineFamily(3)
    let engines = try (0..<300).map { _ in try EngineFamily.engine() }
    let admits = engines.enumerated().map { number, engine in
      ControlOperation.admit(
        ControlOperation.Admit(
          join: ControlOperation.Join(
            invite: EngineFamily.id(5), person: EngineFamily.id(3_000 + number), personName: "S",
            device: OwnCards(engine: engine).card(named: "s"),
            proof: [UInt8](repeating: 7, count: 64)),
          possession: [UInt8](repeating: 7, count: 64)))
    }
    let head = try family.members[1].zone(family.control).head(of: family.members[1].author)
    let naming = try sealed(admits, by: family.members[1].identity, after: head, in: family)
    let named = try receive([naming], at: 0, &family)
    #expect(named.applied == 1)
    let before = try authors(0, family).count
    let logs = try engines.map { engine in
      try sealed(
        [.heartbeat([])], by: engine.identity, after: LogHead(author: engine.author), in: family)
    }
    let report = try receive(logs, at: 0, &family)
    #expect(report.applied == 256 && report.refused.count == 44)
    #expect(try authors(0, family).count == before + 256)
    #expect(family.members[0].store.notices.all().allSatisfy { $0.kind != .limit })
    try family.join(9)
    #expect(family.membership(0).people.count == 4)
  }
}
