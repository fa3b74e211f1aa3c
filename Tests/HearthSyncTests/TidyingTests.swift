import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthSync

/// A folder in memory.
private final class MemoryFolder: Transport {
  var segments: [SegmentName: [UInt8]] = [:]
  var blobs: [BlobName: [UInt8]] = [:]

  func place(of name: SegmentName) -> String { "\(name.digest)" }
  func list(zoneTag: Identifier) -> TransportListing {
    TransportListing(
      segments: segments.keys.filter { $0.zoneTag == zoneTag }.sorted(),
      snapshots: blobs.keys.filter { $0.scope == zoneTag }.sorted())
  }
  func fetch(_ name: SegmentName) throws -> [UInt8] { segments[name] ?? [] }
  func publish(_ name: SegmentName, _ bytes: [UInt8]) { segments[name] = bytes }
  func remove(_ name: SegmentName) { segments[name] = nil }
  func fetch(_ name: BlobName) throws -> [UInt8]? { blobs[name] }
  func publish(_ name: BlobName, _ bytes: [UInt8]) throws { blobs[name] = bytes }
  func remove(_ name: BlobName) { blobs[name] = nil }
}

private final class NoAnchor: AnchorFile {
  func read(atMost limit: Int) throws -> [UInt8]? { nil }
  func replace(_ bytes: [UInt8]) throws {}
  func identity() throws -> [UInt8] { [] }
}

@Suite("Files that merged ones have replaced")
struct TidyingTests {
  private func sync(_ family: inout EngineFamily, _ member: Int, _ folder: MemoryFolder) throws {
    let report = try family.members[member].exchange(
      over: folder, named: "memory", anchorFile: NoAnchor(), nowMilliseconds: EngineFamily.now)
    #expect(report.failure == nil)
  }

  private func names(
    by member: Int, in family: EngineFamily, _ folder: MemoryFolder
  ) throws -> [SegmentName] {
    let zone = try family.members[0].zone(family.zone)
    let tag = zone.authorTag(of: family.members[member].device)
    return folder.list(zoneTag: zone.tag).segments.filter { $0.authorTag == tag }
  }

  @Test("Whoever does not come by a folder has no more files there than who does")
  func absent() throws {
    // Member 1 uses only the first folder; member 0 carries on to the second, where 2 reads. The
    // second time that member 1 merges, as many files as that takes lie there in vain.
    var family = try EngineFamily(3)
    let (near, far) = (MemoryFolder(), MemoryFolder())
    let threshold = Compaction.compactionThreshold
    for number in 0..<2 * threshold + 3 {
      try family.write(1, number % 5, [.assign(FieldID(.register, 1), .int(Int64(number)))])
      try sync(&family, 1, near)
      try sync(&family, 0, near)
      try sync(&family, 0, far)
    }
    let left = try names(by: 1, in: family, far)
    #expect(left.count < 8, "\(left.count) files")
    #expect(left.contains { $0.last - $0.first + 1 >= UInt64(threshold) })
    try sync(&family, 2, far)
    #expect(
      try family.members[2].digest(of: family.zone) == family.members[1].digest(of: family.zone))
    // What stays does so for good.
    let before = Set(far.segments.keys)
    try sync(&family, 0, far)
    try sync(&family, 2, far)
    #expect(Set(far.segments.keys) == before)
  }

  @Test("Few files are left to their author, and a name that lies removes nothing")
  func lies() throws {
    var family = try EngineFamily(2)
    let folder = MemoryFolder()
    for number in 0..<5 {
      try family.write(1, number, [.assign(FieldID(.register, 1), .int(Int64(number)))])
      try sync(&family, 1, folder)
    }
    try sync(&family, 0, folder)
    let good = try names(by: 1, in: family, folder)
    let first = try #require(good.first)
    let lie = SegmentName(
      zoneTag: first.zoneTag, authorTag: first.authorTag, incarnation: first.incarnation,
      first: 1, last: 1 << 40, digest: segmentDigest([1]))
    folder.segments[lie] = [1]
    try sync(&family, 0, folder)
    #expect(Set(good).isSubset(of: folder.segments.keys))
  }
}
