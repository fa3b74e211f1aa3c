import Hearth
import Testing

/// A page that people write together.
private struct Page: Record, Equatable {
  var id = Key<Page>()
  var title = ""
  var body = ""

  static let schema = Schema<Page>("page", 1) {
    Field(1, \.title)
    Text(2, \.body, .fullText)
  }
}

@Suite("Texts that people edit together")
struct TextTests {
  private static let app = AppSchema("org.example.pages", [Page.self])

  private let family = try? Family()

  /// Two nodes with one shared zone.
  private func pair() async throws -> (nodes: [HearthNode], zones: [HearthZone]) {
    let family = try #require(family)
    func open(_ person: String) async throws -> HearthNode {
      try await HearthNode.open(at: family.home(person), TextTests.app, as: .new(person: person))
    }
    let anna = try await open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    try await anna.addFolder(family.folder)
    let ben = try await open("Ben")
    return ([anna, ben], [zone, try await ben.joined(try await zone.invite())])
  }

  private func bodies(_ zones: [HearthZone], _ key: Key<Page>) async throws -> Set<String> {
    var found: Set<String> = []
    for zone in zones { found.insert(try #require(try await zone.get(key)).body) }
    return found
  }

  @Test("what two people write and erase offline is all there, and nobody has a conflict")
  func together() async throws {
    let (nodes, zones) = try await pair()
    let page = try await zones[0].insert(Page(body: "Buy milk and bread."))
    try await Shopping.settle(nodes)
    try await zones[0].update(page.id) { $0.body = "Buy oat milk and bread." }
    try await zones[0].update(page.id) { $0.body = "Buy oat milk." }
    try await zones[1].update(page.id) { $0.body = "Buy milk, eggs and bread. Today!" }
    try await zones[1].update(page.id) { $0.title = "Shopping" }
    try await Shopping.settle(nodes)
    #expect(try await bodies(zones, page.id) == ["Buy oat milk, eggs. Today!"])
    for zone in zones {
      #expect(try await zone.conflicts().isEmpty)
      #expect(try await zone.fetch(Page.where(.matches("eggs"))).count == 1)
    }
  }

  @Test("a transaction sees its own edits, however often it reads, and writes them as one change")
  func inTransaction() async throws {
    let (nodes, zones) = try await pair()
    let page = try await zones[0].insert(Page(body: "one"))
    try await Shopping.settle(nodes)
    let read = try await zones[1].write { transaction in
      var read: [String] = []
      for word in ["two", "three", "four"] {
        try transaction.update(page.id) { $0.body += " \(word)" }
        read.append(try #require(try transaction.get(page.id)).body)
        #expect(try transaction.count(Page.where(\.body == read[read.count - 1])) == 1)
      }
      try transaction.update(page.id) { $0.body = "zero " + $0.body.replacing(" three", with: "") }
      let new = try transaction.insert(Page(body: "a"))
      try transaction.update(new.id) { $0.body = "ab" }
      read.append(try #require(try transaction.get(page.id)).body)
      return read + [try #require(try transaction.get(new.id)).body]
    }
    #expect(read == ["one two", "one two three", "one two three four", "zero one two four", "ab"])
    try await zones[0].update(page.id) { $0.body = "o1e" }
    try await Shopping.settle(nodes)
    #expect(try await bodies(zones, page.id) == ["zero o1e two four"])
    #expect(try await zones[0].fetch(Page.all).map(\.body).sorted() == ["ab", "zero o1e two four"])
  }

  @Test("an editor's version is written over what has come since as the characters that differ")
  func sinceRead() async throws {
    let (nodes, zones) = try await pair()
    let page = try await zones[0].insert(Page(body: "The quick fox"))
    try await Shopping.settle(nodes)
    let shown = try #require(try await zones[0].get(page.id))
    try await zones[1].update(page.id) { $0.body = "The very quick fox jumps" }
    try await Shopping.settle(nodes)
    let edited = Page(id: shown.id, title: shown.title, body: "A quick red fox")
    try await zones[0].write { try $0.update(from: shown, to: edited) }
    try await Shopping.settle(nodes)
    #expect(try await bodies(zones, page.id) == ["A very quick red fox jumps"])
  }

  @Test("a deleted record's text does not show through when its key is used again")
  func again() async throws {
    let (nodes, zones) = try await pair()
    let page = try await zones[0].insert(Page(body: "old"))
    try await zones[0].delete(page.id)
    try await zones[0].insert(Page(id: page.id, body: "new"))
    try await Shopping.settle(nodes)
    #expect(try await bodies(zones, page.id) == ["new"])
  }

  @Test("a text stays whole when it is closed and read again, emojis and accents too")
  func letters() async throws {
    let (nodes, zones) = try await pair()
    let page = try await zones[0].insert(Page(body: "👩‍👩‍👧 né à Köln"))
    try await Shopping.settle(nodes)
    try await zones[1].update(page.id) { $0.body = $0.body.replacing("Köln", with: "Wien 🍎") }
    try await Shopping.settle(nodes)
    #expect(try await bodies(zones, page.id) == ["👩‍👩‍👧 né à Wien 🍎"])
  }

  @Test("a declaration with a default that is not empty is refused")
  func defaults() async throws {
    struct Draft: Record {
      var id = Key<Draft>()
      var body = "Dear …"
      static let schema = Schema<Draft>("draft", 1) { Text(1, \.body) }
    }
    let home = try #require(family).home("Anna")
    let error = await fault {
      _ = try await HearthNode.open(
        at: home, AppSchema("org.example.drafts", [Draft.self]), as: .new(person: "Anna"))
    }
    #expect(error?.code == .schema)
  }
}
