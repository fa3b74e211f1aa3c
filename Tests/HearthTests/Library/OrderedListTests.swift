import TestSupport
import Testing

@testable import Hearth

/// A step of a plan, in an order that people choose.
private struct Stage: Record, Equatable {
  var id = Key<Stage>()
  var plan = 0
  var name = ""
  var position = Position()

  static let schema = Schema<Stage>("stage", 1) {
    Field(1, \.plan)
    Field(2, \.name)
    Field(3, \.position)
    Index(\.plan, \.position)
  }
  static let app = AppSchema("org.example.stages", [Stage.self]) {
    Rule(Stage.self, .child, may: .change(\.position))
  }
  static let list = Stage.where(\.plan == 1)
}

@Suite("Positions")
struct PositionTests {
  private static let marks: [[UInt8]] = [
    [0, 0, 0, 0, 0], [0xff, 0xff, 0xff, 0xff, 0xff], [0x80, 0, 0, 0, 7], [0x3f, 0xc0, 1, 1, 1],
  ]

  @Test("Numbers keep their order as bytes, and are read back")
  func numbers() throws {
    let near = (-70_000...70_000).map { Int64($0) }
    let far: [Int64] = [.min, .min + 1, -1 << 40, 1 << 40, .max - 1, .max]
    let numbers = (near + far).sorted()
    var last: [UInt8] = []
    for number in numbers {
      let bytes = OrderedNumber.bytes(of: number)
      #expect(last.lexicographicallyPrecedes(bytes), "\(number)")
      var rest = (bytes + [1, 2])[...]
      #expect(OrderedNumber.read(&rest) == number)
      #expect(Array(rest) == [1, 2])
      last = bytes
    }
  }

  @Test("There is always a position between two others", arguments: UInt64(1)...40)
  func between(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var list: [Position] = []
    for _ in 0..<300 {
      let place = seed % 4 == 0 ? list.count / 2 : random.below(list.count + 1)
      let mark = PositionTests.marks[random.below(seed % 2 == 0 ? 1 : 4)]
      let left = place == 0 ? nil : list[place - 1]
      let right = place == list.count ? nil : list[place]
      guard let position = Position.between(left, right, by: mark) else {
        // Only the length may be a reason.
        #expect([left, right].contains { ($0?.bytes.count ?? 0) > Position.maximumBytes - 16 })
        return
      }
      #expect(left.map { $0 < position } ?? true, "seed \(seed)")
      #expect(right.map { position < $0 } ?? true, "seed \(seed)")
      #expect(PositionPath(position)?.position == position)
      list.insert(position, at: place)
    }
    #expect(list == list.sorted() && Set(list).count == list.count)
  }

  @Test("Who adds to one end, or from there inwards, needs no more bytes")
  func short() throws {
    let mark = PositionTests.marks[2]
    var (first, last) = (Position?.none, Position?.none)
    for _ in 0..<5_000 {
      first = try #require(Position.between(nil, first, by: mark))
      last = try #require(Position.between(last, nil, by: mark))
    }
    #expect(first.map { $0.bytes.count <= 8 } ?? false)
    #expect(last.map { $0.bytes.count <= 8 } ?? false)
    var left = try #require(Position.between(first, nil, by: PositionTests.marks[0]))
    for _ in 0..<5_000 { left = try #require(Position.between(left, last, by: mark)) }
    #expect(left.bytes.count <= 24)
  }

  @Test("What two people add at one place at the same time does not mix", arguments: UInt64(1)...60)
  func runs(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var list: [Position] = []
    for _ in 0..<random.below(12) {
      let place = random.below(list.count + 1)
      list.insert(
        try #require(
          Position.between(
            place == 0 ? nil : list[place - 1], place == list.count ? nil : list[place],
            by: PositionTests.marks[random.oneIn(2) ? 0 : 3])), at: place)
    }
    let place = random.below(list.count + 1)
    // Each goes on after, or before, what it added last.
    let added = try (0..<2).map { writer -> [Position] in
      var (left, right) = (
        place == 0 ? nil : list[place - 1], place == list.count ? nil : list[place]
      )
      let isUpwards = random.oneIn(2)
      return try (0..<6).map { _ in
        let position = try #require(
          Position.between(left, right, by: PositionTests.marks[writer + 1]))
        if isUpwards { right = position } else { left = position }
        return position
      }
    }
    let whose = (list.map { ($0, -1) } + added[0].map { ($0, 0) } + added[1].map { ($0, 1) })
      .sorted { $0.0 < $1.0 }.map(\.1)
    let runs = whose.reduce(into: [Int]()) { if $0.last != $1 { $0.append($1) } }
    #expect(runs.count { $0 == 0 } == 1 && runs.count { $0 == 1 } == 1, "seed \(seed): \(whose)")
    #expect(Set(list + added.joined()).count == list.count + 12)
  }

  @Test("Bytes that no program writes are a position, with none beside it")
  func foreign() throws {
    let mark = PositionTests.marks[2]
    for bytes: [UInt8] in [
      [1], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0x82], [1, 2, 3, 4, 5, 0xc1, 0, 1],
      [1, 2, 3, 4, 5, 0xff], [UInt8](repeating: 9, count: 70_000),
    ] {
      let foreign = try #require(Position(stored: .bytes(bytes)))
      #expect(PositionPath(foreign) == nil, "\(bytes.prefix(9))")
      #expect(Position.between(foreign, nil, by: mark) == nil)
      #expect(Position.between(nil, foreign, by: mark) == nil)
    }
    let one = try #require(Position.between(nil, nil, by: mark))
    #expect(Position.between(one, one, by: mark) == nil)
    #expect(Position.between(one, Position(), by: mark) == nil)
  }
}

@Suite("Ordered lists")
struct OrderedListTests {
  private func zone() async throws -> HearthZone {
    try await Shopping().open("Anna", Stage.app).shared.createZone(named: "Garden")
  }

  private func names(_ zone: HearthZone) async throws -> String {
    try await zone.fetch(Stage.list.order(\.position)).map(\.name).joined()
  }

  /// Adds stages at the end of the list.
  private func add(_ names: String, to zone: HearthZone) async throws -> [Stage] {
    try await zone.write { tx in
      try names.map {
        try tx.insert(
          Stage(plan: 1, name: String($0)), at: .last, of: Stage.list, by: \.position)
      }
    }
  }

  @Test("Records go where they are put, as in an array", arguments: UInt64(1)...6)
  func moves(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let zone = try await zone()
    let stages = try await add("abcdefg", to: zone)
    // Another list of the same type stays as it is.
    try await zone.insert(Stage(plan: 2, name: "other"))
    var expected = stages.map(\.id)
    for _ in 0..<40 {
      let moved = stages[random.below(stages.count)].id
      expected.removeAll { $0 == moved }
      let index = random.below(expected.count)
      let place: ListPlace<Stage>
      switch random.below(4) {
      case 0: (place, _) = (.first, expected.insert(moved, at: 0))
      case 1: (place, _) = (.last, expected.append(moved))
      case 2:
        place = .before(expected[index])
        expected.insert(moved, at: index)
      default:
        place = .after(expected[index])
        expected.insert(moved, at: index + 1)
      }
      try await zone.write { try $0.move(moved, \.position, to: place, in: Stage.list) }
      let found = try await zone.fetch(Stage.list.order(\.position)).map(\.id)
      #expect(found == expected, "seed \(seed)")
    }
  }

  @Test("Records that were never put anywhere get positions when one of them is moved")
  func unplaced() async throws {
    let zone = try await zone()
    let ids = try await zone.write { tx in
      try "abc".map { try tx.insert(Stage(plan: 1, name: String($0))).id }
    }
    let before = try await names(zone)
    let last = try #require(try await zone.fetch(Stage.list.order(\.position)).last)
    try await zone.write { try $0.move(last.id, \.position, to: .first, in: Stage.list) }
    let after = try await names(zone)
    #expect(after == String(before.suffix(1) + before.prefix(2)))
    let placed = try await zone.fetch(Stage.list)
    #expect(placed.allSatisfy { $0.position != Position() } && placed.count == ids.count)
  }

  @Test("Equal positions make room for a record between them")
  func equal() async throws {
    let zone = try await zone()
    let stages = try await add("ab", to: zone)
    try await zone.update(stages[1].id) { $0.position = stages[0].position }
    let tied = try await zone.fetch(Stage.list.order(\.position)).map(\.id)
    let added = try await zone.write { tx in
      try tx.insert(
        Stage(plan: 1, name: "c"), at: .after(tied[0]), of: Stage.list, by: \.position)
    }
    let all = try await zone.fetch(Stage.list.order(\.position))
    #expect(all.map(\.id) == [tied[0], added.id, tied[1]])
    #expect(all[1].position == added.position)
  }

  @Test(
    "In a list of over 10,000 records a move writes few positions, and never fails",
    .timeLimit(.minutes(20)))
  func large() async throws {
    let zone = try await zone()
    let stages = (0..<10_050).map { _ in Stage(plan: 1) }.sorted { $0.id < $1.id }
    for start in stride(from: 0, to: stages.count, by: 2_000) {
      let part = Array(stages[start..<min(start + 2_000, stages.count)])
      try await zone.write { tx in
        for stage in part { try tx.insert(stage) }
      }
    }
    func move(_ key: Key<Stage>, _ place: ListPlace<Stage>) async throws {
      try await zone.write { try $0.move(key, \.position, to: place, in: Stage.list) }
    }
    func present() async throws -> [Stage] {
      Array(try await zone.fetch(Stage.list.order(\.position)))
    }
    // Nothing comes before records that were never put anywhere: all of them get positions.
    var expected = stages.map(\.id)
    expected.insert(expected.removeLast(), at: 0)
    try await move(expected[0], .first)
    let placed = try await present()
    #expect(placed.map(\.id) == expected)
    // Somebody gives two records one position, and a third one bytes that no program writes.
    let (shared, foreign, tied) = (placed[5_000], expected[5_001], expected[5_002])
    try await zone.write { tx in
      try tx.update(tied) { $0.position = shared.position }
      try tx.update(foreign) { $0.position = Position(bytes: shared.position.bytes + [1]) }
    }
    expected.swapAt(5_001, 5_002)
    var former = try await present()
    #expect(former.map(\.id) == expected)
    let moves: [(place: ListPlace<Stage>, index: Int)] = [
      (.after(shared.id), 5_000), (.before(foreign), 5_001),
    ]
    for (place, index) in moves {
      let moved = expected.remove(at: 1)
      expected.insert(moved, at: index)
      try await move(moved, place)
      let found = try await present()
      #expect(found.map(\.id) == expected)
      let before = Dictionary(uniqueKeysWithValues: former.map { ($0.id, $0.position) })
      #expect(found.count { before[$0.id] != $0.position } <= 3)
      former = found
    }
  }

  @Test("Two devices that add to one list offline keep their own order, one after the other")
  func together() async throws {
    let shop = try Shopping()
    let anna = try await shop.open("Anna", Stage.app)
    let zone = try await anna.shared.createZone(named: "Garden")
    try await anna.addFolder(shop.folder)
    let ben = try await shop.open("Ben", Stage.app)
    let bens = try await ben.joined(try await zone.invite(role: .child))
    let stages = try await add("xy", to: zone)
    try await Shopping.settle([anna, ben])
    _ = try await add("abc", to: zone)
    // A child may move here, and do nothing else.
    try await bens.write {
      try $0.move(stages[1].id, \.position, to: .before(stages[0].id), in: Stage.list)
    }
    let refused = await fault {
      try await bens.write {
        _ = try $0.insert(Stage(plan: 1), at: .last, of: Stage.list, by: \.position)
      }
    }
    #expect(refused?.code == .notAllowed)
    try await Shopping.settle([anna, ben])
    #expect(try await names(zone) == "yxabc")
    #expect(try await names(bens) == "yxabc")
  }

  @Test("A place that is not there is an error that changes nothing")
  func errors() async throws {
    let zone = try await zone()
    let stages = try await add("ab", to: zone)
    let other = try await zone.insert(Stage(plan: 2, name: "other"))
    func moving(_ key: Key<Stage>, _ place: ListPlace<Stage>) async -> HearthError.Code? {
      await fault {
        try await zone.write { try $0.move(key, \.position, to: place, in: Stage.list) }
      }?.code
    }
    #expect(await moving(Key(), .first) == .notFound)
    #expect(await moving(stages[0].id, .after(other.id)) == .notFound)
    #expect(await moving(stages[0].id, .before(stages[0].id)) == .invalid)
    #expect(try await names(zone) == "ab")
    #expect(await moving(other.id, .before(stages[1].id)) == nil)
    try await zone.update(other.id) { $0.plan = 1 }
    #expect(try await names(zone) == "aotherb")
  }
}
