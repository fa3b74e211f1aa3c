import Hearth
import Testing

@Suite("SQL over records")
struct SQLTests {
  @Test("Types are views, joins and sums are answered, and values come back typed")
  func rows() async throws {
    let shopping = try Shopping()
    let zone = try await shopping.zone()
    let week = try await zone.insert(ShoppingList(name: "Week"))
    try await zone.write { tx in
      for (name, quantity) in [("Milk", Int64(2)), ("Bread", 3)] {
        try tx.insert(
          Item(list: week.id, name: name, isBought: true, quantity: quantity, tags: ["food"]))
      }
      try tx.insert(Item(name: "Nails", quantity: 50))
    }
    let sums = try await zone.sql(
      """
      SELECT list.id AS list, list.name, sum(item.quantity) AS pieces, avg(item.quantity) AS mean
      FROM item JOIN list ON list.id = item.list GROUP BY list.id
      """)
    #expect(sums.map { $0["name"] } == [.text("Week")])
    #expect(try sums.first?.value("list", as: Key<ShoppingList>.self) == week.id)
    #expect(try sums.first?.value("pieces", as: Int64.self) == 5)
    #expect(sums.first?["mean"] == .real(2.5))
    let named = try await zone.sql(
      "SELECT name, is_bought, list, lower(hex(list)) FROM item WHERE list = ? AND name > ?",
      week.id, "C")
    #expect(named.map { $0.values.prefix(2) } == [[.text("Milk"), .int(1)]])
    #expect(named.first?.values.last == .text("\(week.id)"))
    #expect(try named.first?.value("is_bought", as: Bool.self) == true)
    let tagged = try await zone.sql(
      "WITH t AS (SELECT value FROM item, json_each(item.tags)) SELECT count(*) AS n FROM t")
    #expect(tagged.map { $0["n"] } == [.int(2)])
    #expect(throws: HearthError(.unreadable, "")) { try named[0].value("name", as: Bool.self) }
    #expect(throws: HearthError(.notFound, "")) { try named[0].value("x", as: Bool.self) }
  }

  @Test("Deleted records and other zones are hidden, whichever zone was read before")
  func hidden() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna")
    let home = try await anna.shared.createZone(named: "Home")
    let work = try await anna.shared.createZone(named: "Work")
    let milk = try await home.insert(Item(name: "Milk"))
    try await work.insert(Item(name: "Paper"))
    func names(_ zone: HearthZone) async throws -> [SQLValue?] {
      try await zone.sql("SELECT name FROM item ORDER BY name").map { $0["name"] }
    }
    #expect(try await names(home) == [.text("Milk")])
    #expect(try await names(work) == [.text("Paper")])
    #expect(try await names(home) == [.text("Milk")])
    try await home.delete(milk.id)
    #expect(try await names(home) == [])
    try await anna.close()
    #expect(await fault { _ = try await names(home) }?.code == .closed)
  }

  @Test(
    "Everything but one reading of the views is refused",
    arguments: [
      "DELETE FROM item", "INSERT INTO item(id) VALUES(1)", "UPDATE main.item SET alive = 0",
      "DROP VIEW item", "CREATE TEMP TABLE x(y)", "PRAGMA user_version", "PRAGMA query_only = 0",
      "ATTACH ':memory:' AS x", "BEGIN", "VACUUM", "EXPLAIN SELECT 1", "SELECT 1; SELECT 2", "",
      "SELECT name FROM main.item", "SELECT count(*) FROM main.item", "SELECT meta FROM item",
      "SELECT * FROM hearth_zones", "SELECT count(*) FROM \"HEARTH_zones\"",
      "WITH item AS (SELECT * FROM main.item) SELECT * FROM item",
      "WITH hearth_view_2 AS (SELECT * FROM main.item) SELECT * FROM hearth_view_2",
      "SELECT sql FROM sqlite_master", "SELECT count(*) FROM sqlite_schema",
      "SELECT sql FROM sqlite_temp_master", "SELECT * FROM pragma_table_info('item')",
      "SELECT load_extension('x')", "SELECT name FROM item WHERE name = ?", "SELEC 1",
    ])
  func refused(_ text: String) async throws {
    let shopping = try Shopping()
    let zone = try await shopping.zone()
    try await zone.insert(Item(name: "Milk"))
    let fault = await fault { _ = try await zone.sql(text) }
    #expect(fault?.code == .invalid)
    #expect(try await zone.sql("SELECT name FROM item").map(\.values) == [[.text("Milk")]])
  }

  @Test("A name of a table that is no view leads nowhere")
  func otherTables() async throws {
    let shopping = try Shopping()
    let zone = try await shopping.zone()
    let rows = try await zone.sql("SELECT count(*) AS n FROM grdb_migrations")
    #expect(rows.map { $0["n"] } == [.int(0)])
  }

  @Test("An answer has at most as many rows and bytes as the limits say, and takes a bounded time")
  func limits() async throws {
    let shopping = try Shopping()
    let zone = try await shopping.zone()
    let numbers = "WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM n LIMIT ?)"
    #expect(try await zone.sql(numbers + " SELECT x FROM n", 7, limit: 7).count == 7)
    #expect(
      await fault { _ = try await zone.sql(numbers + " SELECT x FROM n", 8, limit: 7) }?.code
        == .tooLarge)
    let large = numbers + " SELECT zeroblob(1000000) FROM n"
    #expect(await fault { _ = try await zone.sql(large, 20) }?.code == .tooLarge)
    #expect(await fault { _ = try await zone.sql("SELECT zeroblob(99999999)") }?.code == .tooLarge)
    let long = "SELECT '" + String(repeating: "x", count: 100_000) + "'"
    #expect(await fault { _ = try await zone.sql(long) }?.code == .tooLarge)
  }
}
