import HearthCRDT
import HearthCrypto
import HearthSync
import TestSupport
import Testing

@Suite("What a record holds of an attachment")
struct AttachmentReferenceTests {
  private func content(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 17 &+ $0 >> 8) }
  }

  @Test(
    "Content is split, sealed, and read again",
    arguments: [
      (0, 1), (1, 1), (AttachmentKey.chunkBytes, 1), (AttachmentKey.chunkBytes + 1, 2),
      (3 * AttachmentKey.chunkBytes - 1, 3),
    ])
  func chunks(count: Int, chunkCount: Int) throws {
    let whole = content(count)
    let (reference, chunks) = try AttachmentReference.sealing(whole, type: "image/jpeg")
    #expect(reference.chunks == chunks.map(\.digest) && chunks.count == chunkCount)
    #expect(reference.byteCount == count && reference.type == "image/jpeg")
    #expect(chunks.allSatisfy { $0.digest == segmentDigest($0.bytes) })
    let again = try #require(AttachmentReference(reference.bytes))
    #expect(again == reference)
    var read: [UInt8] = []
    for (index, chunk) in chunks.enumerated() { read += try again.open(chunk.bytes, at: index) }
    #expect(read == whole)
  }

  @Test("A reference to a photo is small")
  func size() throws {
    let (photo, _) = try AttachmentReference.sealing(content(500_000), type: "image/jpeg")
    #expect(photo.bytes.count <= 66)
    let (largest, _) = try AttachmentReference.sealing(
      content(AttachmentReference.maximumBytes), type: "video/mp4")
    #expect(largest.bytes.count < 600)
  }

  @Test("What is too large is refused")
  func bounds() throws {
    #expect(throws: AttachmentError.tooLarge) {
      try AttachmentReference.sealing(content(AttachmentReference.maximumBytes + 1), type: "")
    }
    #expect(throws: AttachmentError.typeTooLong) {
      try AttachmentReference.sealing([], type: String(repeating: "x", count: 256))
    }
  }

  @Test("Bytes that are no reference are refused, whatever they are")
  func hostile() throws {
    let good = try AttachmentReference.sealing(content(2_000_000), type: "a/b").reference.bytes
    for count in 0..<good.count { #expect(AttachmentReference(Array(good.prefix(count))) == nil) }
    #expect(AttachmentReference(good + [0]) == nil)
    var newer = good
    newer[3] = 2
    #expect(AttachmentReference(newer) == nil && AttachmentReference.isOfNewerVersion(newer))
    #expect(!AttachmentReference.isOfNewerVersion(Array(good.dropFirst())))
    // What is damaged, or only looks like a reference, is none, and not a newer version's.
    for bytes in [good, Array(good.dropLast()), Array("HRA".utf8), []] {
      #expect(!AttachmentReference.isOfNewerVersion(bytes))
    }
    // A length beyond all bounds must not make room for its digests.
    var huge = ByteWriter()
    huge.raw(Array("HRA".utf8))
    huge.byte(1)
    huge.varint(UInt64.max)
    #expect(AttachmentReference(huge.bytes + good) == nil)
    let seed = UInt64.random(in: .min ... .max)
    var number = SplitMix64(seed: seed)
    for _ in 0..<2_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...4, using: &number) {
        bytes[Int.random(in: 0..<bytes.count, using: &number)] ^= UInt8.random(
          in: 1...255, using: &number)
      }
      // Whatever is read is what would be written.
      if let read = AttachmentReference(bytes) { #expect(read.bytes == bytes, "seed \(seed)") }
    }
  }

  @Test("A record that lies about its content does not open it")
  func lies() throws {
    let (one, oneChunks) = try AttachmentReference.sealing(content(100), type: "a/b")
    let (_, otherChunks) = try AttachmentReference.sealing(content(100), type: "a/b")
    #expect(throws: AttachmentError.damaged) { try one.open(otherChunks[0].bytes, at: 0) }
    // The length, a varint after mark and version, says one byte more than there is.
    var bytes = one.bytes
    bytes[4] += 1
    let lying = try #require(AttachmentReference(bytes))
    #expect(throws: AttachmentError.damaged) { try lying.open(oneChunks[0].bytes, at: 0) }
  }
}
