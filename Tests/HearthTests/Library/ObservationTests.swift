import Hearth
import Synchronization
import Testing

@Suite("Observing", .timeLimit(.minutes(20)))
struct ObservationTests {
  /// Counts the runs of a body.
  private final class Runs: Sendable {
    private let runs = Mutex(0)

    func add() { runs.withLock { $0 += 1 } }

    var count: Int { runs.withLock { $0 } }
  }

  @Test("An observation of one type is not woken by others")
  func otherTypes() async throws {
    let zone = try await Shopping().zone()
    let runs = Runs()
    let counts = zone.observe { reader in
      runs.add()
      return try reader.count(Item.all)
    }
    var seen = counts.makeAsyncIterator()
    #expect(try await seen.next() == 0)
    // Somebody waits all the time, so that each waking would be seen.
    async let second = counts.first { $0 == 1 }
    for number in 0..<20 { try await zone.insert(ShoppingList(name: "\(number)")) }
    let before = runs.count
    try await zone.insert(Item(name: "Milk"))
    #expect(try await second == 1)
    #expect(try await seen.next() == 1)
    #expect(before <= 2)
    #expect(runs.count <= 4)
  }

  @Test("A count is not woken by fields that are not in its query")
  func otherFields() async throws {
    let zone = try await Shopping().zone()
    let item = try await zone.insert(Item(name: "Milk"))
    let runs = Runs()
    let counts = zone.observe { reader in
      runs.add()
      return try reader.count(Item.where(\.isBought == true))
    }
    async let bought = counts.first { $0 == 1 }
    while runs.count == 0 { _ = try await zone.get(item.id) }
    for number in 0..<20 { try await zone.update(item.id) { $0.note = "\(number)" } }
    #expect(runs.count == 1)
    try await zone.update(item.id) { $0.isBought = true }
    #expect(try await bought == 1)
    #expect(runs.count == 2)
    // A deletion concerns every count.
    async let none = counts.first { $0 == 0 }
    try await zone.delete(item.id)
    #expect(try await none == 0)
  }

  @Test("Equal results are not repeated")
  func equal() async throws {
    let zone = try await Shopping().zone()
    let counts = zone.observe { try $0.count(Item.where(\.isBought == true)) }
    let seen = Task {
      var values: [Int] = []
      for try await count in counts {
        values.append(count)
        if count == 2 { break }
      }
      return values
    }
    for number in 0..<20 { try await zone.insert(Item(name: "\(number)", isBought: number > 17)) }
    let values = try await seen.value
    #expect(values == Array(Set(values)).sorted())
    #expect(values.last == 2)
  }

  @Test("Many changes arrive as one")
  func coalesced() async throws {
    let zone = try await Shopping().zone()
    let runs = Runs()
    var seen = zone.observe { reader in
      runs.add()
      return try reader.count(Item.where(\.isBought == true))
    }.makeAsyncIterator()
    #expect(try await seen.next() == 0)
    let item = try await zone.insert(Item(name: "Milk"))
    for _ in 0..<50 { try await zone.update(item.id) { $0.quantity += 1 } }
    try await zone.update(item.id) { $0.isBought = true }
    #expect(try await seen.next() == 1)
    #expect(runs.count == 2)
  }

  @Test("Nothing is a result too")
  func nothing() async throws {
    let zone = try await Shopping().zone()
    var seen = zone.observe { try $0.first(Item.all) }.makeAsyncIterator()
    #expect(try await seen.next() == .some(nil))
    let item = try await zone.insert(Item(name: "Milk"))
    #expect(try await seen.next() == item)
    try await zone.delete(item.id)
    #expect(try await seen.next() == .some(nil))
  }

  @Test("An observation ends with its task")
  func cancelled() async throws {
    let zone = try await Shopping().zone()
    let task = Task {
      var count = 0
      for try await _ in zone.observe(Item.all) { count += 1 }
      return count
    }
    task.cancel()
    #expect(try await task.value <= 1)
  }

  @Test("What another node wrote wakes an observation of its type")
  func received() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    var seen = zones[0].observe(ShoppingList.all).makeAsyncIterator()
    #expect(try await seen.next()?.count == 0)
    try await zones[1].insert(ShoppingList(name: "Week"))
    try await nodes[1].sync()
    try await nodes[0].sync()
    #expect(try await seen.next()?.map(\.name) == ["Week"])
  }
}
