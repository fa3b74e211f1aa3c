import Foundation
import Hearth
import Testing

@Suite("Conflicts")
struct ConflictTests {
  /// Two zones in which both people named one item at the same time.
  private func conflicted(
    _ shopping: Shopping
  ) async throws -> (nodes: [HearthNode], zones: [HearthZone], item: Key<Item>) {
    let (nodes, zones) = try await shopping.pair()
    let item = try await zones[0].insert(Item(name: "Milk", quantity: 1, tags: ["a"]))
    try await Shopping.settle(nodes)
    #expect(try await zones[0].conflicts().isEmpty)
    try await zones[0].update(item.id) {
      $0.name = "Oat milk"
      $0.quantity += 1
      $0.tags.insert("b")
    }
    try await zones[1].update(item.id) {
      $0.name = "Soy milk"
      $0.quantity += 1
      $0.tags.insert("c")
    }
    try await Shopping.settle(nodes)
    return (nodes, zones, item.id)
  }

  @Test("Both values are listed with who wrote them and when, the shown one first")
  func listed() async throws {
    let shopping = try Shopping()
    let (nodes, zones, item) = try await conflicted(shopping)
    let conflicts = try await zones[0].conflicts()
    #expect(conflicts.count == 1)
    let conflict = try #require(conflicts.first)
    #expect(conflict.type == "item" && conflict.field == "name")
    #expect(conflict.key(of: Item.self) == item && conflict.key(of: ShoppingList.self) == nil)
    #expect(conflict.values.count == 2)
    let shown = try #require(try await zones[0].get(item)).name
    #expect(conflict.values[0].stored == .text(shown))
    for value in conflict.values {
      let isAnnas = value.stored == .text("Oat milk")
      #expect(value.authorName == (isAnnas ? "Anna" : "Ben"))
      #expect(value.author == (await nodes[isAnnas ? 0 : 1].me))
      #expect(value.device == (await nodes[isAnnas ? 0 : 1].device))
      #expect(abs(value.time.timeIntervalSinceNow) < 600)
    }
    #expect(try await zones[1].conflicts() == conflicts)
    #expect(try await zones[0].conflicts(of: Item.self) == conflicts)
    #expect(try await zones[0].conflicts(of: ShoppingList.self).isEmpty)
  }

  @Test("Where both wrote the same, there is no conflict")
  func equal() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let item = try await zones[0].insert(Item(name: "Milk"))
    try await Shopping.settle(nodes)
    for zone in zones { try await zone.update(item.id) { $0.name = "Oat milk" } }
    try await Shopping.settle(nodes)
    for zone in zones { #expect(try await zone.conflicts().isEmpty) }
    try await zones[0].update(item.id) { $0.name = "Rice milk" }
    try await zones[1].update(item.id) { $0.name = "Soy milk" }
    try await Shopping.settle(nodes)
    let values = try await zones[0].conflicts().first?.values
    #expect(Set(values?.map { "\($0.stored)" } ?? []) == ["Rice milk", "Soy milk"])
  }

  @Test("A resolution keeps one value on every device", arguments: [0, 1])
  func resolved(choice: Int) async throws {
    let shopping = try Shopping()
    let (nodes, zones, item) = try await conflicted(shopping)
    let conflict = try #require(try await zones[0].conflicts().first)
    try await zones[0].resolve(conflict, with: conflict.values[choice])
    try await Shopping.settle(nodes)
    for zone in zones {
      #expect(try await zone.conflicts().isEmpty)
      let name = try #require(try await zone.get(item)).name
      #expect(.text(name) == conflict.values[choice].stored)
    }
  }

  @Test("A conflict that has changed since it was read is not resolved unseen")
  func changed() async throws {
    let shopping = try Shopping()
    let (nodes, zones, item) = try await conflicted(shopping)
    let conflict = try #require(try await zones[0].conflicts().first)
    try await zones[1].update(item) { $0.name = "Almond milk" }
    try await Shopping.settle(nodes)
    let refused = await fault { try await zones[0].resolve(conflict, with: conflict.values[0]) }
    #expect(refused?.code == .changed)
    #expect(try await zones[0].get(item)?.name == "Almond milk")
  }

  @Test("A deleted record has no conflicts, and a foreign value resolves none")
  func deleted() async throws {
    let shopping = try Shopping()
    let (nodes, zones, item) = try await conflicted(shopping)
    let conflict = try #require(try await zones[0].conflicts().first)
    let second = try await zones[0].insert(Item(name: "Bread"))
    try await Shopping.settle(nodes)
    try await zones[0].update(second.id) { $0.name = "Rolls" }
    try await zones[1].update(second.id) { $0.name = "Rye bread" }
    try await Shopping.settle(nodes)
    let other = try #require(
      try await zones[0].conflicts().first { $0.key(of: Item.self) == second.id })
    let refused = await fault { try await zones[0].resolve(conflict, with: other.values[0]) }
    #expect(refused?.code == .invalid)
    try await zones[0].delete(item)
    #expect(try await zones[0].conflicts().map { $0.key(of: Item.self) } == [second.id])
    let late = await fault { try await zones[0].resolve(conflict, with: conflict.values[0]) }
    #expect(late?.code == .changed)
    #expect(try await zones[0].get(item) == nil)
  }
}
