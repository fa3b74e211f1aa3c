import Hearth
import TestSupport
import Testing

/// A person's message, which may answer another one.
private struct Message: Record, Equatable {
  var id = Key<Message>()
  var answers: Key<Message>?
  var text = ""

  static let schema = Schema<Message>("message", 1) {
    Reference(1, \.answers)
    Field(2, \.text, .fullText)
  }
  static let app = AppSchema("org.example.messages", [Message.self])
}

@Suite("Joins", .timeLimit(.minutes(20)))
struct JoinTests {
  /// A zone with lists and items, one list of which was deleted.
  private struct Household {
    let zone: HearthZone
    let lists = (0..<6).map { ShoppingList(name: ["Week", "Party", ""][$0 % 3]) }
    let items: [Item]

    init(seed: UInt64) async throws {
      var random = SplitMix64(seed: seed)
      zone = try await Shopping().zone()
      let gone = ShoppingList(name: "Week")
      let all = lists + [gone]
      let items = (0..<60).map { _ in
        Item(
          list: random.oneIn(5) ? nil : all[random.below(7)].id,
          name: ["Milk", "Bread"][random.below(2)], isBought: random.oneIn(2),
          quantity: Int64(random.below(5)))
      }
      self.items = items
      try await zone.write { tx in
        for list in all { try tx.insert(list) }
        for item in items { try tx.insert(item) }
      }
      try await zone.delete(gone.id)
    }

    /// The list of an item, if it has one that was not deleted.
    func list(of item: Item) -> ShoppingList? { lists.first { $0.id == item.list } }

    /// Whether a list has something that is still to be bought.
    func isOpen(_ list: ShoppingList) -> Bool {
      items.contains { $0.list == list.id && !$0.isBought }
    }

    /// Checks that a condition holds for the same items as a rule.
    func check(
      _ condition: Condition<Item>, _ holds: (Item) -> Bool,
      _ place: SourceLocation = #_sourceLocation
    ) async throws {
      let expected = items.filter(holds)
      let found = try await zone.fetch(Item.where(condition)).map(\.id)
      #expect(found == expected.map(\.id).sorted(), sourceLocation: place)
      let sum = try await zone.read { try $0.sum(of: \.quantity, Item.where(condition)) }
      #expect(sum == expected.map(\.quantity).reduce(0, +), sourceLocation: place)
    }
  }

  @Test("Conditions on what a record refers to find what Swift would find", arguments: 1...4)
  func targets(seed: UInt64) async throws {
    let home = try await Household(seed: seed)
    let week = ShoppingList.where(\.name == "Week")
    try await home.check(.refers(\.list, to: week)) { home.list(of: $0)?.name == "Week" }
    try await home.check(!.refers(\.list, to: week)) { home.list(of: $0)?.name != "Week" }
    try await home.check(.refers(\.list, to: ShoppingList.all)) { home.list(of: $0) != nil }
    try await home.check(.refers(\.list, to: week) && \.isBought == true) {
      home.list(of: $0)?.name == "Week" && $0.isBought
    }
    try await home.check(.refers(\.list, to: week) || \.name == "Milk") {
      home.list(of: $0)?.name == "Week" || $0.name == "Milk"
    }
    let first = home.lists.sorted { ($0.name, $0.id) < ($1.name, $1.id) }.prefix(2).map(\.id)
    try await home.check(.refers(\.list, to: ShoppingList.all.order(\.name).limit(2))) {
      $0.list.map(first.contains) ?? false
    }
  }

  @Test("Conditions on what refers to a record find what Swift would find", arguments: 1...4)
  func sources(seed: UInt64) async throws {
    let home = try await Household(seed: seed)
    let isOpen = Condition<ShoppingList>.isReferred(
      by: \Item.list, of: Item.where(\.isBought == false))
    let open = try await home.zone.fetch(ShoppingList.where(isOpen)).map(\.id)
    #expect(open == home.lists.filter(home.isOpen).map(\.id).sorted())
    let others = try await home.zone.count(ShoppingList.where(!isOpen))
    #expect(others == home.lists.count { !home.isOpen($0) })
    try await home.check(.refers(\.list, to: ShoppingList.where(isOpen && \.name != ""))) {
      home.list(of: $0).map { home.isOpen($0) && $0.name != "" } ?? false
    }
  }

  @Test("Each record comes with the one that it refers to", arguments: 1...4)
  func fetching(seed: UInt64) async throws {
    let home = try await Household(seed: seed)
    let query = Item.where(\.isBought == false).order(\.name).limit(20)
    let joined = try await home.zone.read { try $0.fetch(query, with: \.list) }
    #expect(joined.map(\.record) == Array(try await home.zone.fetch(query)))
    #expect(joined.allSatisfy { $0.target == home.list(of: $0.record) })
    #expect(joined.contains { $0.target != nil } && joined.contains { $0.target == nil })
  }

  @Test("A record may refer to another of its own type")
  func ownType() async throws {
    let node = try await Shopping().open("Anna", Message.app)
    let zone = try await node.shared.createZone(named: "Chat")
    let (question, answer) = try await zone.write { tx in
      let question = try tx.insert(Message(text: "Who cooks tonight?"))
      return (question, try tx.insert(Message(answers: question.id, text: "I do")))
    }
    let answered = Message.where(.isReferred(by: \.answers, of: Message.matching("do")))
    #expect(try await zone.fetch(answered).map(\.id) == [question.id])
    let answers = Message.where(.refers(\.answers, to: Message.matching("cooks")))
    let joined = try await zone.read { try $0.fetch(answers, with: \.answers) }
    #expect(joined.map(\.record) == [answer] && joined.first?.target == question)
  }

  @Test("A transaction sees its own writes on both sides of a reference")
  func ownWrites() async throws {
    let zone = try await Shopping().zone()
    let counts = try await zone.write { tx in
      let list = try tx.insert(ShoppingList(name: "Week"))
      try tx.insert(Item(list: list.id, name: "Milk"))
      let query = Item.where(.refers(\.list, to: ShoppingList.where(\.name == "Party")))
      let before = try tx.count(query)
      try tx.update(list.id) { $0.name = "Party" }
      return [before, try tx.count(query)]
    }
    #expect(counts == [0, 1])
  }

  @Test("An observation is woken by what the other side of a reference changes")
  func observation() async throws {
    let zone = try await Shopping().zone()
    let list = try await zone.insert(ShoppingList(name: "Week"))
    try await zone.insert(Item(list: list.id, name: "Milk"))
    let query = Item.where(.refers(\.list, to: ShoppingList.where(\.name == "Party")))
    var seen = zone.observe { try $0.count(query) }.makeAsyncIterator()
    #expect(try await seen.next() == 0)
    async let next = seen.next()
    try await zone.update(list.id) { $0.name = "Party" }
    #expect(try await next == 1)
  }

  @Test("What is wrong with the query of the other side is wrong with the condition")
  func errors() async throws {
    let zone = try await Shopping().zone()
    let wrong = await fault {
      _ = try await zone.fetch(
        Item.where(.refers(\.list, to: ShoppingList.all.limit(-1))))
    }
    #expect(wrong?.code == .invalid)
    let undeclared = await fault {
      let node = try await Shopping().open("Ben", Message.app)
      let other = try await node.shared.createZone(named: "Chat")
      _ = try await other.fetch(Message.where(.isReferred(by: \Foreign.message, of: Foreign.all)))
    }
    #expect(undeclared?.code == .schema)
    var deep = Item.where(\.name == "Milk")
    for _ in 0..<20 {
      deep = Item.where(
        .refers(\.list, to: ShoppingList.where(.isReferred(by: \Item.list, of: deep))))
    }
    let tooDeep = await fault { [deep] in _ = try await zone.fetch(deep) }
    #expect(tooDeep?.code == .tooLarge)
  }
}

/// A type that no application declares.
private struct Foreign: Record {
  var id = Key<Foreign>()
  var message: Key<Message>?

  static let schema = Schema<Foreign>("foreign", 9) { Reference(1, \.message) }
}
