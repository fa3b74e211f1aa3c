import Foundation
import Hearth
import Testing

/// The items as a newer program of the same application declares them.
private struct NewerItem: Record {
  var id = Key<NewerItem>()
  var name = ""
  var urgency = 1

  static let schema = Schema<NewerItem>("item", 2) {
    Field(2, \.name)
    Field(5, \.urgency)
  }

  static let app = AppSchema("org.example.shopping", [ShoppingList.self, NewerItem.self])
}

@Suite("Writing records")
struct RecordWritingTests {
  private struct Refusal: Error {}

  @Test("An update writes what differs, and hides nothing that others wrote")
  func differences() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let item = try await zones[0].insert(Item(name: "Milk", quantity: 1, tags: ["a", "b"]))
    try await Shopping.settle(nodes)
    try await zones[0].update(item.id) {
      $0.name = "Oat milk"
      $0.quantity += 2
      $0.tags.insert("c")
    }
    try await zones[1].update(item.id) {
      $0.isBought = true
      $0.quantity += 4
      $0.tags.remove("a")
    }
    try await Shopping.settle(nodes)
    for zone in zones {
      let merged = try #require(try await zone.get(item.id))
      #expect(merged.name == "Oat milk" && merged.isBought)
      #expect(merged.quantity == 7)
      #expect(merged.tags == ["b", "c"])
    }
    // A value that was read long ago and changed in one field writes that field alone.
    var edited = item
    edited.note = "cold"
    let late = edited
    try await zones[1].write { try $0.update(from: item, to: late) }
    let kept = try #require(try await zones[1].get(item.id))
    #expect(kept.name == "Oat milk" && kept.note == "cold" && kept.quantity == 7)
    #expect(try await zones[0].digest() != zones[1].digest())
    try await Shopping.settle(nodes)
    #expect(try await zones[0].digest() == zones[1].digest())
  }

  @Test("An update that changes nothing writes nothing")
  func nothing() async throws {
    let zone = try await Shopping().zone()
    let item = try await zone.insert(Item(name: "Milk", tags: ["a"]))
    let before = try await zone.digest()
    try await zone.update(item.id) { $0.name = "Milk" }
    #expect(try await zone.digest() == before)
  }

  @Test("A key is inserted once; a deleted record is restored whole, or made anew")
  func lives() async throws {
    let zone = try await Shopping().zone()
    let item = try await zone.insert(Item(name: "Milk", note: "cold", quantity: 3, tags: ["a"]))
    #expect(await fault { try await zone.insert(item) }?.code == .exists)
    #expect(try await zone.restore(item.id) == false)
    #expect(try await zone.delete(item.id))
    #expect(try await zone.delete(item.id) == false)
    #expect(try await zone.get(item.id) == nil)
    #expect(await fault { try await zone.update(item.id) { $0.name = "" } }?.code == .notFound)
    #expect(try await zone.restore(item.id))
    #expect(try await zone.get(item.id) == item)
    try await zone.delete(item.id)
    let anew = Item(id: item.id, name: "Bread", tags: ["b"])
    try await zone.insert(anew)
    #expect(try await zone.get(item.id) == anew)
  }

  @Test("Eight tasks that look before they insert make each record once")
  func isolation() async throws {
    let zone = try await Shopping().zone()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for number in 0..<50 {
            _ = try await zone.write { tx in
              if let old = try tx.first(Item.where(\.name == "\(number)")) { return old.id }
              return try tx.insert(Item(name: "\(number)")).id
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await zone.count(Item.all) == 50)
  }

  @Test("A transaction reads what it wrote, gives a result, and is written whole or not at all")
  func transactions() async throws {
    let zone = try await Shopping().zone()
    let list = try await zone.insert(ShoppingList(name: "Week"))
    let counts = try await zone.write { tx in
      var counts = [try tx.count(Item.all)]
      for name in ["Milk", "Bread"] {
        try tx.insert(Item(list: list.id, name: name, quantity: 2))
        counts.append(try tx.count(Item.where(\.list == list.id)))
      }
      let bread = try #require(try tx.first(Item.where(\.name == "Bread")))
      try tx.update(bread.id) { $0.quantity += 5 }
      counts.append(Int(try tx.sum(of: \.quantity, Item.all)))
      try tx.delete(bread.id)
      counts.append(try tx.count(Item.all))
      return counts
    }
    #expect(counts == [0, 1, 2, 9, 1])
    #expect(try await zone.fetch(Item.all).map(\.name) == ["Milk"])
    #expect(try await zone.fetch(Item.all).first?.quantity == 2)
    let before = try await zone.digest()
    await #expect(throws: Refusal.self) {
      try await zone.write { tx in
        try tx.insert(Item(name: "Cheese"))
        _ = try tx.count(Item.all)
        throw Refusal()
      }
    }
    #expect(try await zone.digest() == before)
    let late = await fault {
      try await zone.write { tx in
        try tx.delete(list.id)
        try tx.restore(list.id)
      }
    }
    #expect(late?.code == .invalid)
    #expect(try await zone.get(list.id) == list)
  }

  @Test("A record that does not fit is reported beside the others, and can be deleted")
  func unreadable() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let items = zones[0].observe(Item.all.order(\.name))
    var seen = items.makeAsyncIterator()
    #expect(try await seen.next()?.count == 0)
    try await zones[0].insert(Item(name: "Bread"))
    try await nodes[1].close()
    let ben = try await shopping.open("Ben", NewerItem.app)
    let theirs = try #require(await ben.shared.zones().first)
    let newer = try await theirs.insert(NewerItem(name: "Milk", urgency: 9))
    try await Shopping.settle([ben, nodes[0]])
    let found = try await zones[0].fetch(Item.all)
    #expect(found.map(\.name) == ["Bread"])
    #expect(found.unreadable.map(\.id) == ["\(newer.id)"])
    #expect(found.unreadable.map(\.field) == ["urgency"])
    #expect(try await seen.next()?.unreadable.count == 1)
    let key = try #require(Key<Item>("\(newer.id)"))
    #expect(await fault { _ = try await zones[0].get(key) }?.code == .unreadable)
    #expect(try await zones[0].delete(key))
    let rest = try #require(try await seen.next())
    #expect(rest.count == 1 && rest.unreadable.isEmpty)
  }

  @Test("Several devices derive one key from a name")
  func namedKeys() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    for zone in zones {
      try await zone.write { tx in
        try tx.insert(ShoppingList(id: tx.key(of: ShoppingList.self, named: "main"), name: "Main"))
      }
    }
    try await Shopping.settle(nodes)
    #expect(try await zones[0].count(ShoppingList.all) == 1)
    #expect(try await zones[0].digest() == zones[1].digest())
  }

  @Test("Rules give a child one field, and only admins the deletion of lists")
  func rules() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair(.child)
    let item = try await zones[0].insert(Item(name: "Milk"))
    let list = try await zones[0].insert(ShoppingList(name: "Week"))
    try await Shopping.settle(nodes)
    try await zones[1].update(item.id) { $0.quantity += 1 }
    let refused = await fault { try await zones[1].update(item.id) { $0.name = "x" } }
    #expect(refused?.code == .notAllowed)
    #expect(await fault { try await zones[1].insert(Item()) }?.code == .notAllowed)
    let carl = try await shopping.open("Carl")
    let third = try await carl.joined(try await zones[0].invite(role: .member))
    #expect(await fault { try await third.delete(list.id) }?.code == .notAllowed)
    try await third.delete(item.id)
    try await zones[0].delete(list.id)
    try await Shopping.settle(nodes + [carl])
    #expect(try await zones[1].count(ShoppingList.all) == 0)
  }
}
