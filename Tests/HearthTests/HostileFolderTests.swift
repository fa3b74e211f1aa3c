import Foundation
import HearthCRDT
import HearthCrypto
import HearthStore
import HearthTransport
import Testing

@testable import Hearth
@testable import HearthSync

@Suite("Somebody without any key writes into the folder")
struct HostileFolderTests {
  private func id(_ number: Int) -> RecordID {
    Identifier(high: 0x4141_9012_1234_0001, low: UInt64(number))
  }

  private func transport(_ path: String) -> FolderTransport {
    FolderTransport(path: path, digest: { segmentDigest($0) })
  }

  private func files(_ family: Family) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: family.folder).sorted()
  }

  /// Bytes that look like an envelope of an unknown suite, with a clear header as is wished.
  private func rubbish(_ name: SegmentName) -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(Array("HRE1".utf8) + [9, 1])
    writer.identifier(name.zoneTag)
    writer.identifier(name.authorTag)
    for number in [name.incarnation, 0, 0, name.first, name.last] {
      writer.raw((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
    }
    writer.raw([UInt8](repeating: 7, count: EnvelopeFormat.overheadBytes))
    return writer.bytes
  }

  /// Puts files that claim a range of a device's changes into the folder: noise, and one that
  /// seems to be of a newer program.
  private func claim(
    _ range: ClosedRange<UInt64>, of node: Node, by writer: Node, _ zone: ZoneID, _ folder: String
  ) async throws {
    let own = try await node.nameOfNext(in: zone)
    let claimed = SegmentName(
      zoneTag: own.zoneTag, authorTag: own.authorTag, incarnation: own.incarnation,
      first: range.lowerBound, last: range.upperBound, digest: .zero)
    for bytes in [[UInt8](repeating: 3, count: 500), rubbish(claimed)] {
      let name = SegmentName(
        zoneTag: own.zoneTag, authorTag: own.authorTag, incarnation: own.incarnation,
        first: range.lowerBound, last: range.upperBound, digest: segmentDigest(bytes))
      try transport(folder).publish(name, bytes)
    }
  }

  @Test("Files that claim all changes of a device keep nobody from publishing and passing them on")
  func claims() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await claim(
      1...Frontier.maximumSequence, of: nodes[1], by: nodes[0], zone, family.folder)
    for number in 0..<3 {
      try await nodes[1].note(id(number), [.assign(Note.title, .text("by Ben"))], in: zone)
      _ = try await nodes[1].sync()
      for _ in 0..<2 { _ = try await nodes[0].sync() }
      #expect(try await nodes[0].state(id(number), in: zone) != nil, "change \(number)")
    }
    // Anna passes on what she has of Ben, though the other folder claims to have it.
    let second = family.home("second")
    try FileManager.default.createDirectory(atPath: second, withIntermediateDirectories: true)
    try await claim(1...3, of: nodes[1], by: nodes[0], zone, second)
    _ = try await nodes[0].transports.add(folder: second)
    for _ in 0..<2 { _ = try await nodes[0].sync() }
    let tag = try await nodes[0].tag(of: zone)
    let names = try transport(second).list(zoneTag: tag).segments.filter { name in
      (try? transport(family.folder).list(zoneTag: tag).segments.contains(name)) == true
    }
    let author = try await nodes[1].nameOfNext(in: zone)
    #expect(names.contains { $0.authorTag == author.authorTag && $0.last == 3 }, "\(names)")
    // All is given, so the next rounds are silent.
    for node in nodes + nodes {
      let report = try await node.sync()
      #expect(report.published == 0 && report.received == 0)
    }
  }

  @Test("However many files of rubbish claim the same changes, one round finds the good one")
  func oneRound() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    for last in 10..<20 as Range<UInt64> {
      try await claim(1...last, of: nodes[1], by: nodes[0], zone, family.folder)
    }
    try await nodes[1].note(id(1), [.assign(Note.title, .text("by Ben"))], in: zone)
    _ = try await nodes[1].sync()
    _ = try await nodes[0].sync()
    #expect(try await nodes[0].state(id(1), in: zone) != nil)
    // Of more than it tries in a round, a node says so.
    for last in 100..<(110 + UInt64(NodeRounds.most)) {
      try await claim(1...last, of: nodes[1], by: nodes[0], zone, family.folder)
    }
    let report = try await nodes[0].sync()
    let faults = report.transports.flatMap(\.problems).map(\.fault)
    #expect(faults.contains { $0.contains("did not try the others") }, "\(faults.last ?? "")")
  }

  @Test("Equal content in other segments counts as there, and is looked into once")
  func repacked() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    for number in 0..<70 {
      try await nodes[0].note(id(number), [.assign(Note.title, .text("n"))], in: zone)
      _ = try await nodes[0].sync()
      _ = try await nodes[1].sync()
    }
    _ = try await nodes[1].sync()
    let before = try files(family)
    #expect(before.filter { $0.hasSuffix(".seg") }.count < 30)
    for node in nodes + nodes {
      let report = try await node.sync()
      #expect(report.published == 0 && report.received == 0)
      #expect(report.transports.allSatisfy { $0.receivedBytes == 0 })
    }
    #expect(try files(family) == before)
  }

  @Test("A file under the own tag is removed only if its changes are in the larger own segment")
  func unread() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna"])
    let own = try await nodes[0].nameOfNext(in: zone)
    let bytes = [UInt8](repeating: 3, count: 500)
    let strange = SegmentName(
      zoneTag: own.zoneTag, authorTag: own.authorTag, incarnation: own.incarnation, first: 2,
      last: 3, digest: segmentDigest(bytes))
    for number in 0..<5 {
      try await nodes[0].note(id(number), [.assign(Note.title, .text("n"))], in: zone)
    }
    _ = try await nodes[0].sync()
    try transport(family.folder).publish(strange, bytes)
    for _ in 0..<2 { _ = try await nodes[0].sync() }
    let listed = try transport(family.folder).list(zoneTag: own.zoneTag).segments
    #expect(listed.contains(strange))
    #expect(try transport(family.folder).fetch(strange) == bytes)
  }
}

extension Node {
  fileprivate func tag(of zone: ZoneID) throws -> Identifier { try engine.zone(zone).tag }

  /// What this node's next segment of one change would be called, but for its digest.
  fileprivate func nameOfNext(in zone: ZoneID) throws -> SegmentName {
    let state = try engine.zone(zone)
    let next = state.head(of: engine.author).sequence + 1
    return SegmentName(
      zoneTag: state.tag, authorTag: state.authorTag(of: engine.device),
      incarnation: engine.author.incarnation, first: next, last: next, digest: .zero)
  }
}

/// How often a listing is planned anew in a round.
private enum NodeRounds {
  static let most = FetchRounds.maximumRounds
}
