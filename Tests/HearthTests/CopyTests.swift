import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Testing

/// What the model of the exchange found about nodes that run twice, on real nodes.
@Suite("Two copies of one node")
struct CopyTests {
  @Test("What both copies have is not written twice, whoever publishes it first")
  func sameChange() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("in both"))], in: zone)
    try Family.copy(family.home("Anna"), family.home("Copy"))
    let copied = try await Node.open(at: family.home("Copy"), schema: Family.schema)
    #expect(await copied.incarnation == 2)
    try await Family.settle([copied, nodes[1]])
    let all = [nodes[0], nodes[1], copied]
    try await Family.settle(all)
    // The original goes on as it is: nothing contradicts it.
    #expect(await nodes[0].incarnation == 1)
    #expect(try await nodes[0].ownNotices().map(\.kind) == [.newLife])
    #expect(try await Family.digests(all, zone).count == 1)
    let heads = try await nodes[1].diagnostics.authorLogs(of: zone).filter {
      $0.deviceName == "Anna" || $0.personName == "Anna"
    }
    #expect(heads.reduce(0) { $0 + $1.changes } == heads.map(\.changes).max())
  }

  @Test(
    "Negative 10: two copies of one disk that wrote the same number notice it, and both are told")
  func equalLength() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].close()
    try Family.copy(family.home("Anna"), family.home("Image"))
    let anna = try await Node.open(at: family.home("Anna"), schema: Family.schema)
    let image = try await Node.open(
      at: family.home("Image"), schema: Family.schema, trustingFiles: true)
    #expect(await image.incarnation == 1)
    try await anna.note(Note.id(1), [.assign(Note.title, .text("first copy"))], in: zone)
    try await image.note(Note.id(2), [.assign(Note.title, .text("second copy"))], in: zone)
    try await Family.settle([anna, nodes[1]])
    // Unsealed and contradicted: written again under a new life, as often as it was written.
    try await Family.settle([image, nodes[1]])
    #expect(await image.incarnation == 2)
    try await Family.settle([anna, image, nodes[1]])
    #expect(try await image.notices().contains { $0.kind == .newLife })
    let group = try #require(await anna.allZones().first { $0.id == zone }).group
    let told = try await anna.membership(of: group).audit()
    #expect(told.contains { $0.operation.kind == 6 && $0.void == nil })
    #expect(try await Family.digests([anna, image, nodes[1]], zone).count == 1)
    for (number, title) in [(1, "first copy"), (2, "second copy")] {
      let state = try await nodes[1].state(Note.id(UInt64(number)), in: zone)
      #expect(state?.shown(Note.title) == .text(title))
    }
  }

  @Test(
    "Negative 10: the original of a copied node is told, and everybody that both are at work")
  func originalIsTold() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let (anna, ben) = (nodes[0], nodes[1])
    try Family.copy(family.home("Anna"), family.home("Copy"))
    let copied = try await Node.open(at: family.home("Copy"), schema: Family.schema)
    try await Family.settle([copied, anna, ben])
    // A new life alone is what a restored device has too: told, and no alarm.
    #expect(try await anna.ownNotices().map(\.kind) == [.newLife])
    #expect(
      try await anna.notices().contains {
        $0.text.hasPrefix("a copy of this device is in use elsewhere")
          && $0.text.contains("`hearth device revoke`") && $0.text.contains("`hearth device add`")
      })
    #expect(
      try await ben.ownNotices().map(\.text) == [
        "Anna's phone started a new incarnation (its files were restored or copied)"
      ])
    // The original goes on after the new life began, and has seen that: that is the proof.
    try await anna.note(Note.id(1), [.assign(Note.title, .text("original"))], in: zone)
    try await Family.settle([anna, ben, copied])
    let told = try await ben.ownNotices().map(\.text)
    #expect(told.count == 2)
    #expect(told.last?.hasPrefix("Anna's phone works in two places") == true)
    #expect(try await copied.ownNotices().map(\.kind) == [.newLife])
    // Each is told once, also by a node that was closed in between.
    try await ben.close()
    let again = try await Node.open(at: family.home("Ben"), schema: Family.schema)
    try await copied.note(Note.id(2), [.assign(Note.title, .text("copy"))], in: zone)
    try await Family.settle([anna, copied, again])
    #expect(try await again.ownNotices().count == 2)
  }

  @Test("A restored device is no alarm: nothing writes beside its new life")
  func restoredAlone() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try Family.copy(family.home("Anna"), family.home("Backup"))
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("sealed"))], in: zone)
    try await Family.settle(nodes)
    try await nodes[0].close()
    try Family.copy(family.home("Backup"), family.home("Anna"))
    let anna = try await Node.open(at: family.home("Anna"), schema: Family.schema)
    try await Family.settle([anna, nodes[1]])
    try await anna.note(Note.id(2), [.assign(Note.title, .text("later"))], in: zone)
    try await Family.settle([anna, nodes[1]])
    #expect(
      try await nodes[1].ownNotices().map(\.text) == [
        "Anna's phone started a new incarnation (its files were restored or copied)"
      ])
    #expect(try await anna.ownNotices().map(\.kind) == [.newLife])
  }

  /// Anna's node, which has published its next change, and an image of it from before, which does
  /// not notice that it is one.
  private func publishBesideImage(
    _ family: Family, _ nodes: [Node], _ zone: ZoneID
  ) async throws -> (anna: Node, image: Node) {
    try await nodes[0].close()
    try Family.copy(family.home("Anna"), family.home("Image"))
    let anna = try await Node.open(at: family.home("Anna"), schema: Family.schema)
    try await anna.note(Note.id(1), [.assign(Note.title, .text("published"))], in: zone)
    try await Family.settle([anna, nodes[1]])
    let image = try await Node.open(
      at: family.home("Image"), schema: Family.schema, trustingFiles: true)
    return (anna, image)
  }

  @Test("An old life's unsealed change is written again where the folder shows its number in use")
  func oldLife() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let (anna, image) = try await publishBesideImage(family, nodes, zone)
    try await image.note(Note.id(2), [.assign(Note.title, .text("offline"))], in: zone)
    try await image.close()
    // Now the copy is noticed, with the change of the old life still unsealed.
    try Family.copy(family.home("Image"), family.home("Moved"))
    let moved = try await Node.open(at: family.home("Moved"), schema: Family.schema)
    #expect(await moved.incarnation == 2)
    try await Family.settle([moved, nodes[1], anna])
    #expect(try await Family.digests([moved, nodes[1], anna], zone).count == 1)
    for (number, title) in [(1, "published"), (2, "offline")] {
      let state = try await nodes[1].state(Note.id(UInt64(number)), in: zone)
      #expect(state?.shown(Note.title) == .text(title))
    }
    #expect(try await nodes[1].diagnostics.zones().allSatisfy { $0.forks.isEmpty })
  }

  @Test("What later lives wrote on top of a change that is taken back reaches the others too")
  func laterLife() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let (anna, image) = try await publishBesideImage(family, nodes, zone)
    for number in 2...4 {
      try await image.note(
        Note.id(UInt64(number)), [.assign(Note.title, .text("old life"))], in: zone)
    }
    try await image.close()
    try Family.copy(family.home("Image"), family.home("Moved"))
    let moved = try await Node.open(at: family.home("Moved"), schema: Family.schema)
    #expect(await moved.incarnation == 2)
    // The new life has seen the old one's changes, which are about to be taken back.
    try await moved.note(Note.id(5), [.assign(Note.title, .text("new life"))], in: zone)
    try await Family.settle([moved, nodes[1], anna])
    #expect(try await Family.digests([moved, nodes[1], anna], zone).count == 1)
    for (number, title) in [(1, "published"), (2, "old life"), (4, "old life"), (5, "new life")] {
      let state = try await nodes[1].state(Note.id(UInt64(number)), in: zone)
      #expect(state?.shown(Note.title) == .text(title))
    }
    #expect(try await nodes[1].diagnostics.zones().allSatisfy { $0.waiting.isEmpty })
  }

  @Test("An event that names another one still names it after both were written again")
  func reference() async throws {
    let deed = TypeID.event(200)
    let field = FieldID(.register, 1)
    let schema = NodeSchema(
      records: [Note.schema, RecordSchema(deed, "deed", [FieldSchema(field, "of", .bytes)])])
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], schema: schema)
    try await nodes[0].close()
    try Family.copy(family.home("Anna"), family.home("Image"))
    let anna = try await Node.open(at: family.home("Anna"), schema: schema)
    try await anna.note(Note.id(1), [.assign(Note.title, .text("published"))], in: zone)
    try await Family.settle([anna, nodes[1]])
    let image = try await Node.open(
      at: family.home("Image"), schema: schema, trustingFiles: true)
    @Sendable func event(_ dot: Dot, _ fields: [EventField]) -> HearthCRDT.Operation {
      let id = eventID(in: zone, type: deed, dot: dot, index: 0)
      return HearthCRDT.Operation(RecordKey(type: deed, id: id), .event(fields))
    }
    let first = try await image.write(to: zone) { _, dot in
      let operation = event(dot, [])
      return ([operation], operation.key.id)
    }
    try await image.write(to: zone) { _, dot in
      ([event(dot, [EventField(field, .bytes(first.bytes))])], ())
    }
    try await Family.settle([image, nodes[1]])
    #expect(await image.incarnation == 2)
    let (ids, named) = try await nodes[1].read(zone) { source in
      let ids = try source.ids(of: deed)
      return (
        ids,
        try ids.compactMap { try source.event(RecordKey(type: deed, id: $0))?[field].bytes }
      )
    }
    #expect(ids.count == 2 && named.count == 1)
    #expect(!ids.contains(first), "it was written again, so it has another id")
    #expect(ids.contains { $0.bytes == named.first })
  }
}
