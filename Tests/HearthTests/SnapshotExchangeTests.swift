import Foundation
import HearthCRDT
import HearthTransport
import Testing

@testable import Hearth
@testable import HearthMembership
@testable import HearthSync

@Suite("Snapshots over a folder")
struct SnapshotExchangeTests {
  private func id(_ number: Int) -> RecordID {
    Identifier(high: 0x5577_0011_2233_4455, low: UInt64(number))
  }

  /// Writes `count` changes to a few notes.
  private func write(_ count: Int, by node: Node, in zone: ZoneID) async throws {
    for number in 0..<count {
      try await node.note(
        id(number % 60), [.assign(Note.title, .text("title \(number)"))], in: zone)
    }
  }

  /// Writes few changes of more than a mebibyte that does not compress.
  private func writeMuch(by node: Node, in zone: ZoneID) async throws {
    for number in 0..<3 {
      let bytes = (0..<400_000).map { _ in UInt8.random(in: 0...255) }
      try await node.note(
        id(number), [.assign(Note.pinned, .bytes(bytes))], in: zone)
    }
  }

  private func files(_ family: Family, _ suffix: String) throws -> [URL] {
    try FileManager.default.subpathsOfDirectory(atPath: family.folder)
      .filter { $0.hasSuffix(suffix) }.sorted()
      .map { URL(fileURLWithPath: family.folder + "/" + $0) }
  }

  /// The snapshots of which there are chunks.
  private func groups(_ family: Family) throws -> Set<String> {
    Set(try files(family, ".snap").map { String($0.lastPathComponent.prefix(32)) })
  }

  private func byteCount(_ files: [URL]) throws -> Int {
    try files.reduce(0) { $0 + (try Data(contentsOf: $1).count) }
  }

  /// Lets a new node join and sync; what its rounds said.
  private func join(
    _ name: String, _ family: Family, _ host: Node, _ zone: ZoneID
  ) async throws -> (node: Node, reports: [TransportReport]) {
    let node = try await Node.create(
      at: family.home(name), person: name, device: "phone", passphrase: nil,
      schema: Family.schema)
    let link = try await host.invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    _ = try await node.invitations.join(try InvitationLink(text: link.text))
    var reports = await node.lastReport.transports
    for _ in 0..<2 {
      _ = try await host.sync()
      reports += try await node.sync().transports
    }
    return (node, reports)
  }

  /// The newcomer is in step with the host, sound, and stays so when it is built anew.
  private func check(_ node: Node, like host: Node, _ zone: ZoneID, _ what: String) async throws {
    let digest = try await host.digest(of: zone)
    #expect(try await node.digest(of: zone) == digest, "\(what)")
    let verification = try await node.integrity.verify()
    #expect(verification.isSound, "\(what): \(verification.zones.flatMap(\.faults))")
    try await node.rebuild(zone)
    #expect(try await node.digest(of: zone) == digest, "\(what), built anew")
  }

  @Test("A newcomer begins from the owner's snapshot and takes the tail; equal sides are silent")
  func newcomer() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna"])
    try await write(4_095, by: nodes[0], in: zone)
    _ = try await nodes[0].sync()
    #expect(try files(family, ".snap").isEmpty, "4,095 changes do not pay")
    try await write(1, by: nodes[0], in: zone)
    let published = try await nodes[0].sync()
    #expect(published.transports.map(\.publishedSnapshots) == [1])
    let first = try files(family, ".snap")
    #expect(first.count == 1)
    try await write(904, by: nodes[0], in: zone)
    let (ben, reports) = try await join("Ben", family, nodes[0], zone)
    #expect(reports.reduce(0) { $0 + $1.begunFromSnapshots } == 1)
    #expect(reports.flatMap(\.problems).isEmpty)
    let replay = try byteCount(try files(family, ".seg"))
    let taken = reports.reduce(0) { $0 + $1.receivedBytes }
    #expect(taken * 3 < replay, "\(taken) of \(replay) bytes")
    try await check(ben, like: nodes[0], zone, "Ben")
    // Both write on, and nothing is published twice.
    try await ben.note(id(3), [.assign(Note.title, .text("by Ben"))], in: zone)
    try await Family.settle([ben, nodes[0]])
    try await check(ben, like: nodes[0], zone, "Ben after his own change")
    let before = try files(family, "")
    for node in [nodes[0], ben, nodes[0]] {
      let report = try await node.sync()
      #expect(report.transports.map(\.publishedBytes) == [0])
      #expect(report.transports.map(\.receivedBytes) == [0])
    }
    #expect(try files(family, "") == before)
    // Another way on which only Ben is: he gives what he has, the snapshot as it came.
    let other = family.root.appendingPathComponent("other").path
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    _ = try await ben.transports.add(folder: other)
    let forwarded = try await ben.sync()
    #expect(forwarded.transports.map(\.publishedSnapshots).reduce(0, +) == 1)
    let again = try await ben.sync()
    #expect(again.transports.allSatisfy { $0.publishedBytes == 0 })
    // Two are kept, and the oldest goes.
    for _ in 0..<3 {
      try await writeMuch(by: nodes[0], in: zone)
      _ = try await nodes[0].sync()
      #expect(try groups(family).count == 2)
    }
    #expect(try !files(family, ".snap").contains(first[0]))
    for node in nodes + [ben] { try await node.close() }
  }

  @Test("A snapshot cut, flipped or gone is one line of the report, and the changes come anyway")
  func damage() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna"])
    try await write(30, by: nodes[0], in: zone)
    _ = try await nodes[0].sync()
    try await nodes[0].publish(
      snapshot: try await nodes[0].snapshot(of: zone), of: zone, family.folder)
    let file = try #require(try files(family, ".snap").first)
    let good = try Data(contentsOf: file)
    var flipped = good
    flipped[good.count / 2] ^= 1
    for (name, bytes) in [("Ben", good.dropLast()), ("Carla", flipped), ("Dora", Data())] {
      try bytes.write(to: file)
      let (node, reports) = try await join(name, family, nodes[0], zone)
      #expect(reports.allSatisfy { $0.begunFromSnapshots == 0 && $0.failure == nil }, "\(name)")
      #expect(reports.contains { !$0.problems.isEmpty }, "\(name)")
      try await check(node, like: nodes[0], zone, name)
      try await node.close()
    }
    try good.write(to: file)
    let (node, reports) = try await join("Emil", family, nodes[0], zone)
    #expect(reports.reduce(0) { $0 + $1.begunFromSnapshots } == 1)
    try await check(node, like: nodes[0], zone, "Emil")
    for node in nodes + [node] { try await node.close() }
  }

  @Test("Strangers' snapshots, more than are considered, do not hide a good one")
  func crowd() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna"])
    try await write(30, by: nodes[0], in: zone)
    _ = try await nodes[0].sync()
    let good = try await nodes[0].snapshot(of: zone)
    try await nodes[0].publish(snapshot: good, of: zone, family.folder)
    for number in 0..<60 as Range<UInt8> {
      // Noise, and what looks like an admin's but for the signature.
      var forged = good
      forged[0][good[0].count - 1] ^= number + 1
      let bytes = number < 30 ? [[UInt8](repeating: number, count: 300)] : forged
      try await nodes[0].publish(snapshot: bytes, of: zone, family.folder)
    }
    let (node, reports) = try await join("Ben", family, nodes[0], zone)
    #expect(reports.reduce(0) { $0 + $1.begunFromSnapshots } == 1)
    try await check(node, like: nodes[0], zone, "Ben")
    for node in nodes + [node] { try await node.close() }
  }

  @Test("A snapshot of which a chunk is missing, or of a member, is refused in words")
  func refused() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await write(10, by: nodes[0], in: zone)
    try await Family.settle(nodes)
    let chunks = try await nodes[1].snapshot(of: zone)
    try await nodes[1].publish(snapshot: chunks, of: zone, family.folder)
    try await nodes[0].publish(
      snapshot: try await nodes[0].snapshot(of: zone), of: zone, family.folder, count: 2)
    let (node, reports) = try await join("Carla", family, nodes[0], zone)
    let faults = Set(reports.flatMap(\.problems).map(\.fault)).sorted()
    #expect(faults.count == 2, "\(faults)")
    #expect(faults.contains { $0.contains("only snapshots by an owner or admin") })
    #expect(faults.contains { $0.contains("chunks are missing") })
    #expect(reports.allSatisfy { $0.begunFromSnapshots == 0 && !$0.isPartial })
    try await check(node, like: nodes[0], zone, "Carla")
    for node in nodes + [node] { try await node.close() }
  }

  @Test("A signed snapshot that contradicts the changes is found out and replaced by them")
  func forged() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna"])
    try await write(10, by: nodes[0], in: zone)
    _ = try await nodes[0].sync()
    let forged = try await nodes[0].forgedSnapshot(of: zone) { head in
      head.hash[0] ^= 1
    }
    try await nodes[0].publish(snapshot: forged, of: zone, family.folder)
    // Carla begins from it and even writes; only the next true segment gives it away.
    let (carla, first) = try await join("Carla", family, nodes[0], zone)
    #expect(first.reduce(0) { $0 + $1.begunFromSnapshots } == 1)
    try await carla.note(id(70), [.assign(Note.title, .text("by Carla"))], in: zone)
    _ = try await carla.sync()
    try await carla.note(id(71), [.assign(Note.title, .text("unsealed"))], in: zone)
    try await write(1, by: nodes[0], in: zone)
    _ = try await nodes[0].sync()
    let report = try await carla.sync()
    let faults = report.transports.flatMap(\.problems).map(\.fault)
    #expect(faults.count == 1 && faults[0].contains("differently from what that"), "\(faults)")
    #expect(try await carla.state(id(70), in: zone) != nil)
    #expect(try await carla.state(id(71), in: zone) != nil)
    try await Family.settle([nodes[0], carla])
    try await check(carla, like: nodes[0], zone, "Carla")
    let forks = try await carla.forkCount(of: zone)
    #expect(forks == 0, "nobody is blamed")
    for node in nodes + [carla] { try await node.close() }
  }

  @Test("A signed snapshot that claims changes to come, or other content, is not used")
  func overclaiming() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna"])
    try await write(10, by: nodes[0], in: zone)
    _ = try await nodes[0].sync()
    let forged = try await nodes[0].forgedSnapshot(of: zone) { $0.sequence += 1_000 }
    try await nodes[0].publish(snapshot: forged, of: zone, family.folder)
    let (carla, reports) = try await join("Carla", family, nodes[0], zone)
    let faults = reports.flatMap(\.problems).map(\.fault)
    #expect(faults.contains { $0.contains("it claims 1010 changes") }, "\(faults)")
    try await check(carla, like: nodes[0], zone, "Carla")
    for node in nodes + [carla] { try await node.close() }
  }
}

extension Node {
  /// Puts a snapshot into the family's folder.
  ///
  /// - Parameter count: how many chunks the names say there are, if not as many as there are.
  fileprivate func publish(
    snapshot chunks: [[UInt8]], of zone: ZoneID, _ folder: String, count: Int? = nil
  ) throws {
    let transport = Connections.folder(folder)
    let names = SnapshotPlan.names(of: chunks, zoneTag: try engine.zone(zone).tag)
    for (name, chunk) in zip(names, chunks) {
      let name = BlobName(
        kind: .snapshot, scope: name.scope, group: name.group, index: name.index,
        count: count ?? name.count, digest: name.digest)
      try transport.publish(name, chunk)
    }
  }

  fileprivate func forkCount(of zone: ZoneID) throws -> Int {
    try engine.zone(zone).heads.count { $0.forkedAt != nil }
  }

  /// A snapshot that says something else of this node's own log.
  fileprivate func forgedSnapshot(
    of zone: ZoneID, _ forge: (inout LogHead) -> Void
  ) throws -> [[UInt8]] {
    var forger = engine
    let place = try forger.place(of: zone)
    var head = forger.zones[place].head(of: forger.author)
    forge(&head)
    forger.zones[place].set(head)
    return try SnapshotMaking.snapshot(of: zone, in: forger)
  }
}
