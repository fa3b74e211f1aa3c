import Foundation
import Hearth
import HearthTesting
import Testing

/// A recipe with pictures.
private struct Recipe: Record, Equatable {
  var id = Key<Recipe>()
  var title = ""
  var photo: FileAttachment?
  var steps: Set<FileAttachment> = []

  static let schema = Schema<Recipe>("recipe", 1) {
    Field(1, \.title)
    Field(2, \.photo)
    SetOf(3, \.steps)
  }
}

private let recipes = AppSchema("org.example.recipes", [Recipe.self])

@Suite("Attachments in a family")
struct AttachmentTests {
  private static let day: UInt64 = 24 * 60 * 60 * 1_000

  private func picture(_ seed: UInt8, _ count: Int = 3_000) -> Data {
    Data((0..<count).map { seed &+ UInt8(truncatingIfNeeded: $0) })
  }

  /// Lets days pass, with a sync of everybody on each.
  private func live(_ days: Int, _ family: Family) async throws {
    for _ in 0..<days {
      family.clock.advance(byMilliseconds: Self.day + 1)
      for name in family.names { _ = try await family[name].sync() }
    }
  }

  @discardableResult
  private func cake(
    _ zone: HearthZone, _ photo: Data, steps: [Data] = []
  ) async throws -> Recipe {
    try await zone.write { tx in
      var recipe = Recipe(title: "Cake", photo: try tx.attach(photo, type: "image/jpeg"))
      for step in steps { recipe.steps.insert(try tx.attach(step)) }
      return try tx.insert(recipe)
    }
  }

  @Test("Content is downloaded when somebody asks for it, and stays")
  func onDemand() async throws {
    let family = try await Family(recipes, ["anna", "ben"])
    let annas = try await family["anna"].zone()
    let large = picture(1, 2_500_000)
    let cake = try await cake(annas, large, steps: [picture(2), Data()])
    let photo = try #require(cake.photo)
    #expect(photo.byteCount == large.count && photo.type == "image/jpeg")
    #expect(try await annas.attachments.isHere(photo))
    try await family.settle()
    let bens = try await family["ben"].zone()
    let seen = try #require(try await bens.get(cake.id))
    #expect(seen == cake)
    #expect(try await !bens.attachments.isHere(photo))
    #expect(try await bens.attachments.content(of: photo) == large)
    #expect(try await bens.attachments.isHere(photo))
    let steps = seen.steps.sorted { $0.byteCount < $1.byteCount }
    #expect(try await bens.attachments.content(of: steps[0]) == Data())
    #expect(try await bens.attachments.content(of: steps[1]) == picture(2))
    // What is here needs no transport any more.
    try family.partition([["anna"], ["ben"]])
    #expect(try await bens.attachments.content(of: photo) == large)
  }

  @Test("What nobody has uploaded is not found; what nobody else has is not freed")
  func missing() async throws {
    let family = try await Family(recipes, ["anna", "ben"])
    let annas = try await family["anna"].zone()
    let bens = try await family["ben"].zone()
    let cake = try await cake(annas, picture(1))
    let photo = try #require(cake.photo)
    #expect(await code { _ = try await bens.attachments.content(of: photo) } == .notFound)
    #expect(await code { try await annas.attachments.free(photo) } == .notAllowed)
    #expect(try await annas.attachments.content(of: photo) == picture(1))
    try await family.settle()
    try await annas.attachments.free(photo)
    #expect(try await !annas.attachments.isHere(photo))
    #expect(try await annas.attachments.content(of: photo) == picture(1))
    try await bens.attachments.free(photo)
    #expect(try await bens.attachments.content(of: photo) == picture(1))
  }

  @Test("A device that keeps everything brings it back to a transport that lost it")
  func archive() async throws {
    let family = try await Family(recipes, ["anna", "ben", "cleo"])
    let cake = try await cake(
      family["anna"].zone(), picture(1), steps: [picture(2), picture(3)])
    try await family.settle()
    let bens = try await family["ben"].zone()
    let first = try await bens.attachments.download()
    #expect(first.bytes > 9_000 && first.missingChunks == 0)
    let second = try await bens.attachments.download()
    #expect(second.bytes == 0 && second.missingChunks == 0)
    // Cleo's copy of the folder never had Anna's.
    for step in cake.steps {
      #expect(try await bens.attachments.isHere(step))
      #expect(try await family["cleo"].zone().attachments.content(of: step).count == 3_000)
    }
  }

  @Test("A failed transaction attaches nothing, and one without a record neither")
  func undone() async throws {
    struct Stop: Error {}
    let family = try await Family(recipes, ["anna"])
    let zone = try await family["anna"].zone()
    let attached = try await zone.write { try $0.attach(picture(1)) }
    #expect(try await !zone.attachments.isHere(attached))
    await #expect(throws: Stop.self) {
      try await zone.write { tx in
        try tx.insert(Recipe(photo: tx.attach(picture(1))))
        throw Stop()
      }
    }
    #expect(
      await code {
        try await zone.write {
          _ = try $0.attach(Data(count: FileAttachment.maximumBytes + 1))
        }
      } == .tooLarge)
    #expect(
      await code {
        try await zone.write { _ = try $0.attach([], type: String(repeating: "a", count: 256)) }
      } == .invalid)
  }

  @Test("Thirty days after its last record is gone, content is gone everywhere")
  func removed() async throws {
    let family = try await Family(recipes, ["anna", "ben", "cleo"])
    let annas = try await family["anna"].zone()
    let bens = try await family["ben"].zone()
    let cake = try await cake(annas, picture(1))
    let photo = try #require(cake.photo)
    try await family.settle()
    _ = try await bens.attachments.content(of: photo)
    try await annas.delete(cake.id)
    try await family.settle()
    try await live(20, family)
    #expect(try await bens.attachments.content(of: photo) == picture(1))
    try await live(15, family)
    #expect(try await !annas.attachments.isHere(photo))
    #expect(try await !bens.attachments.isHere(photo))
    for name in family.names {
      let zone = try await family[name].zone()
      #expect(await code { _ = try await zone.attachments.content(of: photo) } == .notFound)
    }
    try await live(70, family)
    try await family.settle()
  }

  @Test("Whoever was away removes nothing that was restored meanwhile")
  func absent() async throws {
    let family = try await Family(recipes, ["anna", "ben", "cleo"])
    let annas = try await family["anna"].zone()
    let cake = try await cake(annas, picture(1))
    let photo = try #require(cake.photo)
    try await family.settle()
    try await annas.delete(cake.id)
    try await family.settle()
    try await live(3, family)
    // Ben is away. Anna restores the record, and her device and Cleo's do not keep the content.
    try family.partition([["anna", "cleo"], ["ben"]])
    try await annas.restore(cake.id)
    for name in ["anna", "cleo"] { _ = try await family[name].sync() }
    try await annas.attachments.free(photo)
    for _ in 0..<40 {
      family.clock.advance(byMilliseconds: Self.day + 1)
      for name in ["anna", "cleo"] { _ = try await family[name].sync() }
    }
    family.heal()
    for _ in 0..<3 { for name in ["ben", "anna", "cleo"] { _ = try await family[name].sync() } }
    #expect(try await family["cleo"].zone().attachments.content(of: photo) == picture(1))
  }

  @Test("A record that is restored in time has its content, and so has a value in conflict")
  func kept() async throws {
    let family = try await Family(recipes, ["anna", "ben"])
    let annas = try await family["anna"].zone()
    let bens = try await family["ben"].zone()
    let first = try await cake(annas, picture(1))
    let other = try await cake(annas, picture(2))
    try await family.settle()
    try await annas.delete(first.id)
    let (one, two) = (picture(11), picture(12))
    try await annas.write { tx in
      let new = try tx.attach(one)
      try tx.update(other.id) { $0.photo = new }
    }
    try await bens.write { tx in
      let new = try tx.attach(two)
      try tx.update(other.id) { $0.photo = new }
    }
    try await family.settle()
    try await live(20, family)
    try await annas.restore(first.id)
    try await family.settle()
    try await live(40, family)
    let photo = try #require(first.photo)
    #expect(try await bens.attachments.content(of: photo) == picture(1))
    let conflict = try #require(try await bens.conflicts().first)
    var found: Set<Data> = []
    for value in conflict.values {
      let attachment = try #require(FileAttachment(stored: value.stored))
      found.insert(try await bens.attachments.content(of: attachment))
      found.insert(try await annas.attachments.content(of: attachment))
    }
    #expect(found == [one, two])
    // The content that both replaced is gone.
    let replaced = try #require(other.photo)
    #expect(await code { _ = try await annas.attachments.content(of: replaced) } == .notFound)
  }

  @Test(
    "Lost and late deliveries and crashes lose no content", arguments: [1, 2, 3, 4] as [UInt64])
  func faults(seed: UInt64) async throws {
    let family = try await Family(recipes, ["anna", "ben"], seed: seed)
    family.deliveries.lose(everyNth: 3)
    family.deliveries.delay(upToSyncs: 2)
    let cake = try await cake(family["anna"].zone(), picture(1), steps: [picture(2), picture(3)])
    try await family.crash("anna")
    try await family.settle()
    family.deliveries.repair()
    try await family.settle()
    let bens = try await family["ben"].zone()
    for attachment in cake.steps.union([try #require(cake.photo)]) {
      #expect(try await bens.attachments.content(of: attachment).count == 3_000)
    }
  }
}
