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
  /// The chunks of each request to remove some.
  private(set) var removals: [[BlobName]] = []
  /// Whether what is there stays, as at a relay what others stored.
  var keepsAll = false
  var canDecay = false
  /// How many chunks a listing names beside those that it is asked for.
  var bound = Int.max

  func place(of name: SegmentName) -> String { "\(name.digest)" }
  func list(zoneTag: Identifier) -> TransportListing {
    TransportListing(
      segments: segments.keys.filter { $0.zoneTag == zoneTag }.sorted(),
      attachments: blobs.keys.filter { $0.kind == .attachment && $0.scope == zoneTag }.sorted())
  }
  func list(
    zoneTag: Identifier, preferring preference: ListingPreference
  ) -> TransportListing {
    var listing = list(zoneTag: zoneTag)
    listing.attachments =
      Array(listing.attachments.prefix(bound))
      + listing.attachments.dropFirst(bound).filter { preference.chunks.contains($0.digest) }
    return listing
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
  func remove(_ names: [BlobName]) {
    removals.append(names)
    if !keepsAll { for name in names { remove(name) } }
  }
}

@Suite("Attachments in an exchange")
struct AttachmentExchangeTests {
  private static let day: UInt64 = 24 * 60 * 60 * 1_000

  private func sync(
    _ family: inout EngineFamily, _ member: Int, _ folder: CountingFolder, later days: UInt64 = 0,
    hours: UInt64 = 0
  ) throws -> TransportReport {
    let report = try family.members[member].exchange(
      over: folder, named: "memory", anchorFile: ForgetfulAnchor(),
      nowMilliseconds: EngineFamily.now + days * Self.day + hours * Self.day / 24)
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

  /// Fills a folder with chunks that nobody needs.
  ///
  /// - Returns: their digests, in order.
  private func fill(
    _ folder: CountingFolder, _ count: UInt64, _ family: EngineFamily
  ) throws -> [Identifier] {
    let tag = try family.members[0].zone(family.zone).tag
    for number in 0..<count {
      let bytes = withUnsafeBytes(of: number) { Array($0) }
      folder.blobs[BlobName(kind: .attachment, scope: tag, digest: segmentDigest(bytes))] = bytes
    }
    return folder.list(zoneTag: tag).attachments.map(\.digest)
  }

  /// Lets a member know of chunks, and that nobody has needed them since a while.
  private func note(
    _ digests: some Sequence<Identifier>, areOver: Bool, _ family: EngineFamily
  ) throws {
    let store = family.members[0].store
    try store.transaction {
      try store.attachments.note(Array(digests), in: family.zone)
      guard areOver else { return }
      try store.attachments.release(Array(digests), at: EngineFamily.now, in: family.zone)
    }
  }

  @Test("However many chunks a transport holds, a sync notes and removes few, and gives its own")
  func flood() throws {
    var family = try EngineFamily(1)
    let folder = CountingFolder()
    let junk = try fill(folder, 70_000, family)
    let own = SealedChunk(bytes: [1, 2, 3])
    try save(own, family, 0)
    func known() throws -> Int {
      try family.members[0].store.attachments.chunks(of: family.zone).count
    }
    for count in [4_096, 8_192] {
      _ = try sync(&family, 0, folder)
      #expect(try known() == count + 1)
    }
    #expect(folder.given.map(\.digest) == [own.digest])
    // More syncs learn of all of them, and then of nothing.
    try note(junk.prefix(66_000), areOver: false, family)
    for _ in 0..<2 {
      _ = try sync(&family, 0, folder)
      #expect(try known() == 70_001)
    }
    try note(junk, areOver: true, family)
    for round in 1...2 {
      _ = try sync(&family, 0, folder, later: 30)
      #expect(folder.removals.count == round && folder.removed.count == round * 1_024)
    }
    #expect(Set(folder.removed).count == 2_048)
    #expect(folder.given.count == 1 && folder.fetched == [])
  }

  @Test(
    "What a transport keeps all the same is asked for again after everything else",
    arguments: [1, 24] as [UInt64])
  func keptAllTheSame(hoursBetween: UInt64) throws {
    var family = try EngineFamily(1)
    let folder = CountingFolder()
    folder.keepsAll = true
    try note(fill(folder, 3_072, family), areOver: true, family)
    for round in 0..<8 as Range<UInt64> {
      let hours = round * hoursBetween
      _ = try sync(&family, 0, folder, later: 30, hours: hours)
      _ = try sync(&family, 0, folder, later: 30, hours: hours)
    }
    #expect(folder.removals.map(\.count) == [Int](repeating: 1_024, count: 16))
    #expect(Set(folder.removals.joined()).count == 3_072)
  }

  @Test("A folder that holds more chunks than it lists is not given again what it has")
  func cut() throws {
    var family = try EngineFamily(1)
    let folder = CountingFolder()
    folder.canDecay = true
    folder.bound = 0
    try save(SealedChunk(bytes: [1, 2, 3]), family, 0)
    for _ in 0..<3 { _ = try sync(&family, 0, folder) }
    #expect(folder.given.count == 1)
  }
}
