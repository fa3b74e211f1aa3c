import Foundation
import Hearth
import HearthTesting
import ShoppingModel
import Testing

@Suite("A shopping list")
struct ShoppingTests {
  @Test("The same article from two phones is one, with both quantities and the photo")
  func together() async throws {
    let family = try await Family(shopping, ["anna", "ben"])
    try family.partition([["anna"], ["ben"]])
    try await family["anna"].zone().add("Milk", 2, photo: Data([1, 2, 3]))
    try await family["ben"].zone().add("milk")
    family.heal()
    try await family.settle()
    let list = try await family["ben"].zone().open()
    #expect(list.map(\.quantity) == [3])
    let photo = try #require(list.first?.photo)
    #expect(try await family["ben"].zone().attachments.content(of: photo) == Data([1, 2, 3]))
  }

  @Test("A child ticks off and does not rename")
  func child() async throws {
    let family = try await Family(shopping, ["anna", "cleo"], roles: ["cleo": .child])
    let milk = try await family["anna"].zone().add("Milk")
    try await family.settle()
    let cleos = try await family["cleo"].zone()
    try await cleos.update(milk.id) { $0.isBought = true }
    try await expectDenied { try await cleos.update(milk.id) { $0.name = "Chocolate" } }
    try await family.settle()
    #expect(try await family["anna"].zone().open().isEmpty)
  }

  @Test("Names stay unique whatever happens")
  func unique() async throws {
    let schedules = Schedules(shopping, ["anna", "ben"]) {
      Action("add") { turn in try await turn.zone.add(turn.pick("Bread", "Milk")) }
      Action("tick off") { turn in
        guard let article = try await turn.zone.open().first else { return }
        try await turn.zone.update(article.id) { $0.isBought = true }
      }
    } invariants: {
      Invariant("names are unique") { reader in
        let names = try reader.fetch(Article.all).map { $0.name.lowercased() }
        return Set(names).count == names.count
      }
    }
    try await schedules.check(seeds: 0..<5)
  }
}
