import Hearth
import Testing

private struct Expense: Record {
  var id = Key<Expense>()
  var cents = 0
  var room = ""

  static let schema = Schema<Expense>("expense", 1) {
    Field(1, \.cents, .indexed)
    Field(2, \.room)
  }
  static let app = AppSchema("org.example.expenses", [Expense.self])
}

/// The same type of a changed program, which writes texts where others expect numbers.
private struct AlienExpense: Record {
  var id = Key<AlienExpense>()
  var cents = ""

  static let schema = Schema<AlienExpense>("expense", 1) {
    Field(1, \.cents)
  }
  static let app = AppSchema("org.example.expenses", [AlienExpense.self])
}

@Suite("What somebody writes to spoil the others' queries")
struct HostileValueTests {
  /// A zone with the values of a changed program.
  private func zone(_ shopping: Shopping, alien: [String]) async throws -> HearthZone {
    let anna = try await shopping.open("Anna", Expense.app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await anna.addFolder(shopping.folder)
    let ben = try await shopping.open("Ben", AlienExpense.app)
    let theirs = try await ben.joined(try await zone.invite())
    for cents in alien { try await theirs.insert(AlienExpense(cents: cents)) }
    try await Shopping.settle([ben, anna])
    return zone
  }

  @Test("Values of another type are left out of sums and extremes, and counted as records")
  func otherTypes() async throws {
    let shopping = try Shopping()
    let zone = try await zone(shopping, alien: ["a lot", "9"])
    for cents in [3, -5, 40] { try await zone.insert(Expense(cents: cents, room: "Kitchen")) }
    for query in [Expense.all, Expense.all.limit(10)] {
      #expect(try await zone.read { try $0.sum(of: \Expense.cents, query) } == 38)
      #expect(try await zone.read { try $0.maximum(of: \Expense.cents, query) } == 40)
      #expect(try await zone.read { try $0.minimum(of: \Expense.cents, query) } == -5)
      let rooms = try await zone.read { try $0.sums(of: \.cents, by: \.room, query) }
      #expect(rooms["Kitchen"] == 38)
      let most = try await zone.read { try $0.maxima(of: \.cents, by: \.room, query) }
      #expect(most["Kitchen"] == 40)
    }
    #expect(try await zone.count(Expense.all) == 5)
    #expect(try await zone.fetch(Expense.all).unreadable.count == 2)
  }

  @Test("A sum beyond the greatest number is that number, and one within it is exact")
  func overflow() async throws {
    let shopping = try Shopping()
    let zone = try await zone(shopping, alien: ["none"])
    func sum() async throws -> [Int64?] {
      let all = Expense.all
      return [
        try await zone.read { try $0.sum(of: \Expense.cents, all) },
        try await zone.read { try $0.sums(of: \.cents, by: \.room, all) }["Hall"],
      ]
    }
    let steps: [(cents: [Int], sum: Int64)] = [
      ([.max, .max, -9, 7], .max), ([.min, .min], -4), ([.min, 5], .min + 1), ([-9], .min),
    ]
    for step in steps {
      for cents in step.cents { try await zone.insert(Expense(cents: cents, room: "Hall")) }
      #expect(try await sum() == [step.sum, step.sum])
    }
  }

  @Test("Groups whose texts are equal in Swift are one, with what is in each")
  func equalTexts() async throws {
    let shopping = try Shopping()
    let zone = try await zone(shopping, alien: [])
    for (cents, room) in [(2, "Kitchen"), (30, "\u{212A}itchen"), (400, "Hall")] {
      try await zone.insert(Expense(cents: cents, room: room))
    }
    let all = Expense.all
    #expect(
      try await zone.read { try $0.sums(of: \.cents, by: \.room, all) }
        == ["Kitchen": 32, "Hall": 400])
    #expect(
      try await zone.read { try $0.counts(by: \.room, all) } == ["Kitchen": 2, "Hall": 1])
    #expect(
      try await zone.read { try $0.minima(of: \.cents, by: \.room, all) }
        == ["Kitchen": 2, "Hall": 400])
    #expect(StoredValue.text("Kitchen") != .text("\u{212A}itchen"))
    #expect(Set([StoredValue.text("Kitchen"), .text("\u{212A}itchen")]).count == 2)
  }
}
