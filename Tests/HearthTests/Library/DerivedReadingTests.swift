import Hearth
import Synchronization
import Testing

private struct Expense: Record {
  var id = Key<Expense>()
  var trip = ""
  var cents: Int64 = 0

  static let schema = Schema<Expense>("expense", 1) {
    Field(1, \.trip)
    Field(2, \.cents)
  }
}

private struct Total: DerivedRow {
  var trip = ""
  var cents: Int64 = 0

  private static let computations = Mutex(0)
  /// How often the rows of a group were computed.
  static var computed: Int { computations.withLock { $0 } }

  static let derivation = Derivation<Total>("total", version: 1, of: Expense.self, by: \.trip) {
    DerivedColumn(\.trip)
    DerivedColumn(\.cents)
  } rows: { trip, expenses in
    computations.withLock { $0 += 1 }
    var total = Total()
    total.trip = trip
    total.cents = expenses.reduce(0) { $0 + $1.cents }
    return [total]
  }

  static let app = AppSchema("org.example.totals", [Expense.self], derived: [Total.self])
}

@Suite("When derived rows are computed", .serialized)
struct DerivedReadingTests {
  private func totals(_ zone: HearthZone) async throws -> [Int64] {
    try await zone.read { try $0.rows(of: Total.self) }.map(\.cents)
  }

  @Test("What others send costs what it changes: a group is computed once somebody reads it")
  func received() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Total.app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await anna.addFolder(shopping.folder)
    let ben = try await shopping.open("Ben", Total.app)
    let bens = try await ben.joined(try await zone.invite())
    let before = Total.computed
    for cents in 1...12 as ClosedRange<Int64> {
      try await bens.insert(Expense(trip: "Rome", cents: cents))
      try await Shopping.settle([ben, anna])
    }
    #expect(try await zone.count(Expense.all) == 12)
    #expect(Total.computed == before)
    for _ in 0..<3 { #expect(try await totals(zone) == [78]) }
    #expect(Total.computed == before + 1)
    // Another group is not computed for the sake of this one.
    try await zone.insert(Expense(trip: "Oslo", cents: 5))
    let rome = try await zone.read { try $0.rows(of: Total.self, in: "Rome") }
    #expect(rome.map(\.cents) == [78])
    #expect(Total.computed == before + 1)
  }

  @Test("Rows are never older than the records, whoever reads them in whatever way")
  func fresh() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Total.app)
    let zone = try await anna.shared.createZone(named: "Home")
    let first = try await zone.insert(Expense(trip: "Rome", cents: 5))
    for sum in [5, 5] as [Int64] {
      let rows = try await zone.sql("SELECT cents FROM total")
      #expect(try rows.map { try $0.value("cents", as: Int64.self) } == [sum])
    }
    // A body that goes on without the rows begins again.
    try await zone.insert(Expense(trip: "Rome", cents: 2))
    let ignoring = try await zone.read { try? $0.rows(of: Total.self, in: "Rome") }
    #expect(ignoring?.map(\.cents) == [7])
    try await zone.insert(Expense(trip: "Oslo", cents: 1))
    let seen = try await zone.write { tx in
      let before = try tx.rows(of: Total.self).map(\.cents)
      try tx.insert(Expense(trip: "Oslo", cents: 3))
      return [before, try tx.rows(of: Total.self).map(\.cents)]
    }
    #expect(seen == [[1, 7], [4, 7]])
    #expect(try await totals(zone) == [4, 7])
    let alone = try await zone.write { tx in
      try tx.rows(of: Total.self, in: "Oslo").map(\.cents)
    }
    #expect(alone == [4])
    // Nobody reads the rows between the change and the end of the program.
    try await zone.update(first.id) { $0.trip = "Oslo" }
    try await anna.close()
    let again = try await HearthNode.open(at: shopping.home("Anna"), Total.app)
    let same = try #require(await again.shared.zones().first)
    #expect(try await totals(same) == [9, 2])
    try await same.delete(first.id)
    #expect(try await totals(same) == [4, 2])
  }
}
