import Foundation
import Hearth
import Testing

struct Shop: Record {
  var id = Key<Shop>()
  var name = ""
  var position = Position()

  static let schema = Schema<Shop>("shop", 1) {
    Field(1, \.name, .indexed)
    Field(2, \.position, .indexed)
  }
}

struct Article: Record {
  var id = Key<Article>()
  var shop: Key<Shop>?
  var name = ""
  var isBought = false
  var quantity: Int64 = 0
  var labels: Set<String> = []

  static let schema = Schema<Article>("article", 2) {
    Reference(1, \.shop)
    Field(2, \.name, .fullText)
    Field(3, \.isBought)
    Counter(4, \.quantity)
    SetOf(5, \.labels)
    Index(\.shop, \.isBought, \.name)
  }
}

let shoppingGuide = AppSchema("org.example.shopping-guide", [Shop.self, Article.self]) {
  Rule(Article.self, .child, may: .change(\.quantity), .change(\.isBought))
}

struct Need: DerivedRow {
  var label = ""
  var pieces: Int64 = 0

  static let derivation = Derivation<Need>("need", version: 1, of: Article.self, by: \.shop) {
    DerivedColumn(\.label)
    DerivedColumn(\.pieces)
  } rows: { shop, articles in
    Set(articles.flatMap(\.labels)).sorted().map { label in
      var need = Need()
      need.label = label
      need.pieces = articles.filter { $0.labels.contains(label) }.reduce(0) { $0 &+ $1.quantity }
      return need
    }
  }
}

@Suite("The guide to a shopping list")
struct ShoppingGuideTests {
  @Test("The guide's code does what the guide says")
  func guide() async throws {
    let family = try Family()
    let (annasHome, bensHome) = (family.home("Anna"), family.home("Ben"))
    let sharedFolder = family.folder
    let anna = try await HearthNode.open(at: annasHome, shoppingGuide, as: .new(person: "Anna"))
    let zone = try await anna.shared.zone(named: "Family", create: true)
    let milk = try await zone.write { tx in
      let market = try tx.insert(Shop(name: "Market"))
      if let old = try tx.first(Article.where(\.name == "Milk")) { return old.id }
      return try tx.insert(Article(shop: market.id, name: "Milk", quantity: 1)).id
    }
    try await zone.update(milk) {
      $0.quantity += 1
      $0.labels.insert("dairy")
    }
    let open = Article.where(\.isBought == false && .contains(\.labels, "dairy")).order(\.name)
    let articles = try await zone.fetch(open.limit(20))
    let found = try await zone.fetch(Article.matching("mil"))
    let (count, pieces) = try await zone.read { reader in
      (try reader.count(open), try reader.sum(of: \.quantity, open))
    }
    #expect(articles.map(\.id) == [milk] && found.map(\.id) == [milk])
    #expect(count == 1 && pieces == 2)
    let rows = try await zone.sql(
      """
      SELECT shop.name, sum(article.quantity) AS pieces
      FROM article JOIN shop ON shop.id = article.shop GROUP BY shop.id
      """)
    let sum = try rows.first?.value("pieces", as: Int64.self)
    #expect(sum == 2)
    var shown = zone.observe(open).makeAsyncIterator()
    let first = try await shown.next()
    #expect(first?.map(\.name) == ["Milk"])
    try await anna.addFolder(sharedFolder)
    let link = try await zone.invite(role: .member, uses: 1, expires: .days(1))
    let ben = try await HearthNode.open(at: bensHome, shoppingGuide, as: .new(person: "Ben"))
    guard case .joined(let bens) = try await ben.join(link) else { return }
    try await bens.update(milk) { $0.quantity += 2 }
    try await zone.update(milk) { $0.name = "Oat milk" }
    try await ben.sync()
    try await anna.sync()
    let merged = try await zone.get(milk)
    #expect(merged?.quantity == 4 && merged?.name == "Oat milk")
    do {
      try await zone.insert(Article(id: milk))
      Issue.record("a record was inserted twice")
    } catch let error as HearthError where error.code == .exists {
      print(error.message)
    }
  }

  @Test("The guide's joins and lists do what the guide says")
  func listsAndJoins() async throws {
    let home = try Family().home("Anna")
    let anna = try await HearthNode.open(at: home, shoppingGuide, as: .new(person: "Anna"))
    let zone = try await anna.shared.zone(named: "Family", create: true)
    try await zone.write { tx in
      let market = try tx.insert(Shop(name: "Market"))
      try tx.insert(Article(shop: market.id, name: "Milk"))
    }
    let open = Article.where(\.isBought == false)
    let atMarket = Article.where(.refers(\.shop, to: Shop.where(\.name == "Market")))
    let busyShops = Shop.where(.isReferred(by: \.shop, of: open))
    let byShop = try await zone.read { try $0.fetch(atMarket, with: \.shop) }
    for article in byShop { print(article.record.name, article.target?.name ?? "anywhere") }
    #expect(byShop.map { $0.target?.name } == ["Market"])
    #expect(try await zone.fetch(busyShops).map(\.name) == ["Market"])
    let route = Shop.all.order(\.position)
    try await zone.write { tx in
      let bakery = try tx.insert(Shop(name: "Bakery"), at: .last, of: route, by: \.position)
      try tx.move(bakery.id, \.position, to: .first, in: route)
    }
    #expect(try await zone.fetch(route).map(\.name) == ["Bakery", "Market"])
  }

  @Test("The guide's derived table does what the guide says")
  func derived() async throws {
    let home = try Family().home("Anna")
    let app = AppSchema("org.example.shopping", [Shop.self, Article.self], derived: [Need.self])
    let anna = try await HearthNode.open(at: home, app, as: .new(person: "Anna"))
    let zone = try await anna.shared.zone(named: "Family", create: true)
    let market = try await zone.insert(Shop(name: "Market")).id
    for quantity in [2, 3] as [Int64] {
      try await zone.insert(Article(shop: market, quantity: quantity, labels: ["dairy"]))
    }
    let needs = try await zone.read { try $0.rows(of: Need.self, in: market) }
    #expect(needs.map(\.label) == ["dairy"] && needs.map(\.pieces) == [5])
  }

  @Test("Every block of code in the guide is in this file")
  func compiled() throws {
    try GuideCode.check("shopping-list.md", isIn: #filePath, blocks: 15)
  }
}

/// The code of a guide, which a test compiles and runs.
enum GuideCode {
  /// Checks that every block of Swift in a guide is in a test's file.
  static func check(_ guide: String, isIn path: String, blocks count: Int) throws {
    let own = URL(fileURLWithPath: path)
    let root = (0..<4).reduce(own) { url, _ in url.deletingLastPathComponent() }
    let text = try String(
      contentsOf: root.appendingPathComponent("docs/guides/" + guide), encoding: .utf8)
    func lines(_ text: some StringProtocol) -> [String] {
      text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty && !$0.hasPrefix("#expect") && !$0.hasPrefix("Issue.record") }
    }
    let source = lines(try String(contentsOf: own, encoding: .utf8)).joined(separator: "\n")
    let blocks = text.components(separatedBy: "```swift\n").dropFirst()
      .compactMap { $0.components(separatedBy: "```").first }
    #expect(blocks.count == count)
    for block in blocks {
      #expect(source.contains(lines(block).joined(separator: "\n")), "\(block)")
    }
  }
}
