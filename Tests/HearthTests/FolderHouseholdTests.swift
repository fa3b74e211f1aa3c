import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Testing

@Suite("A household through a folder")
struct FolderHouseholdTests {
  private let note = Identifier(high: 0x9f3c_21d0_77aa_4be1, low: 0x1c5e_8812_f00d_9a77)

  @Test("Three nodes create, join and use one household and end byte-equal")
  func threeNodes() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Carla"])
    try await nodes[0].note(note, [.assign(Note.title, .text("Dishes"))], in: zone)
    try await Family.settle(nodes)
    // All three write at once, without seeing each other.
    try await nodes[0].note(note, [.assign(Note.points, .int(3))], in: zone)
    try await nodes[1].note(
      note, [.assign(Note.title, .text("Wash up")), .count(Note.votes, 2)], in: zone)
    try await nodes[2].note(
      note, [.assign(Note.title, .text("Clean up")), .include(Note.tags, .text("kitchen"))],
      in: zone)
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
    let state = try #require(try await nodes[0].state(note, in: zone))
    guard case .register(let title) = state[Note.title] else {
      Issue.record("no title")
      return
    }
    #expect(title.siblings.count == 2, "the losing title is kept")
    #expect(state.shown(Note.points) == .int(3))
    #expect(state.shown(Note.votes) == .int(2))
    #expect(state.elements(Note.tags) == [.text("kitchen")])
    let membership = try await nodes[2].membership(
      of: try #require(
        await nodes[2].dataZones().first { $0.id == zone }
      ).group)
    #expect(membership.people.map(\.name).sorted() == ["Anna", "Ben", "Carla"])
  }

  @Test("What was acknowledged is there after reopening, sealed or not")
  func reopen() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    for number in 0..<300 {
      try await nodes[0].note(
        Identifier(high: 7, low: UInt64(number)), [.assign(Note.title, .text("\(number)"))],
        in: zone)
    }
    let before = try await nodes[0].digest(of: zone)
    try await nodes[0].close()
    let anna = try await reopened(nodes[0], family.home("Anna"))
    #expect(try await anna.digest(of: zone) == before)
    #expect(await anna.incarnation == 1)
    try await anna.note(note, [.assign(Note.title, .text("after"))], in: zone)
    try await Family.settle([anna, nodes[1]])
    #expect(try await Family.digests([anna, nodes[1]], zone).count == 1)
  }

  @Test("An invitation is for as many as it says, until it expires")
  func invitations() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna"])
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    let ben = try await Node.create(
      at: family.home("Ben"), person: "Ben", device: "b", passphrase: nil, schema: Family.schema)
    _ = try await ben.invitations.join(link)
    let carla = try await Node.create(
      at: family.home("Carla"), person: "Carla", device: "c", passphrase: nil,
      schema: Family.schema)
    await #expect(throws: SyncError(.used, "")) {
      _ = try await carla.invitations.join(link)
    }
    let late = try await Node.create(
      at: family.home("Late"), person: "Late", device: "l", passphrase: nil,
      schema: Family.schema, now: { Node.wallClock() + 7_200_000 })
    await #expect(throws: SyncError(.expired, "")) {
      _ = try await late.invitations.join(link)
    }
    #expect(throws: HearthError(.invalid, "")) { _ = try InvitationLink(text: "hearth://jo") }
    #expect(throws: HearthError(.invalid, "")) {
      _ = try InvitationLink(text: String(link.text.prefix(30)))
    }
  }

  @Test("Nothing readable and no id of the household is in the folder")
  func confidentiality() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Annabelle", "Benjamin"])
    try await nodes[0].note(
      note, [.assign(Note.title, .text("Extraordinary dishes"))], in: zone)
    try await Family.settle(nodes)
    let group = try #require(await nodes[0].dataZones().first { $0.id == zone }).group
    var secrets = ["Extraordinary", "Annabelle", "Benjamin", "phone"].map { Array($0.utf8) }
    for id in [zone, group, note, await nodes[0].device, await nodes[0].person] {
      secrets += [id.bytes, Array(id.hex.utf8), Array(id.hex.uppercased().utf8)]
      secrets.append(Array(Data(id.bytes).base64EncodedString().prefix(20).utf8))
    }
    var seen = 0
    for path in try FileManager.default.subpathsOfDirectory(atPath: family.folder) {
      var bytes = Array(path.utf8)
      if path.hasSuffix(".seg") || path.hasSuffix(".cap") {
        bytes += [UInt8](
          try Data(contentsOf: URL(fileURLWithPath: family.folder + "/" + path)))
        seen += 1
      }
      for secret in secrets {
        let isShown = contains(bytes, secret)
        #expect(!isShown, "\(path) shows \(String(decoding: secret, as: UTF8.self))")
      }
    }
    #expect(seen >= 4)
  }

  private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    Data(bytes).range(of: Data(part)) != nil
  }

  private func reopened(_ node: Node, _ home: String) async throws -> Node {
    // The lock is the old actor's; a process would have ended.
    try await Node.open(at: home, schema: Family.schema, waitMilliseconds: 0)
  }
}
