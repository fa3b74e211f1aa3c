import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

@Suite("Membership: recovery words")
struct MembershipRecoveryTests {
  @Test("New words need the old ones or a second device; the old ones are over then")
  func rotation() throws {
    var family = try EngineFamily(2)
    let old = try SigningKeyPair(seed: SecretKey.random())
    let new = try SigningKeyPair(seed: SecretKey.random())
    let box = try setWords(old, of: &family)
    #expect(throws: SyncError(.notAllowed, "")) {
      try RecoveryKeys.rotate(
        sign: new.publicKey.bytes, box: box, in: family.group,
        consent: { .recovery(signature: new.sign(domain: $0, $1)) }, by: &family.members[1],
        nowMilliseconds: now)
    }
    try RecoveryKeys.rotate(
      sign: new.publicKey.bytes, box: box, in: family.group,
      consent: { .recovery(signature: old.sign(domain: $0, $1)) }, by: &family.members[1],
      nowMilliseconds: now)
    let person = try family.person(1)
    #expect(family.membership(1).recovery.recoveryKeys(of: person)?.sign == new.publicKey.bytes)
    let second = try family.join(by: 1, role: .reader, person: person)
    try family.meet([0, 1, second])
    let (identity, device) = (family.members[1].identity, family.members[1].device)
    let later = family.members[second].identity
    let further = family.members[second].device
    // A device that came after the words has no say in them.
    #expect(throws: SyncError(.notAllowed, "")) {
      try RecoveryKeys.rotate(
        sign: old.publicKey.bytes, box: box, in: family.group,
        consent: { .device(further, signature: later.sign(domain: $0, $1)) },
        by: &family.members[1], nowMilliseconds: now)
    }
    try RecoveryKeys.rotate(
      sign: new.publicKey.bytes, box: box, in: family.group,
      consent: { .recovery(signature: new.sign(domain: $0, $1)) }, by: &family.members[1],
      nowMilliseconds: now)
    try family.meet([0, 1, second])
    try RecoveryKeys.rotate(
      sign: old.publicKey.bytes, box: box, in: family.group,
      consent: { .device(device, signature: identity.sign(domain: $0, $1)) },
      by: &family.members[second], nowMilliseconds: now)
    try family.meet([0, 1, second])
    #expect(family.membership(1).recovery.recoveryKeys(of: person)?.sign == old.publicKey.bytes)
  }

  /// Sets the first words of the second member, and returns the key to which they seal.
  private func setWords(_ words: SigningKeyPair, of family: inout EngineFamily) throws -> [UInt8] {
    let box = try DeviceIdentity.generate().identity.boxPair.publicKey.bytes
    try RecoveryKeys.set(
      sign: words.publicKey.bytes, box: box, in: family.group, by: &family.members[1],
      nowMilliseconds: now)
    return box
  }

  @Test("The signature of one place in the log does not serve at another")
  func replayedConsent() throws {
    var family = try EngineFamily(2)
    let old = try SigningKeyPair(seed: SecretKey.random())
    let new = try SigningKeyPair(seed: SecretKey.random())
    let box = try setWords(old, of: &family)
    var replayed: [UInt8] = []
    _ = try? RecoveryKeys.rotate(
      sign: new.publicKey.bytes, box: box, in: family.group,
      consent: {
        replayed = old.sign(domain: $0, $1)
        throw SyncError(.notAllowed, "kept")
      }, by: &family.members[1], nowMilliseconds: now)
    try MemberChanges.heartbeat(in: family.group, by: &family.members[1], nowMilliseconds: now)
    let kept = replayed
    #expect(throws: SyncError(.notAllowed, "")) {
      try RecoveryKeys.rotate(
        sign: new.publicKey.bytes, box: box, in: family.group,
        consent: { _, _ in .recovery(signature: kept) }, by: &family.members[1],
        nowMilliseconds: now)
    }
  }

  @Test("Handing over works where keys are over: the signature is for the place that it gets")
  func handingOverUnderOldKeys() throws {
    var family = try EngineFamily(3)
    _ = try family.offer(to: 1, by: 0)
    try family.meet([0, 1, 2])
    try MemberChanges.leave(family.group, in: &family.members[2], nowMilliseconds: now)
    try family.meet([0, 1, 2])
    #expect(try family.members[0].zone(family.control).isEpochOver)
    let offer = try family.offer(to: 1, by: 0)
    try family.meet([0, 1])
    try OwnerTransfer.accept(
      of: family.group, offer: offer, in: &family.members[1], nowMilliseconds: now)
    #expect(family.membership(1).owner == (try family.person(1)))
  }

  @Test("An owner with words hands over with them only")
  func handingOver() throws {
    var family = try EngineFamily(2)
    let words = try SigningKeyPair(seed: SecretKey.random())
    let other = try SigningKeyPair(seed: SecretKey.random())
    let box = try DeviceIdentity.generate().identity.boxPair.publicKey.bytes
    let wordless = try family.person(1)
    #expect(throws: SyncError(.notAllowed, "")) {
      try OwnerTransfer.offer(
        of: family.group, to: wordless, signing: { other.sign(domain: $0, $1) },
        in: &family.members[0], nowMilliseconds: now)
    }
    try RecoveryKeys.set(
      sign: words.publicKey.bytes, box: box, in: family.group, by: &family.members[0],
      nowMilliseconds: now)
    let heir = try family.person(1)
    #expect(throws: SyncError(.notAllowed, "")) {
      try OwnerTransfer.offer(
        of: family.group, to: heir, signing: { other.sign(domain: $0, $1) }, in: &family.members[0],
        nowMilliseconds: now)
    }
    let offer = try OwnerTransfer.offer(
      of: family.group, to: heir, signing: { words.sign(domain: $0, $1) }, in: &family.members[0],
      nowMilliseconds: now)
    try family.meet([0, 1])
    try OwnerTransfer.accept(
      of: family.group, offer: offer, in: &family.members[1], nowMilliseconds: now)
    #expect(family.membership(1).owner == heir)
  }

  @Test("A key is judged when all that is cited is here, as that may void the removal")
  func heirRevokedMeanwhile() throws {
    var family = try EngineFamily(3)
    let offer = try family.offer(to: 1, by: 0)
    try family.meet([0, 1, 2])
    let heir = family.members[1].device
    // The owner revokes the heir's device, which takes the household at the same time.
    try MemberChanges.revoke(
      heir, from: family.group, in: &family.members[0], nowMilliseconds: now)
    try family.send(0, to: [2])
    #expect(!family.membership(2).isActive(heir))
    try OwnerTransfer.accept(
      of: family.group, offer: offer, in: &family.members[1], nowMilliseconds: now)
    try family.send(1, to: [0])
    #expect(family.membership(0).isActive(heir))
    // By the key of before, as the key of the revocation counts for nothing.
    try MemberChanges.heartbeat(
      in: family.group, by: &family.members[0], nowMilliseconds: now)
    let owner = family.members[0].author
    let reached = try family.members[0].zone(family.control).head(of: owner).sequence
    let (former, taken) = (
      try family.published(0, family.control), try family.published(1, family.control)
    )
    for batches in [[former + taken], [former, taken], [taken, former]] {
      var engine = try EngineFamily.copied(family.members[2])
      for batch in batches {
        let report = try engine.receive(batch, in: family.control, nowMilliseconds: now)
        #expect(report.refused.isEmpty, "\(report.refused)")
      }
      #expect(engine.membership(of: family.group).isActive(heir))
      #expect(try engine.zone(family.control).head(of: owner).sequence == reached)
    }
  }

  @Test("A device that was ended and uses the words again is told of again")
  func again() throws {
    var family = try EngineFamily(2)
    let words = try family.nameWords(of: 1)
    try family.meet([0, 1])
    let person = try family.person(1)
    var thief = try family.bareDevice()
    for use in 1...2 {
      try RecoveryKeys.recover(
        person, in: family.group, deviceName: "new", revokingOthers: false,
        signing: { words.sign(domain: $0, $1) }, by: &thief, nowMilliseconds: now)
      if family.members.count == 2 {
        family.members.append(thief)
      } else {
        family.members[2] = thief
      }
      try family.send(2, to: [1])
      #expect(family.membership(1).isActive(thief.device))
      for _ in 0..<2 {
        try RecoveryNotices(engine: family.members[1]).noticeRecoveries(nowMilliseconds: now)
      }
      let told = family.members[1].store.notices.all().count { $0.kind == .recovery }
      #expect(told == use)
      try MemberChanges.revoke(
        thief.device, from: family.group, in: &family.members[1], nowMilliseconds: now)
      try family.send(1, to: [2])
      thief = family.members[2]
    }
  }

  @Test("A new key is sealed to the recovery words of everybody who has some")
  func newKeys() throws {
    var family = try EngineFamily(3)
    _ = try family.nameWords(of: 1)
    try family.meet([0, 1, 2])
    try family.remove(2, by: 0)
    for zone in [family.control, family.zone] {
      let newest = try #require(family.membership(0).keys.newestEpochs(of: zone).last)
      #expect(newest.grant.recovery.map(\.recipient) == [try family.person(1)])
    }
  }
}
