import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now

@Suite("What had to go for want of room")
struct RoomRefusalsTests {
  private let tag = Identifier(high: 0, low: 7)

  private func refused(_ number: UInt64, _ bytes: Int) -> RoomRefusals.Refused {
    RoomRefusals.Refused(digest: Identifier(high: 1, low: number), byteCount: bytes)
  }

  private func numbers(_ digests: Set<Identifier>) -> [UInt64] { digests.map(\.low).sorted() }

  @Test("Nothing is fetched again until something has made room, and then no more than fits")
  func room() throws {
    var refusals = RoomRefusals()
    refusals.note(
      [
        (.device(tag), refused(1, 100)), (.device(tag), refused(2, 50)), (.zone, refused(3, 10)),
      ], whileWaiting: [.device(tag): 1_000, .zone: 5_000])
    func without(_ device: Int, _ zone: Int) -> [UInt64] {
      numbers(refusals.withoutRoom(whileWaiting: [.device(tag): device, .zone: zone]))
    }
    #expect(without(1_000, 5_000) == [1, 2, 3])
    #expect(without(901, 5_000) == [1, 2, 3])
    #expect(without(900, 5_000) == [2, 3])
    #expect(without(850, 4_990) == [])
    // More waits than then: nothing has made room.
    #expect(without(2_000, 6_000) == [1, 2, 3])
    #expect(try RoomRefusals(decoding: refusals.encoded) == refusals)
    // What goes a second time is kept once.
    refusals.note([(.device(tag), refused(1, 100))], whileWaiting: [.device(tag): 900])
    #expect(without(900, 4_990) == [1, 2])
    #expect(without(750, 4_990) == [])
  }

  @Test("Beyond as many as one device may keep waiting, the farthest of the largest are forgotten")
  func count() throws {
    var refusals = RoomRefusals()
    let most = RoomRefusals.maximumCount
    refusals.note([(.zone, refused(0, 1))], whileWaiting: [:])
    refusals.note(
      (1..<most).map { (.device(tag), refused(UInt64($0), 1)) }, whileWaiting: [:])
    #expect(refusals.withoutRoom(whileWaiting: [:]).count == most && refusals.isFull)
    refusals.note(
      [(.device(tag), refused(9_998, 1)), (.device(tag), refused(9_999, 1))], whileWaiting: [:])
    #expect(
      numbers(refusals.withoutRoom(whileWaiting: [:])) == Array(0..<UInt64(most)))
    #expect(refusals.isFull)
    #expect(try RoomRefusals(decoding: refusals.encoded) == refusals)
  }

  @Test("What an earlier version noted of unverified segments is left out")
  func earlier() throws {
    var writer = ByteWriter()
    for number in [2, 0, 70, 1] { writer.varint(number) }
    writer.identifier(tag)
    for number in [10, 1, 50, 0] { writer.varint(number) }
    let read = try RoomRefusals(decoding: writer.bytes)
    #expect(read.withoutRoom(whileWaiting: [:]).isEmpty && !read.isEmpty)
  }

  @Test("What a device sends beyond its room is fetched once, and again when its gap closes")
  func engine() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    var random = SplitMix64(seed: 1)
    let blobs = try (0..<45).map { number in
      // What does not compress.
      var noise: [UInt8] = []
      for _ in 0..<50_000 { withUnsafeBytes(of: random.next()) { noise += $0 } }
      return try forge.seal([
        forge.change([.assign(FieldID(.register, 3), .bytes(noise))], record: number)
      ])
    }
    let names = try blobs.map { blob in
      let frame = try EnvelopeFrame(blob)
      return SegmentName(
        zoneTag: try family.members[2].zone(family.zone).tag,
        authorTag: Identifier(frame.authorTag), incarnation: frame.incarnation,
        first: frame.firstSeq, last: frame.lastSeq, digest: segmentDigest(blob))
    }
    func worth(_ some: [SegmentName]) throws -> [SegmentName] {
      let examined = try FetchChoice(engine: family.members[2]).examined(
        in: family.members[2].zone(family.zone))
      let vain = examined.vain(among: some)
      return some.filter { !vain.contains($0) }
    }
    let report = try family.members[2].receive(
      Array(blobs.dropFirst()), in: family.zone, nowMilliseconds: now)
    let gone = Set(report.refused.map(\.digest))
    #expect(!gone.isEmpty && gone.count + (report.waiting[.gap] ?? 0) == 44)
    let missing = names.filter { gone.contains($0.digest) }
    // The farthest went; what closes the gap is fetched all the same.
    #expect(missing == Array(names.suffix(gone.count)))
    #expect(try worth([names[0]] + missing) == [names[0]])
    #expect(family.members[2].store.notices.all().count { $0.kind == .limit } == 1)
    _ = try family.members[2].receive([blobs[0]], in: family.zone, nowMilliseconds: now)
    #expect(try worth(missing) == missing)
    let rest = try family.members[2].receive(
      Array(blobs.suffix(gone.count)), in: family.zone, nowMilliseconds: now)
    #expect(rest.refused.isEmpty && rest.waiting.isEmpty)
    #expect(try family.members[2].zone(family.zone).head(of: forge.author).sequence == 45)
  }
}
