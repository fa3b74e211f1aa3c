import Hearth
import Testing

@Suite("Reading beside writes")
struct ReadingTests {
  @Test("Reads and first states of observations are answered while a transaction is open")
  func besideOpenTransaction() async throws {
    let zone = try await Shopping().zone()
    let milk = try await zone.insert(Item(name: "Milk"))
    let held = Held()
    let writing = Task(executorPreference: OwnThread()) {
      try await zone.write { tx in
        try tx.insert(Item(name: "Bread"))
        // A count tries the write in the store.
        _ = try tx.count(Item.all)
        return held.hold()
      }
    }
    await held.began()
    #expect(try await zone.fetch(Item.all).map(\.name) == ["Milk"])
    #expect(try await zone.get(milk.id)?.name == "Milk")
    #expect(try await zone.count(Item.where(\.name == "Bread")) == 0)
    #expect(try await zone.read { try $0.sum(of: \.quantity, Item.all) } == 0)
    var seen = zone.observe(Item.all.order(\.name)).makeAsyncIterator()
    // Without this state, no second one would come.
    try #require(try await seen.next()?.map(\.name) == ["Milk"])
    held.release()
    #expect(try await writing.value)
    #expect(try await zone.count(Item.all) == 2)
    #expect(try await seen.next()?.map(\.name) == ["Bread", "Milk"])
  }

  @Test("A read after a write that has returned sees it, of every zone")
  func ownWrites() async throws {
    let anna = try await Shopping().open("Anna")
    for round in 0..<3 {
      // Each zone is new to the reader.
      let zone = try await anna.shared.createZone(named: "\(round)")
      for number in 1...20 {
        try await zone.insert(Item(name: "\(number)"))
        #expect(try await zone.count(Item.all) == number)
      }
    }
    let own = try #require(await anna.personal.zones().first)
    try await own.insert(Item(name: "Present"))
    #expect(try await own.count(Item.all) == 1)
  }

  @Test("What is written while an observation reads wakes it, if it has read that")
  func writtenWhileReading() async throws {
    let zone = try await Shopping().zone()
    let (held, list) = (Held(), ShoppingList(name: "Week"))
    let states = zone.observe { reader in
      let count = try reader.count(ShoppingList.all)
      let items = try reader.count(Item.all)
      if items == 0 { _ = held.hold() }
      return [count, items]
    }
    let reading = Task(executorPreference: OwnThread()) {
      try await states.first { $0 == [1, 1] }
    }
    await held.began()
    try await zone.insert(list)
    try await zone.insert(Item(list: list.id, name: "Milk"))
    held.release()
    #expect(try await reading.value == [1, 1])
  }

  @Test("A closed node reads nothing")
  func closed() async throws {
    let anna = try await Shopping().open("Anna")
    let zone = try await anna.shared.createZone(named: "Home")
    #expect(try await zone.count(Item.all) == 0)
    try await anna.close()
    #expect(await fault { _ = try await zone.count(Item.all) }?.code == .closed)
  }
}
