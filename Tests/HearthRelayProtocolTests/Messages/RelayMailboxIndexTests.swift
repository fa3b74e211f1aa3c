import HearthCRDT
import HearthCrypto
import Testing

@testable import HearthRelayProtocol
@testable import HearthSync

@Suite("What a client remembers of a mailbox")
struct RelayMailboxIndexTests {
  private let mailbox = RelayFixture.mailbox

  private func header(_ position: UInt64, _ name: String, isLive: Bool = true) -> RelayHeader {
    RelayHeader(
      position: position, kind: .put, isReplaceable: false, isLive: isLive,
      name: Array(name.utf8), byteCount: 3, digest: RelayChain.digest(of: [1, 2, 3]))
  }

  private func page(
    _ headers: [RelayHeader], after chain: Bytes32, through: UInt64? = nil
  ) -> RelayListing {
    let through = through ?? headers.last?.position ?? 0
    return RelayListing(
      headers: headers, through: through, head: through,
      chain: headers.reduce(chain) { RelayChain.next($0, $1) })
  }

  @Test("a log is followed page by page, and what is kept is read back")
  func following() throws {
    var index = RelayMailboxIndex(mailbox: mailbox)
    #expect(index.cursor == nil)
    index.begin(generation: RelayFixture.generation)
    let start = index.chain
    #expect(start == RelayFixture.chainStart)
    let taken1 = index.take(page([header(1, "a"), header(2, "b", isLive: false)], after: start))
    #expect(taken1)
    #expect(index.sortedNames == [Array("a".utf8)])
    let removal = RelayHeader(
      position: 3, kind: .remove, isReplaceable: false, isLive: false, name: Array("a".utf8),
      byteCount: 0, digest: RelayChain.emptyDigest)
    let taken2 = index.take(page([removal, header(4, "c")], after: index.chain))
    #expect(taken2)
    #expect(index.sortedNames == [Array("c".utf8)])
    #expect(index.byteCount(of: Array("c".utf8)) == 3)
    let taken3 = index.take(page([], after: index.chain, through: 4))
    #expect(taken3)
    let bytes = index.encoded
    #expect(try RelayMailboxIndex(decoding: bytes) == index)
    for length in 0..<bytes.count {
      #expect(throws: CodecError.self) {
        _ = try RelayMailboxIndex(decoding: Array(bytes.prefix(length)))
      }
    }
  }

  @Test("gaps, repeats, another chain and a log that was set back are no continuation")
  func breaking() {
    var index = RelayMailboxIndex(mailbox: mailbox)
    index.begin(generation: RelayFixture.generation)
    let taken4 = index.take(page([header(1, "a"), header(2, "b")], after: index.chain))
    #expect(taken4)
    let before = index
    let taken5 = index.take(page([header(4, "d")], after: index.chain))
    #expect(!taken5)
    let taken6 = index.take(page([header(2, "b")], after: index.chain))
    #expect(!taken6)
    let taken7 = index.take(page([header(3, "c")], after: RelayFixture.chainStart))
    #expect(!taken7)
    let taken8 = index.take(page([], after: index.chain, through: 1))
    #expect(!taken8)
    let taken9 = index.take(page([], after: RelayFixture.chainStart, through: 2))
    #expect(!taken9)
    let tail = RelayListing(
      headers: [header(3, "c")], through: 3, head: 2,
      chain: RelayChain.next(index.chain, header(3, "c")))
    let taken10 = index.take(tail)
    #expect(!taken10)
    #expect(index == before)
    let skipped = index.append(header(4, "d"))
    let next = index.append(header(3, "c"))
    #expect(!skipped && next)
  }

  @Test("names of entries are read back, and nothing else is a name")
  func names() {
    let zone = Identifier(high: 1, low: 2)
    let names: [RelayName] = [
      .segment(
        SegmentName(
          zoneTag: zone, authorTag: Identifier(high: 3, low: 4), incarnation: 5, first: 6,
          last: 7, digest: Identifier(high: 8, low: 9))),
      .chunk(
        BlobName(
          kind: .snapshot, scope: zone, group: Identifier(high: 3, low: 4), index: 1, count: 2,
          digest: Identifier(high: 8, low: 9))),
      .attachment(
        BlobName(kind: .attachment, scope: zone, digest: Identifier(high: 8, low: 9))),
      .capsule(Identifier(high: 3, low: 4)), .grant(Identifier(high: 3, low: 4)),
    ]
    for name in names {
      let bytes = name.bytes
      #expect(bytes.count <= RelayLimits.maximumNameBytes)
      #expect(RelayName(bytes, zoneTag: zone) == name)
      #expect(RelayName(bytes + [0], zoneTag: zone) == nil)
      for length in 0..<bytes.count {
        #expect(RelayName(Array(bytes.prefix(length)), zoneTag: zone) == nil)
      }
    }
    #expect(RelayName([9] + [UInt8](repeating: 1, count: 16), zoneTag: zone) == nil)
  }
}
