import Hearth
import Testing

/// Another application's type with the number of the shopping lists.
private struct Memo: Record {
  var id = Key<Memo>()
  var text = ""

  static let schema = Schema<Memo>("memo", 1) { Field(1, \.text) }
  static let app = AppSchema("org.example.notes", [Memo.self])
}

@Suite("Applications")
struct ApplicationIdentityTests {
  @Test("Another application cannot open a node, and changes nothing in it")
  func home() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    let list = try await zone.insert(ShoppingList(name: "Week"))
    try await anna.close()
    #expect(
      await fault { _ = try await shopping.open("Anna", Memo.app) }?.code == .otherApplication)
    let again = try await shopping.open("Anna")
    let found = try #require(await again.shared.zones().first)
    #expect(try await found.get(list.id) == list)
  }

  @Test("Another application cannot join a zone by its link")
  func link() async throws {
    let shopping = try Shopping()
    let (_, zones) = try await shopping.pair()
    let notes = try await shopping.open("Nora", Memo.app)
    let link = try await zones[0].invite()
    #expect(await fault { _ = try await notes.join(link) }?.code == .otherApplication)
    let bare = link.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/")
    #expect(await fault { _ = try await notes.join(bare) }?.code == .otherApplication)
    #expect(await notes.shared.zones().isEmpty)
  }

  @Test("Another application that joins with a changed link neither reads nor writes")
  func changedLink() async throws {
    let shopping = try Shopping()
    let (_, zones) = try await shopping.pair()
    let notes = try await shopping.open("Nora", Memo.app)
    let own = try await notes.shared.createZone(named: "Memos")
    try await notes.addFolder(shopping.folder)
    let word = try #require(try await own.invite().split(separator: "/").last)
    let link = try await zones[0].invite()
    let changed =
      link.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/") + "/" + word
    let zone = try await notes.joined(changed)
    let refused = await fault { _ = try await zone.fetch(Memo.all) }
    #expect(refused?.code == .otherApplication)
    #expect(await fault { try await zone.insert(Memo(text: "x")) }?.code == .otherApplication)
    try await own.insert(Memo(text: "y"))
    #expect(try await own.count(Memo.all) == 1)
  }

  @Test("A program without an identity cannot open an application's node, nor the other way")
  func without() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    try await anna.close()
    let schema = NodeSchema(records: [])
    await #expect(throws: (any Error).self) {
      _ = try await Node.open(at: shopping.home("Anna"), schema: schema)
    }
    let plain = try await Node.create(
      at: shopping.home("Paul"), person: "Paul", device: "phone", passphrase: nil,
      schema: Family.schema)
    try await plain.close()
    #expect(await fault { _ = try await shopping.open("Paul") }?.code == .otherApplication)
  }
}
