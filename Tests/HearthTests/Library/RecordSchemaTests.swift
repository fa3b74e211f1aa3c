import Hearth
import Testing

private struct Plain: Record {
  var id = Key<Plain>()
  var name = ""
  var count: Int64 = 0

  static let schema = Schema<Plain>("plain", 1) {
    Field(1, \.name)
    Counter(2, \.count)
  }
}

private struct SameNumber: Record {
  var id = Key<SameNumber>()
  static let schema = Schema<SameNumber>("other", 1) {}
}

private struct SameName: Record {
  var id = Key<SameName>()
  static let schema = Schema<SameName>("plain", 2) {}
}

private struct Reserved: Record {
  var id = Key<Reserved>()
  static let schema = Schema<Reserved>("reserved", 16_382) {}
}

private struct FieldTwice: Record {
  var id = Key<FieldTwice>()
  var a = ""
  var b = ""
  static let schema = Schema<FieldTwice>("twice", 3) {
    Field(1, \.a)
    Field(1, \.b)
  }
}

private struct PropertyTwice: Record {
  var id = Key<PropertyTwice>()
  var a = ""
  static let schema = Schema<PropertyTwice>("twice", 3) {
    Field(1, \.a)
    Field(2, \.a, named: "b")
  }
}

private struct FullTextNumber: Record {
  var id = Key<FullTextNumber>()
  var a = 0
  static let schema = Schema<FullTextNumber>("number", 3) { Field(1, \.a, .fullText) }
}

private struct FilledSet: Record {
  var id = Key<FilledSet>()
  var tags: Set<String> = ["x"]
  static let schema = Schema<FilledSet>("filled", 3) { SetOf(1, \.tags) }
}

private struct BadName: Record {
  var id = Key<BadName>()
  static let schema = Schema<BadName>("Bad Name", 3) {}
}

private struct OtherKind: Record {
  var id = Key<OtherKind>()
  var name = ""
  var count: Int64 = 0
  static let schema = Schema<OtherKind>("plain", 1) {
    Field(1, \.name)
    Field(2, \.count, named: "total")
  }
}

private struct OtherValue: Record {
  var id = Key<OtherValue>()
  var name = 0
  static let schema = Schema<OtherValue>("plain", 1) { Field(1, \.name) }
}

private struct Renamed: Record {
  var id = Key<Renamed>()
  var title = ""
  var isNew = true
  static let schema = Schema<Renamed>("note", 1) {
    Field(1, \.title, .indexed, .fullText)
    Field(3, \.isNew)
  }
}

/// Refers to a type that the application does not declare.
private struct Guest: Record {
  var id = Key<Guest>()
  var host: Key<Plain>?

  static let schema = Schema<Guest>("guest", 9) {
    Reference(1, \.host, onDelete: .nullify)
  }
}

@Suite("Declarations")
struct RecordSchemaTests {
  private static let name = "org.example.plain"

  private static let faulty: [AppSchema] = [
    AppSchema(name, [Plain.self, SameNumber.self]),
    AppSchema(name, [Plain.self, SameName.self]),
    AppSchema(name, [Reserved.self]),
    AppSchema(name, [FieldTwice.self]),
    AppSchema(name, [PropertyTwice.self]),
    AppSchema(name, [FullTextNumber.self]),
    AppSchema(name, [FilledSet.self]),
    AppSchema(name, [BadName.self]),
    AppSchema("Plain", [Plain.self]),
    AppSchema("org.example.pläin", [Plain.self]),
    AppSchema(name, [Guest.self]),
    AppSchema(name, []) { Rule(Plain.self, .child, may: .create) },
    AppSchema(name, [Plain.self]) { Rule(Plain.self, .child, may: .change(\.name.count)) },
  ]

  @Test("A mistake in a declaration is reported, and nothing is made", arguments: faulty.indices)
  func mistakes(place: Int) async throws {
    let shopping = try Shopping()
    let error = await fault { _ = try await shopping.open("Anna", RecordSchemaTests.faulty[place]) }
    #expect(error?.code == .schema)
    // Nothing keeps the right declaration from being used there.
    _ = try await shopping.open("Anna", AppSchema(RecordSchemaTests.name, [Plain.self]))
  }

  @Test("A field cannot become another kind; renaming and adding is free")
  func contradictions() async throws {
    let shopping = try Shopping()
    let app = AppSchema(RecordSchemaTests.name, [Plain.self])
    let anna = try await shopping.open("Anna", app)
    let zone = try await anna.shared.createZone(named: "Home")
    let plain = try await zone.insert(Plain(name: "Milk", count: 3))
    try await anna.close()
    for changed in [
      AppSchema(RecordSchemaTests.name, [OtherKind.self]),
      AppSchema(RecordSchemaTests.name, [OtherValue.self]),
    ] {
      #expect(await fault { _ = try await shopping.open("Anna", changed) }?.code == .schema)
    }
    let again = try await shopping.open("Anna", app)
    let found = try #require(await again.shared.zones().first)
    #expect(try await found.get(plain.id)?.count == 3)
    try await again.close()
    let later = try await shopping.open("Anna", AppSchema(RecordSchemaTests.name, [Renamed.self]))
    let renamed = try #require(await later.shared.zones().first)
    #expect(try await renamed.fetch(Renamed.matching("milk")).map(\.title) == ["Milk"])
    #expect(try await renamed.first(Renamed.where(\.isNew == true))?.title == "Milk")
    try await later.close()
    let back = try await shopping.open("Anna", app)
    let old = try #require(await back.shared.zones().first)
    #expect(try await old.get(plain.id)?.name == "Milk")
  }
}
