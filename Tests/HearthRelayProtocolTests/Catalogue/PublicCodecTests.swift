import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthRelayProtocol
@testable import HearthSync

@Suite("Codec of public catalogues")
struct PublicCodecTests {
  private func record(_ bytes: [UInt8]) -> CodecError.Code? {
    codecCode { _ = try SignedPublicRecord(decoding: bytes) }
  }

  /// A record by its parts, right or wrong, with any signature.
  private func bytes(
    type: String = "flag", id: String = "a", revision: Int = 1,
    fields: [(String, Value)] = [], body: Int = 2
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(1)
    writer.text(type)
    writer.text(id)
    writer.varint(revision)
    writer.varint(fields.count)
    for (name, value) in fields {
      writer.text(name)
      writer.value(value)
    }
    writer.text(String(repeating: "x", count: body))
    return writer.bytes + [UInt8](repeating: 0, count: 64)
  }

  @Test("every prefix is refused as cut short, and everything with a byte more")
  func lengths() throws {
    let pack = PublicPack(try PublicFixture.whole()).encoded
    let head = try PublicFixture.head().bytes
    let challenge = try PublicFixture.signed(PublicFixture.challenge()).bytes
    for count in head.indices {
      #expect(codecCode { _ = try SignedPublicHead(decoding: Array(head[..<count])) } != nil)
    }
    for count in challenge.indices { #expect(record(Array(challenge[..<count])) != nil) }
    for count in pack.indices {
      #expect(codecCode { _ = try PublicPack(decoding: Array(pack[..<count])) } != nil)
    }
    #expect(codecCode { _ = try SignedPublicHead(decoding: head + [0]) } == .trailingBytes)
    #expect(record(challenge + [0]) == .trailingBytes)
    #expect(codecCode { _ = try PublicPack(decoding: pack + [0]) } == .trailingBytes)
  }

  @Test("names, fields and bodies end where they are said to")
  func bounds() {
    #expect(record(bytes()) == nil)
    let word = String(repeating: "a", count: PublicLimits.maximumNameBytes)
    #expect(record(bytes(type: word)) == nil && record(bytes(type: word + "a")) == .beyondLimit)
    let id = String(repeating: "_", count: PublicLimits.maximumIDBytes)
    #expect(record(bytes(id: id)) == nil && record(bytes(id: id + "a")) == .beyondLimit)
    for wrong in ["", "A", "a/b", "ä", "a b"] {
      #expect(record(bytes(type: wrong)) == .notCanonical)
      #expect(record(bytes(id: wrong)) == .notCanonical)
    }
    #expect(record(bytes(revision: 0)) == .beyondLimit)
    let name = String(repeating: "F", count: PublicLimits.maximumFieldNameBytes)
    #expect(record(bytes(fields: [(name, .int(1))])) == nil)
    #expect(record(bytes(fields: [(name + "F", .int(1))])) == .beyondLimit)
    #expect(record(bytes(fields: [("1", .int(1))])) == .notCanonical)
    let text = String(repeating: "t", count: PublicLimits.maximumFieldTextBytes)
    #expect(record(bytes(fields: [("a", .text(text))])) == nil)
    #expect(record(bytes(fields: [("a", .text(text + "t"))])) == .beyondLimit)
    for value in [Value.null, .bytes([1])] {
      #expect(record(bytes(fields: [("a", value)])) == .unknown)
    }
    let most = PublicLimits.maximumFields
    let many = (0...most).map { ("a", Value.int(Int64($0))) }
    #expect(record(bytes(fields: Array(many.dropLast()))) == nil)
    #expect(record(bytes(fields: many)) == .beyondLimit)
    #expect(record(bytes(fields: [("b", .int(1)), ("a", .int(1))])) == .notCanonical)
    #expect(record(bytes(fields: [("a", .int(1)), ("a", .int(1))])) == .notCanonical)
    #expect(record(bytes(body: PublicLimits.maximumBodyBytes)) == nil)
    #expect(record(bytes(body: PublicLimits.maximumBodyBytes + 1)) == .beyondLimit)
    // A record that is full in every respect is a record.
    let texts = (0..<most).map { (name, Value.text("\(100 + $0)\(text.dropFirst(3))")) }
    let full = bytes(
      type: word, id: id, fields: texts, body: PublicLimits.maximumBodyBytes)
    #expect(record(full) == nil && full.count <= PublicLimits.maximumRecordBytes)
  }

  @Test("counts promise no more than the bytes can hold")
  func countBombs() throws {
    let head = try PublicFixture.head().bytes
    var writer = ByteWriter()
    writer.raw(PublicPack.magic + [1])
    writer.blob(head)
    let start = writer.bytes
    for (count, expected) in [
      (PublicLimits.maximumRecords, CodecError.Code.truncated),
      (PublicLimits.maximumRecords + 1, .beyondLimit), (Int.max, .beyondLimit),
    ] {
      var bomb = ByteWriter()
      bomb.raw(start)
      bomb.varint(count)
      #expect(codecCode { _ = try PublicPack(decoding: bomb.bytes) } == expected)
    }
    #expect(
      codecCode {
        _ = try PublicPack(
          decoding: [UInt8](repeating: 0, count: PublicLimits.maximumPackBytes + 1))
      } == .beyondLimit)
    // Out of order is a second spelling.
    let records = try [PublicFixture.flag(), PublicFixture.challenge()]
      .map { try PublicFixture.signed($0).bytes }
    var swapped = ByteWriter()
    swapped.raw(start)
    swapped.varint(2)
    for bytes in records { swapped.blob(bytes) }
    #expect(codecCode { _ = try PublicPack(decoding: swapped.bytes) } == .notCanonical)
    #expect(record([UInt8](repeating: 1, count: PublicLimits.maximumRecordBytes + 1)) != nil)
  }

  @Test("queries and answers end where they are said to")
  func queries() throws {
    func recoded(_ request: RelayRequest) -> CodecError.Code? {
      codecCode {
        _ = try RelayFrame<RelayRequest>(
          decoding: Array(RelayFrame(request: 1, request).encoded.dropFirst(4)))
      }
    }
    let most = PublicLimits.maximumConditions
    let longest = PublicCondition(
      String(repeating: "f", count: 32), .equals(.text(String(repeating: "v", count: 64))))
    let full = try PublicQuery(
      type: String(repeating: "t", count: 32),
      conditions: [PublicCondition](repeating: longest, count: most),
      after: String(repeating: "i", count: 64))
    let frame = RelayFrame(request: .max, RelayRequest.query(channel: 255, full))
    #expect(frame.encoded.count - 4 <= RelayLimits.maximumHandshakeFrameBytes)
    #expect(recoded(.query(channel: 0, full)) == nil)
    #expect(throws: SyncError(.malformed, "")) {
      try PublicQuery(
        type: "flag", conditions: [PublicCondition](repeating: longest, count: most + 1))
    }
    for limit in [0, PublicLimits.maximumAnswerRecords + 1] {
      #expect(throws: SyncError(.malformed, "")) { try PublicQuery(type: "flag", limit: limit) }
    }
    #expect(throws: SyncError(.malformed, "")) {
      try PublicQuery(
        type: "flag", conditions: [PublicCondition("a", .range(least: 2, most: 1))])
    }
    let empty = [UInt8](repeating: 0, count: PublicLimits.maximumRecordBytes)
    func answer(_ records: [[UInt8]]) -> CodecError.Code? {
      codecCode {
        _ = try RelayFrame<RelayReply>(
          decoding: Array(
            RelayFrame(request: 1, RelayReply.found(.init(head: nil, records: records, next: nil)))
              .encoded.dropFirst(4)))
      }
    }
    #expect(answer([empty]) == nil && answer([empty + [0]]) == .beyondLimit)
    let many = [[UInt8]](repeating: [], count: PublicLimits.maximumAnswerRecords)
    #expect(answer(many) == nil && answer(many + [[]]) == .beyondLimit)
  }

  @Test("a query means what it says")
  func meaning() throws {
    let record = try PublicFixture.challenge()
    func accepts(_ field: String, _ test: PublicCondition.Test) throws -> Bool {
      try PublicQuery(type: "challenge", conditions: [PublicCondition(field, test)])
        .accepts(record)
    }
    #expect(try accepts("tags", .equals(.text("games"))))
    #expect(try accepts("tags", .equals(.text("walking"))))
    #expect(try !accepts("tags", .equals(.text("game"))))
    #expect(try accepts("minutes", .range(least: 40, most: 40)))
    #expect(try !accepts("minutes", .range(least: 41, most: nil)))
    #expect(try !accepts("minutes", .range(least: nil, most: 39)))
    #expect(try !accepts("minutes", .equals(.text("40"))))
    #expect(try !accepts("category", .range(least: nil, most: .max)))
    #expect(try accepts("adultHelp", .equals(.bool(true))))
    #expect(try !accepts("adultHelp", .equals(.int(1))))
    #expect(try !PublicQuery(type: "flag").accepts(record))
  }

  @Test("damaged bytes give a typed error or the one spelling of something")
  func damage() throws {
    let seed: UInt64 = 0x9b1c
    let pack = PublicPack(try PublicFixture.whole()).encoded
    let head = try PublicFixture.head().bytes
    let records = try [PublicFixture.challenge(), PublicFixture.flag()]
      .map { try PublicFixture.signed($0).bytes }
    var mutator = Mutator(seed: seed, corpus: [pack, head] + records)
    for round in 0..<20_000 {
      let bytes = mutator.next()
      // Whatever is refused is refused with a `CodecError`: nothing else is thrown here.
      do throws(CodecError) {
        #expect(try PublicPack(decoding: bytes).encoded == bytes, "seed \(seed), \(round)")
      } catch {}
      do throws(CodecError) {
        let head = try SignedPublicHead(decoding: bytes)
        #expect(head.head.encoded + bytes.suffix(64) == bytes, "seed \(seed), \(round)")
      } catch {}
      do throws(CodecError) {
        let record = try SignedPublicRecord(decoding: bytes)
        #expect(record.record.encoded + bytes.suffix(64) == bytes, "seed \(seed), \(round)")
      } catch {}
    }
  }
}
