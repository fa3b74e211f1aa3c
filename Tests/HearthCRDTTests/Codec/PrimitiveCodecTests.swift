import TestSupport
import Testing

@testable import HearthCRDT

/// The error of reading, nil where it succeeds.
func codecError(_ read: () throws -> Void) -> CodecError? {
  do {
    try read()
    return nil
  } catch {
    return error as? CodecError
  }
}

@Suite("The codec's primitives")
struct PrimitiveCodecTests {
  @Test("varints of every length come back, and are minimal")
  func varints() throws {
    var numbers: [UInt64] = [0, .max, 1 << 63, 1 << 63 - 1]
    for shift in 0..<64 { numbers += [1 << UInt64(shift), 1 << UInt64(shift) - 1] }
    for number in numbers {
      var writer = ByteWriter()
      writer.varint(number)
      let length = max(1, (64 - number.leadingZeroBitCount + 6) / 7)
      #expect(writer.count == length)
      var reader = ByteReader(writer.bytes)
      #expect(try reader.varint("n") == number)
      try reader.finish()
      let signed = Int64(bitPattern: number)
      for value in [signed, 0 &- signed] {
        var writer = ByteWriter()
        writer.signed(value)
        #expect(writer.count == ByteWriter.byteCount(ofSigned: value))
        var reader = ByteReader(writer.bytes)
        #expect(try reader.signed("n") == value)
      }
    }
  }

  @Test("a varint of another spelling is refused")
  func varintSpellings() {
    let ten = [UInt8](repeating: 0x80, count: 9)
    let wrong: [([UInt8], CodecError.Code)] = [
      ([], .truncated), ([0x80], .truncated), ([0x80, 0x00], .notCanonical),
      ([0xff, 0x80, 0x00], .notCanonical), (ten + [0x00], .notCanonical),
      (ten + [0x02], .beyondLimit),
      (ten + [0x80, 0x01], .beyondLimit), (ten + [0xff], .beyondLimit),
    ]
    for (bytes, code) in wrong {
      var reader = ByteReader(bytes)
      #expect(codecError { _ = try reader.varint("n") }?.code == code, "\(bytes)")
    }
  }

  @Test("values of every kind come back, and every prefix is refused")
  func values() throws {
    var random = SplitMix64(seed: 11)
    for _ in 0..<500 {
      let value = random.value()
      let bytes = encoded(value)
      var reader = ByteReader(bytes)
      #expect(try reader.value("v") == value)
      try reader.finish()
      for count in 0..<bytes.count {
        var reader = ByteReader(Array(bytes.prefix(count)))
        #expect(codecError { _ = try reader.value("v") }?.code == .truncated)
      }
    }
  }

  @Test("unknown tags, bad UTF-8 and texts of half a mebibyte and a byte are refused")
  func badValues() throws {
    for tag in 6...255 {
      var reader = ByteReader([UInt8(tag), 0])
      #expect(codecError { _ = try reader.value("v") }?.code == .unknown)
    }
    for text in [[0xc0, 0x80], [0xed, 0xa0, 0x80], [0xff], [0xe2, 0x82]] as [[UInt8]] {
      var reader = ByteReader([4, UInt8(text.count)] + text)
      #expect(codecError { _ = try reader.value("v") }?.code == .invalidText)
    }
    for (extra, code) in [(0, nil), (1, CodecError.Code.beyondLimit)] {
      let content = [UInt8](repeating: 0x61, count: Limits.maximumValueBytes + extra)
      var reader = ByteReader(encoded(.bytes(content)))
      #expect(codecError { _ = try reader.value("v") }?.code == code)
      var texts = ByteReader(encoded(.text(String(decoding: content, as: UTF8.self))))
      #expect(codecError { _ = try texts.value("v") }?.code == code)
    }
  }

  @Test("a count that promises more than the bytes left can hold is refused at once")
  func counts() {
    var writer = ByteWriter()
    writer.varint(UInt64.max)
    var reader = ByteReader(writer.bytes)
    #expect(codecError { _ = try reader.count("n") }?.code == .beyondLimit)
    var one = ByteReader([2, 0, 0, 0])
    #expect(codecError { _ = try one.count("n", itemBytes: 2) }?.code == .truncated)
    var two = ByteReader([2, 0, 0, 0, 0])
    #expect(codecError { _ = try two.count("n", itemBytes: 2) } == nil)
  }

  @Test("authors of a frontier are refused out of order, twice, at 0 and beyond 2^63 - 1")
  func frontiers() throws {
    func code(_ entries: [(Int, UInt64)]) -> CodecError.Code? {
      var writer = ByteWriter()
      writer.varint(entries.count)
      for (number, sequence) in entries {
        writer.author(author(number))
        writer.varint(sequence)
      }
      var reader = ByteReader(writer.bytes)
      return codecError { _ = try reader.frontier("f") }?.code
    }
    #expect(code([(1, 1), (2, Frontier.maximumSequence)]) == nil)
    #expect(code([(2, 1), (1, 1)]) == .notCanonical)
    #expect(code([(1, 1), (1, 2)]) == .notCanonical)
    #expect(code([(1, 0)]) == .notCanonical)
    #expect(code([(1, Frontier.maximumSequence + 1)]) == .beyondLimit)
    let most = (1...Limits.maximumAuthors).map { ($0, UInt64(1)) }
    let sorted = most.sorted { author($0.0) < author($1.0) }
    #expect(code(sorted) == nil)
    let more = (1...Limits.maximumAuthors + 1).map { ($0, UInt64(1)) }
    #expect(code(more.sorted { author($0.0) < author($1.0) }) == .beyondLimit)
  }

  @Test("runs of every shape come back, and a run written shorter or apart is refused")
  func runs() throws {
    var random = SplitMix64(seed: 3)
    for _ in 0..<300 {
      let numbers = (0..<random.below(40)).map { _ in
        random.oneIn(3) ? UInt32(truncatingIfNeeded: random.next()) : UInt32(random.below(2))
      }
      var writer = RunColumn()
      for number in numbers { writer.append(number) }
      let bytes = writer.finish()
      var reader = ByteReader(bytes)
      let decoded = try RunColumn.decode(
        from: &reader, "r", count: numbers.count, atMost: .max)
      #expect(decoded == numbers)
      try reader.finish()
    }
    let wrong: [([UInt8], CodecError.Code)] = [
      ([2, 2, 2], .notCanonical), ([2, 3, 0], .notCanonical), ([3, 0, 2], .notCanonical),
      ([3, 2], .beyondLimit), ([0, 2, 5, 0], .beyondLimit), ([2, 4], .truncated),
      ([22, 2, 4], .beyondLimit),
    ]
    for (bytes, code) in wrong {
      var reader = ByteReader(bytes)
      #expect(
        codecError { _ = try RunColumn.decode(from: &reader, "r", count: 3, atMost: 10) }?.code
          == code)
    }
  }

  @Test("elements of a set are in the order of their canonical bytes")
  func elementOrder() {
    var random = SplitMix64(seed: 5)
    let numbers = [0, -1, 1, 63, 64, -64, -65, 8191, 8192, .max, .min].map { Value.int($0) }
    let texts = [127, 128, 129, 300].map { Value.text(String(repeating: "x", count: $0)) }
    let values = numbers + texts + (0..<80).map { _ in random.value() }
    for left in values {
      for right in values {
        let expected = encoded(left).lexicographicallyPrecedes(encoded(right))
        #expect(ElementSet.precedes(left, right) == expected, "\(left) \(right)")
      }
    }
  }
}
