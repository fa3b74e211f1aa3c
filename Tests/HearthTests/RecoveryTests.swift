import Foundation
import HearthCRDT
import HearthCrypto
import HearthStore
import HearthTransport
import Testing

@testable import Hearth
@testable import HearthMembership
@testable import HearthSync

@Suite("Recovery")
struct RecoveryTests {
  /// A household of two in which Anna has recovery words.
  private func household(
    _ family: Family
  ) async throws -> (anna: Node, ben: Node, zone: ZoneID, words: PersonWords) {
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let words = try PersonWords.drawn()
    _ = try await nodes[0].recovery.activate(words)
    try await nodes[0].note(
      Note.id(1), [.insert, .assign(Note.title, .text("Dishes"))], in: zone)
    try await nodes[1].note(
      Note.id(2), [.insert, .assign(Note.title, .text("Plants"))], in: zone)
    try await Family.settle(nodes)
    return (nodes[0], nodes[1], zone, words)
  }

  private func recover(
    _ family: Family, _ words: PersonWords, at home: String = "new", revokingOthers: Bool = false,
    folders: [String]? = nil
  ) async throws -> (node: Node, recovered: Recovered) {
    try await Node.recover(
      at: family.home(home), words: words, folders: folders ?? [family.folder],
      deviceName: "new laptop", revokingOthers: revokingOthers, passphrase: nil,
      schema: Family.schema)
  }

  /// The file of the words' capsule in the family's folder.
  private func capsule(_ words: PersonWords, in folder: String) throws -> String {
    let name = try words.words.root().locator.map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }.joined()
    return try #require(
      FileManager.default.contentsOfDirectory(atPath: folder + "/i")
        .first { $0.hasPrefix(name) }.map { folder + "/i/" + $0 })
  }

  private func code(_ body: () async throws -> Void) async -> HearthError.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? HearthError)?.code
    }
  }

  private func isBare(_ family: Family, _ home: String = "new") throws -> Bool {
    try FileManager.default.contentsOfDirectory(atPath: family.root.path)
      .allSatisfy { !$0.hasPrefix(home) }
  }

  @Test("An owner with words is sent to sync a household made since, and not to make words")
  func uncovered() async throws {
    let family = try Family()
    let (nodes, home) = try await family.grow(["Anna"])
    func warning(_ zone: ZoneID) async throws -> String? {
      let group = try #require(await nodes[0].allZones().first { $0.id == zone }).group
      return try await nodes[0].people.riskWarning(of: group)
    }
    #expect(try await warning(home)?.contains("`hearth words show`") == true)
    _ = try await nodes[0].recovery.activate(try PersonWords.drawn())
    #expect(try await warning(home) == nil)
    let cabin = try await nodes[0].createHousehold(named: "Cabin")
    #expect(try await warning(cabin)?.contains("run `hearth sync`") == true)
    _ = try await nodes[0].sync()
    #expect(try await warning(cabin) == nil)
  }

  @Test("A bare machine with words and the folder holds everything, also from before the words")
  func everything() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].note(
      Note.id(9), [.insert, .assign(Note.title, .text("Before"))], in: zone)
    try await Family.settle(nodes)
    let words = try PersonWords.drawn()
    _ = try await nodes[0].recovery.activate(words)
    try await nodes[1].note(Note.id(2), [.insert], in: zone)
    try await Family.settle(nodes)
    try await nodes[0].close()
    let (node, recovered) = try await recover(family, words)
    #expect(recovered.households.map(\.name) == ["Home"])
    #expect(recovered.refused.isEmpty)
    #expect(await node.person == nodes[0].person)
    #expect(await node.profile.personName == "Anna")
    try await Family.settle([nodes[1], node])
    #expect(try await Family.digests([nodes[1], node], zone).count == 1)
    #expect(try await node.state(Note.id(9), in: zone)?.shown(Note.title)?.text == "Before")
    // It writes, and is read.
    try await node.note(Note.id(3), [.insert], in: zone)
    try await Family.settle([nodes[1], node])
    #expect(try await nodes[1].state(Note.id(3), in: zone) != nil)
  }

  @Test("A device that recovery revoked opens nothing of later, given every byte and its old keys")
  func revokedReadsNothing() async throws {
    let family = try Family()
    let (anna, ben, zone, words) = try await household(family)
    let group = try #require(await anna.dataZones().first { $0.id == zone }?.group)
    let (node, recovered) = try await recover(family, words, revokingOthers: true)
    #expect(recovered.households.first?.revokedDevices == ["phone"])
    try await Family.settle([ben, node])
    try await ben.note(Note.id(7), [.insert, .assign(Note.title, .text("Locks"))], in: zone)
    try await Family.settle([ben, node])
    _ = try await anna.sync()
    #expect(try await anna.membership(of: group).role(of: anna.device) == nil)
    #expect(try await anna.state(Note.id(7), in: zone) == nil)
    #expect(try await node.state(Note.id(7), in: zone)?.shown(Note.title)?.text == "Locks")
    #expect(try await Family.digests([ben, node], zone).count == 1)
    // From there nothing can be ended: what it is told to do is something else.
    let told = try await anna.notices().map(\.text).last { $0.contains("your recovery words were") }
    #expect(told?.contains("hearth device revoke") == false)
    #expect(told?.contains("use the words yourself: `hearth recover --revoke-others`") == true)
    // What the revoked device had written before is not lost by it.
    #expect(try await node.state(Note.id(1), in: zone)?.shown(Note.title)?.text == "Dishes")
    // And what it writes afterwards counts nowhere.
    try? await anna.note(Note.id(8), [.insert], in: zone)
    _ = try await anna.sync()
    _ = try await ben.sync()
    #expect(try await ben.state(Note.id(8), in: zone) == nil)
  }

  @Test("Every other device is told once that words were used, the new one and newcomers are not")
  func notices() async throws {
    let family = try Family()
    let (anna, ben, zone, words) = try await household(family)
    let (node, _) = try await recover(family, words)
    try await Family.settle([anna, ben, node])
    try await Family.settle([anna, ben, node])
    for told in [anna, ben] {
      let texts = try await told.notices().filter { $0.kind == .recovery }.map(\.text)
      #expect(texts.count == 1)
      #expect(texts.first?.contains("add the device new laptop") == true)
    }
    // By its id: the name is the other side's choice.
    let digits = await node.device.hex.prefix(8)
    let said = try await anna.notices().first { $0.kind == .recovery }?.text
    #expect(said?.contains("`hearth device revoke \(digits)`") == true)
    let cem = try await Node.create(
      at: family.home("Cem"), person: "Cem", device: "phone", passphrase: nil,
      schema: Family.schema)
    let link = try await node.invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    _ = try await cem.invitations.join(try InvitationLink(text: link.text))
    for silent in [node, cem] {
      #expect(try await silent.notices().allSatisfy { $0.kind != .recovery })
    }
  }

  @Test("After a rotation the old words are refused, with and without their old capsule")
  func rotation() async throws {
    let family = try Family()
    let (anna, ben, zone, words) = try await household(family)
    let path = try capsule(words, in: family.folder)
    let old = try Data(contentsOf: URL(fileURLWithPath: path))
    let next = try PersonWords.drawn()
    #expect(await code { _ = try await anna.recovery.rotate(next, to: words) } == .notAllowed)
    _ = try await anna.recovery.rotate(words, to: next)
    try await Family.settle([anna, ben])
    #expect(try await anna.recovery.check(words) == .other)
    #expect(try await anna.recovery.check(next) == .right)
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(await code { _ = try await recover(family, words) } == .notFound)
    try old.write(to: URL(fileURLWithPath: path))
    #expect(await code { _ = try await recover(family, words) } == .notAllowed)
    #expect(try isBare(family))
    let (node, _) = try await recover(family, next)
    try await Family.settle([anna, ben, node])
    #expect(try await Family.digests([anna, ben, node], zone).count == 1)
  }

  @Test("A damaged, missing or foreign capsule is one clear error and leaves nothing behind")
  func badCapsules() async throws {
    let family = try Family()
    let (anna, _, _, words) = try await household(family)
    let path = try capsule(words, in: family.folder)
    let access = try words.words.root().capsuleAccess
    let good = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    var whole = try RecoveryListing(decoding: RecoveryCapsule.open(good, with: access))
    // What is wrong with the private database harms no household.
    whole.groups.removeAll { $0.database == .personal }
    let listing = whole.encoded
    // The person, the group and the first zone's keys changed by somebody who has the access.
    for place in [1, 22, 90, listing.count - 1] {
      var forged = listing
      forged[place] ^= 1
      try Data(RecoveryCapsule.seal(forged, with: access)).write(to: URL(fileURLWithPath: path))
      let result = await code { _ = try await recover(family, words) }
      // A key of a data zone comes from the log too, so the last byte does no harm.
      if place != listing.count - 1 { #expect(result == .corrupt, "byte \(place)") }
      if result == nil { try FileManager.default.removeItem(atPath: family.home("new")) }
      #expect(try isBare(family), "byte \(place)")
    }
    for bytes in [[], Array(good.dropLast()), good.map { $0 ^ 1 }] {
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      #expect(await code { _ = try await recover(family, words) } == .corrupt)
    }
    try FileManager.default.removeItem(atPath: path)
    #expect(await code { _ = try await recover(family, words) } == .notFound)
    #expect(try isBare(family))
    // A missing, empty or spoilt one is put right by the next round of a device of hers.
    for bytes in [nil, [], good.map { $0 ^ 1 }] {
      if let bytes { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
      #expect(try await anna.sync().transports.allSatisfy { $0.failure == nil })
      let present = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
      #expect(throws: Never.self) { try RecoveryCapsule.open(present, with: access) }
    }
  }

  @Test("A person who was removed, wrong words and a home in use are refused")
  func refusals() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let words = try PersonWords.drawn()
    _ = try await nodes[1].recovery.activate(words)
    try await Family.settle(nodes)
    let group = try #require(await nodes[0].dataZones().first { $0.id == zone }?.group)
    try await nodes[0].removeForTest(nodes[1].person, from: group)
    try await Family.settle(nodes)
    #expect(await code { _ = try await recover(family, words) } == .notAllowed)
    #expect(await code { _ = try await recover(family, PersonWords.drawn()) } == .notFound)
    #expect(
      await code { _ = try await recover(family, words, folders: ["/nonexistent/folder"]) }
        == .offline)
    #expect(try isBare(family))
    #expect(await code { _ = try await recover(family, words, at: "Anna") } == .exists)
    var typed = Array("abandon ability".utf8)
    #expect(throws: HearthError.self) { try PersonWords(consuming: &typed) }
  }

  @Test("Households founded or joined after the words come back as well")
  func furtherHouseholds() async throws {
    let family = try Family()
    let (anna, ben, _, words) = try await household(family)
    let cabin = try await anna.createHousehold(named: "Cabin")
    try await anna.note(Note.id(1), [.insert, .assign(Note.title, .text("Wood"))], in: cabin)
    let club = try await ben.createHousehold(named: "Club")
    let link = try await ben.invitations.create(
      to: club, role: .reader, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    _ = try await anna.invitations.join(try InvitationLink(text: link.text))
    try await Family.settle([anna, ben])
    let (node, recovered) = try await recover(family, words, revokingOthers: true)
    #expect(recovered.households.map(\.name).sorted() == ["Cabin", "Club", "Home"])
    try await Family.settle([ben, node])
    #expect(try await node.state(Note.id(1), in: cabin)?.shown(Note.title)?.text == "Wood")
    #expect(try await Family.digests([ben, node], club).count == 1)
    // One of them removes her: the others still come back.
    let group = try #require(await ben.dataZones().first { $0.id == club }?.group)
    try await ben.removeForTest(anna.person, from: group)
    try await Family.settle([ben, node])
    let (again, rest) = try await recover(family, words, at: "third")
    #expect(rest.households.map(\.name).sorted() == ["Cabin", "Home"])
    #expect(rest.refused.map(\.name) == ["Club"])
    #expect(await again.dataZones().count { $0.database == .shared } == 2)
  }

  @Test("Keys made by somebody who had not heard of the words reach them through the capsule")
  func concurrentKeys() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Cem"])
    let group = try #require(await nodes[0].dataZones().first { $0.id == zone }?.group)
    // Ben and Anna act at the same time: he gives new keys, she has new words.
    try await nodes[1].rekeyForTest(group)
    try await nodes[1].note(Note.id(5), [.insert], in: zone)
    let words = try PersonWords.drawn()
    _ = try await nodes[0].recovery.activate(words)
    try await nodes[0].note(Note.id(6), [.insert], in: zone)
    try await Family.settle(nodes)
    let (node, _) = try await recover(family, words)
    try await Family.settle(nodes + [node])
    #expect(try await Family.digests(nodes + [node], zone).count == 1)
    #expect(try await node.state(Note.id(5), in: zone) != nil)
  }

  @Test("Keys made when the person had no device any more are opened by the words alone")
  func laterKeys() async throws {
    let family = try Family()
    let (anna, ben, zone, words) = try await household(family)
    let group = try #require(await anna.dataZones().first { $0.id == zone }?.group)
    try await anna.close()
    for number in 10..<13 as Range<UInt64> {
      try await ben.rekeyForTest(group)
      try await ben.note(Note.id(number), [.insert], in: zone)
      _ = try await ben.sync()
    }
    let (node, _) = try await recover(family, words)
    try await Family.settle([ben, node])
    #expect(try await Family.digests([ben, node], zone).count == 1)
    #expect(try await node.state(Note.id(12), in: zone) != nil)
  }

  @Test("A capsule that lacks all but the way into the log is enough")
  func leastCapsule() async throws {
    let family = try Family()
    let (anna, ben, zone, words) = try await household(family)
    let path = try capsule(words, in: family.folder)
    let access = try words.words.root().capsuleAccess
    let whole = try RecoveryListing(
      decoding: RecoveryCapsule.open(
        [UInt8](Data(contentsOf: URL(fileURLWithPath: path))), with: access))
    let least = RecoveryListing(
      person: whole.person, personName: whole.personName,
      groups: whole.groups.map { group in
        RecoveryListing.Group(
          id: group.id, database: group.database, name: group.name,
          zones: group.zones.filter { $0.kind == .control }.map { zone in
            InvitationCapsule.ZoneGrant(
              id: zone.id, kind: zone.kind, name: zone.name, tag: zone.tag,
              sealedSecret: zone.sealedSecret, epochs: Array(zone.epochs.prefix(1)))
          })
      })
    try Data(RecoveryCapsule.seal(least.encoded, with: access))
      .write(to: URL(fileURLWithPath: path))
    let (node, _) = try await recover(family, words)
    try await Family.settle([anna, ben, node])
    #expect(try await Family.digests([anna, ben, node], zone).count == 1)
    #expect(try await node.state(Note.id(1), in: zone)?.shown(Note.title)?.text == "Dishes")
  }

  @Test("What the new device says first is under the present key, in whatever order keys came")
  func orderOfKeys() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Cem"])
    let group = try #require(await nodes[0].dataZones().first { $0.id == zone }?.group)
    let words = try PersonWords.drawn()
    _ = try await nodes[0].recovery.activate(words)
    try await nodes[0].removeForTest(nodes[2].person, from: group)
    try await Family.settle(Array(nodes.prefix(2)))
    let path = try capsule(words, in: family.folder)
    let access = try words.words.root().capsuleAccess
    var listing = try RecoveryListing(
      decoding: RecoveryCapsule.open(
        [UInt8](Data(contentsOf: URL(fileURLWithPath: path))), with: access))
    listing.groups = listing.groups.map { group in
      RecoveryListing.Group(
        id: group.id, database: group.database, name: group.name,
        zones: group.zones.map { zone in
          InvitationCapsule.ZoneGrant(
            id: zone.id, kind: zone.kind, name: zone.name, tag: zone.tag,
            sealedSecret: zone.sealedSecret, epochs: zone.epochs.reversed())
        })
    }
    try Data(RecoveryCapsule.seal(listing.encoded, with: access))
      .write(to: URL(fileURLWithPath: path))
    let (node, _) = try await recover(family, words)
    try await Family.settle([nodes[0], nodes[1], node])
    #expect(await nodes[1].lastReport.transports.allSatisfy { $0.problems.isEmpty })
    #expect(try await nodes[1].membership(of: group).isActive(node.device))
  }

  @Test("An owner with one device and no words is warned, nobody else")
  func warning() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let group = try #require(await nodes[0].dataZones().first { $0.id == zone }?.group)
    #expect(try await nodes[0].people.riskWarning(of: group) != nil)
    #expect(try await nodes[1].people.riskWarning(of: group) == nil)
    let words = try PersonWords.drawn()
    _ = try await nodes[0].recovery.activate(words)
    #expect(try await nodes[0].people.riskWarning(of: group) == nil)
    #expect(await code { _ = try await nodes[0].recovery.activate(words) } == .exists)
  }

  @Test("A silent household writes its capsule once, on every transport")
  func capsuleOnce() async throws {
    let family = try Family()
    let (anna, ben, _, words) = try await household(family)
    let path = try capsule(words, in: family.folder)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    try await Family.settle([anna, ben])
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    let second = family.root.appendingPathComponent("stick").path
    try FileManager.default.createDirectory(
      atPath: second, withIntermediateDirectories: false)
    _ = try await anna.transports.add(folder: second)
    _ = try await anna.sync()
    #expect(
      await code { _ = try await recover(family, words, folders: ["/nonexistent", second]) }
        == .offline)
    let (node, _) = try await recover(family, words, folders: [second, family.folder])
    #expect(try await node.transports.list().count == 2)
  }
}

extension Node {
  /// Removes a person as an admin does.
  func removeForTest(_ person: PersonID, from group: GroupID) throws {
    try MemberChanges.remove(person, from: group, in: &engine, nowMilliseconds: now())
  }

  /// Gives every zone of a group new keys.
  func rekeyForTest(_ group: GroupID) throws {
    let zones = engine.zones.filter { $0.group == group }.map(\.id)
    try Rekeying.rekey(zones, of: group, in: &engine, nowMilliseconds: now())
  }
}
