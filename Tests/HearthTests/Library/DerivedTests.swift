import Hearth
import TestSupport
import Testing

/// A journey that people pay for together.
private struct Trip: Record {
  var id = Key<Trip>()
  var name = ""

  static let schema = Schema<Trip>("trip", 1) { Field(1, \.name) }
}

private struct Expense: Record {
  var id = Key<Expense>()
  var trip: Key<Trip>?
  var payer = ""
  var cents: Int64 = 0
  var receipt: [UInt8] = []

  static let schema = Schema<Expense>("expense", 2) {
    Reference(1, \.trip, onDelete: .cascade)
    Field(2, \.payer)
    Field(3, \.cents)
    Field(4, \.receipt)
  }
}

/// What each person paid for a trip, the most first.
private struct Share: DerivedRow {
  var person = ""
  var cents: Int64 = 0
  var least: Int64?

  init() {}

  init(_ person: String, _ amounts: [Int64]) {
    self.person = person
    cents = amounts.reduce(0, +)
    least = amounts.count > 1 ? amounts.min() : nil
  }

  static func shares(_ expenses: [Expense]) -> [Share] {
    Dictionary(grouping: expenses, by: \.payer)
      .map { Share($0.key, $0.value.map(\.cents)) }
      .sorted { ($1.cents, $0.person) < ($0.cents, $1.person) }
  }

  static let derivation = Derivation<Share>("share", version: 1, of: Expense.self, by: \.trip) {
    DerivedColumn(\.person)
    DerivedColumn(\.cents)
    DerivedColumn(\.least)
  } rows: { _, expenses in
    shares(expenses)
  }
}

/// The same table with another computation, as a later version of the program has it.
private struct LaterShare: DerivedRow {
  var person = ""
  var count = 0

  static let derivation = Derivation<LaterShare>(
    "share", version: 1, of: Expense.self, by: \.trip
  ) {
    DerivedColumn(\.person)
    DerivedColumn(\.count)
  } rows: { _, expenses in
    Dictionary(grouping: expenses, by: \.payer).sorted { $0.key < $1.key }.map { person, paid in
      var row = LaterShare()
      row.person = person
      row.count = paid.count
      return row
    }
  }
}

@Suite("Tables that are derived from records")
struct DerivedTests {
  private static let app = AppSchema(
    "org.example.trips", [Trip.self, Expense.self], derived: [Share.self])

  private let family = try? Family()

  private func node(_ person: String, _ app: AppSchema = app) async throws -> HearthNode {
    try await HearthNode.open(
      at: try #require(family).home(person), app, as: .new(person: person))
  }

  private func zone() async throws -> (node: HearthNode, zone: HearthZone) {
    let anna = try await node("Anna")
    return (anna, try await anna.shared.createZone(named: "Home"))
  }

  private func shares(of trip: Key<Trip>, in zone: HearthZone) async throws -> [Share] {
    try await zone.read { try $0.rows(of: Share.self, in: trip) }
  }

  /// The promise in words: the rows are those that the function gives for the records that are
  /// there, trip by trip.
  private func expectAsComputed(_ zone: HearthZone) async throws {
    try await zone.read { reader in
      let expenses = Array(try reader.fetch(Expense.all))
      var count = 0
      for trip in Set(expenses.compactMap(\.trip)) {
        let shares = Share.shares(expenses.filter { $0.trip == trip })
        #expect(try reader.rows(of: Share.self, in: trip) == shares)
        count += shares.count
      }
      #expect(try reader.rows(of: Share.self).count == count)
    }
  }

  @Test("rows follow insertions, updates, moves between groups and deletions")
  func follows() async throws {
    let (_, zone) = try await zone()
    let (rome, oslo) = (try await zone.insert(Trip()).id, try await zone.insert(Trip()).id)
    let hotel = try await zone.insert(Expense(trip: rome, payer: "Anna", cents: 900))
    try await zone.insert(Expense(trip: rome, payer: "Ben", cents: 1_000))
    try await zone.insert(Expense(trip: rome, payer: "Anna", cents: 300))
    try await zone.insert(Expense(payer: "Cleo", cents: 5))
    #expect(try await shares(of: rome, in: zone).map(\.person) == ["Anna", "Ben"])
    #expect(try await shares(of: rome, in: zone).map(\.least) == [300, nil])
    try await zone.update(hotel.id) { $0.cents = 500 }
    #expect(try await shares(of: rome, in: zone).map(\.person) == ["Ben", "Anna"])
    try await zone.update(hotel.id) { $0.trip = oslo }
    #expect(try await shares(of: rome, in: zone).map(\.cents) == [1_000, 300])
    #expect(try await shares(of: oslo, in: zone).map(\.cents) == [500])
    try await expectAsComputed(zone)
    try await zone.update(hotel.id) { $0.trip = nil }
    #expect(try await shares(of: oslo, in: zone) == [])
    try await zone.delete(rome)
    #expect(try await zone.read { try $0.rows(of: Share.self) } == [])
  }

  @Test("a transaction reads the rows of what it has written so far")
  func inTransaction() async throws {
    let (_, zone) = try await zone()
    let sums = try await zone.write { transaction in
      let trip = try transaction.insert(Trip()).id
      var sums: [Int64] = []
      for cents in [1, 2, 3] as [Int64] {
        try transaction.insert(Expense(trip: trip, payer: "Anna", cents: cents))
        sums.append(try transaction.rows(of: Share.self, in: trip).reduce(0) { $0 + $1.cents })
      }
      return sums
    }
    #expect(sums == [1, 3, 6])
  }

  @Test("what others write, and what a newcomer gets at once, is derived too")
  func synced() async throws {
    let family = try #require(family)
    let (anna, zone) = try await zone()
    var random = SplitMix64(seed: 11)
    let trips = try await zone.write { transaction in
      try (0..<7).map { _ in try transaction.insert(Trip()).id }
    }
    let expenses = (0..<400).map { number in
      Expense(
        trip: number % 9 == 0 ? nil : trips[Int(random.next() % 7)],
        payer: ["Anna", "Ben", "Cleo"][number % 3], cents: Int64(random.next() % 1_000),
        receipt: (0..<3_000).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    }
    // From 1 MiB on Anna publishes a snapshot, which a newcomer loads in slices.
    for start in stride(from: 0, to: expenses.count, by: 50) {
      try await zone.write { transaction in
        for expense in expenses[start..<start + 50] { try transaction.insert(expense) }
      }
    }
    try await anna.addFolder(family.folder)
    try await Shopping.settle([anna])
    let ben = try await node("Ben")
    let joined = try await ben.joined(try await zone.invite())
    try await expectAsComputed(joined)
    #expect(try await joined.read { try $0.rows(of: Share.self) }.count == 21)
    let some = Array(try await joined.fetch(Expense.all))
    try await joined.update(some[3].id) { $0.cents += 7 }
    try await joined.delete(some[5].id)
    try await Shopping.settle([ben, anna])
    try await expectAsComputed(zone)
  }

  @Test("SQL reads the rows, and joins them with records")
  func sql() async throws {
    let (anna, zone) = try await zone()
    let trip = try await zone.insert(Trip(name: "Rome")).id
    try await zone.insert(Expense(trip: trip, payer: "Anna", cents: 40))
    try await zone.insert(Expense(trip: trip, payer: "Ben", cents: 2))
    let rows = try await zone.sql("SELECT sum(cents) AS sum, count(*) AS people FROM share")
    #expect(try rows.map { try $0.value("sum", as: Int.self) } == [42])
    #expect(try rows.map { try $0.value("people", as: Int.self) } == [2])
    let other = try await anna.shared.createZone(named: "Other")
    #expect(try await other.sql("SELECT * FROM share").isEmpty)
  }

  @Test("an observation is woken by the records that its rows come from, and by no others")
  func observed() async throws {
    let (_, zone) = try await zone()
    let trip = try await zone.insert(Trip()).id
    var seen = zone.observe(reading: { try $0.rows(of: Share.self, in: trip).map(\.cents) })
      .makeAsyncIterator()
    #expect(try await seen.next() == [])
    try await zone.insert(Expense(trip: trip, payer: "Anna", cents: 40))
    #expect(try await seen.next() == [40])
    try await zone.update(trip) { $0.name = "Rome" }
    try await zone.insert(Expense(trip: trip, payer: "Anna", cents: 2))
    #expect(try await seen.next() == [42])
  }

  @Test("a later version of the program gets its own rows, and the earlier one its own again")
  func versions() async throws {
    let (anna, zone) = try await zone()
    let trip = try await zone.insert(Trip()).id
    for cents in [1, 2] as [Int64] {
      try await zone.insert(Expense(trip: trip, payer: "Anna", cents: cents))
    }
    try await anna.close()
    let later = AppSchema(
      "org.example.trips", [Trip.self, Expense.self], derived: [LaterShare.self])
    let second = try await node("Anna", later)
    let same = try await second.shared.zone(named: "Home")
    #expect(try await same.read { try $0.rows(of: LaterShare.self, in: trip) }.map(\.count) == [2])
    try await same.insert(Expense(trip: trip, payer: "Ben", cents: 9))
    try await second.close()
    let third = try await node("Anna")
    let again = try await third.shared.zone(named: "Home")
    #expect(try await shares(of: trip, in: again).map(\.cents) == [9, 3])
    try await third.close()
    // A program without the table cannot read rows that it does not maintain.
    let fourth = try await node("Anna", AppSchema("org.example.trips", [Trip.self, Expense.self]))
    let bare = try await fourth.shared.zone(named: "Home")
    let error = await #expect(throws: HearthError.self) { _ = try await shares(of: trip, in: bare) }
    #expect(error?.code == .schema)
  }

  @Test("a mistake in a declaration is told before anything is written", arguments: Mistake.all)
  fileprivate func mistakes(mistake: Mistake) async throws {
    let app = AppSchema("org.example.trips", mistake.types, derived: mistake.derived)
    let error = await #expect(throws: HearthError.self) { _ = try await node("Zoë", app) }
    #expect(error?.code == .schema)
    #expect(error?.message.contains(mistake.words) == true, "\(String(describing: error))")
  }

  @Test("a group of another kind is refused")
  func groupKind() async throws {
    let (_, zone) = try await zone()
    let error = await #expect(throws: HearthError.self) {
      _ = try await zone.read { try $0.rows(of: Share.self, in: 7) }
    }
    #expect(error?.code == .invalid)
  }
}

/// A table with a mistake in its declaration.
private struct Mistake: CustomTestStringConvertible, Sendable {
  let words: String
  var types: [any Record.Type] = [Trip.self, Expense.self]
  let derived: [any DerivedRow.Type]

  var testDescription: String { words }

  static var all: [Mistake] {
    [
      Mistake(words: "has the name of record type 1", derived: [NamedAsType.self]),
      Mistake(words: "has the name of another one", derived: [Share.self, LaterShare.self]),
      Mistake(words: "is not lower-case letters", derived: [BadName.self]),
      Mistake(words: "no field with one value", derived: [ByNoField.self]),
      Mistake(words: "two columns", derived: [TwoColumns.self]),
      Mistake(words: "does not declare", types: [Trip.self], derived: [Share.self]),
    ]
  }
}

private struct NamedAsType: DerivedRow {
  var person = ""

  static let derivation = Derivation<NamedAsType>("trip", version: 1, of: Expense.self, by: \.trip)
  {
    DerivedColumn(\.person)
  } rows: { _, _ in
    []
  }
}

private struct BadName: DerivedRow {
  var person = ""

  static let derivation = Derivation<BadName>("Share", version: 1, of: Expense.self, by: \.trip) {
    DerivedColumn(\.person)
  } rows: { _, _ in
    []
  }
}

private struct ByNoField: DerivedRow {
  var person = ""

  static let derivation = Derivation<ByNoField>("share", version: 1, of: Expense.self, by: \.id) {
    DerivedColumn(\.person)
  } rows: { _, _ in
    []
  }
}

private struct TwoColumns: DerivedRow {
  var person = ""

  static let derivation = Derivation<TwoColumns>("share", version: 1, of: Expense.self, by: \.trip)
  {
    DerivedColumn(\.person)
    DerivedColumn(\.person)
  } rows: { _, _ in
    []
  }
}
