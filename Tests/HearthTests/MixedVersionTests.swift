import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Testing

@Suite("Old and new versions together")
struct MixedVersionTests {
  private static let mood = FieldID(.register, 20)
  private static let medal = TypeID.event(30, keepsCause: true)
  private static let medalText = FieldID(.register, 1)

  /// The program with one more field and one more type.
  private static let newer = NodeSchema(records: [
    RecordSchema(
      Note.type, "note", Note.schema.fields + [FieldSchema(mood, "mood", .text, indexed: true)]),
    RecordSchema(medal, "medal", [FieldSchema(medalText, "text", .text)]),
  ])

  @Test(
    "A field and a type that one node lacks are kept, merged, forwarded and shown after an upgrade")
  func unknownFieldAndType() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Old", "Carrier"])
    let new = try await Node.create(
      at: family.home("New"), person: "New", device: "n", passphrase: nil,
      schema: MixedVersionTests.newer)
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    _ = try await new.invitations.join(link)
    let id = Identifier(high: 0x1234_5678_9abc_def0, low: 1)
    try await new.note(
      id, [.assign(Note.title, .text("t")), .assign(MixedVersionTests.mood, .text("glad"))],
      in: zone)
    let medal = try await new.write(to: zone) { _, dot in
      let event = eventID(in: zone, type: MixedVersionTests.medal, dot: dot, index: 0)
      let operation = HearthCRDT.Operation(
        RecordKey(type: MixedVersionTests.medal, id: event),
        .event([EventField(MixedVersionTests.medalText, .text("gold"))]))
      return ([operation], event)
    }
    try await Family.settle(nodes + [new])
    // The old node edits the same record, concurrently with the new one.
    try await nodes[0].note(id, [.assign(Note.title, .text("old's"))], in: zone)
    try await new.note(id, [.assign(MixedVersionTests.mood, .text("gladder"))], in: zone)
    try await Family.settle(nodes + [new])
    #expect(try await Family.digests(nodes + [new], zone).count == 1)
    let state = try #require(try await new.state(id, in: zone))
    #expect(state.shown(Note.title) == .text("old's"))
    #expect(state.shown(MixedVersionTests.mood) == .text("gladder"))
    // The old node is upgraded: what it kept becomes a column and a table.
    let digest = try await nodes[0].digest(of: zone)
    try await nodes[0].close()
    let upgraded = try await Node.open(at: family.home("Old"), schema: MixedVersionTests.newer)
    #expect(try await upgraded.digest(of: zone) == digest)
    let found = try await upgraded.read(zone) { source in
      (
        try source.ids(of: Note.type, where: MixedVersionTests.mood, is: .text("gladder")),
        try source.event(RecordKey(type: MixedVersionTests.medal, id: medal))
      )
    }
    #expect(found.0 == [id])
    #expect(found.1?[MixedVersionTests.medalText] == .text("gold"))
    // And back: the table stays in use.
    try await upgraded.close()
    let downgraded = try await Node.open(at: family.home("Old"), schema: Family.schema)
    #expect(try await downgraded.digest(of: zone) == digest)
  }
}
