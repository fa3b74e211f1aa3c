import Foundation
import Hearth
import Testing

/// People as an earlier version of the program declares them.
private struct OldPerson: Record {
  var id = Key<OldPerson>()
  var name = ""
  var age = 0

  static let schema = Schema<OldPerson>("person", 1) {
    Field(1, \.name)
    Field(4, \.age)
  }
  static let app = AppSchema("org.example.people", [OldPerson.self])
}

struct Person: Record, Equatable {
  var id = Key<Person>()
  private(set) var name = ""
  var first = ""
  var last = ""
  var age = 0

  static let schema = Schema<Person>("person", 1) {
    Field(1, \.name)
    Field(2, \.first, .indexed)
    Field(3, \.last, .indexed)
    Field(4, \.age)
    Lens(\.name) { person in
      person.last.isEmpty ? person.first : "\(person.first) \(person.last)"
    } into: { person, name in
      let words = name.split(separator: " ", maxSplits: 1).map(String.init)
      person.first = words.first ?? ""
      person.last = words.dropFirst().first ?? ""
    }
  }
}

/// People with two fields, as the first version of a program declares them.
private struct Pair: Record {
  var id = Key<Pair>()
  var first = ""
  var last = ""

  static let schema = Schema<Pair>("person", 1) {
    Field(2, \.first)
    Field(3, \.last)
  }
  static let app = AppSchema("org.example.people", [Pair.self])
}

/// The same, with the two fields merged into one.
private struct MergedPerson: Record {
  var id = Key<MergedPerson>()
  private var first = ""
  private var last = ""
  var full = ""

  static let schema = Schema<MergedPerson>("person", 1) {
    Field(2, \.first)
    Field(3, \.last)
    Field(5, \.full)
    Lens(\.first, from: { words(of: $0.full)[0] }, into: { $0.full = $1 + " " + $0.last })
    Lens(\.last, from: { words(of: $0.full)[1] }, into: { $0.full = $0.first + " " + $1 })
  }
  static let app = AppSchema("org.example.people", [MergedPerson.self])

  private static func words(of full: String) -> [String] {
    let words = full.split(separator: " ", maxSplits: 1).map(String.init)
    return [words.first ?? "", words.dropFirst().first ?? ""]
  }
}

@Suite("Fields of earlier versions through lenses")
struct LensTests {
  private let app = AppSchema("org.example.people", [Person.self])

  /// Anna has the earlier version, and Ben another one.
  private func pair(
    _ shopping: Shopping, _ other: AppSchema
  ) async throws -> (nodes: [HearthNode], zones: [HearthZone]) {
    let anna = try await shopping.open("Anna", OldPerson.app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await anna.addFolder(shopping.folder)
    let ben = try await shopping.open("Ben", other)
    let theirs = try await ben.joined(try await zone.invite())
    return ([anna, ben], [zone, theirs])
  }

  @Test("Each version reads what the other one writes, and what neither changes stays")
  func bothWays() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await pair(shopping, app)
    let ada = try await zones[0].insert(OldPerson(name: "Ada Lovelace", age: 36))
    try await Shopping.settle(nodes)
    let key = try #require(Key<Person>("\(ada.id)"))
    var found = try #require(try await zones[1].get(key))
    #expect(found.first == "Ada" && found.last == "Lovelace" && found.age == 36)
    // One new field changes: the old one and the other new one are written too.
    found = try await zones[1].update(key) { $0.last = "King" }
    #expect(found.name == "Ada King")
    #expect(try await zones[1].fetch(Person.where(\.first == "Ada")).map(\.last) == ["King"])
    try await Shopping.settle(Array(nodes.reversed()))
    #expect(try await zones[0].get(ada.id)?.name == "Ada King")
    // The earlier version has the last word again.
    try await zones[0].update(ada.id) { $0.name = "Augusta Byron" }
    try await Shopping.settle(nodes)
    found = try #require(try await zones[1].get(key))
    #expect(found.first == "Augusta" && found.last == "Byron")
    let new = try await zones[1].insert(Person(first: "Grace", last: "Hopper"))
    #expect(new.name == "Grace Hopper")
    try await Shopping.settle(Array(nodes.reversed()))
    let names = try await zones[0].fetch(OldPerson.all.order(\.name)).map(\.name)
    #expect(names.last == "Grace Hopper")
  }

  @Test("A change of another field keeps what an earlier version wrote, and none writes none")
  func otherFields() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await pair(shopping, app)
    let ada = try await zones[0].insert(OldPerson(name: "Ada Lovelace"))
    try await Shopping.settle(nodes)
    let key = try #require(Key<Person>("\(ada.id)"))
    let before = try await zones[1].digest()
    try await zones[1].update(key) { _ in }
    #expect(try await zones[1].digest() == before)
    try await zones[1].update(key) { $0.age = 7 }
    let rows = try await zones[1].sql("SELECT name, first, last, age FROM person")
    #expect(
      rows.map(\.values) == [[.text("Ada Lovelace"), .text("Ada"), .text("Lovelace"), .int(7)]])
  }

  @Test("What an earlier version wrote is adopted, and then queries find it")
  func adopted() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await pair(shopping, app)
    for name in ["Ada Lovelace", "Ada King", "Grace Hopper"] {
      try await zones[0].insert(OldPerson(name: name))
    }
    try await Shopping.settle(nodes)
    let zone = zones[1]
    try await zone.insert(Person(first: "Ada", last: "Byron"))
    #expect(try await zone.count(Person.where(\.first == "Ada")) == 1)
    let count = try await zone.write { tx in try tx.adopt(Person.self) }
    #expect(count == 3)
    #expect(try await zone.count(Person.where(\.first == "Ada")) == 3)
    #expect(try await zone.write { try $0.adopt(Person.self) } == 0)
    try await Shopping.settle(Array(nodes.reversed()))
    let names = try await zones[0].fetch(OldPerson.all.order(\.name)).map(\.name)
    #expect(names == ["Ada Byron", "Ada King", "Ada Lovelace", "Grace Hopper"])
  }

  @Test("At the same time by both versions: one shows on both, the other is a conflict")
  func concurrent() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await pair(shopping, app)
    let ada = try await zones[0].insert(OldPerson(name: "Ada Lovelace"))
    try await Shopping.settle(nodes)
    let key = try #require(Key<Person>("\(ada.id)"))
    try await zones[1].update(key) { $0.last = "King" }
    try await zones[0].update(ada.id) { $0.name = "Augusta Byron" }
    try await Shopping.settle(nodes)
    try await Shopping.settle(nodes)
    let old = try #require(try await zones[0].get(ada.id)).name
    let new = try #require(try await zones[1].get(key))
    #expect(old == "\(new.first) \(new.last)")
    #expect(["Ada King", "Augusta Byron"].contains(old))
    #expect(try await zones[1].conflicts().map(\.field) == ["name"])
  }

  @Test("Two fields become one, and both old ones follow it")
  func merged() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Pair.app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await anna.addFolder(shopping.folder)
    let ben = try await shopping.open("Ben", MergedPerson.app)
    let theirs = try await ben.joined(try await zone.invite())
    let ada = try await zone.insert(Pair(first: "Ada", last: "Lovelace"))
    try await Shopping.settle([anna, ben])
    let key = try #require(Key<MergedPerson>("\(ada.id)"))
    #expect(try await theirs.get(key)?.full == "Ada Lovelace")
    try await theirs.update(key) { $0.full = "Augusta King" }
    try await Shopping.settle([ben, anna])
    #expect(try await zone.get(ada.id)?.first == "Augusta")
    try await zone.update(ada.id) { $0.last = "Byron" }
    try await Shopping.settle([anna, ben])
    #expect(try await theirs.get(key)?.full == "Augusta Byron")
  }

  @Test("Every block of code in the guide is in this file")
  func compiled() throws {
    try GuideCode.check("change-a-schema.md", isIn: #filePath, blocks: 2)
  }

  @Test("A lens for no field, or a second one for a field, is refused when a node is opened")
  func refused() async throws {
    let shopping = try Shopping()
    for app in [Lost.app, Counted.app, Doubled.app] {
      #expect(await fault { _ = try await shopping.open("Anna", app) }?.code == .schema)
    }
  }
}

private struct Lost: Record {
  var id = Key<Lost>()
  var name = ""
  static let schema = Schema<Lost>("lost", 1) {
    Lens(\.name, from: { _ in "" }, into: { _, _ in })
  }
  static let app = AppSchema("org.example.lost", [Lost.self])
}

private struct Counted: Record {
  var id = Key<Counted>()
  var count: Int64 = 0
  static let schema = Schema<Counted>("counted", 1) {
    Counter(1, \.count)
    Lens(\.count, from: { _ in 1 }, into: { _, _ in })
  }
  static let app = AppSchema("org.example.counted", [Counted.self])
}

private struct Doubled: Record {
  var id = Key<Doubled>()
  var name = ""
  static let schema = Schema<Doubled>("doubled", 1) {
    Field(1, \.name)
    Lens(\.name, from: { _ in "" }, into: { _, _ in })
    Lens(\.name, from: { _ in "" }, into: { _, _ in })
  }
  static let app = AppSchema("org.example.doubled", [Doubled.self])
}
