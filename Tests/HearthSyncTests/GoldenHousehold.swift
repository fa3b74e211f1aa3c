import HearthCRDT
import HearthCrypto
import Testing

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

  var genesis: ControlOperation.Genesis {
    ControlOperation.Genesis(
      nonce: Identifier(high: repeated(0xa1), low: repeated(0xa1)), database: .shared,
      controlZone: GoldenHousehold.controlZone,
      zones: [.init(id: GoldenHousehold.zone, name: "Home")], founder: GoldenHousehold.anna,
      founderName: "Anna", device: card(laptop, named: "laptop"),
      createdMilliseconds: GoldenHousehold.created)
  }

  var group: GroupID { Membership.groupID(of: genesis) }

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
      wraps: [.init(device: device, sealed: [UInt8](repeating: 0x5e, count: 80))])
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
    join.proof = invite.sign(Membership.joinHash(of: join, group: group))
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
