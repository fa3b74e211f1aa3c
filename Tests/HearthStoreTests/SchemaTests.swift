import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

@Suite("Declarations that change")
struct SchemaTests {
  private static let mark = RecordKey(type: Thing.mark, id: recordID(500))

  /// A database with records and events of every shape, written under a schema; and its content.
  private func fill(_ scratch: Scratch, _ schema: [RecordSchema]) throws -> [RecordKey:
    StoredRecord]
  {
    var random = SplitMix64(seed: 11)
    var content: [RecordKey: StoredRecord] = [:]
    for number in 0..<40 {
      var state = RecordState()
      for step in randomHistory(&random, steps: 20) {
        state.apply(step.body, version: step.version, past: step.past)
      }
      content[RecordKey(type: Thing.type, id: recordID(number))] = .record(state)
      let fields = (1...6).map { EventField(FieldID(.register, $0), random.anyValue()) }
      let version = Version(
        dot: Dot(author: runAuthor(0), sequence: UInt64(number + 1)), time: HybridTime(rawValue: 7))
      content[RecordKey(type: Thing.mark, id: recordID(1000 + number))] = .event(
        EventState(version: version, cause: Frontier([(runAuthor(1), UInt64(4))]), fields: fields))
    }
    let made = content
    try scratch.session(schema) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn((0..<3).map(runAuthor))
        for (key, record) in made {
          switch record {
          case .record(let state):
            try store.records.save([RecordChange(key: key, state: state, isNew: true)], in: zoneID)
          case .event(let event): try store.records.insert([(key, event)], in: zoneID)
          }
        }
      }
    }
    return content
  }

  private func content(_ scratch: Scratch, _ schema: [RecordSchema]) throws -> [RecordKey:
    StoredRecord]
  {
    try scratch.session(schema) { store throws in
      var found: [RecordKey: StoredRecord] = [:]
      try store.records.forEach(in: zoneID) { found[$0] = $1 }
      return found
    }
  }

  private func columns(_ scratch: Scratch, _ schema: [RecordSchema], _ table: String) throws
    -> [String]
  {
    try scratch.session(schema) { store throws in
      try store.read {
        let statement = try store.connection.statement(
          "SELECT name FROM pragma_table_info('\(table)')")
        var names: [String] = []
        while try statement.step() { names.append(statement.text(0)) }
        return names
      }
    }
  }

  @Test("Fields and types move from opaque to columns and stay through downgrades, nothing lost")
  func upgrades() throws {
    let scratch = try Scratch()
    let none: [RecordSchema] = []
    let few = [RecordSchema(Thing.type, "thing", Array(Thing.fields.prefix(3)))]
    let more = [
      RecordSchema(
        Thing.type, "thing",
        Thing.fields + [FieldSchema(Thing.unknown, "mood", .text, indexed: true)]),
      Thing.markSchema,
    ]
    let content = try fill(scratch, none)
    for (step, schema) in [none, few, [Thing.schema], more, few, none, more].enumerated() {
      #expect(try self.content(scratch, schema) == content, "step \(step)")
    }
    #expect(try columns(scratch, none, "thing").contains("mood"))
    try scratch.session(none) { store throws in
      try store.read {
        let left = try store.connection.statement("SELECT count(*) FROM hearth_opaque")
        defer { left.reset() }
        #expect(try left.step())
        #expect(left.int(0) == 0)
      }
      #expect(try store.integrity() == ["ok"])
    }
  }

  @Test("Fields and types are renamed, may exchange their names, and keep their values and indexes")
  func names() throws {
    let scratch = try Scratch()
    let before = [Thing.schema, Thing.markSchema]
    let content = try fill(scratch, before)
    var fields = Thing.fields
    // The two text and int registers exchange their names.
    fields[1] = FieldSchema(fields[1].id, "f0_text", .int)
    fields[2] = FieldSchema(fields[2].id, "f0_int", .text, indexed: true)
    fields[3] = FieldSchema(fields[3].id, "raw", .bytes, indexed: true)
    // So do the two types.
    let after = [
      RecordSchema(Thing.type, "mark", fields),
      RecordSchema(Thing.mark, "thing", Thing.markSchema.fields),
    ]
    #expect(try self.content(scratch, after) == content)
    #expect(try columns(scratch, after, "mark").contains("raw"))
    let indexes = try scratch.session(after) { store throws in
      try store.read {
        let statement = try store.connection.statement(
          "SELECT name || ':' || (SELECT group_concat(name) FROM pragma_index_info(m.name)) "
            + "FROM sqlite_master m WHERE type = 'index' AND sql IS NOT NULL ORDER BY name")
        var names: [String] = []
        while try statement.step() { names.append(statement.text(0)) }
        return names
      }
    }
    #expect(indexes == ["mark_by_f0_int:zone,f0_int", "mark_by_raw:zone,raw"])
    #expect(try self.content(scratch, before) == content)
  }

  @Test("Contradictions with what was declared before are refused in words, and change nothing")
  func contradictions() throws {
    let scratch = try Scratch()
    let content = try fill(scratch, [Thing.schema])
    func thing(_ fields: [FieldSchema]) -> [RecordSchema] {
      [RecordSchema(Thing.type, "thing", fields)]
    }
    let wrong: [(String, [RecordSchema])] =
      [
        ("another type of value", thing([FieldSchema(FieldID(.register, 1), "f0_bool", .int)])),
        (
          "a name of another number", thing([FieldSchema(FieldID(.register, 50), "f0_bool", .bool)])
        ),
        ("a type's name", [RecordSchema(.record(9), "thing", [])]),
        (
          "twice a name",
          thing([
            FieldSchema(FieldID(.register, 1), "a", .bool),
            FieldSchema(FieldID(.register, 2), "a", .int),
          ])
        ),
        (
          "twice a number",
          thing([
            FieldSchema(FieldID(.register, 1), "a", .bool),
            FieldSchema(FieldID(.set, 1), "b", .int),
          ])
        ),
      ]
      + ["", "Thing", "1a", "a b", "a\"", "hearth_x", "sqlite_x", "grdb_migrations"].map {
        ("type \($0)", [RecordSchema(.record(9), $0, [])])
      }
      + ["", "zone", "id", "alive", "meta", "Ä", String(repeating: "a", count: 61)].map {
        ("field \($0)", thing([FieldSchema(FieldID(.register, 70), $0, .bool)]))
      }
    for (what, schema) in wrong {
      let error = #expect(throws: StoreError.self, "\(what)") {
        try scratch.session(schema) { _ in }
      }
      #expect(error?.code == .schema, "\(what): \(String(describing: error))")
    }
    #expect(try self.content(scratch, [Thing.schema]) == content)
  }

  @Test("60 fields are taken, 61 refused; those declared before and no more count with them")
  func limit() throws {
    #expect(SchemaRegistry.maximumFields == 60)
    func schema(_ numbers: ClosedRange<UInt16>) -> [RecordSchema] {
      [
        RecordSchema(
          .record(1), "wide",
          numbers.map { FieldSchema(FieldID(.register, $0), "f\($0)", .int) })
      ]
    }
    let scratch = try Scratch()
    #expect(throws: StoreError(.schema, "")) { try scratch.session(schema(1...61)) { _ in } }
    var state = RecordState()
    for number in 1...60 as ClosedRange<UInt16> {
      state.apply(
        .assign(FieldID(.register, number), .int(Int64(number))),
        version: Version(
          dot: Dot(author: runAuthor(0), sequence: 1), time: HybridTime(rawValue: 1)),
        past: Frontier())
    }
    let made = state
    let key = RecordKey(type: .record(1), id: recordID(1))
    try scratch.session(schema(1...60)) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn([runAuthor(0)])
        try store.records.save([RecordChange(key: key, state: made, isNew: true)], in: zoneID)
        try store.records.save([RecordChange(key: key, state: made, isNew: false)], in: zoneID)
      }
      #expect(try store.records.record(key, in: zoneID) == .record(made))
    }
    #expect(throws: StoreError(.schema, "")) { try scratch.session(schema(2...61)) { _ in } }
    let found = try scratch.session(schema(2...60)) { try $0.records.record(key, in: zoneID) }
    #expect(found == .record(made))
  }
}
