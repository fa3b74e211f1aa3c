import Hearth
import Testing

private enum Care: Int, FieldValue {
  case dry = 1
  case cold
}

private struct Good: Record {
  var id = Key<Good>()
  var tags: Set<String> = []
  var care: Set<Care> = []
  var price: Int64 = 0

  static let schema = Schema<Good>("good", 1) {
    SetOf(1, \.tags)
    SetOf(2, \.care)
    History(3, \.price)
  }
  static let app = AppSchema("org.example.goods", [Good.self, Sale.self])
}

private struct Sale: Event {
  var id = Key<Sale>()
  var good: Key<Good>?

  static let keepsPast = true
  static let schema = Schema<Sale>("sale", 2) { Reference(1, \.good) }
}

/// A value of any kind, whatever its field declares.
private struct Anything: FieldValue, Hashable {
  static let storedKind = StoredValue.Kind.text
  let stored: StoredValue

  init(_ stored: StoredValue) { self.stored = stored }

  init?(stored: StoredValue) { self.stored = stored }
}

/// The same type of a changed program, which writes values of all kinds.
private struct AlienGood: Record {
  var id = Key<AlienGood>()
  var tags: Set<Anything> = []
  var care: Set<Int> = []
  var price = Anything(.text(""))

  static let schema = Schema<AlienGood>("good", 1) {
    SetOf(1, \.tags)
    SetOf(2, \.care)
    History(3, \.price)
  }
  static let app = AppSchema("org.example.goods", [AlienGood.self])
}

@Suite("What somebody writes into the sets and histories of others")
struct HostileElementTests {
  private struct Household {
    let shopping: Shopping
    let nodes: [HearthNode]
    /// The zone on the nodes of two people with the application's own program.
    let honest: [HearthZone]
    /// The zone on the node with the changed program.
    let alien: HearthZone
  }

  private func household() async throws -> Household {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Good.app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await anna.addFolder(shopping.folder)
    let carl = try await shopping.open("Carl", Good.app)
    let carls = try await carl.joined(try await zone.invite())
    let ben = try await shopping.open("Ben", AlienGood.app)
    let bens = try await ben.joined(try await zone.invite())
    return Household(
      shopping: shopping, nodes: [anna, carl, ben], honest: [zone, carls], alien: bens)
  }

  @Test("Elements that do not fit are left out, pass for no others, and stay for who knows them")
  func elements() async throws {
    let household = try await household()
    let good = try await household.honest[0].insert(Good(tags: ["a", "ab"], care: [.dry]))
    try await Shopping.settle(household.nodes)
    let key = try #require(Key<AlienGood>("\(good.id)"))
    // The bytes ab look like the text "ab" in hexadecimal.
    let values: [StoredValue] = [.int(7), .bool(true), .null, .bytes([0xab])]
    let added = Set(values.map { Anything($0) })
    try await household.alien.update(key) {
      $0.tags.formUnion(added)
      $0.care.insert(3)
    }
    try await Shopping.settle(household.nodes)
    for zone in household.honest {
      let found = try await zone.fetch(Good.all)
      #expect(found.unreadable.isEmpty)
      let first = try #require(found.first)
      #expect(first.tags == ["a", "ab"] && first.care == [.dry])
    }
    try await household.honest[0].update(good.id) {
      $0.tags.remove("ab")
      $0.tags.insert("b")
      $0.care.insert(.cold)
    }
    try await Shopping.settle(household.nodes)
    for zone in household.honest {
      let found = try #require(try await zone.get(good.id))
      #expect(found.tags == ["a", "b"] && found.care == [.dry, .cold])
      #expect(try await zone.count(Good.where(.contains(\.tags, "ab"))) == 0)
      #expect(try await zone.digest() == household.alien.digest())
    }
    #expect(try await household.alien.get(key)?.care == [1, 2, 3])
  }

  @Test("Values of a history that do not fit are left out, and what an event's author saw is known")
  func histories() async throws {
    let household = try await household()
    let good = try await household.honest[0].insert(Good(price: 10))
    let key = try #require(Key<AlienGood>("\(good.id)"))
    try await Shopping.settle(household.nodes)
    for price in ["a lot", "even more"] {
      try await household.alien.update(key) { $0.price = Anything(.text(price)) }
      try await Shopping.settle(household.nodes)
    }
    let sale = try await household.honest[0].insert(Sale(good: good.id))
    var dearer = good
    dearer.price = 12
    let last = dearer
    try await household.honest[0].write { try $0.update(from: good, to: last) }
    try await Shopping.settle(household.nodes)
    for zone in household.honest {
      let versions = try await zone.read { try $0.versions(of: \Good.price, in: good.id) }
      #expect(versions.map(\.value) == [10, 12])
      let seen = try await zone.read {
        try $0.value(of: \Good.price, in: good.id, seenBy: sale.id)
      }
      #expect(seen == 10)
      #expect(try await zone.get(good.id)?.price == 12)
    }
  }
}
