import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Testing

/// What a removed device had written and nobody had seen.
@Suite("Work that a removal came before")
struct LeftWorkTests {
  private func group(of node: Node, _ zone: ZoneID) async throws -> GroupID {
    try #require(await node.dataZones().first { $0.id == zone }).group
  }

  @Test("It reaches a folder with the round that brings the removal, and an admin adopts it")
  func adopted() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Cleo"])
    let group = try await group(of: nodes[0], zone)
    try await nodes[1].note(Note.id(1), [.assign(Note.title, .text("unsynced"))], in: zone)
    try await nodes[0].people.remove(await nodes[1].person, from: group)
    _ = try await nodes[0].sync()
    // Ben's node takes first, so it knows of the removal before it gives anything.
    let report = try await nodes[1].sync()
    #expect(report.published > 0)
    #expect(try await nodes[1].ending(in: group)?.kind == .removed)
    #expect(try await nodes[1].quarantine.list(in: group).map(\.changes.count) == [1])
    try await Family.settle([nodes[0], nodes[2]])
    let kept = try await nodes[0].quarantine.list(in: group)
    #expect(kept.map(\.changes.count) == [1] && kept.map(\.cause) == [.beyondCut])
    for node in [nodes[0], nodes[2]] {
      #expect(try await node.state(Note.id(1), in: zone)?.shown(Note.title) == nil)
    }
    try await nodes[0].quarantine.adopt(try #require(kept.first), in: group)
    try await Family.settle([nodes[0], nodes[2]])
    for node in [nodes[0], nodes[2]] {
      #expect(try await node.state(Note.id(1), in: zone)?.shown(Note.title) == .text("unsynced"))
      #expect(try await node.quarantine.list(in: group).isEmpty)
    }
    #expect(try await Family.digests([nodes[0], nodes[2]], zone).count == 1)
    // Once given, there is nothing more to give.
    #expect(try await nodes[1].sync().published == 0)
  }

  @Test("Who is out gives only what it wrote itself, and takes nothing away")
  func nothingOfOthers() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let group = try await group(of: nodes[0], zone)
    try await nodes[0].note(Note.id(2), [.assign(Note.title, .text("Anna's"))], in: zone)
    try await Family.settle(nodes)
    try await nodes[0].people.remove(await nodes[1].person, from: group)
    _ = try await nodes[0].sync()
    _ = try await nodes[1].sync()
    let files = try FileManager.default.subpathsOfDirectory(atPath: family.folder)
      .filter { $0.hasSuffix(".seg") }
    try #require(!files.isEmpty)
    for file in files { try FileManager.default.removeItem(atPath: family.folder + "/" + file) }
    let gone = try await nodes[1].sync()
    let back = try FileManager.default.subpathsOfDirectory(atPath: family.folder)
      .filter { $0.hasSuffix(".seg") }
    // Anna's segments are not among them: her node puts those back itself.
    #expect(back.count == gone.published && back.count < files.count)
  }
}
