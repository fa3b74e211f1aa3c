import Testing

@testable import Hearth
@testable import HearthStore

private struct Page: Record {
  var id = Key<Page>()
  var title = ""
  var subtitle: String?
  var body = ""

  static let schema = Schema<Page>("page", 7) {
    Field(1, \.title, .fullText)
    Field(2, \.subtitle, .fullText)
    Field(3, \.body, .fullText)
  }
  static let app = AppSchema("org.example.pages", [Page.self])
}

extension Node {
  /// How many bytes the words of a record type take in its full-text index.
  fileprivate func textIndexBytes(ofType number: Int) throws -> Int64 {
    let connection = core.store.connection
    return try core.store.read {
      let statement = try connection.statement(
        "SELECT sum(length(block)) FROM hearth_text_\(number)_data")
      defer { statement.reset() }
      return try statement.step() ? statement.int(0) : 0
    }
  }
}

@Suite("The full-text index")
struct TextIndexTests {
  private func zone(_ shopping: Shopping) async throws -> HearthZone {
    try await shopping.open("Anna", Page.app).shared.createZone(named: "Home")
  }

  @Test("A change of a short text leaves the words of a long one beside it alone")
  func shortChange() async throws {
    let shopping = try Shopping()
    let zone = try await zone(shopping)
    let words = (0..<20_000).map { "w\($0 &* 7_919)" }.joined(separator: " ")
    let page = try await zone.insert(Page(title: "a", body: words))
    let before = try await zone.node.textIndexBytes(ofType: 7)
    #expect(before > 50_000)
    try await zone.update(page.id) { $0.title = "b" }
    let grown = try await zone.node.textIndexBytes(ofType: 7) - before
    #expect(grown > 0 && grown < 2_000)
    #expect(try await zone.count(Page.matching("b w7919")) == 1)
    #expect(try await zone.count(Page.matching("a w7919")) == 0)
  }

  @Test("Words of one search may be in several texts, and go with what they were in")
  func severalTexts() async throws {
    let shopping = try Shopping()
    let zone = try await zone(shopping)
    let page = try await zone.insert(Page(title: "Garden plan", body: "rake and water"))
    try await zone.insert(Page(title: "Water", subtitle: "Hoses for a plan"))
    func find(_ text: String) async throws -> [String] {
      try await zone.fetch(Page.matching(text).order(\.title)).map(\.title)
    }
    #expect(try await find("plan water") == ["Garden plan", "Water"])
    #expect(try await find("plan rake") == ["Garden plan"])
    #expect(try await find("plan - rake") == ["Garden plan"])
    #expect(try await find("rake snow").isEmpty)
    #expect(try await find("- …").isEmpty)
    try await zone.update(page.id) {
      $0.title = "Tools"
      $0.subtitle = "for the plan"
    }
    #expect(try await find("garden").isEmpty)
    #expect(try await find("tool plan rake") == ["Tools"])
    try await zone.update(page.id) { $0.subtitle = nil }
    #expect(try await find("tool plan").isEmpty)
    #expect(try await find("water rake") == ["Tools"])
  }
}
