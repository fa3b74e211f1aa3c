import Synchronization
import Testing

@testable import Hearth

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

private protocol TableName: Sendable {
  static var text: String { get }
}

private enum One: TableName { static let text = "one" }
private enum Two: TableName { static let text = "two" }
private enum Three: TableName { static let text = "three" }
private enum Four: TableName { static let text = "four" }
private enum Five: TableName { static let text = "five" }

/// One of several tables of the same records.
private struct Count<Name: TableName>: DerivedRow {
  var number = 0

  static var derivation: Derivation<Count> {
    Derivation<Count>(Name.text, version: 1, of: Expense.self, by: \.trip) {
      DerivedColumn(\.number, named: "number")
    } rows: { _, expenses in
      var count = Count()
      count.number = expenses.count
      return [count]
    }
  }

  static func sum(in reader: ZoneReader) throws -> Int {
    try reader.rows(of: Count.self, in: "Rome").reduce(0) { $0 + $1.number }
  }
}

/// Counts the runs of a body.
private final class Runs: Sendable {
  private let runs = Mutex(0)

  func add() { runs.withLock { $0 += 1 } }

  var count: Int { runs.withLock { $0 } }
}

@Suite("When derived rows are computed", .serialized, .timeLimit(.minutes(20)))
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

  // MARK: Turns

  @Test("A body runs beside writes once the rows are there, however many groups it asks for")
  func besideWrites() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Total.app)
    let zone = try await anna.shared.createZone(named: "Home")
    let trips = ["A", "B", "C", "D", "E", "F"]
    for trip in trips { try await zone.insert(Expense(trip: trip, cents: 1)) }
    let (held, runs) = (Held(), Runs())
    let reading = Task(executorPreference: OwnThread()) {
      try await zone.read { reader in
        runs.add()
        let rows = try trips.flatMap { try reader.rows(of: Total.self, in: $0) }
        _ = held.hold()
        return rows.map(\.cents)
      }
    }
    await held.began()
    // It would wait for the end of the body's turn.
    try await zone.insert(Expense(trip: "A", cents: 2))
    held.release()
    #expect(try await reading.value == [1, 1, 1, 1, 1, 1])
    // Two for single groups, one for all others, and the one that reads.
    #expect(runs.count == 4)
    #expect(try await totals(zone) == [3, 1, 1, 1, 1, 1])
  }

  @Test("A body that needs rows again and again runs in a turn in the end")
  func inTurn() async throws {
    let app = AppSchema(
      "org.example.counts", [Expense.self],
      derived: [
        Count<One>.self, Count<Two>.self, Count<Three>.self, Count<Four>.self, Count<Five>.self,
      ])
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await zone.insert(Expense(trip: "Rome", cents: 1))
    let runs = Runs()
    let numbers = try await zone.read { reader in
      runs.add()
      return [
        try Count<One>.sum(in: reader), try Count<Two>.sum(in: reader),
        try Count<Three>.sum(in: reader), try Count<Four>.sum(in: reader),
        try Count<Five>.sum(in: reader),
      ]
    }
    #expect(numbers == [1, 1, 1, 1, 1])
    // Each of the first five misses another table.
    #expect(runs.count == 6)
  }

  @Test("What needs no rows that are out of date waits for nobody's turn")
  func withoutTurn() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Total.app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await zone.insert(Expense(trip: "Rome", cents: 5))
    #expect(try await totals(zone) == [5])
    try await zone.insert(Expense(trip: "Oslo", cents: 1))
    let held = Held()
    let writing = Task(executorPreference: OwnThread()) {
      try await zone.write { _ in held.hold() }
    }
    await held.began()
    let rome = try await zone.read { try $0.rows(of: Total.self, in: "Rome") }
    #expect(rome.map(\.cents) == [5])
    let texts = [
      "SELECT sum(cents) FROM expense",
      "WITH total AS (SELECT 6 AS cents) SELECT cents FROM total",
    ]
    for text in texts { #expect(try await zone.sql(text).map(\.values) == [[.int(6)]]) }
    held.release()
    #expect(try await writing.value)
    #expect(try await totals(zone) == [1, 5])
  }

  @Test(
    "SQL reads rows that are up to date, however it names them",
    arguments: [
      "SELECT cents FROM total", "SELECT count(*) FROM total", "SELECT count(*) FROM temp.total",
      "SELECT (SELECT max(cents) FROM \"total\")", "SELECT 1 WHERE EXISTS (SELECT 1 FROM TOTAL)",
      "WITH t AS (SELECT * FROM total) SELECT cents FROM t",
      "SELECT cents FROM expense UNION ALL SELECT cents FROM total",
      "SELECT e.cents FROM expense AS e LEFT JOIN total AS t ON t.trip = e.trip",
    ])
  func namedInSQL(_ text: String) async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Total.app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await zone.insert(Expense(trip: "Rome", cents: 5))
    let before = Total.computed
    #expect(try await !zone.sql(text).isEmpty)
    #expect(Total.computed == before + 1)
  }

  // MARK: Other processes

  @Test("An observation goes on after another process was in the way")
  func afterLocked() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Total.app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await zone.insert(Expense(trip: "Rome", cents: 5))
    let runs = Runs()
    let states = zone.observe { reader in
      runs.add()
      if runs.count == 1 { throw HearthError(.locked, "another process uses the node") }
      return try reader.rows(of: Total.self).map(\.cents)
    }
    let first = try await states.first { _ in true }
    #expect(first == [5])
    // The second one misses the rows.
    #expect(runs.count == 3)
  }

  @Test("An observation of derived rows waits for another process, and holds up nobody meanwhile")
  func besideProcess() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", Total.app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await zone.insert(Expense(trip: "Rome", cents: 5))
    let runs = Runs()
    let states = zone.observe { reader in
      runs.add()
      return try reader.rows(of: Total.self).map(\.cents)
    }
    try await anna.node.workingPatiently { core in
      let folder = core.folder
      try await core.replicas.whileWaiting {
        let other = try NodeLock(folder)
        try other.take(waitMilliseconds: 0)
        let seen = Task { try await states.first { _ in true } }
        while runs.count == 0 { await Task.yield() }
        // The observation gets to its wait, which blocks this actor if it is none.
        for _ in 0..<100 { await Task.yield() }
        #expect(try await zone.count(Expense.all) == 1)
        other.giveBack()
        #expect(try await seen.value == [5])
      }
    }
  }
}
