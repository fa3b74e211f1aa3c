import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthRelayProtocol
@testable import HearthSync

@Suite("Packed items of the relay protocol")
struct RelayPackingTests {
  /// The items once more, over their bytes.
  private func again(
    _ items: [RelayPut], after base: RelayPackingBase
  ) throws -> [RelayPut] {
    let frame = RelayFrame<RelayRequest>(
      request: 1, .putPacked(channel: 0, items: base.pack(items)))
    let read = try RelayFrame<RelayRequest>(decoding: Array(frame.encoded.dropFirst(4)))
    #expect(read == frame)
    guard case .putPacked(_, let packed) = read.message else { return [] }
    return try base.unpack(packed)
  }

  private func decoded(_ items: [RelayPackedItem]) -> CodecError.Code? {
    let frame = RelayFrame<RelayRequest>(request: 1, .putPacked(channel: 0, items: items))
    return codecCode {
      _ = try RelayFrame<RelayRequest>(decoding: Array(frame.encoded.dropFirst(4)))
    }
  }

  private func unpacked(
    _ item: RelayPackedItem, after base: RelayPackingBase
  ) -> CodecError.Code? {
    codecCode { _ = try base.unpack([item]) }
  }

  /// An item of some pieces whose check is right.
  private func item(
    _ pieces: [RelayPackedItem.Piece], of put: RelayPut, nameCount: Int? = nil,
    blobCount: Int? = nil, check: [UInt8]? = nil
  ) -> RelayPackedItem {
    RelayPackedItem(
      isReplaceable: put.isReplaceable, nameCount: nameCount ?? put.name.count,
      blobCount: blobCount ?? put.blob.count, pieces: pieces,
      rest: Array(put.blob.dropFirst(RelayPackedItem.maximumHeadBytes)),
      check: check ?? RelayPackedItem.check(name: put.name, blob: put.blob))
  }

  @Test("the items of the golden bytes are what the packer makes, and give what was packed")
  func golden() throws {
    let base = RelayFixture.packingBase
    #expect(base.pack(RelayFixture.packedPuts) == RelayFixture.packed)
    #expect(try base.unpack(RelayFixture.packed) == RelayFixture.packedPuts)
    #expect(base.bytes.count == 200)
    #expect(
      RelayPackedItem.check(name: [1], blob: [2]) != RelayPackedItem.check(name: [1, 2], blob: []))
  }

  @Test("what is packed is unpacked the same: all short texts of two letters")
  func exhaustive() throws {
    func word(_ bits: Int) -> [UInt8] { (0..<7).map { UInt8(bits >> $0 & 1) } }
    var copies = 0
    for first in 0..<128 {
      let base = RelayPackingBase(name: [UInt8(first & 1)], blob: word(first))
      for second in 0..<128 {
        let put = RelayPut(name: [UInt8(second >> 6)], blob: word(second))
        let packed = base.pack([put])
        if packed[0].pieces.contains(where: { if case .copy = $0 { true } else { false } }) {
          copies += 1
        }
        guard try base.unpack(packed) == [put] else {
          Issue.record("\(first) then \(second): \(packed)")
          return
        }
      }
    }
    #expect(copies > 128)
  }

  @Test("what is packed is unpacked the same, whatever was said before", arguments: 0..<200)
  func random(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    func bytes(_ range: ClosedRange<Int>) -> [UInt8] {
      let letters = [1, 4, 256].randomElement(using: &random) ?? 256
      return (0..<Int.random(in: range, using: &random)).map { _ in
        UInt8(truncatingIfNeeded: Int.random(in: 0..<letters, using: &random))
      }
    }
    var said: [UInt8] = bytes(0...400)
    func text(_ range: ClosedRange<Int>) -> [UInt8] {
      var text: [UInt8] = []
      let count = Int.random(in: range, using: &random)
      while text.count < count {
        if Bool.random(using: &random), !said.isEmpty {
          let start = Int.random(in: 0..<said.count, using: &random)
          text += said[start..<min(said.count, start + Int.random(in: 1...90, using: &random))]
        } else {
          text += bytes(1...30)
        }
      }
      text = Array(text.prefix(count))
      said = Array((text + said).prefix(600))
      return text
    }
    var base = RelayPackingBase()
    for _ in 0..<4 {
      let puts = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        RelayPut(
          name: text(1...RelayLimits.maximumNameBytes),
          isReplaceable: Bool.random(using: &random), blob: text(0...700))
      }
      #expect(try again(puts, after: base) == puts, "seed \(seed)")
      base = base.after(puts)
      #expect(base.bytes.count <= RelayPackingBase.maximumBytes)
    }
  }

  /// The 502 bytes of a change as the segment format has them, but for what is sealed.
  private func segment(_ number: UInt64, author: UInt8, after link: [UInt8]) -> RelayPut {
    func noise(_ count: Int, _ what: String) -> [UInt8] {
      Blake2b.hash(Array("\(what) \(number) \(author)".utf8), count: 64).prefix(count) + []
    }
    let tag = Blake2b.hash([author], count: 16)
    var writer = ByteWriter()
    writer.raw(Array("HRE1".utf8) + [1, 1] + RelayFixture.run(0x30, 16))
    writer.raw(tag)
    writer.fixed64(0x1_0000_0001)
    writer.raw(RelayFixture.run(0x70, 16))
    writer.fixed64(number)
    writer.fixed64(number)
    writer.raw(link)
    writer.raw(noise(32, "link"))
    writer.raw(noise(24, "nonce"))
    for part in 0..<5 { writer.raw(noise(64, "sealed \(part)")) }
    writer.raw(noise(16, "tag"))
    let name = RelayName.segment(
      SegmentName(
        zoneTag: .zero,
        authorTag: Identifier(bytes: tag) ?? .zero,
        incarnation: 0x1_0000_0001, first: number, last: number,
        digest: Identifier(bytes: noise(16, "digest")) ?? .zero))
    return RelayPut(name: name.bytes, blob: writer.bytes)
  }

  @Test("a change of who changed something before is put and pushed in 480 bytes, TLS with it")
  func sizes() throws {
    let tls = 22
    let link = [UInt8](repeating: 1, count: 32)
    for (number, author) in [(UInt64(2), UInt8(7)), (200, 8), (256, 9), (70_000, 10)] {
      let before = segment(number - 1, author: author, after: link)
      let put = segment(number, author: author, after: Array(before.blob[110..<142]))
      #expect(put.blob.count == 502 && put.name.count == 57)
      let base = RelayPackingBase().after([before])
      let items = base.pack([put])
      let asked = RelayFrame<RelayRequest>(request: 70_000, .putPacked(channel: 1, items: items))
      let pushed = RelayPushTail(items, from: 1_000_000)
      let up = asked.encoded.count + tls
      let down = pushed.head(channel: 1).count + pushed.bytes.count + tls
      #expect(up <= 480 && down <= 480, "change \(number): \(up) to the relay, \(down) from it")
      // Half of it is sealed, and two links, a nonce and a name's digest are as good as chance.
      #expect(min(up, down) > 336 + 32 + 24 + 16 + tls)
      // After another author's change some more is new.
      let others = RelayPackingBase().after([segment(number, author: 77, after: link)])
      let plain = RelayFrame<RelayRequest>(request: 70_000, .put(channel: 1, items: [put]))
      let apart = RelayFrame<RelayRequest>(
        request: 70_000, .putPacked(channel: 1, items: others.pack([put])))
      #expect((up + 1...plain.encoded.count - 50).contains(apart.encoded.count + tls))
    }
  }

  @Test("a base is 256 bytes of the blob's first 192 and the name; packing has its bounds")
  func bases() {
    let blob = RelayFixture.run(0, 193)
    let name = RelayFixture.run(0x40, 65)
    #expect(RelayPackingBase(name: name, blob: blob).bytes == blob.dropLast() + name.dropLast())
    #expect(RelayPackingBase(name: name, blob: []).bytes == name)
    let base = RelayPackingBase(name: name, blob: blob)
    #expect(base.after([]) == base && RelayPackingBase().bytes.isEmpty)
    let most = RelayPackingBase.maximumPackedBytes
    for (count, isPacked) in [(most, true), (most + 1, false)] {
      let put = RelayPut(name: [1], blob: [UInt8](repeating: 0, count: count))
      #expect(base.packs([put]) == isPacked && !RelayPackingBase().packs([put]))
    }
  }

  @Test("a copy lies in what is there, to the byte")
  func copies() {
    let base = RelayPackingBase(name: [9], blob: RelayFixture.run(0, 9))
    let put = RelayPut(name: [9], blob: RelayFixture.run(5, 4))
    // The last five bytes of the base are the text.
    let right = item([.copy(offset: 5, count: 5)], of: put)
    #expect(decoded([right]) == nil && unpacked(right, after: base) == nil)
    #expect(unpacked(item([.copy(offset: 6, count: 5)], of: put), after: base) == .beyondLimit)
    #expect(unpacked(item([.copy(offset: 11, count: 0)], of: put), after: base) == .beyondLimit)
    #expect(unpacked(item([.copy(offset: .max, count: 5)], of: put), after: base) == .beyondLimit)
    #expect(unpacked(item([.copy(offset: -1, count: 5)], of: put), after: base) == .beyondLimit)
    #expect(unpacked(right, after: RelayPackingBase()) == .beyondLimit)
    // Behind the literal stands that itself, but not yet what the copy adds.
    let twice = RelayPut(name: [1, 2, 3, 4, 1, 2, 3, 4], blob: [])
    let own = item([.literal([1, 2, 3, 4]), .copy(offset: 0, count: 4)], of: twice)
    #expect(unpacked(own, after: RelayPackingBase()) == nil)
    let over = item([.literal([1, 2, 3, 4]), .copy(offset: 1, count: 4)], of: twice)
    #expect(unpacked(over, after: RelayPackingBase()) == .beyondLimit)
    // What no base could hold is refused before the base is known.
    let most = RelayPackingBase.maximumBytes
    for (offset, code) in [(most - 5, CodecError.Code?.none), (most - 4, .beyondLimit)] {
      #expect(decoded([item([.copy(offset: offset, count: 5)], of: put)]) == code)
    }
  }

  @Test("pieces make exactly the text, literals stand alone, and the check has to be right")
  func pieces() {
    let base = RelayPackingBase()
    let put = RelayPut(name: [1, 2], blob: [3, 4, 5])
    let text: [UInt8] = [3, 4, 5, 1, 2]
    let right = item([.literal(text)], of: put)
    #expect(decoded([right]) == nil && unpacked(right, after: base) == nil)
    let apart = item([.literal([3, 4]), .literal([5, 1, 2])], of: put)
    #expect(decoded([apart]) == .notCanonical)
    #expect(decoded([item([.literal(text + [6])], of: put)]) == .beyondLimit)
    #expect(decoded([item([.copy(offset: 0, count: 6)], of: put)]) == .beyondLimit)
    #expect(decoded([item([.literal([3])], of: put)]) != nil)
    // In memory an item can be anything.
    #expect(unpacked(item([.literal([3])], of: put), after: base) == .notCanonical)
    #expect(unpacked(item([.literal(text)], of: put, blobCount: 4), after: base) == .notCanonical)
    for place in 0..<RelayPackedItem.checkBytes {
      var check = right.check
      check[place] ^= 1
      let wrong = item([.literal(text)], of: put, check: check)
      #expect(decoded([wrong]) == nil && unpacked(wrong, after: base) == .notCanonical)
    }
    // Name and blob are told apart.
    let moved = item([.literal(text)], of: put, nameCount: 3, blobCount: 2)
    #expect(unpacked(moved, after: base) == .notCanonical)
  }

  @Test("names, blobs, items, batches and positions end where they are said to")
  func limits() {
    func item(name: Int, blob: Int) -> RelayPackedItem {
      RelayPackingBase().pack([
        RelayPut(
          name: [UInt8](repeating: 1, count: name), blob: [UInt8](repeating: 2, count: blob))
      ])[0]
    }
    let name = RelayLimits.maximumNameBytes
    #expect(decoded([item(name: name, blob: 0)]) == nil)
    #expect(decoded([item(name: name + 1, blob: 0)]) == .beyondLimit)
    #expect(decoded([item(name: 0, blob: 1)]) == .notCanonical)
    let blob = RelayLimits.maximumBlobBytes
    #expect(decoded([item(name: 1, blob: blob)]) == nil)
    #expect(decoded([item(name: 1, blob: blob + 1)]) == .beyondLimit)
    let half = RelayLimits.maximumBatchBytes / 2 - 1
    #expect(decoded([item(name: 1, blob: half), item(name: 1, blob: half)]) == nil)
    #expect(decoded([item(name: 1, blob: half), item(name: 2, blob: half)]) == .beyondLimit)
    let most = RelayLimits.maximumBatchItems
    let one = item(name: 1, blob: 0)
    #expect(decoded([RelayPackedItem](repeating: one, count: most)) == nil)
    #expect(decoded([RelayPackedItem](repeating: one, count: most + 1)) == .beyondLimit)
    #expect(decoded([]) == .notCanonical)
    // A count that the bytes cannot hold is refused before room is made for it.
    #expect(
      codecCode { _ = try RelayFrame<RelayRequest>(decoding: [0x12, 1, 0, 100, 0, 1]) }
        == .truncated)
    for (first, code) in [
      (RelayLimits.maximumPosition - 1, CodecError.Code?.none),
      (RelayLimits.maximumPosition, .beyondLimit), (0, .beyondLimit),
    ] {
      let push = RelayFrame<RelayReply>(
        request: 0, .pushedPacked(channel: 0, from: first, items: [one, one]))
      #expect(
        codecCode {
          _ = try RelayFrame<RelayReply>(decoding: Array(push.encoded.dropFirst(4)))
        } == code)
    }
  }
}
