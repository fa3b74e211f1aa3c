import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Testing

@Suite("Copies, restored images and wrong clocks")
struct LifeTests {
  @Test("A copy of a node's folder starts a new life and both go on")
  func clone() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("before"))], in: zone)
    try Family.copy(family.home("Anna"), family.home("Clone"))
    let first = try await Node.open(at: family.home("Clone"), schema: Family.schema)
    #expect(await first.incarnation == 2)
    // What the old life had not sealed is still known after opening once more.
    try await first.close()
    let clone = try await Node.open(at: family.home("Clone"), schema: Family.schema)
    #expect(await clone.incarnation == 2)
    #expect(try await clone.ownNotices().map(\.kind) == [.newLife])
    try await nodes[0].note(Note.id(2), [.assign(Note.title, .text("original"))], in: zone)
    try await clone.note(Note.id(3), [.assign(Note.title, .text("clone"))], in: zone)
    let all = [nodes[0], nodes[1], clone]
    try await Family.settle(all)
    #expect(try await Family.digests(all, zone).count == 1)
    for (number, title) in [(1, "before"), (2, "original"), (3, "clone")] {
      let state = try await nodes[1].state(Note.id(UInt64(number)), in: zone)
      #expect(state?.shown(Note.title) == .text(title))
    }
  }

  @Test("Negative 9: a node set back to yesterday's copy writes as another, and loses nothing new")
  func rollback() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("yesterday"))], in: zone)
    try await Family.settle(nodes)
    try Family.copy(family.home("Anna"), family.home("Backup"))
    try await nodes[0].note(Note.id(2), [.assign(Note.title, .text("today"))], in: zone)
    try await Family.settle(nodes)
    try await nodes[0].close()
    try Family.copy(family.home("Backup"), family.home("Anna"))
    let anna = try await Node.open(at: family.home("Anna"), schema: Family.schema)
    #expect(await anna.incarnation == 2)
    try await anna.note(Note.id(3), [.assign(Note.title, .text("offline"))], in: zone)
    try await Family.settle([anna, nodes[1]])
    #expect(try await Family.digests([anna, nodes[1]], zone).count == 1)
    for (number, title) in [(1, "yesterday"), (2, "today"), (3, "offline")] {
      let state = try await anna.state(Note.id(UInt64(number)), in: zone)
      #expect(state?.shown(Note.title) == .text(title))
    }
  }

  @Test("A change of modes, times and links of a node's files is no copy, and starts no new life")
  func touched() async throws {
    let family = try Family()
    let (nodes, _) = try await family.grow(["Anna"])
    try await nodes[0].close()
    let (files, home) = (FileManager.default, family.home("Anna"))
    for name in try files.contentsOfDirectory(atPath: home) {
      let path = home + "/" + name
      for mode in [0o644, 0o600] {
        try files.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      }
      try files.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path)
      try files.linkItem(atPath: path, toPath: family.home("link-" + name))
    }
    let anna = try await Node.open(at: home, schema: Family.schema)
    #expect(await anna.incarnation == 1)
    #expect(try await anna.ownNotices().isEmpty)
  }

  @Test("An older copy that is written over the files in place starts a new life")
  func writtenOver() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].close()
    let (files, home) = (FileManager.default, family.home("Anna"))
    try Family.copy(home, family.home("Backup"))
    let anna = try await Node.open(at: home, schema: Family.schema)
    try await anna.note(Note.id(1), [.assign(Note.title, .text("today"))], in: zone)
    try await Family.settle([anna, nodes[1]])
    try await anna.close()
    for name in try files.contentsOfDirectory(atPath: family.home("Backup")) {
      let old = try Data(contentsOf: URL(fileURLWithPath: family.home("Backup") + "/" + name))
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: home + "/" + name))
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: old)
      try file.close()
    }
    let again = try await Node.open(at: home, schema: Family.schema)
    #expect(await again.incarnation == 2)
  }

  @Test("A database set back alone, under an anchor that is newer, starts a new life")
  func databaseRollback() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].close()
    try Family.copy(family.home("Anna") + "/node.db", family.home("old.db"))
    let anna = try await Node.open(at: family.home("Anna"), schema: Family.schema)
    try await anna.note(Note.id(1), [.assign(Note.title, .text("lost on this disk"))], in: zone)
    try await Family.settle([anna, nodes[1]])
    try await anna.close()
    try Family.copy(family.home("old.db"), family.home("Anna") + "/node.db")
    let again = try await Node.open(at: family.home("Anna"), schema: Family.schema)
    #expect(await again.incarnation == 2)
    try await Family.settle([again, nodes[1]])
    let state = try await again.state(Note.id(1), in: zone)
    #expect(state?.shown(Note.title) == .text("lost on this disk"))
    #expect(try await Family.digests([again, nodes[1]], zone).count == 1)
  }

  @Test("An unnoticed rollback is found on the transport, and its changes are written again")
  func unnoticedRollback() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].close()
    try Family.copy(family.home("Anna"), family.home("Image"))
    let anna = try await Node.open(at: family.home("Anna"), schema: Family.schema)
    try await anna.note(Note.id(1), [.assign(Note.title, .text("published"))], in: zone)
    try await Family.settle([anna, nodes[1]])
    try await anna.close()
    // As a virtual machine's image would be set back: nothing on the disk tells.
    let image = try await Node.open(
      at: family.home("Image"), schema: Family.schema, trustingFiles: true)
    #expect(await image.incarnation == 1)
    try await image.note(Note.id(2), [.assign(Note.title, .text("written twice"))], in: zone)
    try await Family.settle([image, nodes[1]])
    #expect(await image.incarnation == 2)
    #expect(try await image.ownNotices().map(\.kind) == [.newLife, .reissued])
    #expect(try await Family.digests([image, nodes[1]], zone).count == 1)
    for (number, title) in [(1, "published"), (2, "written twice")] {
      let state = try await nodes[1].state(Note.id(UInt64(number)), in: zone)
      #expect(state?.shown(Note.title) == .text(title))
    }
  }

  @Test("Clocks at 1970 and 2099 take part and erase nobody's later edit")
  func clocks() async throws {
    let family = try Family()
    let offsets: [String: UInt64] = ["Past": 86_400_000, "Future": 4_070_908_800_000]
    var nodes: [Node] = []
    for name in ["Anna", "Past", "Future"] {
      let fixed = offsets[name]
      nodes.append(
        try await Node.create(
          at: family.home(name), person: name, device: "d", passphrase: nil,
          schema: Family.schema, now: { fixed ?? Node.wallClock() }))
    }
    let zone = try await nodes[0].createHousehold(named: "Home")
    _ = try await nodes[0].transports.add(folder: family.folder)
    for node in nodes.dropFirst() {
      let link = try await nodes[0].invitations.create(
        to: zone, role: .member, maximumUses: 1,
        expiresInMilliseconds: 100 * 365 * 86_400_000)
      _ = try await node.invitations.join(link)
    }
    try await Family.settle(nodes)
    try await nodes[2].note(Note.id(1), [.assign(Note.title, .text("from the future"))], in: zone)
    try await Family.settle(nodes)
    try await nodes[1].note(Note.id(1), [.assign(Note.title, .text("later, by 1970"))], in: zone)
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
    let state = try await nodes[0].state(Note.id(1), in: zone)
    #expect(state?.shown(Note.title) == .text("later, by 1970"))
    // The future did not move Anna's clock.
    try await nodes[0].note(Note.id(2), [.assign(Note.title, .text("now"))], in: zone)
    let second = try #require(try await nodes[0].state(Note.id(2), in: zone))
    guard case .register(let title) = second[Note.title] else { return }
    #expect(title.shown.version.time.milliseconds < Node.wallClock() + 600_000)
  }
}
