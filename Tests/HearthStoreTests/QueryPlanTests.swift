import HearthCRDT
import HearthSync
import Testing

@testable import HearthStore

@Suite("Plans of queries")
struct QueryPlanTests {
  private static let list = FieldID(.register, 1)
  private static let name = FieldID(.register, 2)
  private static let done = FieldID(.register, 3)
  private static let type = TypeID.record(5)
  private static let schema = RecordSchema(
    type, "item",
    [
      FieldSchema(list, "list", .bytes), FieldSchema(name, "name", .text),
      FieldSchema(done, "done", .bool),
    ])
  private static let lookups = TypeLookups(
    type, defaults: [name: .text(""), done: .bool(false)],
    indexes: [[list], [name], [list, done, name]], texts: [name])

  /// What SQLite says about how it answers a query.
  private func plan(_ query: RecordQuery) throws -> String {
    let store = try ReplicaStore(
      path: ReplicaStore.inMemoryPath, schema: [QueryPlanTests.schema],
      lookups: [QueryPlanTests.lookups])
    let table = try #require(store.records.tables[QueryPlanTests.type])
    var compiler = try QueryCompiler(
      query, in: [QueryPlanTests.type: QueryTable(table: table, lookups: QueryPlanTests.lookups)])
    let sql = try compiler.select("id", zone: 1)
    return try store.read {
      let statement = try store.connection.queryStatement("EXPLAIN QUERY PLAN " + sql)
      var lines: [String] = []
      while try statement.step() { lines.append(statement.text(3)) }
      return lines.joined(separator: "\n")
    }
  }

  @Test("A list in order is read from one index, without sorting")
  func ordered() throws {
    var query = RecordQuery(QueryPlanTests.type)
    query.condition = .all([
      .compare(.field(QueryPlanTests.list), .equal, .bytes([1])),
      .compare(.field(QueryPlanTests.done), .equal, .bool(false)),
    ])
    query.order = [RecordQuery.Order(.field(QueryPlanTests.name), isDescending: false)]
    query.limit = 20
    let text = try plan(query)
    #expect(text.contains("USING INDEX hearth_index_5_1_3_2 (zone=? AND list=? AND <expr>=?)"))
    #expect(!text.contains("TEMP B-TREE"))
    query.condition = nil
    query.order = [RecordQuery.Order(.field(QueryPlanTests.name), isDescending: true)]
    let whole = try plan(query)
    #expect(whole.contains("hearth_index_5_2"))
    #expect(!whole.contains("TEMP B-TREE"))
  }

  @Test("Words are searched once, and each match is looked up")
  func words() throws {
    var query = RecordQuery(QueryPlanTests.type)
    query.condition = .matches("milk")
    let lines = try plan(query).split(separator: "\n")
    let search = try #require(lines.firstIndex { $0.contains("f VIRTUAL TABLE") })
    let lookup = try #require(lines.firstIndex { $0.contains("r USING INTEGER PRIMARY KEY") })
    #expect(search < lookup)
  }

  @Test("A prefix is a range of an index")
  func prefix() throws {
    var query = RecordQuery(QueryPlanTests.type)
    query.condition = .hasPrefix(.field(QueryPlanTests.name), "Mi")
    #expect(try plan(query).contains("hearth_index_5_2 (zone=? AND <expr>>? AND <expr><?)"))
  }

  @Test("The first text after a prefix is the next scalar, across the surrogates")
  func ends() {
    #expect(QueryCompiler.end(ofPrefix: "ab") == "ac")
    #expect(QueryCompiler.end(ofPrefix: "\u{d7ff}") == "\u{e000}")
    #expect(QueryCompiler.end(ofPrefix: "a\u{10ffff}") == "b")
    #expect(QueryCompiler.end(ofPrefix: "\u{10ffff}") == nil)
    #expect(QueryCompiler.end(ofPrefix: "") == nil)
  }

  @Test("A query has at most as many values and nested conditions as the limits say")
  func limits() throws {
    func query(_ condition: QueryCondition) throws {
      var query = RecordQuery(QueryPlanTests.type)
      query.condition = condition
      _ = try plan(query)
    }
    func values(_ count: Int) -> QueryCondition {
      .isOneOf(.field(QueryPlanTests.name), (0..<count).map { .text("\($0)") })
    }
    try query(values(QueryCompiler.maximumItems))
    #expect(throws: StoreError(.tooLarge, "")) {
      try query(values(QueryCompiler.maximumItems + 1))
    }
    func nested(_ depth: Int) -> QueryCondition {
      (1..<depth).reduce(.compare(.id, .equal, .bytes([UInt8](repeating: 0, count: 16)))) {
        inner, _ in .not(inner)
      }
    }
    try query(nested(QueryCompiler.maximumDepth))
    #expect(throws: StoreError(.tooLarge, "")) { try query(nested(QueryCompiler.maximumDepth + 1)) }
    func words(_ count: Int) -> QueryCondition {
      .matches(repeatElement("x", count: count).joined(separator: " "))
    }
    try query(words(TextIndex.maximumWords))
    #expect(throws: StoreError(.tooLarge, "")) { try query(words(TextIndex.maximumWords + 1)) }
  }
}
