import Foundation
import Hearth
import Testing

private struct Recipe: PublicItem, Equatable {
  static let itemType = "recipe"
  var id: String
  var title: String
  var minutes: Int64
  var seasons: [String] = []
  var isVegan: Bool?

  var indexed: [String: [StoredValue]] {
    ["minutes": [minutes.stored], "season": seasons.map(\.stored)]
  }
}

/// The recipes of a newer program, whose minutes are words.
private struct WordyRecipe: PublicItem {
  static let itemType = "recipe"
  var id: String
  var title: String
  var minutes: String
}

private struct Tip: PublicItem {
  static let itemType = "tip"
  var id: String
  var text: String
}

private struct Faulty: PublicItem {
  static let itemType = "faulty"
  var id: String
  var indexed: [String: [StoredValue]] { ["bytes": [.bytes([1])]] }
}

struct Walk: PublicItem {
  static let itemType = "walk"
  var id: String
  var title: String
  var minutes: Int64

  var indexed: [String: [StoredValue]] { ["minutes": [minutes.stored]] }
}

@Suite("The public database")
struct PublicDatabaseTests {
  private let app = AppSchema("org.example.recipes", [])
  private let soup = Recipe(id: "soup", title: "Soup", minutes: 30, seasons: ["winter"])
  private let salad = Recipe(
    id: "salad", title: "Salad", minutes: 10, seasons: ["spring", "summer"], isVegan: true)

  private func code(_ call: () async throws -> Void) async -> HearthError.Code? {
    do {
      try await call()
      return nil
    } catch {
      return (error as? HearthError)?.code
    }
  }

  private func node(_ name: String, in family: Family) async throws -> HearthNode {
    try await HearthNode.open(at: family.home(name), app, as: .new(person: name))
  }

  @Test("A catalogue in a folder is followed, read, changed and left")
  func folder() async throws {
    let family = try Family()
    let editor = try await node("Editor", in: family).publicDatabase
    #expect(await code { try await editor.publish([soup], as: "kitchen") } == .notFound)
    #expect(try await editor.publisher == nil)
    let key = try await editor.makePublisher()
    #expect(try await editor.publisher == key)
    let tip = Tip(id: "salt", text: "Less of it.")
    let first = try await editor.publish([soup, salad, tip], as: "kitchen", to: [family.folder])
    #expect(first.version == 1 && first.count == 3 && first.isNew)
    #expect(first.places.map(\.problem) == [nil])

    let reader = try await node("Reader", in: family).publicDatabase
    let address = first.places[0].address
    #expect(await code { try await reader.follow("hearth-catalogue://") } == .invalid)
    #expect(await code { try await reader.follow(address) } == .invalid)
    #expect(
      await code { try await reader.follow(address, folder: family.home("nowhere")) } != nil)
    let kitchen = try await reader.follow(address, folder: family.folder)
    #expect(kitchen.name == "kitchen" && kitchen.publisher == key && kitchen.version == 1)
    #expect(kitchen.checked != nil && kitchen.problem == nil)
    #expect(try await reader.items(Recipe.self).map { $0 } == [salad, soup])
    #expect(try await reader.items(Tip.self).map(\.text) == ["Less of it."])
    #expect(
      try await reader.items(Recipe.self, where: .atMost("minutes", 20)).map { $0 } == [salad])
    #expect(
      try await reader.items(Recipe.self, where: .atLeast("minutes", 20)).map { $0 } == [soup])
    #expect(
      try await reader.items(
        Recipe.self, where: .between("minutes", 5...15), .equal("season", "summer")
      ).map(\.id) == ["salad"])
    #expect(
      try await reader.items(
        Recipe.self, where: .between("minutes", 5...15), .equal("season", "winter")
      ).isEmpty)
    #expect(
      await code { _ = try await reader.items(Recipe.self, where: .equal("x", [UInt8(1)])) }
        == .invalid)
    try await change(kitchen, of: editor, seenBy: reader)
  }

  private func change(
    _ kitchen: FollowedCatalogue, of editor: PublicDatabase, seenBy reader: PublicDatabase
  ) async throws {
    var warm = soup
    warm.minutes = 45
    let second = try await editor.publish([warm], as: "kitchen")
    #expect(second.version == 2 && second.count == 1)
    #expect(try await editor.publish([warm], as: "kitchen").isNew == false)
    #expect(try await reader.refresh().map(\.version) == [2])
    #expect(try await reader.refresh().isEmpty)
    #expect(try await reader.items(Recipe.self, in: kitchen).map { $0 } == [warm])
    #expect(try await reader.followed().map(\.version) == [2])
    try await reader.unfollow(kitchen)
    #expect(try await reader.followed().isEmpty)
    #expect(await code { try await reader.unfollow(kitchen) } == .notFound)
  }

  @Test("Items of another shape are told apart, and others that cannot be published refused")
  func shapes() async throws {
    let family = try Family()
    let editor = try await node("Editor", in: family).publicDatabase
    try await editor.makePublisher()
    let wordy = WordyRecipe(id: "cake", title: "Cake", minutes: "an hour")
    let report = try await editor.publish([soup, wordy], as: "kitchen", to: [family.folder])
    let reader = try await node("Reader", in: family).publicDatabase
    try await reader.follow(report.places[0].address, folder: family.folder)
    let found = try await reader.items(Recipe.self)
    #expect(found.map { $0 } == [soup])
    #expect(found.unreadable == ["cake"] && found.remarks.isEmpty)
    for item: any PublicItem in [
      Faulty(id: "x"), Tip(id: "Not an id", text: ""),
      Tip(id: "long", text: String(repeating: "x", count: 20_000)),
    ] {
      #expect(await code { try await editor.publish([item], as: "other") } == .invalid)
    }
    #expect(await code { try await editor.publish([soup], as: "Not a name") } == .invalid)
  }

  @Test("A publisher moves to another node with a key file")
  func key() async throws {
    let family = try Family()
    let first = try await node("First", in: family).publicDatabase
    let key = try await first.makePublisher()
    let file = family.home("publisher.key")
    try await first.exportPublisher(to: file, passphrase: "correct horse")
    let second = try await node("Second", in: family).publicDatabase
    #expect(
      await code { try await second.importPublisher(from: file, passphrase: "wrong") }
        == .passphrase)
    #expect(try await second.importPublisher(from: file, passphrase: "correct horse") == key)
    #expect(await code { try await second.makePublisher() } == .exists)
  }

  @Test("A relay is asked for what is not here yet")
  func relay() async throws {
    let family = try Family()
    let relay = try RelayShelf()
    let editor = try await node("Editor", in: family).publicDatabase
    try await editor.makePublisher()
    let report = try await editor.publish([soup], as: "kitchen", to: [relay.address])
    let reader = try await node("Reader", in: family).publicDatabase
    let kitchen = try await reader.follow(report.places[0].address)
    try await editor.publish([soup, salad], as: "kitchen")
    #expect(try await reader.items(Recipe.self).map { $0 } == [soup])
    let found = try await reader.search(
      Recipe.self, where: .equal("season", "summer"), in: kitchen)
    #expect(found.map { $0 } == [salad] && found.remarks.isEmpty)
    try relay.kill()
    #expect(await code { _ = try await reader.search(Recipe.self) } == .offline)
    #expect(try await reader.refresh().isEmpty)
    #expect(try await reader.followed().first?.problem != nil)
    #expect(try await reader.items(Recipe.self).map { $0 } == [soup])
  }

  @Test("The guide's code does what the guide says")
  func guide() async throws {
    let family = try Family()
    let (publisher, reader) = (
      try await node("Publisher", in: family), try await node("Reader", in: family)
    )
    let folder = family.folder
    let walks = [Walk(id: "lake", title: "Around the lake", minutes: 50)]
    try await publisher.publicDatabase.makePublisher()
    let report = try await publisher.publicDatabase.publish(walks, as: "walks", to: [folder])
    let address = report.places[0].address
    try await reader.publicDatabase.follow(address, folder: folder)
    let short = try await reader.publicDatabase.items(Walk.self, where: .atMost("minutes", 60))
    for walk in short { print(walk.title) }
    #expect(short.map(\.id) == ["lake"])
    try GuideCode.check("publish-a-catalogue.md", isIn: #filePath, blocks: 3)
  }
}
