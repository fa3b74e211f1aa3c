import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

@Suite("Chunks of attachments in the store")
struct AttachmentStoreTests {
  private let one = SealedChunk(bytes: [1, 2, 3])
  private let two = SealedChunk(bytes: [UInt8](repeating: 4, count: 5_000))

  private func known(
    _ digest: Identifier, _ count: Int, _ released: UInt64? = nil
  ) -> KnownChunk {
    KnownChunk(digest: digest, byteCount: count, releasedMilliseconds: released)
  }

  @Test("Chunks are kept, noted, released, dropped and forgotten, each in its zone")
  func life() throws {
    let scratch = try Scratch()
    let listed = Identifier(high: 7, low: 7)
    try scratch.session { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.attachments.save(one, in: zoneID)
        try store.attachments.save(two, in: zoneID)
        try store.attachments.note([one.digest, listed], in: zoneID)
        try store.attachments.release([listed, two.digest], at: 90, in: zoneID)
      }
    }
    try scratch.session { store throws in
      #expect(
        try store.attachments.chunks(of: zoneID)
          == [known(one.digest, 3), known(two.digest, 5_000, 90), known(listed, 0, 90)]
          .sorted { $0.digest < $1.digest })
      #expect(try store.attachments.bytes(of: two.digest, in: zoneID) == two.bytes)
      #expect(try store.attachments.bytes(of: listed, in: zoneID) == nil)
      try store.transaction {
        try store.attachments.release([two.digest], at: nil, in: zoneID)
        try store.attachments.drop(one.digest, in: zoneID)
        try store.attachments.forget([listed], in: zoneID)
      }
      #expect(try store.attachments.bytes(of: one.digest, in: zoneID) == nil)
      #expect(
        try store.attachments.chunks(of: zoneID)
          == [known(one.digest, 0), known(two.digest, 5_000)].sorted { $0.digest < $1.digest })
    }
  }

  @Test("Damaged bytes count as missing")
  func rot() throws {
    let scratch = try Scratch()
    try scratch.session { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.attachments.save(one, in: zoneID)
        try store.connection.execute("UPDATE hearth_attachment_bytes SET bytes = x'010204'")
      }
      #expect(try store.attachments.bytes(of: one.digest, in: zoneID) == nil)
      try store.transaction { try store.attachments.save(one, in: zoneID) }
      #expect(try store.attachments.bytes(of: one.digest, in: zoneID) == one.bytes)
    }
  }
}
