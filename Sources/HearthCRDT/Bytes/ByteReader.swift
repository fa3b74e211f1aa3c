/// Reads canonical bytes and rejects all other input.
///
/// Every length and count is compared with the remaining bytes, or with the caller's limit, before
/// anything is allocated. An encoding that ``ByteWriter`` would not produce is an error. Callers
/// end with ``finish()``, which rejects trailing bytes.
package struct ByteReader: Sendable {
  private let bytes: [UInt8]
  /// The offset of the next byte.
  package private(set) var offset: Int
  private let end: Int

  /// Reads an array from its first byte.
  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    offset = 0
    end = bytes.count
  }

  /// Reads a part of an array; offsets in errors count from the array's start.
  package init(_ bytes: [UInt8], in range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
    self.bytes = bytes
    offset = range.lowerBound
    end = range.upperBound
  }

  /// The number of remaining bytes.
  package var remaining: Int { end - offset }

  /// Ends the reading; throws if bytes remain.
  package func finish() throws(CodecError) {
    guard remaining == 0 || Mutant.acceptsTrailingBytes.isActive else {
      throw CodecError(.trailingBytes, "end", offset: offset)
    }
  }

  /// Reads one byte.
  package mutating func byte(_ item: String) throws(CodecError) -> UInt8 {
    guard offset < end else { throw CodecError(.truncated, item, offset: offset) }
    defer { offset += 1 }
    return bytes[offset]
  }

  /// Reads an unsigned number of minimal length.
  package mutating func varint(_ item: String) throws(CodecError) -> UInt64 {
    let start = offset
    var result: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      guard offset < end else { throw CodecError(.truncated, item, offset: offset) }
      let next = bytes[offset]
      offset += 1
      if shift == 63, next > 1 { throw CodecError(.beyondLimit, item, offset: start) }
      result |= UInt64(next & 0x7f) << shift
      if next < 0x80 {
        if next == 0, shift > 0 { throw CodecError(.notCanonical, item, offset: start) }
        return result
      }
      shift += 7
    }
  }

  /// Reads a number no greater than `limit`.
  package mutating func varint(_ item: String, atMost limit: Int) throws(CodecError) -> Int {
    let start = offset
    let value = try varint(item)
    guard value <= UInt64(limit) else { throw CodecError(.beyondLimit, item, offset: start) }
    return Int(value)
  }

  /// Reads a count of items that take at least `itemBytes` bytes each.
  ///
  /// The count cannot promise more items than the remaining bytes can hold.
  package mutating func count(
    _ item: String, itemBytes: Int = 1, atMost limit: Int = .max
  ) throws(CodecError) -> Int {
    let start = offset
    let value = try varint(item)
    guard value <= UInt64(limit) else { throw CodecError(.beyondLimit, item, offset: start) }
    guard value <= UInt64(remaining / max(1, itemBytes)) else {
      throw CodecError(.truncated, item, offset: start)
    }
    return Int(value)
  }

  /// Reads a signed number: a zigzag varint.
  package mutating func signed(_ item: String) throws(CodecError) -> Int64 {
    let value = try varint(item)
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  /// Reads eight bytes, big-endian.
  package mutating func fixed64(_ item: String) throws(CodecError) -> UInt64 {
    guard remaining >= 8 else { throw CodecError(.truncated, item, offset: offset) }
    let start = offset
    offset += 8
    return bytes.withUnsafeBytes {
      UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: start, as: UInt64.self))
    }
  }

  /// Reads sixteen bytes.
  package mutating func identifier(_ item: String) throws(CodecError) -> Identifier {
    let high = try fixed64(item)
    return Identifier(high: high, low: try fixed64(item))
  }

  /// Reads twenty-four bytes: device, incarnation.
  package mutating func author(_ item: String) throws(CodecError) -> Author {
    let device = try identifier(item)
    return Author(device: device, incarnation: try fixed64(item))
  }

  /// Reads exactly `count` bytes.
  package mutating func raw(_ count: Int, _ item: String) throws(CodecError) -> [UInt8] {
    guard count >= 0, remaining >= count else {
      throw CodecError(.truncated, item, offset: offset)
    }
    defer { offset += count }
    return Array(bytes[offset..<offset + count])
  }

  /// Reads a length and the bytes.
  package mutating func blob(_ item: String, atMost limit: Int) throws(CodecError) -> [UInt8] {
    let length = try count(item, atMost: limit)
    return try raw(length, item)
  }

  /// Reads a length and the UTF-8 bytes.
  package mutating func text(_ item: String, atMost limit: Int) throws(CodecError) -> String {
    let length = try count(item, atMost: limit)
    return try utf8(length, item)
  }

  /// Reads exactly `count` bytes of UTF-8.
  package mutating func utf8(_ count: Int, _ item: String) throws(CodecError) -> String {
    guard count >= 0, remaining >= count else {
      throw CodecError(.truncated, item, offset: offset)
    }
    let start = offset
    let text = bytes.withUnsafeBytes { buffer in
      String(
        validating: UnsafeRawBufferPointer(rebasing: buffer[start..<start + count]), as: UTF8.self)
    }
    guard let text else { throw CodecError(.invalidText, item, offset: start) }
    offset += count
    return text
  }

  /// Reads a tag byte and the payload.
  package mutating func value(_ item: String) throws(CodecError) -> Value {
    let start = offset
    switch try byte(item) {
    case 0: return .null
    case 1: return .bool(false)
    case 2: return .bool(true)
    case 3: return .int(try signed(item))
    case 4: return .text(try text(item, atMost: Limits.maximumValueBytes))
    case 5: return .bytes(try blob(item, atMost: Limits.maximumValueBytes))
    default: throw CodecError(.unknown, item, offset: start)
    }
  }

  /// Reads a byte that is 0 or 1.
  package mutating func flag(_ item: String) throws(CodecError) -> Bool {
    try choice(item) { $0 > 1 ? nil : $0 == 1 }
  }

  /// Reads one of a few numbered values.
  package mutating func choice<Value>(
    _ item: String, _ value: (UInt8) -> Value?
  ) throws(CodecError) -> Value {
    let start = offset
    guard let value = value(try byte(item)) else {
      throw CodecError(.unknown, item, offset: start)
    }
    return value
  }

  /// Reads a count, then author and sequence of each entry, in order of author.
  package mutating func frontier(_ item: String) throws(CodecError) -> Frontier {
    let number = try count(item, itemBytes: 25, atMost: Limits.maximumAuthors)
    var entries: [Frontier.Entry] = []
    entries.reserveCapacity(number)
    for _ in 0..<number {
      let (author, sequence) = try mark(item, after: entries.last?.author)
      entries.append(Frontier.Entry(author: author, sequence: sequence))
    }
    return Frontier(sortedEntries: entries)
  }

  /// Reads a count, then author, sequence and cited hash of each, in order of author.
  package mutating func difference(_ item: String) throws(CodecError) -> FrontierDifference {
    let number = try count(item, itemBytes: 33, atMost: Limits.maximumAuthors)
    var heads: [CitedHead] = []
    heads.reserveCapacity(number)
    for _ in 0..<number {
      let (author, sequence) = try mark(item, after: heads.last?.author)
      heads.append(
        CitedHead(author: author, sequence: sequence, hash: try fixed64("cited hash")))
    }
    return FrontierDifference(heads: heads)
  }

  /// Reads an author greater than the one before, and a sequence number of that author.
  private mutating func mark(
    _ item: String, after last: Author?
  ) throws(CodecError) -> (Author, UInt64) {
    let start = offset
    let author = try author(item)
    let sequence = try varint(item)
    guard sequence > 0, last.map({ $0 < author }) ?? true else {
      throw CodecError(.notCanonical, item, offset: start)
    }
    guard sequence <= Frontier.maximumSequence else {
      throw CodecError(.beyondLimit, item, offset: start)
    }
    return (author, sequence)
  }
}

extension String {
  /// Decodes UTF-8 strictly; nil if the bytes are not UTF-8.
  fileprivate init?(validating buffer: UnsafeRawBufferPointer, as encoding: UTF8.Type) {
    guard let text = String(validating: buffer.bindMemory(to: UInt8.self), as: encoding) else {
      return nil
    }
    self = text
  }
}
