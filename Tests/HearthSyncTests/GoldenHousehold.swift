import HearthCRDT
import HearthCrypto
import Testing

@testable import HearthMembership
@testable import HearthSync

/// Fixed people, devices and keys, so that every run makes the same bytes.
struct GoldenHousehold {
  static let controlZone = Identifier(high: repeated(0xc0), low: repeated(0xc0))
  static let zone = Identifier(high: repeated(0xb0), low: repeated(0xb0))
  static let anna = Identifier(high: repeated(0xf0), low: repeated(0xf0))
  static let ben = Identifier(high: repeated(0xf1), low: repeated(0xf1))
  static let created: UInt64 = 1_790_000_000_000

  let laptop: DeviceIdentity
  let phone: DeviceIdentity
  let invite: InviteSecret

  init() throws {
    laptop = try DeviceIdentity(master: GoldenHousehold.key(1))
    phone = try DeviceIdentity(master: GoldenHousehold.key(4))
    var seed = [UInt8](0..<16)
    invite = try InviteSecret(seed: SecretBytes(consuming: &seed))
  }

  var genesis: ControlOperation.Genesis { genesis(of: .household) }

  func genesis(of application: ApplicationIdentifier) -> ControlOperation.Genesis {
    ControlOperation.Genesis(
      nonce: Identifier(high: repeated(0xa1), low: repeated(0xa1)), database: .shared,
      controlZone: GoldenHousehold.controlZone,
      zones: [.init(id: GoldenHousehold.zone, name: "Home")], founder: GoldenHousehold.anna,
      founderName: "Anna", device: card(laptop, named: "laptop"),
      createdMilliseconds: GoldenHousehold.created, application: application)
  }

  var group: GroupID { ControlIdentity.groupID(of: genesis) }

  /// The grant of a second key; what is sealed differs each time, so here it is 80 times 5e.
  func grant() throws -> ControlOperation.EpochGrant {
    let epochs = try [2, 5].map {
      try EpochKey(
        secret: GoldenHousehold.key($0), groupID: group.bytes,
        zoneID: GoldenHousehold.zone.bytes)
    }
    let device = try #require(Identifier(bytes: laptop.publicKeys.deviceID))
    return ControlOperation.EpochGrant(
      zone: GoldenHousehold.zone, epoch: epochs[1].id, previous: [epochs[0].id],
      wraps: [.init(recipient: device, sealed: GoldenHousehold.sealed)],
      recovery: [.init(recipient: GoldenHousehold.anna, sealed: GoldenHousehold.sealed)],
      history: [.init(epoch: epochs[0].id, sealed: [UInt8](repeating: 0x5d, count: 72))])
  }

  static let sealed = [UInt8](repeating: 0x5e, count: 80)
  static let signature = [UInt8](repeating: 0x5a, count: 64)

  /// One operation of every kind that has come after the first six, by the name of its file.
  func later() throws -> [(name: String, operation: ControlOperation)] {
    try laterAboutPeople() + laterAboutZones()
  }

  private func laterAboutPeople() throws -> [(name: String, operation: ControlOperation)] {
    let join = try join()
    let device = try #require(ControlIdentity.deviceID(of: join.device))
    let author = Author(device: device, incarnation: 1 << 32)
    let zone = GoldenHousehold.zone
    let signature = GoldenHousehold.signature
    let cut = Cut(
      entries: [
        .init(zone: zone, author: author, sequence: 7, hash: [UInt8](repeating: 0x77, count: 32))
      ])
    let none = Cut(entries: [])
    let words = ControlOperation.RecoveryKeys(
      sign: [UInt8](repeating: 0x71, count: 32), box: [UInt8](repeating: 0x72, count: 32),
      secrets: [.init(zone: zone, sealed: GoldenHousehold.sealed)])
    let ben = GoldenHousehold.ben
    return [
      ("admit", .admit(.init(join: join, possession: signature))),
      ("remove-member", .removeMember(person: ben, cut: cut)),
      ("revoke-device", .revokeDevice(device: device, cut: cut)),
      ("set-role", .setRole(person: ben, role: .child, cut: none)),
      ("transfer-owner", .transferOwner(to: ben, signature: signature)),
      (
        "accept-owner",
        .acceptOwner(transfer: Identifier(high: repeated(0xe7), low: repeated(0xe7)))
      ),
      ("leave", .leave(cut)),
      ("set-recovery", .setRecovery(words)),
      (
        "rotate-recovery",
        .rotateRecovery(keys: words, consent: .device(device, signature: signature))
      ),
      (
        "recover",
        .recover(
          .init(
            person: ben, device: join.device, revokesOthers: true, cut: none,
            signature: signature))
      ),
    ]
  }

  private func laterAboutZones() throws -> [(name: String, operation: ControlOperation)] {
    let join = try join()
    let device = try #require(ControlIdentity.deviceID(of: join.device))
    let author = Author(device: device, incarnation: 1 << 32)
    let zone = GoldenHousehold.zone
    let epoch = try grant().epoch
    return [
      (
        "fork-proof",
        .forkProof(
          zone: zone, author: author, first: [0xa1, 0xa2, 0xa3], second: [0xb1, 0xb2, 0xb3])
      ),
      ("adopt", .adopt(zone: zone, author: author, first: 8, last: 9)),
      ("complaint", .complaint(zone: zone, epoch: epoch, isLast: true)),
      (
        "wrap-add",
        .wrapAdd(
          zone: zone, epoch: epoch,
          wraps: [.init(recipient: device, sealed: GoldenHousehold.sealed)])
      ),
      ("set-policy", .setPolicy(minimumSuite: 1, newcomers: .fromJoin)),
      ("heartbeat", .heartbeat([.init(zone: zone, frontier: Frontier([(author, UInt64(7))]))])),
      (
        "branch",
        .branch(author: author, digest: zone, part: 1, parts: 2, bytes: [0xa1, 0xa2, 0xa3])
      ),
    ]
  }

  func inviteID() throws -> Identifier {
    try #require(Identifier(bytes: invite.publicKeys.inviteID))
  }

  func inviteCreate() throws -> ControlOperation.InviteCreate {
    ControlOperation.InviteCreate(
      invite: try inviteID(), signKey: invite.publicKeys.signingKey.bytes,
      boxKey: invite.publicKeys.boxKey.bytes, role: .member, maximumUses: 1,
      expiresMilliseconds: GoldenHousehold.created + 7 * 24 * 3_600_000)
  }

  func join() throws -> ControlOperation.Join {
    var join = ControlOperation.Join(
      invite: try inviteID(), person: GoldenHousehold.ben, personName: "Ben",
      device: card(phone, named: "phone"), proof: [])
    join.proof = invite.sign(ControlSignature.joinHash(of: join, group: group))
    return join
  }

  private func card(_ device: DeviceIdentity, named name: String) -> DeviceCard {
    DeviceCard(signKey: device.publicKeys.sign, boxKey: device.publicKeys.box, name: name)
  }

  static func key(_ byte: UInt8) throws -> SecretKey {
    var bytes = [UInt8](repeating: byte, count: 32)
    return try SecretKey(consuming: &bytes)
  }
}

/// A byte, eight times.
func repeated(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }
