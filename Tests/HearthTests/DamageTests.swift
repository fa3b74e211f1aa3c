import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Testing

@Suite("Damage in the shared folder")
struct DamageTests {
  private func id(_ number: UInt64) -> RecordID {
    Identifier(high: 0x77ee_0011_2233_4455, low: number)
  }

  /// The segment files of the folder, largest path last.
  private func segments(_ family: Family) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: family.folder)
      .filter { $0.hasSuffix(".seg") }.sorted().map { family.folder + "/" + $0 }
  }

  /// Two nodes in step, then news of Anna's that Ben has not fetched, in a file of its own.
  private func prepare() async throws -> (Family, [Node], ZoneID, news: String) {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Carla"])
    let before = Set(try segments(family))
    try await nodes[0].note(id(1), [.assign(Note.title, .text("from Anna"))], in: zone)
    _ = try await nodes[0].sync()
    let news = try #require(try segments(family).first { !before.contains($0) })
    try await nodes[2].note(id(2), [.assign(Note.title, .text("from Carla"))], in: zone)
    _ = try await nodes[2].sync()
    return (family, nodes, zone, news)
  }

  /// Ben syncs past the damage: told of it, everything else arrives; after repair all is there.
  private func check(
    _ nodes: [Node], _ zone: ZoneID, _ what: String, repair: () throws -> Void
  ) async throws {
    let report = try await nodes[1].sync()
    #expect(report.transports.allSatisfy { $0.failure == nil }, "\(what)")
    let isTold = report.transports.contains { $0.isPartial }
    #expect(isTold, "\(what): not reported")
    #expect(try await nodes[1].state(id(2), in: zone) != nil, "\(what): others did not sync")
    #expect(try await nodes[1].state(id(1), in: zone) == nil, "\(what): damage was applied")
    try repair()
    let again = try await nodes[1].sync()
    let isStillTold = again.transports.contains { $0.isPartial }
    #expect(!isStillTold, "\(what): still reported")
    #expect(try await nodes[1].state(id(1), in: zone) != nil, "\(what): not repaired")
  }

  @Test("A file cut, flipped, exchanged or blown up is told, passed over, and repaired by repair")
  func damage() async throws {
    let (family, nodes, zone, news) = try await prepare()
    let good = try Data(contentsOf: URL(fileURLWithPath: news))
    let other = try #require(try segments(family).first { $0 != news })
    let url = URL(fileURLWithPath: news)
    var damages: [(String, () throws -> Void)] = []
    for length in [0, 1, 165, 166, 200, good.count - 1] {
      damages.append(("cut to \(length)", { try good.prefix(length).write(to: url) }))
    }
    for place in [0, 5, 20, 150, 170, good.count - 1] {
      var bad = good
      bad[place] ^= 1
      let flipped = bad
      damages.append(("flipped at \(place)", { try flipped.write(to: url) }))
    }
    damages.append(
      (
        "another file's content",
        { try Data(contentsOf: URL(fileURLWithPath: other)).write(to: url) }
      ))
    damages.append(
      (
        "a gibibyte of nothing",
        { #expect(truncate(news, 1 << 30) == 0) }
      ))
    for (what, damage) in damages {
      let copy = try await Node.copyOfBen(family, nodes[1])
      try damage()
      try await check([nodes[0], copy, nodes[2]], zone, what) { try good.write(to: url) }
      try await copy.close()
    }
  }

  @Test("A deleted file is put back by its author; renamed and doubled ones change nothing")
  func deleted() async throws {
    let (family, nodes, zone, news) = try await prepare()
    try FileManager.default.removeItem(atPath: news)
    _ = try await nodes[0].sync()
    #expect(FileManager.default.fileExists(atPath: news))
    try FileManager.default.moveItem(atPath: news, toPath: news + " (conflicted copy)")
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
    for path in try segments(family) {
      try FileManager.default.removeItem(atPath: path)
    }
    try await Family.settle(nodes)
    let restored = try segments(family)
    #expect(!restored.isEmpty)
    let late = try await Node.create(
      at: family.home("Late"), person: "Late", device: "l", passphrase: nil,
      schema: Family.schema)
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    _ = try await late.invitations.join(link)
    try await Family.settle(nodes + [late])
    #expect(try await Family.digests(nodes + [late], zone).count == 1)
  }

  @Test("A missing folder is a failure of that transport alone")
  func missing() async throws {
    let (family, nodes, zone, _) = try await prepare()
    let away = family.root.appendingPathComponent("away").path
    try FileManager.default.moveItem(atPath: family.folder, toPath: away)
    let report = try await nodes[1].sync()
    #expect(report.transports.allSatisfy { $0.failure != nil || $0.isPartial })
    try await nodes[1].note(id(9), [.assign(Note.title, .text("offline"))], in: zone)
    try FileManager.default.moveItem(atPath: away, toPath: family.folder)
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
  }
}

extension Node {
  /// A node like Ben as it stands, to damage the folder for again and again.
  fileprivate static func copyOfBen(_ family: Family, _ ben: Node) async throws -> Node {
    let home = family.home("Ben-\(UUID().uuidString)")
    try FileManager.default.copyItem(atPath: family.home("Ben"), toPath: home)
    return try await Node.open(at: home, schema: Family.schema, trustingFiles: true)
  }
}
