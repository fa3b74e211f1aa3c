import HearthCRDT
import HearthCrypto
import HearthMembership
import TestSupport
import Testing

@testable import HearthSync

/// A group of the shopping application with an open invitation.
private struct ShoppingGroup {
  let group: GroupID
  let control: ZoneID
  let invitation: MadeInvitation
  /// The members' log.
  let segments: [[UInt8]]

  static let now = EngineFamily.now

  init() throws {
    var anna = try EngineFamily.engine(of: try shopping())
    group = try GroupCreation.create(
      GroupFounding(
        database: .shared, zoneNames: ["Home"], person: EngineFamily.id(1), personName: "Anna",
        deviceName: "laptop"), in: &anna, nowMilliseconds: Self.now
    ).group
    control = try anna.controlZone(of: group).id
    invitation = try InvitationMaking.invite(
      to: group, named: "Home", role: .member, maximumUses: 2,
      expiresMilliseconds: Self.now * 2, in: &anna, nowMilliseconds: Self.now)
    _ = try Sealing.seal(control, in: &anna)
    let (store, zone) = (anna.store, control)
    segments = try store.log.segments(of: zone).compactMap {
      try store.log.bytes(of: $0.digest, in: zone)
    }
  }

  /// Lets an engine join by a bundle.
  func join(_ engine: inout Engine<MemoryStore>, by bundle: [UInt8]) throws {
    let opened = try JoiningByInvitation.begin(
      bundle, with: invitation.secret, in: &engine, nowMilliseconds: Self.now)
    _ = try engine.receive(segments, in: control, nowMilliseconds: Self.now)
    try JoiningByInvitation.finish(
      opened, with: invitation.secret, person: EngineFamily.id(2), personName: "Ben",
      deviceName: "phone", in: &engine, nowMilliseconds: Self.now)
  }

  /// The invitation's bundle with another application in it.
  func bundle(naming application: ApplicationIdentifier) throws -> [UInt8] {
    var bundle = try InvitationCapsule(opening: invitation.capsule, with: invitation.secret)
    bundle.application = application
    return try bundle.sealed(for: invitation.secret)
  }
}

private func shopping() throws -> ApplicationIdentifier {
  try #require(ApplicationIdentifier("org.example.shopping"))
}

@Suite("Groups of applications, by engines")
struct ApplicationGroupTests {
  private static let others = ["org.example.notes", "hearth.household"]

  @Test("The same application joins")
  func same() throws {
    let home = try ShoppingGroup()
    var guest = try EngineFamily.engine(of: try shopping())
    try home.join(&guest, by: home.invitation.capsule)
    #expect(guest.membership(of: home.group).isActive(guest.device))
    #expect(guest.membership(of: home.group).genesis?.application.name == "org.example.shopping")
  }

  @Test("Another one is refused by the bundle, and has taken nothing", arguments: others)
  func other(name: String) throws {
    let home = try ShoppingGroup()
    var guest = try EngineFamily.engine(of: try #require(ApplicationIdentifier(name)))
    #expect(throws: SyncError(.otherApplication, "")) {
      try home.join(&guest, by: home.invitation.capsule)
    }
    #expect(guest.zones.isEmpty)
  }

  @Test("A bundle that lies leads another one to the founding, which refuses", arguments: others)
  func lie(name: String) throws {
    let home = try ShoppingGroup()
    let application = try #require(ApplicationIdentifier(name))
    var guest = try EngineFamily.engine(of: application)
    #expect(throws: SyncError(.otherApplication, "")) {
      try home.join(&guest, by: try home.bundle(naming: application))
    }
    let members = guest.membership(of: home.group)
    #expect(members.genesis != nil && !members.isActive(guest.device))
  }

  @Test("A bundle without an application is the household's, as earlier ones were")
  func bundle() throws {
    let home = try ShoppingGroup()
    let named = try InvitationCapsule(
      opening: home.invitation.capsule, with: home.invitation.secret)
    let name = Array("org.example.shopping".utf8)
    #expect(named.encoded.suffix(name.count + 1) == [UInt8(name.count)] + name)
    let earlier = Array(named.encoded.dropLast(name.count + 1))
    let opened = try InvitationCapsule(decoding: earlier)
    #expect(opened.application == .household && opened.encoded == earlier)
    #expect(throws: CodecError.self) { try InvitationCapsule(decoding: earlier + [0]) }
  }
}
