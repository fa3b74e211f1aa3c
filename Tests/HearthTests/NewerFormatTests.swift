import Foundation
import HearthCRDT
import HearthCrypto
import HearthSync
import HearthTransport
import Testing

@testable import Hearth

@Suite("A program that is behind")
struct NewerFormatTests {
  @Test("A newer segment is kept, passed on byte for byte to another folder, and told in status")
  func forwarded() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    let before = Set(try FileManager.default.subpathsOfDirectory(atPath: family.folder))
    for number in 1...2 as ClosedRange<UInt64> {
      try await nodes[0].note(
        Identifier(high: 5, low: number), [.assign(Note.title, .text("news"))], in: zone)
      _ = try await nodes[0].sync()
    }
    // Anna's program is updated: its next segment has a suite that Ben's does not know.
    let news = try FileManager.default.subpathsOfDirectory(atPath: family.folder)
      .filter { $0.hasSuffix(".seg") && !before.contains($0) }
    var newest: (path: String, name: SegmentName)?
    for path in news {
      let name = try #require(
        FolderLayout.segment(path: path.split(separator: "/").map(String.init)))
      if name.first == 1 { newest = (path, name) }
    }
    let found = try #require(newest)
    var bytes = [UInt8](
      try Data(contentsOf: URL(fileURLWithPath: family.folder + "/" + found.path)))
    bytes[4] = 2
    try FileManager.default.removeItem(atPath: family.folder + "/" + found.path)
    let name = SegmentName(
      zoneTag: found.name.zoneTag, authorTag: found.name.authorTag,
      incarnation: found.name.incarnation, first: found.name.first, last: found.name.last,
      digest: segmentDigest(bytes))
    try FolderTransport(path: family.folder, digest: { segmentDigest($0) }).publish(name, bytes)
    let second = family.home("second-folder")
    try FileManager.default.createDirectory(atPath: second, withIntermediateDirectories: true)
    _ = try await nodes[1].transports.add(folder: second)
    let report = try await nodes[1].sync()
    #expect(report.transports.allSatisfy { !$0.isPartial && $0.failure == nil })
    // Anna's second change waits for the first.
    #expect(try await nodes[1].state(Identifier(high: 5, low: 2), in: zone) == nil)
    let status = try #require(try await nodes[1].diagnostics.zones().first { $0.zone.id == zone })
    #expect(status.waiting.map(\.reason) == [.format, .gap])
    // It lies in the other folder, under the same name, with the same bytes.
    let carried = try FolderTransport(path: second, digest: { segmentDigest($0) }).fetch(name)
    #expect(carried == bytes)
    // Silence afterwards, through opening again, and a sound log.
    try await nodes[1].close()
    let ben = try await Node.open(at: family.home("Ben"), schema: Family.schema)
    let again = try await ben.sync()
    #expect(again.received == 0 && again.published == 0)
    #expect(try await ben.integrity.verify().isSound)
    #expect(try await ben.transports.statuses().allSatisfy { $0.unpublished == 0 })
  }
}
