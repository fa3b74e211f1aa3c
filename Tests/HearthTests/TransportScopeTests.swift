import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync
import HearthTransport
import Testing

@testable import Hearth

extension Node {
  /// The mailboxes of zones that this node names to a relay.
  fileprivate func mailboxes(at place: String) throws -> Set<String> {
    Set(try relay(place).client.directory.zones.keys.map(\.hex))
  }
}

@Suite("What goes over which way")
struct TransportScopeTests {
  /// A node that is in two households and in nothing else.
  private func node(_ family: Family) async throws -> (node: Node, home: ZoneState, flat: ZoneState)
  {
    let node = try await Node.create(
      at: family.home("Anna"), person: "Anna", device: "laptop", passphrase: nil,
      schema: Family.schema)
    let zones = [
      try await node.createHousehold(named: "Home"), try await node.createHousehold(named: "Flat"),
    ]
    let states = await node.dataZones()
    for zone in zones { try await node.note(Note.id(9), [.insert], in: zone) }
    let found = zones.compactMap { zone in states.first { $0.id == zone } }
    return (node, try #require(found.first), try #require(found.last))
  }

  private func folder(_ family: Family, _ name: String) throws -> String {
    let path = family.root.appendingPathComponent(name).path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  /// The tags of the zones of which a folder holds something.
  private func tags(in folder: String) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: folder + "/z"))
  }

  private func only(_ zones: ZoneState..., privateDatabase: Bool = false) -> TransportScope {
    TransportScope(households: zones.map(\.group), privateDatabase: privateDatabase)
  }

  private func tags(of group: GroupID, on node: Node) async -> Set<String> {
    Set(await node.allZones().filter { $0.group == group }.map(\.tag.hex))
  }

  @Test("Each folder gets the households that are meant for it, and one for everything gets all")
  func folders() async throws {
    let family = try Family()
    let (node, home, flat) = try await node(family)
    let places = try ["a", "b", "c"].map { try folder(family, $0) }
    _ = try await node.transports.add(folder: places[0], carrying: only(home))
    _ = try await node.transports.add(folder: places[1], carrying: only(flat))
    _ = try await node.transports.add(folder: places[2])
    _ = try await node.sync()
    let (ofHome, ofFlat) = (
      await tags(of: home.group, on: node), await tags(of: flat.group, on: node)
    )
    #expect(try tags(in: places[0]) == ofHome)
    #expect(try tags(in: places[1]) == ofFlat)
    #expect(try tags(in: places[2]) == ofHome.union(ofFlat))
    // Another one is made later: it goes where everything goes.
    let later = try await node.createHousehold(named: "Later")
    try await node.note(Note.id(9), [.insert], in: later)
    let group = try #require(await node.dataZones().first { $0.id == later }?.group)
    _ = try await node.sync()
    let ofLater = await tags(of: group, on: node)
    #expect(try tags(in: places[0]) == ofHome)
    #expect(try tags(in: places[2]).isSuperset(of: ofLater))
    #expect(try await node.transports.uncarriedZones().isEmpty)
    for status in try await node.transports.statuses() { #expect(status.unpublished == 0) }
  }

  @Test("A relay is asked for the mailboxes of what goes over it, and for no other")
  func relays() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (node, home, flat) = try await node(family)
    let setting = try await node.transports.add(relay: shelf.address, carrying: only(home))
    let ofHome = await tags(of: home.group, on: node)
    #expect(try await node.mailboxes(at: setting.path) == ofHome)
    _ = try await node.sync()
    #expect(try await node.mailboxes(at: setting.path) == ofHome)
    let watched = try await node.newsSource().relays[0].accesses.map(\.mailbox.hex)
    #expect(Set(watched) == ofHome)
    // Let over it as well, it is there with the next round.
    _ = try await node.transports.extendScope(of: "1", by: only(flat))
    _ = try await node.sync()
    let ofFlat = await tags(of: flat.group, on: node)
    #expect(try await node.mailboxes(at: setting.path) == ofHome.union(ofFlat))
  }

  @Test("Adding a way again lets it carry more; setting it says all; nothing is refused")
  func changing() async throws {
    let family = try Family()
    let (node, home, flat) = try await node(family)
    let place = try folder(family, "a")
    #expect(try await node.transports.add(folder: place, carrying: only(home)).scope == only(home))
    let more = try await node.transports.add(folder: place, carrying: only(flat))
    #expect(more.number == 1 && more.scope == only(home, flat))
    #expect(
      try await node.transports.extendScope(of: place, by: only(privateDatabase: true)).scope?
        .privateDatabase == true
    )
    #expect(try await node.transports.setScope(of: "1", to: only(flat)).scope == only(flat))
    #expect(try await node.transports.uncarriedZones().map(\.name) == ["Home"])
    await #expect(throws: HearthError.self) {
      try await node.transports.setScope(of: "1", to: only())
    }
    await #expect(throws: HearthError.self) { try await node.transports.setScope(of: "2", to: nil) }
    #expect(try await node.transports.setScope(of: "1", to: nil).scope == nil)
    // What carries everything carries that too.
    #expect(try await node.transports.add(folder: place, carrying: only(home)).scope == nil)
    #expect(try await node.transports.list().count == 1)
  }

  @Test("Nobody is invited to a household that goes over no way")
  func invitations() async throws {
    let family = try Family()
    let (node, home, flat) = try await node(family)
    let places = try ["a", "b"].map { try folder(family, $0) }
    _ = try await node.transports.add(folder: places[0], carrying: only(home))
    await #expect(throws: HearthError.self) {
      try await node.invitations.create(
        to: flat.id, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    }
    #expect(try await node.membership(of: flat.group).invites.isEmpty)
    // The way of the other household may be away.
    _ = try await node.transports.add(folder: places[1], carrying: only(flat))
    try FileManager.default.removeItem(atPath: places[0])
    let link = try await node.invitations.create(
      to: flat.id, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    #expect(link.folder == places[1])
  }

  @Test("A way that comes with an invitation carries that household alone, unless it is the first")
  func joining() async throws {
    let family = try Family()
    let (anna, home, flat) = try await node(family)
    let places = try ["a", "b"].map { try folder(family, $0) }
    _ = try await anna.transports.add(folder: places[0], carrying: only(home))
    _ = try await anna.transports.add(folder: places[1], carrying: only(flat))
    let ben = try await Node.create(
      at: family.home("Ben"), person: "Ben", device: "phone", passphrase: nil,
      schema: Family.schema)
    for zone in [home, flat] {
      let link = try await anna.invitations.create(
        to: zone.id, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
      _ = try await ben.invitations.join(try InvitationLink(text: link.text))
    }
    let ways = try await ben.transports.list()
    #expect(ways.map(\.scope) == [nil, only(flat)])
    try await Family.settle([anna, ben])
    let ofFlat = await tags(of: flat.group, on: anna)
    #expect(try tags(in: places[1]) == ofFlat)
    for zone in [home, flat] {
      #expect(try await Family.digests([anna, ben], zone.id).count == 1)
    }
  }

  @Test("Settings of before carry everything")
  func decoding() throws {
    let old = #"[{"number":1,"kind":"folder","path":"/a"}]"#
    let read = try JSONDecoder().decode([TransportSetting].self, from: Data(old.utf8))
    #expect(read[0].scope == nil)
  }

  @Test("Recovered from one place of two, a node does not let the words lead to its own database")
  func recoveringApart() async throws {
    let family = try Family()
    let (anna, home, flat) = try await node(family)
    let places = try ["a", "b"].map { try folder(family, $0) }
    _ = try await anna.transports.add(folder: places[0], carrying: only(home))
    _ = try await anna.transports.add(
      folder: places[1], carrying: only(flat, privateDatabase: true))
    let words = try PersonWords.drawn()
    _ = try await anna.recovery.activate(words)
    let own = try #require(await anna.privateDatabase.zone())
    try await anna.note(Note.id(1), [.insert, .assign(Note.title, .text("mine"))], in: own.id)
    _ = try await anna.sync()
    func recover(
      _ name: String, _ folders: [String]
    ) async throws -> (node: Node, recovered: Recovered) {
      try await Node.recover(
        at: family.home(name), words: words, folders: folders, deviceName: name,
        revokingOthers: false, passphrase: nil, schema: Family.schema)
    }
    let first = try await recover("first", [places[0]])
    #expect(first.recovered.households.map(\.name) == ["Home"])
    #expect(first.recovered.refused.map(\.name).sorted() == ["Flat", "your private database"])
    #expect(!first.recovered.hasPrivateDatabase)
    _ = try await first.node.sync()
    let second = try await recover("second", places)
    #expect(Set(second.recovered.households.map(\.name)) == ["Home", "Flat"])
    #expect(second.recovered.hasPrivateDatabase && second.recovered.refused.isEmpty)
    let zone = try #require(await second.node.privateDatabase.zone())
    #expect(zone.id == own.id)
    #expect(try await second.node.state(Note.id(1), in: zone.id) != nil)
    let ways = try await second.node.transports.list()
    #expect(ways.map(\.scope) == [only(home), only(flat, privateDatabase: true)])
  }
}
