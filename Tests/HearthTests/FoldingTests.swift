import HearthCRDT
import HearthMembership
import HearthSync
import Testing

@testable import Hearth

/// A node that only reads records does not wait for the control logs, however long they are.
@Suite("Folding of the control logs")
struct FoldingTests {
  private func opened(_ family: Family, _ name: String) async throws -> Node {
    try await Node.open(at: family.home(name), schema: Family.schema)
  }

  @Test("reading records folds nothing, and a question about people folds everything")
  func reading() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["anna", "ben"])
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("milk"))], in: zone)
    let group = try await nodes[0].group(of: zone)
    let people = try await nodes[0].membership(of: group).people
    #expect(people.count == 2)
    try await nodes[0].close()

    let node = try await opened(family, "anna")
    #expect(await !node.isFolded)
    #expect(try await node.state(Note.id(1), in: zone)?.shown(Note.title) == .text("milk"))
    #expect(await node.dataZones().contains { $0.id == zone })
    _ = try await node.notices()
    try await node.setFact("test", [1])
    #expect(await node.privateDatabase.zone() != nil)
    #expect(await !node.isFolded, "none of this needs people")

    #expect(try await node.membership(of: group).people == people)
    #expect(await node.isFolded)
    try await node.close()
    try await nodes[1].close()
  }

  @Test("what a node writes and takes right after it was opened counts")
  func writing() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["anna", "ben"])
    for node in nodes { try await node.close() }
    let anna = try await opened(family, "anna")
    try await anna.note(Note.id(1), [.assign(Note.title, .text("milk"))], in: zone)
    _ = try await anna.sync()
    let ben = try await opened(family, "ben")
    _ = try await ben.sync()
    #expect(try await ben.state(Note.id(1), in: zone)?.shown(Note.title) == .text("milk"))
    #expect(try await Family.digests([anna, ben], zone).count == 1)
    try await anna.close()
    try await ben.close()
  }

  @Test("each question about people folds by itself")
  func questions() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["anna", "ben"])
    let group = try await nodes[0].group(of: zone)
    for node in nodes { try await node.close() }
    let questions: [@Sendable (Node) async throws -> Bool] = [
      { try await $0.membership(of: group).people.count == 2 },
      { try await $0.ending(in: group) == nil },
      { try await $0.people.entryRefusal(to: group) == nil },
      { try await $0.diagnostics.progress(in: group).count == 2 },
      { try await $0.transports.exchangedGroups().contains(group) },
      { try await !$0.digest(of: zone).isEmpty },
      {
        _ = try await $0.newsSource()
        return true
      },
    ]
    for question in questions {
      let node = try await opened(family, "anna")
      #expect(await !node.isFolded)
      #expect(try await question(node))
      #expect(await node.isFolded)
      try await node.close()
    }
  }
}
