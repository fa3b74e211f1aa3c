import HearthCRDT
import Testing

@testable import Hearth

private struct Folder: Record {
  var id = Key<Folder>()
  var name = ""

  static let schema = Schema<Folder>("folder", 1) { Field(1, \.name) }
}

private struct Leaf: Record {
  var id = Key<Leaf>()
  var folder: Key<Folder>?

  static let schema = Schema<Leaf>("leaf", 2) { Reference(1, \.folder, onDelete: .cascade) }
}

private struct Link: Record {
  var id = Key<Link>()
  var folder: Key<Folder>?

  static let schema = Schema<Link>("link", 3) { Reference(1, \.folder, onDelete: .nullify) }
}

private struct LogEntry: Event {
  var id = Key<LogEntry>()
  var text = ""

  static let schema = Schema<LogEntry>("entry", 4) { Field(1, \.text) }
}

@Suite("Deletions that one change cannot hold")
struct LargeDeletionTests {
  private static let app = AppSchema(
    "org.example.folders", [Folder.self, Leaf.self, Link.self, LogEntry.self]
  ) {
    Rule(Leaf.self, .child, may: .everything)
    Rule(Link.self, .child, may: .everything)
  }

  /// Fills a folder with more than a change can delete.
  private func fill(_ folder: Key<Folder>, of zone: HearthZone) async throws {
    for _ in 0..<2 {
      try await zone.write { tx in
        for _ in 0..<3_000 { try tx.insert(Leaf(folder: folder)) }
      }
      try await zone.write { tx in
        for _ in 0..<3_000 { try tx.insert(Link(folder: folder)) }
      }
    }
  }

  @Test(
    "A record is deleted with however much refers to it, whole or not at all",
    .timeLimit(.minutes(20)))
  func many() async throws {
    let shopping = try Shopping()
    let anna = try await shopping.open("Anna", LargeDeletionTests.app)
    let zone = try await anna.shared.createZone(named: "Home")
    try await anna.addFolder(shopping.folder)
    let folder = try await zone.insert(Folder(name: "Photos")).id
    let other = try await zone.insert(Folder(name: "Other")).id
    let ben = try await shopping.open("Ben", LargeDeletionTests.app)
    let bens = try await ben.joined(try await zone.invite(role: .child))
    try await fill(folder, of: bens)
    try await Shopping.settle([ben, anna])

    // Ben may delete everything in the folder, which goes first, but not the folder.
    let before = try await bens.digest()
    #expect(await fault { try await bens.delete(folder) }?.code == .notAllowed)
    #expect(try await bens.digest() == before)
    #expect(try await bens.count(Leaf.all) == 6_000)

    let kept = try #require(try await zone.first(Link.all)).id
    let entry = try await zone.write { tx in
      try tx.delete(folder)
      try tx.update(kept) { $0.folder = other }
      #expect(try tx.count(Leaf.all) == 0)
      return try tx.insert(LogEntry(text: "gone")).id
    }
    #expect(try await zone.get(folder)?.name == nil)
    #expect(try await zone.count(Leaf.all) == 0)
    let late = try await bens.insert(Leaf(folder: folder)).id
    try await Shopping.settle([ben, anna])
    let nowhere: Key<Folder>? = nil
    for zone in [zone, bens] {
      #expect(try await zone.get(folder)?.name == nil)
      #expect(try await zone.fetch(Leaf.all).map(\.id) == [late])
      #expect(try await zone.fetch(Link.where(\.folder == other)).map(\.id) == [kept])
      #expect(try await zone.count(Link.where(\.folder == nowhere)) == 5_999)
      #expect(try await zone.get(entry)?.text == "gone")
    }
    #expect(try await zone.digest() == bens.digest())
  }

  /// The records of one type that are deleted with record 1, in order.
  ///
  /// - Parameter referrers: the records that refer to a record, which go with it.
  private func deletions(_ referrers: (UInt64) -> [UInt64]) throws -> [UInt64] {
    let (type, field) = (TypeID.record(1), FieldID(.register, 1))
    var rules = DeletionRules()
    rules.add(
      DeletionRules.ReferringField(type: type, field: field, isCascade: true), to: type)
    let first = RecordKey(type: type, id: Identifier(high: 0, low: 1))
    let deletion = try Deletion(of: first, by: rules) { _, key in
      referrers(key.id.low).map { Identifier(high: 0, low: $0) }
    }
    #expect(deletion.operations.allSatisfy { $0.body == .delete })
    return deletion.operations.map(\.key.id.low)
  }

  @Test(
    "What goes along is deleted before all that it refers to",
    arguments: [
      [1: [2, 3], 3: [4]], [1: [4, 2], 2: [4]], [1: [2, 4], 2: [4]],
      [1: [2, 3, 4, 5], 2: [3, 5], 3: [4], 5: [3]], [1: [2, 3], 2: [6], 3: [5], 5: [6], 6: [4]],
    ] as [[UInt64: [UInt64]]])
  func order(_ referrers: [UInt64: [UInt64]]) throws {
    let order = try deletions { referrers[$0] ?? [] }
    #expect(order.last == 1)
    #expect(order.count == Set(order).count)
    for (place, record) in order.enumerated() {
      #expect(Set(referrers[record] ?? []).isSubset(of: order[..<place]))
    }
  }

  @Test("A long chain, and a circle, are deleted whole")
  func chain() throws {
    let length: UInt64 = 200_000
    let chain = try deletions { $0 < length ? [$0 + 1] : [] }
    #expect(chain == (1...length).reversed())
    let circle = try deletions { [$0 % 3 + 1, $0] }
    #expect(circle == [3, 2, 1])
  }
}
