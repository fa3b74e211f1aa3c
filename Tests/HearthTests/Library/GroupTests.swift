import Foundation
import Hearth
import Testing

@Suite("Groups of records")
struct GroupTests {
  @Test("Counts, sums and extremes of each group are those of Swift")
  func groups() async throws {
    let zone = try await Shopping().zone()
    let lists = [Key<ShoppingList>(), Key<ShoppingList>()]
    let items = (0..<40).map { number -> Item in
      var item = Item(name: "\(number % 7)")
      item.list = number % 3 == 2 ? nil : lists[number % 3]
      item.isBought = number % 5 == 0
      item.urgency = number % 2 == 0 ? .low : .high
      item.quantity = Int64(number * 3 % 11) - 4
      return item
    }
    try await zone.write { tx in for item in items { try tx.insert(item) } }
    let open = Item.where(\.isBought == false)
    let expected = Dictionary(grouping: items.filter { !$0.isBought }, by: \.list)
    let found = try await zone.read { reader in
      (
        try reader.counts(by: \.list, open), try reader.sums(of: \.quantity, by: \.list, open),
        try reader.minima(of: \.quantity, by: \.list, open),
        try reader.maxima(of: \.name, by: \.list, open)
      )
    }
    #expect(found.0 == expected.mapValues(\.count))
    #expect(found.1 == expected.mapValues { $0.map(\.quantity).reduce(0, +) })
    #expect(found.2 == expected.compactMapValues { $0.map(\.quantity).min() })
    #expect(found.3 == expected.compactMapValues { $0.map(\.name).max() })
    let first = Dictionary(grouping: items.sorted { $0.id < $1.id }.prefix(10), by: \.urgency)
    let few = try await zone.read { try $0.counts(by: \.urgency, Item.all.limit(10)) }
    #expect(few == first.mapValues(\.count))
    let none = try await zone.read { try $0.counts(by: \.urgency, Item.where(\.name == "x")) }
    #expect(none.isEmpty)
  }

  @Test("An observation of groups is woken by the fields of the groups")
  func observed() async throws {
    let zone = try await Shopping().zone()
    let item = try await zone.insert(Item(name: "Milk", quantity: 2))
    var seen = zone.observe { try $0.sums(of: \.quantity, by: \.name, Item.all) }
      .makeAsyncIterator()
    #expect(try await seen.next() == ["Milk": 2])
    try await zone.update(item.id) { $0.name = "Bread" }
    #expect(try await seen.next() == ["Bread": 2])
  }
}
