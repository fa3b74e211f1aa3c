import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

/// Steps of a family of engines in which people come and go.
extension EngineFamily {
  static let register = FieldID(.register, 1)

  /// Gives one member all that another holds, control zone first.
  mutating func send(_ giver: Int, to takers: [Int]) throws {
    for zone in [control, zone] {
      let blobs = try published(giver, zone)
      for taker in takers where taker != giver {
        _ = try members[taker].receive(blobs, in: zone, nowMilliseconds: EngineFamily.now)
      }
    }
  }

  /// Everybody named gets everything from everybody named.
  mutating func meet(_ those: [Int]) throws {
    for _ in 0..<2 { for giver in those { try send(giver, to: those) } }
  }

  func person(_ member: Int) throws -> PersonID {
    try #require(membership(member).device(members[member].device)).person
  }

  func membership(_ member: Int) -> Membership { members[member].membership(of: group) }

  /// What a member shows of a record's register.
  func shown(_ member: Int, _ record: Int) throws -> Value? {
    let key = RecordKey(type: .record(7), id: EngineFamily.id(record))
    return try members[member].store.records.states(of: [key], in: zone)[0]?.shown(
      EngineFamily.register)
  }

  mutating func set(_ member: Int, _ record: Int, _ value: Int64) throws {
    try write(member, record, [.assign(EngineFamily.register, .int(value))])
  }

  mutating func remove(_ subject: Int, by member: Int) throws {
    try MemberChanges.remove(
      try person(subject), from: group, in: &members[member], nowMilliseconds: EngineFamily.now)
  }

  mutating func setRole(_ subject: Int, _ role: Role, by member: Int) throws {
    try MemberChanges.setRole(
      of: try person(subject), to: role, in: group, by: &members[member],
      nowMilliseconds: EngineFamily.now)
  }

  /// Names recovery words of a member's person.
  mutating func nameWords(of member: Int) throws -> SigningKeyPair {
    let words = try SigningKeyPair(seed: SecretKey.random())
    let box = try DeviceIdentity.generate().identity.boxPair.publicKey.bytes
    try RecoveryKeys.set(
      sign: words.publicKey.bytes, box: box, in: group, by: &members[member],
      nowMilliseconds: EngineFamily.now)
    return words
  }

  /// A device of nobody that has the household's control log, by an invitation it does not use.
  mutating func bareDevice() throws -> Engine<MemoryStore> {
    var bare = try EngineFamily.engine()
    let made = try InvitationMaking.invite(
      to: group, named: "Home", role: .reader, maximumUses: 1,
      expiresMilliseconds: EngineFamily.now * 2, in: &members[0], nowMilliseconds: EngineFamily.now)
    _ = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &bare, nowMilliseconds: EngineFamily.now)
    _ = try bare.receive(
      try published(0, control), in: control, nowMilliseconds: EngineFamily.now)
    return bare
  }

  /// Hands the household's offer to somebody, with words that are named on the spot.
  mutating func offer(to heir: Int, by member: Int) throws -> RecordID {
    var seed = [UInt8](repeating: 3, count: 32)
    let words = try SigningKeyPair(seed: SecretKey(consuming: &seed))
    if membership(member).recovery.recoveryKeys(of: try person(member)) == nil {
      try RecoveryKeys.set(
        sign: words.publicKey.bytes, box: members[member].identity.publicKeys.boxKey.bytes,
        in: group, by: &members[member], nowMilliseconds: EngineFamily.now)
    }
    return try OwnerTransfer.offer(
      of: group, to: try person(heir), signing: { words.sign(domain: $0, $1) },
      in: &members[member], nowMilliseconds: EngineFamily.now)
  }

  /// The digests of some members' records, and whether they are one.
  func areEqual(_ those: [Int]) throws -> Bool {
    Set(try those.map { try members[$0].digest(of: zone) }).count == 1
  }

  /// A further engine that joins by an invitation of a member.
  mutating func join(
    by member: Int, role: Role, person: PersonID? = nil, as named: PersonID? = nil
  ) throws -> Int {
    let invitation = try InvitationMaking.invite(
      to: group, named: "Home", role: role, person: person, maximumUses: 1,
      expiresMilliseconds: EngineFamily.now * 2, in: &members[member],
      nowMilliseconds: EngineFamily.now)
    return try arrive(
      by: invitation.capsule, with: invitation.secret, meeting: member,
      as: named ?? person ?? EngineFamily.id(100 + members.count))
  }

  /// A further engine that joins, and begins from a snapshot by a member; all learn of it.
  mutating func joinFromSnapshot(of member: Int) throws -> Int {
    let chunks = try SnapshotMaking.snapshot(of: zone, in: members[member])
    let number = try arrive(
      by: capsule, with: secret, meeting: member, as: EngineFamily.id(500 + members.count))
    try SnapshotLoading.bootstrap(
      zone, from: chunks, in: &members[number], nowMilliseconds: EngineFamily.now)
    let blobs = try published(number, control)
    for other in members.indices where other != number {
      _ = try members[other].receive(blobs, in: control, nowMilliseconds: EngineFamily.now)
    }
    return number
  }

  /// A further engine that follows a link made earlier, by what a member has of the log now.
  mutating func arrive(
    by capsule: [UInt8], with secret: InviteSecret, meeting member: Int, as person: PersonID
  ) throws -> Int {
    var engine = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      capsule, with: secret, in: &engine, nowMilliseconds: EngineFamily.now)
    _ = try engine.receive(
      try published(member, control), in: control, nowMilliseconds: EngineFamily.now)
    try JoiningByInvitation.finish(
      opened, with: secret, person: person, personName: "P\(members.count)",
      deviceName: "device \(members.count)", in: &engine, nowMilliseconds: EngineFamily.now)
    members.append(engine)
    return members.count - 1
  }
}
