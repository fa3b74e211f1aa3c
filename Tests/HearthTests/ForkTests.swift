import Foundation
import HearthCRDT
import HearthMembership
import HearthSync
import Testing

@testable import Hearth

@Suite("A copy that nobody noticed")
struct ForkTests {
  private func id(_ number: UInt64) -> RecordID {
    Identifier(high: 0x3c3c_1234_9876_0f0f, low: number)
  }

  /// Copies the files of one folder into another, as a carrier does that has been away.
  private func carry(_ from: String, _ to: String) throws {
    for path in try FileManager.default.subpathsOfDirectory(atPath: from)
    where path.hasSuffix(".seg") && !FileManager.default.fileExists(atPath: to + "/" + path) {
      let target = URL(fileURLWithPath: to + "/" + path)
      try FileManager.default.createDirectory(
        at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        at: URL(fileURLWithPath: from + "/" + path), to: target)
    }
  }

  /// Both copies write three times and publish, each where the other does not look.
  private func writeApart(_ ben: Node, _ twin: Node, in zone: ZoneID) async throws {
    for step in 0..<3 as Range<UInt64> {
      try await ben.note(id(10 + step), [.assign(Note.title, .text("ben"))], in: zone)
      _ = try await ben.sync()
      try await twin.note(id(20 + step), [.assign(Note.title, .text("twin"))], in: zone)
      _ = try await twin.sync()
    }
  }

  private func move(_ node: Node, from old: String, to new: String) async throws {
    _ = try await node.transports.add(folder: new)
    try await node.transports.remove(old)
  }

  /// Starts a disk image twice; the second copy has another folder.
  private func startTwice(
    _ name: String, of family: Family, away: String
  ) async throws -> (Node, twin: Node) {
    try FileManager.default.copyItem(atPath: family.home(name), toPath: family.home("Twin"))
    let node = try await Node.open(
      at: family.home(name), schema: Family.schema, trustingFiles: true)
    let twin = try await Node.open(
      at: family.home("Twin"), schema: Family.schema, trustingFiles: true)
    try await move(twin, from: family.folder, to: away)
    return (node, twin)
  }

  /// A node knows of one fork, and has what everybody else wrote, also built anew.
  ///
  /// - Returns: how many notices there are.
  private func expectForkKnown(to node: Node, in zone: ZoneID) async throws -> Int {
    #expect(try await node.state(id(40), in: zone)?.shown(Note.votes) == .int(2))
    #expect(try await node.state(id(1), in: zone)?.shown(Note.title) == .text("shared"))
    let status = try #require(try await node.diagnostics.zones().first { $0.zone.id == zone })
    let notices = try await node.notices().filter { $0.kind == .fork }
    // Who learns of it from the members' log has it in its status alone.
    #expect(status.forks.count == 1)
    #expect(notices.count <= status.forks.count)
    for notice in notices { #expect(notice.text.contains("phone published two different")) }
    let digest = try await node.digest(of: zone)
    try await node.rebuild(zone)
    #expect(try await node.digest(of: zone) == digest)
    #expect(try await node.integrity.verify().isSound)
    return notices.count
  }

  @Test("Two histories of one life are told, held back, and harm nobody else", arguments: [0, 1])
  func fork(order: Int) async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Carla"])
    try await nodes[1].note(id(1), [.assign(Note.title, .text("shared"))], in: zone)
    try await Family.settle(nodes)
    // Ben's disk image is started twice; each copy has a folder of its own for a while.
    let away = family.home("away-folder")
    try FileManager.default.copyItem(atPath: family.folder, toPath: away)
    try await nodes[1].close()
    let (ben, twin) = try await startTwice("Ben", of: family, away: away)
    try await writeApart(ben, twin, in: zone)
    // Anna meets one history first, Carla the other.
    let (here, there) = order == 0 ? (nodes[0], nodes[2]) : (nodes[2], nodes[0])
    _ = try await here.sync()
    try await move(there, from: family.folder, to: away)
    _ = try await there.sync()
    #expect(try await here.state(id(12), in: zone) != nil)
    #expect(try await there.state(id(22), in: zone) != nil)
    // Each goes on, and then everything meets.
    try await twin.note(id(30), [.assign(Note.title, .text("later"))], in: zone)
    _ = try await twin.sync()
    try await ben.note(id(31), [.assign(Note.title, .text("later"))], in: zone)
    _ = try await ben.sync()
    try carry(away, family.folder)
    try await move(there, from: away, to: family.folder)
    try await here.note(id(40), [.count(Note.votes, 1)], in: zone)
    try await there.note(id(40), [.count(Note.votes, 1)], in: zone)
    for _ in 0..<3 {
      for node in [here, there] { _ = try await node.sync() }
    }
    var told = 0
    for node in [here, there] { told += try await expectForkKnown(to: node, in: zone) }
    #expect(told >= 1, "order \(order)")
    // When they meet, the copy whose log is shorter notices, and writes on under a life of its own.
    _ = try await twin.transports.add(folder: family.folder)
    try await twin.note(id(50), [.assign(Note.title, .text("twin again"))], in: zone)
    _ = try await twin.sync()
    try await ben.note(id(51), [.assign(Note.title, .text("ben again"))], in: zone)
    _ = try await ben.sync()
    #expect(await ben.incarnation == 2)
    #expect(try await ben.notices().map(\.kind).contains(.newLife))
    for node in [here, there] {
      for _ in 0..<2 { _ = try await node.sync() }
      #expect(try await node.state(id(51), in: zone)?.shown(Note.title) == .text("ben again"))
    }
  }

  /// Somebody joins by a node's link, and writes a record.
  private func newcomer(
    _ name: String, by inviter: Node, to zone: ZoneID, writing record: UInt64, in family: Family
  ) async throws -> Node {
    let node = try await Node.create(
      at: family.home(name), person: name, device: "phone", passphrase: nil,
      schema: Family.schema)
    let link = try await inviter.invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    _ = try await node.invitations.join(try InvitationLink(text: link.text))
    try await node.note(id(record), [.assign(Note.title, .text(name))], in: zone)
    for other in [node, inviter, node] { _ = try await other.sync() }
    return node
  }

  /// A node knows the fork of one life in the members' log, and both newcomers with their records.
  private func expectBothIn(_ node: Node, _ control: ZoneID, _ zone: ZoneID, forked life: Author)
    async throws
  {
    let state = try #require(await node.allZones().first { $0.id == control })
    #expect(state.forkEnds.keys.map { $0 } == [life])
    let membership = try await node.membership(of: state.group)
    #expect(
      membership.people.map(\.name).sorted() == ["Anna", "Ben", "Carla", "Dan", "Eve"])
    #expect(membership.voided.isEmpty)
    for (number, title) in [(60, "Dan"), (61, "Eve")] as [(UInt64, String)] {
      #expect(try await node.state(id(number), in: zone)?.shown(Note.title) == .text(title))
    }
    #expect(try await node.integrity.verify().isSound)
  }

  @Test("A founder's image lets people in beside the founder: all are in, on all nodes")
  func peopleOfBoth() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Carla"])
    try await nodes[0].close()
    try FileManager.default.copyItem(atPath: family.home("Anna"), toPath: family.home("Image"))
    let away = family.home("away-folder")
    try FileManager.default.copyItem(atPath: family.folder, toPath: away)
    let anna = try await Node.open(
      at: family.home("Anna"), schema: Family.schema, trustingFiles: true)
    let image = try await Node.open(
      at: family.home("Image"), schema: Family.schema, trustingFiles: true)
    for node in [image, nodes[2]] { try await move(node, from: family.folder, to: away) }
    let newcomers = [
      try await newcomer("Dan", by: anna, to: zone, writing: 60, in: family),
      try await newcomer("Eve", by: image, to: zone, writing: 61, in: family),
    ]
    for node in [nodes[1], nodes[2]] { _ = try await node.sync() }
    // Beside the household's there is that of the private database.
    let group = try #require(await anna.allZones().first { $0.id == zone }).group
    let before = try #require(
      await anna.allZones().first { $0.kind == .control && $0.group == group })
    let device = await anna.device
    let life = try #require(before.heads.first { $0.author.device == device }).author
    // Files of both places come into both.
    let all = [anna, nodes[1], nodes[2], newcomers[0], newcomers[1], image]
    for _ in 0..<4 {
      try carry(away, family.folder)
      try carry(family.folder, away)
      for node in all { _ = try await node.sync() }
    }
    let control = try #require(await anna.allZones().first { $0.id == before.id })
    #expect(try await Family.digests(all, control.id).count == 1)
    #expect(try await Family.digests(all, zone).count == 1)
    for node in all { try await expectBothIn(node, control.id, zone, forked: life) }
    #expect(await anna.incarnation == 2)
    #expect(await image.incarnation == 2)
    for node in [anna, image] {
      #expect(try await node.notices().contains { $0.kind == .newLife })
    }
    // Opened again, nothing is folded otherwise.
    try await newcomers[1].close()
    let again = try await Node.open(at: family.home("Eve"), schema: Family.schema)
    #expect(try await Family.digests([again, anna], control.id).count == 1)
  }
}
