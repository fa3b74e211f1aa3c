import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import TestSupport
import Testing

@Suite("Families that write at random")
struct ConvergenceTests {
  @Test(
    "Any interleaving of writing and syncing ends byte-equal, and a rebuild changes nothing",
    arguments: [UInt64(1), 2, 3, 4, 5, 6])
  func random(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Carla", "Dan"])
    for _ in 0..<120 {
      let node = nodes[Int(random.next() % 4)]
      if random.next() % 4 == 0 {
        _ = try await node.sync()
      } else {
        try await node.note(
          Identifier(high: 0xabcd, low: random.next() % 6), Self.bodies(&random), in: zone)
      }
    }
    try await Family.settle(nodes)
    let digests = try await Family.digests(nodes, zone)
    #expect(digests.count == 1, "seed \(seed)")
    try await nodes[0].rebuild(zone)
    #expect(try await nodes[0].digest(of: zone) == digests.first, "rebuilt, seed \(seed)")
    // A newcomer that starts from a snapshot is equal to one that replays.
    let snapshot = try await nodes[0].snapshot(of: zone)
    let late = try await Node.create(
      at: family.home("Late"), person: "Late", device: "l", passphrase: nil,
      schema: Family.schema)
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    _ = try await late.invitations.join(link, bootstrapping: [zone: snapshot])
    try await Family.settle(nodes + [late])
    #expect(try await Family.digests(nodes + [late], zone).count == 1, "joined, seed \(seed)")
  }

  /// One to three operations of all kinds on one note.
  private static func bodies(_ random: inout SplitMix64) -> [HearthCRDT.Operation.Body] {
    (0...Int(random.next() % 3)).map { _ in
      let value = random.next() % 5
      switch random.next() % 8 {
      case 0: return .assign(Note.points, .int(Int64(value)))
      case 1: return .count(Note.votes, Int64(value) - 2)
      case 2: return .include(Note.tags, .text("t\(value)"))
      case 3: return .exclude(Note.tags, .text("t\(value)"))
      case 4: return .assign(Note.pinned, value == 0 ? .null : .bool(value > 2))
      default: return .assign(Note.title, .text("title \(value)"))
      }
    } + (random.next() % 12 == 0 ? [.delete] : [])
  }

  @Test("Many small segments of one author are merged into few, and peers need not notice")
  func compaction() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    for number in 0..<70 {
      try await nodes[0].note(
        Identifier(high: 1, low: UInt64(number)), [.assign(Note.title, .text("n"))], in: zone)
      _ = try await nodes[0].sync()
      if number == 35 { _ = try await nodes[1].sync() }
    }
    let files = try FileManager.default.subpathsOfDirectory(atPath: family.folder)
      .filter { $0.hasSuffix(".seg") }
    #expect(files.count < 40, "\(files.count) files")
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
  }
}
