import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthSync

/// A folder whose disk spoils files.
private final class OldFolder: Transport {
  var segments: [SegmentName: [UInt8]] = [:]
  var blobs: [BlobName: [UInt8]] = [:]
  var reads = 0
  var takesNothing = false
  var removed: [SegmentName] = []

  var canDecay: Bool { true }
  func place(of name: SegmentName) -> String { "\(name.digest)" }

  func list(zoneTag: Identifier) -> TransportListing {
    TransportListing(
      segments: segments.keys.filter { $0.zoneTag == zoneTag }.sorted(),
      snapshots: blobs.keys.filter { $0.scope == zoneTag }.sorted())
  }

  func fetch(_ name: SegmentName) throws -> [UInt8] {
    reads += 1
    guard let bytes = segments[name] else {
      throw TransportError(.notFound, place: place(of: name), message: "gone", remedy: "none")
    }
    guard segmentDigest(bytes) == name.digest else {
      throw TransportError(
        .contentMismatch, place: place(of: name), message: "spoilt", remedy: "none")
    }
    return bytes
  }

  func publish(_ name: SegmentName, _ bytes: [UInt8]) throws {
    guard !takesNothing else {
      throw TransportError(.folderReadOnly, place: "folder", message: "closed", remedy: "open it")
    }
    segments[name] = bytes
  }

  func remove(_ name: SegmentName) {
    removed.append(name)
    segments[name] = nil
  }
  func fetch(_ name: BlobName) throws -> [UInt8]? { blobs[name] }
  func publish(_ name: BlobName, _ bytes: [UInt8]) throws { blobs[name] = bytes }
  func remove(_ name: BlobName) { blobs[name] = nil }

  func spoil(_ name: SegmentName) { segments[name]?[70] ^= 1 }
}

private final class NoAnchor: AnchorFile {
  func read(atMost limit: Int) throws -> [UInt8]? { nil }
  func replace(_ bytes: [UInt8]) throws {}
  func identity() throws -> [UInt8] { [] }
}

@Suite("Files that were whole once")
struct UpkeepTests {
  @discardableResult
  private func sync(
    _ family: inout EngineFamily, _ member: Int, _ folder: OldFolder,
    checking check: FileCheck = .some, later: UInt64 = 0
  ) throws -> TransportReport {
    let report = try family.members[member].exchange(
      over: folder, named: "old", anchorFile: NoAnchor(), checking: check,
      nowMilliseconds: EngineFamily.now + later)
    #expect(report.failure == nil)
    return report
  }

  /// Two members who have everything, of whom the first wrote so many segments.
  private func family(writing count: Int) throws -> (EngineFamily, OldFolder) {
    var family = try EngineFamily(2)
    let folder = OldFolder()
    for number in 0..<count {
      try family.write(0, number % 5, [.assign(FieldID(.register, 1), .int(Int64(number)))])
      try sync(&family, 0, folder)
    }
    try sync(&family, 1, folder)
    try sync(&family, 0, folder)
    return (family, folder)
  }

  @Test("Whoever has a file's content writes it anew, whether author or not")
  func restored() throws {
    for member in 0..<2 {
      var (family, folder) = try family(writing: 20)
      let whole = folder.segments
      for name in whole.keys { folder.spoil(name) }
      let report = try sync(&family, member, folder, checking: .all)
      #expect(report.restored == whole.count, "\(report.restored) of \(whole.count)")
      #expect(folder.segments == whole)
      #expect(folder.removed.isEmpty)
      #expect(report.problems.isEmpty)
      #expect(try sync(&family, member, folder, checking: .all).restored == 0)
    }
  }

  @Test("A round of every day reads few files, and successive ones read all in time")
  func some() throws {
    var (family, folder) = try family(writing: 40)
    let whole = folder.segments
    for name in whole.keys { folder.spoil(name) }
    var rounds: UInt64 = 0
    while folder.segments != whole, rounds < 400 {
      rounds += 1
      folder.reads = 0
      try sync(&family, 1, folder, later: rounds * 60_000)
      // Of a control zone and a data zone.
      #expect(folder.reads <= 2 * FileCheck.checkedFiles)
    }
    #expect(folder.segments == whole, "after \(rounds) rounds")
    #expect(rounds > 2)
  }

  @Test("What a spoilt file held that is not here is given in other files")
  func cover() throws {
    var (family, folder) = try family(writing: 3)
    let zone = try family.members[0].zone(family.zone)
    // A name that its author vouched for, as if merged, and whose bytes nobody has any more.
    let mine = folder.list(zoneTag: zone.tag).segments
      .filter { $0.authorTag == zone.authorTag(of: family.members[0].device) }
    let last = try #require(mine.last)
    let ghost = SegmentName(
      zoneTag: last.zoneTag, authorTag: last.authorTag, incarnation: last.incarnation,
      first: last.first, last: last.last, digest: Identifier(high: 1, low: 1))
    folder.segments[ghost] = folder.segments[last]
    folder.segments[last] = nil
    let report = try sync(&family, 0, folder, checking: .all)
    #expect(folder.segments[last] != nil)
    #expect(report.problems.map(\.place).contains("\(ghost.digest)"))
    #expect(folder.segments[ghost] != nil, "nothing is taken away")
    #expect(report.unmended == 1)
  }

  @Test("A folder that was set back to an old copy is noticed, once, by whoever saw more in it")
  func setBack() throws {
    for member in 0..<2 {
      var (family, folder) = try family(writing: 3)
      let copy = folder.segments
      for number in 0..<4 {
        try family.write(0, number, [.assign(FieldID(.register, 1), .int(9))])
        #expect(try sync(&family, 0, folder).lost == 0)
      }
      #expect(try sync(&family, 1, folder).lost == 0)
      folder.segments = copy
      let report = try sync(&family, member, folder)
      #expect(report.lost == 4)
      #expect(report.isSetBack)
      #expect(try sync(&family, member, folder).lost == 0)
    }
  }

  @Test("Files that were merged into larger ones are no loss")
  func merged() throws {
    var (family, folder) = try family(writing: 1)
    for number in 0..<(2 * Compaction.compactionThreshold) {
      try family.write(0, number % 5, [.assign(FieldID(.register, 1), .int(Int64(number)))])
      #expect(try sync(&family, 0, folder).lost == 0)
      #expect(try sync(&family, 1, folder).lost == 0)
    }
    #expect(!folder.removed.isEmpty)
  }

  @Test("Thousands of damaged files that nobody has are each told once")
  func many() throws {
    var (family, folder) = try family(writing: 1)
    let zone = try family.members[0].zone(family.zone)
    let name = try #require(folder.list(zoneTag: zone.tag).segments.first)
    for number in 0..<UInt64(2_000) {
      let ghost = SegmentName(
        zoneTag: name.zoneTag, authorTag: name.authorTag, incarnation: name.incarnation,
        first: name.first, last: name.last, digest: Identifier(high: 1, low: number))
      folder.segments[ghost] = [1]
    }
    let report = try sync(&family, 0, folder, checking: .all)
    #expect(report.unmended == 2_000)
    #expect(Set(report.problems.map(\.place)).count == 2_000)
    #expect(report.problems.count == 2_000)
  }

  @Test("A folder that takes nothing is told of, and the round goes on")
  func closed() throws {
    var (family, folder) = try family(writing: 3)
    let name = try #require(folder.segments.keys.sorted().first)
    folder.spoil(name)
    folder.takesNothing = true
    let report = try sync(&family, 1, folder, checking: .all)
    #expect(report.restored == 0)
    #expect(!report.problems.isEmpty)
  }
}
