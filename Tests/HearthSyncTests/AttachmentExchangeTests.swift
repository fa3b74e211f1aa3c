import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthSync

/// A folder in memory that counts what it is asked.
private final class CountingFolder: Transport {
  private var segments: [SegmentName: [UInt8]] = [:]
  var blobs: [BlobName: [UInt8]] = [:]
  private(set) var fetched: [BlobName] = []
  private(set) var given: [BlobName] = []
  private(set) var removed: [BlobName] = []

  func place(of name: SegmentName) -> String { "\(name.digest)" }
  func list(zoneTag: Identifier) -> TransportListing {
    TransportListing(
      segments: segments.keys.filter { $0.zoneTag == zoneTag }.sorted(),
      attachments: blobs.keys.filter { $0.kind == .attachment && $0.scope == zoneTag }.sorted())
  }
  func fetch(_ name: SegmentName) throws -> [UInt8] { segments[name] ?? [] }
  func publish(_ name: SegmentName, _ bytes: [UInt8]) { segments[name] = bytes }
  func remove(_ name: SegmentName) { segments[name] = nil }
  func fetch(_ name: BlobName) -> [UInt8]? {
    fetched.append(name)
    return blobs[name]
  }
  func publish(_ name: BlobName, _ bytes: [UInt8]) {
    given.append(name)
    blobs[name] = bytes
  }
  func remove(_ name: BlobName) {
    removed.append(name)
    blobs[name] = nil
  }
}

@Suite("Attachments in an exchange")
struct AttachmentExchangeTests {
  private static let day: UInt64 = 24 * 60 * 60 * 1_000

  private func sync(
    _ family: inout EngineFamily, _ member: Int, _ folder: CountingFolder, later days: UInt64 = 0
  ) throws -> TransportReport {
    let report = try family.members[member].exchange(
      over: folder, named: "memory", anchorFile: ForgetfulAnchor(),
      nowMilliseconds: EngineFamily.now + days * Self.day)
    #expect(report.failure == nil)
    return report
  }

  private func save(_ chunk: SealedChunk, _ family: EngineFamily, _ member: Int) throws {
    let store = family.members[member].store
    try store.transaction { try store.attachments.save(chunk, in: family.zone) }
  }

  @Test("Chunks are given once, to each transport that lacks them, and fetched by nobody")
  func given() throws {
    var family = try EngineFamily(2)
    let (near, far) = (CountingFolder(), CountingFolder())
    let chunk = SealedChunk(bytes: [1, 2, 3])
    try save(chunk, family, 0)
    let tag = try family.members[0].zone(family.zone).tag
    let name = BlobName(kind: .attachment, scope: tag, digest: chunk.digest)
    for _ in 0..<3 { _ = try sync(&family, 0, near) }
    #expect(near.given == [name] && near.blobs[name] == chunk.bytes)
    _ = try sync(&family, 1, near)
    #expect(near.fetched == [])
    let seen = try family.members[1].store.attachments.chunks(of: family.zone)
    #expect(
      seen == [KnownChunk(digest: chunk.digest, byteCount: 0, releasedMilliseconds: nil)])
    _ = try sync(&family, 1, far)
    #expect(far.given == [])
    _ = try sync(&family, 0, far)
    #expect(far.given == [name])
    near.blobs[name] = nil
    let report = try sync(&family, 0, near)
    #expect(near.given == [name, name] && report.published >= 1)
  }

  @Test("A chunk that nobody needs is removed after thirty days, and given to nobody before")
  func removed() throws {
    var family = try EngineFamily(2)
    let folder = CountingFolder()
    let (kept, idle) = (SealedChunk(bytes: [1]), SealedChunk(bytes: [2]))
    for chunk in [kept, idle] { try save(chunk, family, 0) }
    _ = try sync(&family, 0, folder)
    _ = try sync(&family, 1, folder)
    for member in 0..<2 {
      let store = family.members[member].store
      try store.transaction {
        try store.attachments.release([idle.digest], at: EngineFamily.now, in: family.zone)
      }
    }
    _ = try sync(&family, 0, folder, later: 29)
    #expect(folder.removed == [])
    let tag = try family.members[0].zone(family.zone).tag
    let name = BlobName(kind: .attachment, scope: tag, digest: idle.digest)
    folder.blobs[name] = nil
    _ = try sync(&family, 0, folder, later: 29)
    #expect(folder.given.count == 2)
    folder.blobs[name] = idle.bytes
    _ = try sync(&family, 1, folder, later: 30)
    #expect(folder.removed == [name])
    #expect(folder.list(zoneTag: tag).attachments.map(\.digest) == [kept.digest])
  }

  @Test("However many chunks a transport names, a node notes no more than its bound")
  func flood() throws {
    var family = try EngineFamily(1)
    let folder = CountingFolder()
    let tag = try family.members[0].zone(family.zone).tag
    for number in 0..<66_000 as Range<UInt64> {
      let bytes = withUnsafeBytes(of: number) { Array($0) }
      folder.blobs[
        BlobName(kind: .attachment, scope: tag, digest: segmentDigest(bytes))] = bytes
    }
    for _ in 0..<2 {
      _ = try sync(&family, 0, folder)
      #expect(try family.members[0].store.attachments.chunks(of: family.zone).count == 65_536)
    }
    #expect(folder.removed == [] && folder.fetched.count <= 2 * FileCheck.checkedFiles)
  }
}
