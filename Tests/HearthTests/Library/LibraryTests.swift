import Foundation
import Hearth
import Testing

@Suite("What a developer imports")
struct LibraryTests {
  @Test("Nodes open, share a zone, write, query, observe and delete")
  func shared() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let zone = try await anna.shared.zone(named: "Home", create: true)
    var seen = zone.observe(Item.all).makeAsyncIterator()
    #expect(try await seen.next()?.isEmpty == true)
    try await anna.addFolder(shopping.folder)
    let item = try await zone.insert(Item(name: "Milk", tags: ["dairy"]))
    #expect(try await seen.next().map(Array.init) == [item])
    let ben = try await shopping.open("Ben")
    let bens = try await ben.joined(try await zone.invite(expires: .hours(1)))
    #expect(bens.id == zone.id && bens.name == "Home")
    try await bens.update(item.id) { $0.quantity += 3 }
    try await ben.sync()
    #expect(try await anna.sync().received > 0)
    #expect(try await seen.next()?.first?.quantity == 3)
    #expect(try await zone.fetch(Item.where(\.name == "Milk")).map(\.id) == [item.id])
    #expect(try await zone.delete(item.id))
    #expect(try await zone.get(item.id) == nil)
    #expect(await anna.shared.zones().map(\.id) == [zone.id])
    #expect(await anna.personal.zones().count == 1)
    #expect(
      await fault { _ = try await anna.personal.createZone(named: "x") }?.code == .invalid)
    #expect(await fault { _ = try await anna.shared.zone(named: "x") }?.code == .notFound)
    try await anna.close()
    #expect(try await seen.next() == nil)
  }

  @Test("A further device shares what its person keeps alone")
  func ownDevice() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    try await anna.addFolder(shopping.folder)
    let own = try #require(await anna.personal.zones().first)
    let item = try await own.insert(Item(name: "Present"))
    let phone = try await HearthNode.open(
      at: shopping.home("phone"), Shopping.app, as: .new(person: "Anna", device: "phone"))
    let former = try #require(await phone.personal.zones().first)
    _ = try await phone.join(try await zone.inviteOwnDevice())
    let shared = try #require(await phone.personal.zones().first)
    #expect(shared.id == own.id)
    #expect(try await shared.get(item.id)?.name == "Present")
    #expect(await fault { try await former.insert(item) }?.code == .invalid)
  }

  @Test("A node opens again with what it held")
  func reopen() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    let due = Date(timeIntervalSince1970: 1_700_000_000.5)
    let item = try await zone.insert(
      Item(
        list: Key(), name: "Milk", note: "1.5 %", isBought: true, urgency: .high, due: due,
        quantity: 2, tags: ["a", "b\"\n"]))
    try await anna.close()
    #expect(await fault { try await zone.insert(item) }?.code == .closed)
    let again = try await HearthNode.open(at: shopping.home("Anna"), Shopping.app)
    let found = try #require(await again.shared.zones().first)
    #expect(try await found.get(item.id) == item)
    #expect(Key<Item>("\(item.id)") == item.id)
  }

  @Test("Calls at the same time that create a zone if there is none get one")
  func createdOnce() async throws {
    let anna = try await Shopping().open("Anna")
    let keys = try await withThrowingTaskGroup(of: Key<HearthZone>.self) { group in
      for _ in 0..<8 {
        group.addTask { try await anna.shared.zone(named: "Home", create: true).id }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(keys.count == 1)
    #expect(await anna.shared.zones().map(\.id) == Array(keys))
  }
}
