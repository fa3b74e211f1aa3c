import Foundation
import Hearth
import Testing

struct Chore: Record {
  var id = Key<Chore>()
  var title = ""
  var points: Int64 = 0

  static let schema = Schema<Chore>("chore", 1) {
    Field(1, \.title)
    History(2, \.points)
  }
}

struct Done: Event {
  var id = Key<Done>()
  var chore: Key<Chore>?
  var comment = ""

  static let keepsPast = true
  static let schema = Schema<Done>("done", 2) {
    Reference(1, \.chore)
    Field(2, \.comment)
  }
}

@Suite("The guide to events and histories")
struct EventGuideTests {
  private let app = AppSchema("org.example.chores", [Chore.self, Done.self]) {
    Rule(Done.self, .child, may: .create)
  }

  @Test("The guide's code does what the guide says")
  func guide() async throws {
    let family = try Family()
    let anna = try await HearthNode.open(at: family.home("Anna"), app, as: .new(person: "Anna"))
    let zone = try await anna.shared.zone(named: "Family", create: true)
    try await anna.addFolder(family.folder)
    let ben = try await HearthNode.open(at: family.home("Ben"), app, as: .new(person: "Ben"))
    let link = try await zone.invite()
    guard case .joined(let bens) = try await ben.join(link) else { return }
    let dishes = try await zone.insert(Chore(title: "Dishes", points: 10))
    let done = try await zone.insert(Done(chore: dishes.id, comment: "with the pans"))
    try await zone.update(dishes.id) { $0.points = 5 }
    try await anna.sync()
    try await ben.sync()
    let authors = try await bens.authors
    if let origin = try await bens.read({ try $0.origin(of: done.id) }) {
      print(authors[origin]?.name ?? "a stranger", origin.time)
      #expect(authors[origin]?.name == "Anna")
    }
    let versions = try await bens.read { try $0.versions(of: \Chore.points, in: dishes.id) }
    for version in versions {
      print(version.value, authors[version.origin]?.name ?? "a stranger")
    }
    #expect(versions.map(\.value) == [10, 5])
    let seen = try await bens.read {
      try $0.value(of: \Chore.points, in: dishes.id, seenBy: done.id)
    }
    #expect(seen == 10)
  }

  @Test("Every block of code in the guide is in this file")
  func compiled() throws {
    try GuideCode.check("events-and-histories.md", isIn: #filePath, blocks: 5)
  }
}
