import Foundation
import HearthCRDT
import HearthCrypto
import HearthStore
import HearthTransport
import Testing

@testable import Hearth
@testable import HearthMembership
@testable import HearthSync

extension Node {
  /// The zone of what the person keeps for itself.
  func ownZone() throws -> ZoneID { try #require(core.privateDatabase.zone).id }

  func title(_ number: UInt64) throws -> String? {
    try state(Note.id(number), in: ownZone())?.shown(Note.title)?.text
  }

  func everyZone() -> [ZoneState] { engine.zones }

  /// What comes of a segment in each zone of this node, without keeping any of it.
  func reports(of segment: [UInt8]) -> [ReceiveReport] {
    var draft = engine
    return engine.zones.compactMap { zone in
      try? draft.receive([segment], in: zone.id, nowMilliseconds: nowMilliseconds())
    }
  }

  func keep(_ number: UInt64, _ title: String) throws {
    try note(Note.id(number), [.assign(Note.title, .text(title))], in: ownZone())
  }
}

extension Node {
  /// What somebody does who has the place of a recovery capsule and not the words.
  fileprivate func writeCapsule(
    for keys: RecoveryPublicKeys, _ access: RecoveryCapsuleAccess, in folder: String
  ) async throws {
    for group in core.households() + [engine.privateGroup].compactMap({ $0 })
    where try membership(of: group).recovery.recoveryKeys(of: person) == nil {
      try RecoveryKeys.set(
        sign: keys.sign, box: keys.box, in: group, by: &engine, nowMilliseconds: nowMilliseconds())
    }
    let owner = CapsuleOwner(
      person: person, name: "Anna", box: keys.boxKey, access: access,
      attestation: [UInt8](repeating: 7, count: Signature.count))
    let transport = try transport(folder)
    _ = try await core.replicas.giveRecoveryCapsule(of: owner, to: transport)
  }
}

@Suite("The private database of a person's devices")
struct PrivateTests {
  static let terms = InvitationTerms(
    role: .owner, isToOneself: true, maximumUses: 1, expiresInMilliseconds: 3_600_000)

  static func node(_ name: String, _ device: String, in family: Family) async throws -> Node {
    try await Node.create(
      at: family.home(device), person: name, device: device, passphrase: nil,
      schema: Family.schema)
  }

  /// A further device of a node's person, by a link.
  static func further(
    _ device: String, of node: Node, in zone: ZoneID, _ family: Family
  ) async throws -> Node {
    let link = try await node.invitations.create(to: zone, terms)
    let added = try await self.node("Anna", device, in: family)
    try await added.invitations.join(try InvitationLink(text: link.text))
    return added
  }

  @Test("Two devices share it over a folder, a relay, or both, also what they write apart")
  func shared() async throws {
    for way in ["folder", "relay", "both"] {
      let family = try Family()
      let shelf = way == "folder" ? nil : try RelayShelf()
      let laptop = try await Self.node("Anna", "laptop", in: family)
      let zone = try await laptop.createHousehold(named: "Home")
      if way != "relay" { _ = try await laptop.transports.add(folder: family.folder) }
      if let shelf { _ = try await laptop.transports.add(relay: shelf.address) }
      try await laptop.keep(1, "before")
      _ = try await laptop.sync()
      #expect(try await laptop.privateDatabase.status()?.isShared == false)
      let phone = try await Self.further("phone", of: laptop, in: zone, family)
      #expect(try await phone.title(1) == "before", "over \(way)")
      #expect(try await phone.looking { try $0.pending.privateDatabase() } == nil)
      try await laptop.keep(2, "laptop")
      try await phone.keep(3, "phone")
      try await Family.settle([laptop, phone])
      #expect(try await laptop.ownZone() == phone.ownZone())
      #expect(try await Family.digests([laptop, phone], laptop.ownZone()).count == 1)
      #expect(try await laptop.title(3) == "phone")
      #expect(try await phone.title(2) == "laptop")
      // Reopened, the same one is in use.
      let own = try await phone.ownZone()
      try await phone.close()
      let again = try await Node.open(at: family.home("phone"), schema: Family.schema)
      #expect(try await again.ownZone() == own)
      #expect(await again.dataZones().count == 2)
    }
  }

  @Test("What a device had before is added to what the person has, and overwrites none of it")
  func carried() async throws {
    let family = try Family()
    let laptop = try await Self.node("Anna", "laptop", in: family)
    let zone = try await laptop.createHousehold(named: "Home")
    _ = try await laptop.transports.add(folder: family.folder)
    let own = try await laptop.ownZone()
    try await laptop.note(
      Note.id(1),
      [
        .assign(Note.title, .text("laptop")), .assign(Note.points, .int(1)),
        .count(Note.votes, 2), .include(Note.tags, .text("a")),
      ], in: own)
    try await laptop.note(Note.id(2), [.delete], in: own)
    let phone = try await Self.node("Anna", "phone", in: family)
    let former = try await phone.ownZone()
    try await phone.note(
      Note.id(1),
      [
        .assign(Note.title, .text("phone")), .assign(Note.points, .int(9)),
        .assign(Note.pinned, .bool(true)), .count(Note.votes, 3), .include(Note.tags, .text("b")),
      ], in: former)
    try await phone.keep(2, "deleted there")
    try await phone.keep(3, "only here")
    try await phone.keep(4, "deleted here")
    try await phone.note(Note.id(4), [.delete], in: former)
    let link = try await laptop.invitations.create(to: zone, Self.terms)
    try await phone.invitations.join(link)
    try await Family.settle([laptop, phone])
    let state = try #require(try await laptop.state(Note.id(1), in: own))
    #expect(state.shown(Note.title)?.text == "laptop")
    #expect(state.shown(Note.points) == .int(1))
    #expect(state.shown(Note.pinned) == .bool(true))
    #expect(state.shown(Note.votes) == .int(5))
    #expect(state.elements(Note.tags) == [.text("a"), .text("b")])
    #expect(try await laptop.state(Note.id(2), in: own)?.life.isDeleted == true)
    #expect(try await laptop.title(3) == "only here")
    #expect(try await laptop.state(Note.id(4), in: own) == nil)
    #expect(try await Family.digests([laptop, phone], own).count == 1)
    #expect(await !phone.allZones().contains { $0.id == former })
  }

  @Test("A member of the household with every byte and its own keys opens nothing of it")
  func strangers() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].keep(1, "Anna's own")
    let phone = try await Self.further("Anna's phone", of: nodes[0], in: zone, family)
    try await Family.settle([nodes[0], phone, nodes[1]])
    let group = try #require(await nodes[0].privateDatabase.zone()).group
    let ben = nodes[1]
    #expect(await ben.everyZone().allSatisfy { $0.group != group })
    let zones = await nodes[0].everyZone().filter { $0.group == group }
    let folder = FolderTransport(path: family.folder, digest: { segmentDigest($0) })
    var looked = 0
    for own in zones {
      for name in try folder.list(zoneTag: own.tag).segments {
        looked += 1
        for report in await ben.reports(of: try folder.fetch(name)) {
          #expect(report.applied == 0)
          #expect(report.waiting.isEmpty, "a foreign segment was kept")
        }
      }
    }
    #expect(looked > 2)
    #expect(try await ben.title(1) == nil)
  }

  @Test("Revoking a device in the household cuts it off here too, by its person or by an admin")
  func revoked() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let (anna, ben) = (nodes[0], nodes[1])
    let group = try #require(await anna.dataZones().first { $0.id == zone }).group
    func more(_ name: String) async throws -> Node {
      let link = try await ben.invitations.create(
        to: zone,
        InvitationTerms(
          role: .member, isToOneself: true, maximumUses: 1, expiresInMilliseconds: 3_600_000))
      let node = try await Self.node("Ben", name, in: family)
      try await node.invitations.join(link)
      return node
    }
    let first = try await more("first")
    let second = try await more("second")
    try await Family.settle([anna, ben, first, second])
    let own = try #require(await ben.privateDatabase.zone()).group
    #expect(try await ben.membership(of: own).devices.count == 3)
    try await ben.people.revoke(first.device, from: group)
    #expect(try await ben.membership(of: own).devices.count == 2)
    try await ben.keep(1, "without the first")
    try await anna.people.revoke(second.device, from: group)
    try await Family.settle([anna, ben, first, second])
    #expect(try await ben.membership(of: own).devices.map(\.id) == [ben.device])
    #expect(try await ben.notices().contains { $0.kind == .access })
    try await ben.keep(2, "without both")
    try await Family.settle([anna, ben, first, second])
    #expect(try await first.title(1) == nil)
    #expect(try await second.title(2) == nil)
    #expect(try await first.ending(in: own)?.kind == .revoked)
    await #expect(throws: SyncError(.notAllowed, "")) { try await first.keep(3, "late") }
  }

  @Test("A device that was away while the private database changed its keys finds its way in")
  func rotated() async throws {
    let family = try Family()
    let shelf = try RelayShelf()
    let laptop = try await Self.node("Anna", "laptop", in: family)
    let zone = try await laptop.createHousehold(named: "Home")
    _ = try await laptop.transports.add(relay: shelf.address)
    let phone = try await Self.further("phone", of: laptop, in: zone, family)
    let tablet = try await Self.further("tablet", of: laptop, in: zone, family)
    try await Family.settle([laptop, phone, tablet])
    let group = try #require(await laptop.dataZones().first { $0.id == zone }).group
    try await laptop.people.revoke(tablet.device, from: group)
    try await laptop.keep(1, "new keys")
    _ = try await laptop.sync()
    _ = try await laptop.sync()
    try await Family.settle([phone])
    #expect(try await phone.title(1) == "new keys")
    _ = try await tablet.sync()
    #expect(try await tablet.title(1) == nil)
  }

  @Test("Recovery words bring it back; devices that no household knows are cut off")
  func recovered() async throws {
    for revoking in [false, true] {
      let family = try Family()
      let (nodes, zone) = try await family.grow(["Anna", "Ben"])
      let anna = nodes[0]
      try await anna.keep(1, "own")
      let words = try PersonWords.drawn()
      _ = try await anna.recovery.activate(words)
      let phone = try await Self.further("phone", of: anna, in: zone, family)
      try await phone.keep(2, "phone")
      try await Family.settle([anna, phone])
      let (node, recovered) = try await Node.recover(
        at: family.home("new"), words: words, folders: [family.folder], deviceName: "new",
        revokingOthers: revoking, passphrase: nil, schema: Family.schema)
      #expect(recovered.hasPrivateDatabase && recovered.households.count == 1)
      #expect(try await node.title(1) == "own")
      #expect(try await node.title(2) == "phone")
      let own = try #require(await node.privateDatabase.zone()).group
      #expect(try await node.membership(of: own).devices.count == (revoking ? 1 : 3))
      try await node.keep(3, "later")
      _ = try await node.sync()
      _ = try await anna.sync()
      #expect(try await anna.title(3) == (revoking ? nil : "later"))
      _ = try await phone.sync()
      #expect(try await phone.notices().count { $0.kind == .recovery } == 1)
    }
  }

  @Test("A recovery capsule that a thief rewrote leads into no private database of the thief's")
  func forgedCapsule() async throws {
    let family = try Family()
    let (nodes, _) = try await family.grow(["Anna", "Ben"])
    let anna = nodes[0]
    try await anna.keep(1, "own")
    let words = try PersonWords.drawn()
    _ = try await anna.recovery.activate(words)
    // A private database of the thief's own, under Anna's id and with her words' public keys; the
    // thief knows the capsule's place from one of her devices.
    let thief = try await Node.create(
      at: family.home("thief"), person: "Anna", personID: anna.person, device: "thief",
      passphrase: nil, schema: Family.schema)
    _ = try await thief.createHousehold(named: "Den")
    _ = try await thief.transports.add(folder: family.folder)
    let root = try words.words.root()
    try await thief.writeCapsule(for: root.publicKeys, root.capsuleAccess, in: family.folder)
    _ = try await thief.sync()
    let forged = try #require(await thief.privateDatabase.zone()).group
    func recover(_ home: String) async throws -> (node: Node, recovered: Recovered) {
      try await Node.recover(
        at: family.home(home), words: words, folders: [family.folder], deviceName: home,
        revokingOthers: false, passphrase: nil, schema: Family.schema)
    }
    let (node, recovered) = try await recover("new")
    #expect(recovered.households.contains { $0.name == "Home" } && recovered.hasPrivateDatabase)
    #expect(try await node.title(1) == "own")
    // With the thief's alone in it.
    let place = try RecoveryBundles.name(of: root.capsuleAccess).scope.hex
    let capsule = try #require(
      FileManager.default.contentsOfDirectory(atPath: family.folder + "/i")
        .first { $0.hasPrefix(place) })
    try FileManager.default.removeItem(atPath: family.folder + "/i/" + capsule)
    try await thief.writeCapsule(for: root.publicKeys, root.capsuleAccess, in: family.folder)
    let (second, alone) = try await recover("second")
    #expect(!alone.hasPrivateDatabase)
    #expect(alone.refused.map(\.name) == ["your private database"])
    #expect(try #require(await second.privateDatabase.zone()).group != forged)
  }

  @Test("Who is in a household follows nobody else's link into another private database")
  func believed() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let ben = nodes[1]
    try await ben.keep(1, "Ben's own")
    let own = try await ben.ownZone()
    // Anna founds a household under Ben's id, and invites "herself".
    let founder = try await Node.create(
      at: family.home("false"), person: "Ben", personID: ben.person, device: "false",
      passphrase: nil, schema: Family.schema)
    let trap = try await founder.createHousehold(named: "Trap")
    _ = try await founder.transports.add(folder: family.folder)
    let link = try await founder.invitations.create(to: trap, Self.terms)
    _ = try await ben.invitations.follow(link)
    try await Family.settle([ben, founder])
    #expect(try await ben.ownZone() == own)
    #expect(try await founder.title(1) == nil)
    #expect(try await ben.looking { try $0.pending.privateDatabase() } == nil)
    // A device that Ben let in may lead him on.
    let tablet = try await Self.node("Ben", "tablet", in: family)
    let good = try await ben.invitations.create(to: zone, Self.terms(.member))
    try await tablet.invitations.join(good)
    #expect(try await tablet.title(1) == "Ben's own")
  }

  private static func terms(_ role: Role) -> InvitationTerms {
    InvitationTerms(
      role: role, isToOneself: true, maximumUses: 1, expiresInMilliseconds: 3_600_000)
  }

  /// Takes the files of zones out of the folder, or puts them back.
  private static func move(_ tags: [String], away isAway: Bool, in family: Family) throws {
    for tag in tags {
      let paths = [family.folder + "/z/" + tag, family.root.path + "/" + tag]
      try FileManager.default.moveItem(
        atPath: paths[isAway ? 0 : 1], toPath: paths[isAway ? 1 : 0])
    }
  }

  @Test("What has not arrived yet is waited for, told, and joined when it is there")
  func late() async throws {
    let family = try Family()
    let laptop = try await Self.node("Anna", "laptop", in: family)
    let zone = try await laptop.createHousehold(named: "Home")
    _ = try await laptop.transports.add(folder: family.folder)
    try await laptop.keep(1, "own")
    let link = try await laptop.invitations.create(to: zone, Self.terms)
    let group = try #require(await laptop.privateDatabase.zone()).group
    let tags = await laptop.everyZone().filter { $0.group == group }.map(\.tag.hex)
    try Self.move(tags, away: true, in: family)
    let phone = try await Self.node("Anna", "phone", in: family)
    try await phone.invitations.join(link)
    #expect(try await phone.privateDatabase.status()?.pending?.waitsFor != nil)
    #expect(try await phone.privateDatabase.status()?.isShared == false)
    try await phone.keep(2, "meanwhile")
    try Self.move(tags, away: false, in: family)
    _ = try await phone.sync()
    #expect(try await phone.privateDatabase.status()?.pending == nil)
    try await Family.settle([laptop, phone])
    #expect(try await phone.title(1) == "own")
    #expect(try await laptop.title(2) == "meanwhile")
    // Where it was too late, a further link on the same device brings it.
    let third = try await laptop.invitations.create(to: zone, Self.terms)
    let tablet = try await Self.node("Anna", "tablet", in: family)
    try Self.move(tags, away: true, in: family)
    try await tablet.invitations.join(third)
    try Self.move(tags, away: false, in: family)
    let invite = try #require(
      try await laptop.membership(of: group).invites.last { !$0.isClosed }?.operation.invite)
    try await laptop.invitations.close(invite, of: group)
    _ = try await laptop.sync()
    _ = try await tablet.sync()
    #expect(try await tablet.privateDatabase.status()?.pending?.refusal != nil)
    let fourth = try await laptop.invitations.create(to: zone, Self.terms)
    try await tablet.invitations.join(fourth)
    #expect(try await tablet.title(1) == "own")
    #expect(try await tablet.privateDatabase.status()?.pending == nil)
    // The link was used up, so the tablet has removed the bundle: the link leads nobody anywhere.
    await #expect(throws: HearthError(.notFound, "")) {
      try await tablet.invitations.join(fourth)
    }
    let other = try await Self.node("Mallory", "other", in: family)
    await #expect(throws: HearthError(.notFound, "")) {
      try await other.invitations.join(fourth)
    }
  }

  @Test("By approval the household lets the device in, and another device of the person shares")
  func approved() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let (anna, ben) = (nodes[0], nodes[1])
    let group = try #require(await anna.dataZones().first { $0.id == zone }).group
    try await ben.keep(1, "Ben's own")
    var terms = Self.terms(.member)
    terms.needsApproval = true
    let link = try await ben.invitations.create(to: zone, terms)
    let watch = try await Self.node("nobody", "watch", in: family)
    _ = try await watch.invitations.follow(link)
    _ = try await anna.sync()
    let request = try #require(try await anna.admissions.waiting(of: group).first)
    _ = try await anna.admissions.approve(request, named: "Home")
    _ = try await watch.sync()
    #expect(await watch.person == ben.person)
    #expect(await watch.profile.personName == "Ben")
    #expect(try await watch.title(1) == nil)
    let own = try #require(await ben.privateDatabase.zone()).group
    let waiting = try #require(try await ben.admissions.waiting(of: own).first)
    #expect(waiting.number == request.number)
    _ = try await ben.admissions.approve(waiting, named: "private")
    _ = try await watch.sync()
    #expect(try await watch.title(1) == "Ben's own")
    #expect(try await watch.admissions.requested().isEmpty)
    try await watch.keep(2, "from the watch")
    try await Family.settle([ben, watch])
    #expect(try await ben.title(2) == "from the watch")
  }
}
