import Foundation
import Hearth
import HearthCRDT
import Testing

/// A record type as a developer outside declares it.
private struct Item: SyncedRecord, Equatable {
  static let title = FieldID(.register, 1)
  static let votes = FieldID(.counter, 2)
  static let schema = RecordSchema(
    .record(7), "item",
    [FieldSchema(title, "title", .text, indexed: true), FieldSchema(votes, "votes", .int)])

  let id: Identifier
  var title: String
  var votes: Int64 = 0

  init(_ title: String) {
    id = Item.newID()
    self.title = title
  }

  init(id: Identifier, fields: RecordFields) {
    self.id = id
    title = fields.text(Item.title)
    votes = fields.int(Item.votes)
  }

  var values: [(FieldID, Value)] { [(Item.title, .text(title))] }
}

@Suite("What a developer imports")
struct PublicAPITests {
  @Test("Nodes open, share a zone, write, query, observe and delete")
  func shared() async throws {
    let family = try Family()
    let anna = try await HearthNode.open(
      at: family.home("Anna"), schema: [Item.self], person: "Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    var seen = zone.observe(Item.self).makeAsyncIterator()
    #expect(try await seen.next() == [])
    try await anna.addFolder(family.folder)
    let item = Item("Dishes")
    try await zone.write { try $0.insert(item) }
    #expect(try await seen.next() == [item])
    let link = try await zone.invite(expires: .hours(1))
    let ben = try await HearthNode.open(
      at: family.home("Ben"), schema: [Item.self], person: "Ben", passphrase: nil)
    let bens = try await ben.join(link)
    try await bens.write { try $0.add(3, to: Item.votes, of: item.id, Item.self) }
    _ = try await ben.sync()
    #expect(try await anna.sync().received > 0)
    let next = try await seen.next()
    #expect(next?.first?.votes == 3)
    let found = try await zone.fetch(Item.self, where: Item.title, is: .text("Dishes"))
    #expect(found.map(\.id) == [item.id])
    try await zone.write { try $0.delete(item.id, Item.self) }
    #expect(try await zone.fetch(Item.self, id: item.id) == nil)
    #expect(await anna.shared.zones().map(\.id) == [zone.id])
    #expect(await anna.personal.zones().count == 1)
    await #expect(throws: HearthError(.invalid, "")) {
      _ = try await anna.personal.createZone(named: "x")
    }
    // A further device of Anna's shares what she keeps for herself.
    let own = try #require(await anna.personal.zones().first)
    try await own.write { try $0.insert(item) }
    let phone = try await HearthNode.open(
      at: family.home("phone"), schema: [Item.self], person: "Anna", passphrase: nil)
    let former = try #require(await phone.personal.zones().first)
    _ = try await phone.join(try await zone.inviteOwnDevice())
    let shared = try #require(await phone.personal.zones().first)
    #expect(shared.id == own.id)
    #expect(try await shared.fetch(Item.self, id: item.id)?.title == "Dishes")
    await #expect(throws: HearthError(.invalid, "")) {
      try await former.write { try $0.insert(item) }
    }
  }
}
