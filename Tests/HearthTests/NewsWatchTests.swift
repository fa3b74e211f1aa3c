import Foundation
import HearthCRDT
import HearthMembership
import HearthSync
import Testing

@testable import Hearth

@Suite("Waiting for news")
struct NewsWatchTests {
  private let note = Identifier(high: 3, low: 3)

  @Test("A write by another command ends the wait; this process's own writes do not")
  func database() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna"])
    let watch = try NewsWatch(try await nodes[0].newsSource())
    try await nodes[0].note(note, [.assign(Note.title, .text("x"))], in: zone)
    #expect(await watch.wait())
    // Noted, it is no news any more: only stopping ends the wait.
    watch.noteDatabase()
    async let isNews = watch.wait()
    watch.stop()
    #expect(await !isNews)
  }

  @Test("A segment of somebody else in the shared folder ends the wait, with the node closed")
  func folder() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let source = try await nodes[0].newsSource()
    #expect(source.folders.map(\.path) == [family.folder])
    #expect(source.folders[0].zoneTags.count == 2)
    let watch = try NewsWatch(source)
    try await nodes[0].close()
    watch.noteDatabase()
    try await nodes[1].note(note, [.assign(Note.title, .text("x"))], in: zone)
    _ = try await nodes[1].sync()
    #expect(await watch.wait())
    watch.stop()
    #expect(await !watch.wait(), "stopped for good")
  }

  @Test("Without any folder a stop still ends the wait, and a missing database is no trap")
  func bare() async throws {
    let watch = try NewsWatch(
      NewsSource(folders: [], database: "/nonexistent/node.db"))
    async let isNews = watch.wait()
    watch.stop()
    #expect(await !isNews)
  }
}

@Suite("What a node says of itself")
struct NodeStatusTests {
  private let note = Identifier(high: 3, low: 3)

  @Test("Unsealed changes, unpublished segments and a folder out of reach are told")
  func transports() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].note(note, [.assign(Note.title, .text("x"))], in: zone)
    var status = try #require(try await nodes[0].diagnostics.zones().first { $0.zone.id == zone })
    #expect(status.unsealed == 1 && status.changes == 1 && status.waiting.isEmpty)
    #expect(try await nodes[0].transports.statuses().map(\.unpublished) == [0])
    let away = family.root.appendingPathComponent("away").path
    try FileManager.default.moveItem(atPath: family.folder, toPath: away)
    let missing = try await nodes[0].transports.statuses()
    #expect(missing.map(\.unpublished) == [nil])
    #expect(missing[0].failure?.contains(family.folder) == true)
    try FileManager.default.moveItem(atPath: away, toPath: family.folder)
    _ = try await nodes[0].sync()
    status = try #require(try await nodes[0].diagnostics.zones().first { $0.zone.id == zone })
    #expect(status.unsealed == 0)
    // A second folder lacks everything until the next round.
    let second = family.home("second")
    try FileManager.default.createDirectory(atPath: second, withIntermediateDirectories: true)
    _ = try await nodes[0].transports.add(folder: second)
    let lacking = try await nodes[0].transports.statuses().map(\.unpublished)
    #expect(lacking.first == 0 && (lacking.last ?? 0) ?? 0 > 0)
    _ = try await nodes[0].sync()
    #expect(try await nodes[0].transports.statuses().map(\.unpublished) == [0, 0])
  }

  @Test("Logs name devices and people, the latest first; free space is known")
  func logs() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].note(note, [.insert], in: zone)
    try await Family.settle(nodes)
    try await nodes[1].note(note, [.insert], in: zone)
    try await Family.settle(nodes)
    let logs = try await nodes[0].diagnostics.authorLogs(of: zone)
    #expect(logs.map(\.personName) == ["Ben", "Anna"])
    #expect(logs.map(\.deviceName) == ["phone", "phone"])
    #expect(logs.map(\.changes) == [1, 1])
    #expect(try await nodes[0].diagnostics.freeBytes() ?? 0 > 0)
    #expect(try await nodes[0].diagnostics.permissionFaults().isEmpty)
    #expect(try await nodes[0].diagnostics.clocks().isEmpty)
  }

  @Test("A device whose clock is ahead is told in a notice once, and named by the findings")
  func clock() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna"])
    let future = try await Node.create(
      at: family.home("Future"), person: "Fay", device: "tablet", passphrase: nil,
      schema: Family.schema, now: { Node.wallClock() + 3_600_000 })
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 86_400_000)
    _ = try await future.invitations.join(link)
    for _ in 0..<2 {
      try await future.note(note, [.count(Note.votes, 1)], in: zone)
      try await Family.settle([nodes[0], future])
    }
    let notices = try await nodes[0].ownNotices()
    #expect(notices.map(\.kind) == [.clock])
    #expect(notices[0].text.contains("tablet is 6") || notices[0].text.contains("tablet is 5"))
    #expect(notices[0].text.contains("set the date and time"))
    #expect(try await nodes[0].diagnostics.clocks().map(\.deviceName) == ["tablet"])
    #expect(try await nodes[0].state(note, in: zone)?.shown(Note.votes) == .int(2))
  }
}
