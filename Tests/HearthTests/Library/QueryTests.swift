import Foundation
import Hearth
import Testing

/// The items as the first version of the program declared them.
private struct EarlyItem: Record {
  var id = Key<EarlyItem>()
  var name = ""

  static let schema = Schema<EarlyItem>("item", 2) { Field(2, \.name) }
  static let app = AppSchema("org.example.shopping", [EarlyItem.self])
}

@Suite("Queries")
struct QueryTests {
  /// A condition, and what it means.
  private typealias Rule = (condition: Condition<Item>, holds: @Sendable (Item) -> Bool)

  private static let lists = [Key<ShoppingList>(), Key<ShoppingList>()]

  /// Items whose fields take few values, in all combinations that a fixed sequence gives.
  private static func items(_ count: UInt64) -> [Item] {
    var state: UInt64 = 7
    func draw(_ bound: UInt64) -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % bound
    }
    return (0..<count).map { _ in
      Item(
        list: draw(3) == 0 ? nil : lists[Int(draw(2))],
        name: ["Milk", "Mint", "milk", "Brot", "Überrock", ""][Int(draw(6))],
        note: draw(2) == 0 ? nil : "n\(draw(3))", isBought: draw(2) == 0,
        urgency: draw(2) == 0 ? .low : .high,
        due: draw(2) == 0 ? nil : Date(timeIntervalSince1970: Double(draw(4))),
        quantity: Int64(draw(5)) - 2, tags: Set(["a", "b", "c"].filter { _ in draw(2) == 0 }))
    }
  }

  /// One condition of each kind; each is a statement of its own, which the compiler checks fast.
  private static func simple() -> [Rule] {
    var rules: [Rule] = []
    func add(_ condition: Condition<Item>, _ holds: @escaping @Sendable (Item) -> Bool) {
      rules.append((condition, holds))
    }
    let list = lists[0]
    let moment = Date(timeIntervalSince1970: 2)
    add(\.list == list) { $0.list == list }
    add(\.list == nil) { $0.list == nil }
    add(\.list != list) { $0.list != list }
    add(\.name == "Milk") { $0.name == "Milk" }
    add(\.name != "Milk") { $0.name != "Milk" }
    add(\.isBought == false) { !$0.isBought }
    add(\.urgency >= .high) { $0.urgency >= .high }
    add(\.urgency == .low) { $0.urgency == .low }
    add(\.quantity < 0) { $0.quantity < 0 }
    add(\.quantity <= 0) { $0.quantity <= 0 }
    add(\.quantity > 1) { $0.quantity > 1 }
    add(\.due < moment) { $0.due.map { $0 < moment } ?? false }
    add(\.due >= moment) { $0.due.map { $0 >= moment } ?? false }
    add(\.note != nil) { $0.note != nil }
    add(.contains(\.tags, "b")) { $0.tags.contains("b") }
    add(.begins(\.name, with: "Mi")) { $0.name.hasPrefix("Mi") }
    add(.begins(\.name, with: "Ü")) { $0.name.hasPrefix("Ü") }
    add(.begins(\.note, with: "n1")) { $0.note?.hasPrefix("n1") ?? false }
    add(.isOne(\.name, of: ["Milk", "Brot"])) { ["Milk", "Brot"].contains($0.name) }
    add(.isOne(\.note, of: [nil, "n2"])) { $0.note == nil || $0.note == "n2" }
    add(.isOne(\.name, of: [String]())) { _ in false }
    return rules
  }

  @Test("Every condition finds what Swift would find, alone and joined with others")
  func conditions() async throws {
    let zone = try await Shopping().zone()
    let items = QueryTests.items(120)
    try await zone.write { tx in for item in items { try tx.insert(item) } }
    func check(_ rule: Rule, _ name: String) async throws {
      let expected = items.filter(rule.holds).map(\.id).sorted()
      let found = try await zone.fetch(Item.where(rule.condition))
      #expect(found.map(\.id) == expected, "\(name)")
      #expect(try await zone.count(Item.where(rule.condition)) == expected.count, "\(name)")
    }
    let rules = QueryTests.simple()
    for (place, rule) in rules.enumerated() {
      try await check(rule, "\(place)")
      try await check((!rule.condition, { !rule.holds($0) }), "not \(place)")
      let other = rules[(place * 5 + 3) % rules.count]
      let third = rules[(place * 7 + 2) % rules.count]
      try await check(
        (rule.condition && other.condition, { rule.holds($0) && other.holds($0) }),
        "\(place) and")
      try await check(
        (
          rule.condition || !(other.condition && third.condition),
          { rule.holds($0) || !(other.holds($0) && third.holds($0)) }
        ), "\(place) or")
    }
  }

  @Test("Orders, limits and offsets are those of Swift")
  func orders() async throws {
    let zone = try await Shopping().zone()
    let items = QueryTests.items(80)
    try await zone.write { tx in for item in items { try tx.insert(item) } }
    let byName = items.sorted {
      ($0.name, $0.quantity, $0.id) < ($1.name, $1.quantity, $1.id)
    }
    let query = Item.all.order(\.name).order(\.quantity)
    #expect(try await zone.fetch(query).map(\.id) == byName.map(\.id))
    #expect(
      try await zone.fetch(query.limit(7, offset: 11)).map(\.id) == byName[11..<18].map(\.id))
    #expect(try await zone.first(query)?.id == byName.first?.id)
    let down = items.sorted { ($0.quantity, $0.id) > ($1.quantity, $1.id) }
    let descending = Item.all.order(\.quantity, .descending)
    #expect(try await zone.fetch(descending).map(\.id) == down.map(\.id))
    let list = QueryTests.lists[0]
    let open = items.filter { $0.list == list && !$0.isBought }
      .sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    let top = Item.where(\.list == list && \.isBought == false).order(\.name).limit(5)
    #expect(try await zone.fetch(top).map(\.id) == open.prefix(5).map(\.id))
    #expect(await fault { _ = try await zone.fetch(Item.all.limit(-1)) }?.code == .invalid)
    let unknown = Item.where(\.name.count == 3)
    #expect(await fault { _ = try await zone.fetch(unknown) }?.code == .invalid)
  }

  @Test("A chain of conditions may be long")
  func chains() async throws {
    let zone = try await Shopping().zone()
    let item = try await zone.insert(Item(name: "7"))
    var one = Item.where(\.isBought == false)
    var any: Condition<Item> = \.name == "x"
    for number in 0..<60 {
      one = one.where(\.name != "x\(number)")
      any = any || \.name == "\(number)"
    }
    #expect(try await zone.fetch(one.where(any)).map(\.id) == [item.id])
  }

  @Test("Counts, sums and extremes are over the records that a query finds")
  func aggregates() async throws {
    let zone = try await Shopping().zone()
    let items = QueryTests.items(60)
    try await zone.write { tx in for item in items { try tx.insert(item) } }
    let bought = items.filter(\.isBought)
    let query = Item.where(\.isBought == true)
    let none = Item.where(\.name == "none")
    let (count, sum) = try await zone.read { reader in
      (try reader.count(query), try reader.sum(of: \.quantity, query))
    }
    #expect(count == bought.count)
    #expect(sum == bought.map(\.quantity).reduce(0, +))
    let (least, most) = try await zone.read { reader in
      (
        try reader.minimum(of: \.quantity, query), try reader.maximum(of: \.urgency, query)
      )
    }
    #expect(least == bought.map(\.quantity).min() && most == bought.map(\.urgency).max())
    let empty = try await zone.read { reader in
      (try reader.maximum(of: \.name, none), try reader.sum(of: \.quantity, none))
    }
    #expect(empty.0 == nil && empty.1 == 0)
    #expect(try await zone.count(query.limit(3)) == 3)
  }

  @Test("Text is found by its words, as long as the record has them")
  func fullText() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    let other = try await anna.shared.createZone(named: "Work")
    let oats = try await zone.insert(Item(name: "Oat milk", note: "without sugar, Café style"))
    try await zone.insert(Item(name: "Milk \"fresh\"", note: nil))
    try await other.insert(Item(name: "Oat bread"))
    func find(_ text: String) async throws -> [String] {
      try await zone.fetch(Item.matching(text).order(\.name)).map(\.name)
    }
    #expect(try await find("milk") == ["Milk \"fresh\"", "Oat milk"])
    #expect(try await find("MIL oat") == ["Oat milk"])
    #expect(try await find("cafe") == ["Oat milk"])
    #expect(try await find("\"fresh\" AND") == [])
    #expect(try await find("fresh\"") == ["Milk \"fresh\""])
    #expect(try await find("  ") == [])
    #expect(try await find("bread") == [])
    try await zone.update(oats.id) { $0.name = "Rye" }
    #expect(try await find("oat") == [])
    #expect(try await find("rye sugar") == ["Rye"])
    try await zone.delete(oats.id)
    #expect(try await find("rye") == [])
    try await zone.restore(oats.id)
    #expect(try await find("rye") == ["Rye"])
    let lists = ShoppingList.matching("x")
    #expect(await fault { _ = try await zone.fetch(lists) }?.code == .schema)
  }

  @Test("Fields that an earlier program did not write have their defaults in queries too")
  func defaults() async throws {
    let shopping = try Shopping()
    let early = try await shopping.open("Anna", EarlyItem.app)
    let first = try await early.shared.createZone(named: "Home")
    try await first.insert(EarlyItem(name: "Milk"))
    try await early.close()
    let anna = try await shopping.open("Anna")
    let zone = try #require(await anna.shared.zones().first)
    try await zone.insert(Item(name: "Bread", isBought: true, urgency: .high, quantity: 1))
    #expect(try await zone.fetch(Item.where(\.isBought == false)).map(\.name) == ["Milk"])
    #expect(try await zone.fetch(Item.where(\.urgency < .high)).map(\.name) == ["Milk"])
    #expect(try await zone.fetch(Item.where(\.quantity < 1)).map(\.name) == ["Milk"])
    #expect(try await zone.fetch(Item.all.order(\.quantity)).map(\.name) == ["Milk", "Bread"])
    #expect(try await zone.fetch(Item.matching("milk")).map(\.name) == ["Milk"])
    let least = try await zone.read { try $0.minimum(of: \.urgency, Item.all) }
    #expect(least == .low)
    #expect(try await zone.count(Item.where(.contains(\.tags, "a"))) == 0)
  }
}
