/// Builds canonical bytes: every value has exactly one encoding.
///
/// Numbers are unsigned LEB128 varints of minimal length; signed ones are zigzag-encoded first.
/// Fixed-width numbers are big-endian. Texts and byte strings have a length prefix.
package struct ByteWriter {
  /// The written bytes.
  package private(set) var bytes: [UInt8]

  /// Makes an empty writer with room for `capacity` bytes.
  package init(capacity: Int = 256) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  /// The number of written bytes.
  package var count: Int { bytes.count }

  /// Discards the written bytes and keeps the memory.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// Writes one byte.
  package mutating func byte(_ value: UInt8) {
    bytes.append(value)
  }

  /// Writes an unsigned number, 1 to 10 bytes.
  package mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Writes an unsigned number from a count or index.
  package mutating func varint(_ value: Int) {
    varint(UInt64(value))
  }

  /// Writes a signed number: zigzag, then varint, so that small magnitudes are short.
  package mutating func signed(_ value: Int64) {
    varint(ByteWriter.zigzag(value))
  }

  /// The number of bytes that ``signed(_:)`` writes.
  static func byteCount(ofSigned value: Int64) -> Int {
    max(1, (70 - zigzag(value).leadingZeroBitCount) / 7)
  }

  static func zigzag(_ value: Int64) -> UInt64 {
    UInt64(bitPattern: value << 1) ^ UInt64(bitPattern: value >> 63)
  }

  /// Writes eight bytes, big-endian.
  package mutating func fixed64(_ value: UInt64) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// Writes sixteen bytes.
  package mutating func identifier(_ value: Identifier) {
    fixed64(value.high)
    fixed64(value.low)
  }

  /// Writes twenty-four bytes: device, incarnation.
  package mutating func author(_ value: Author) {
    identifier(value.device)
    fixed64(value.incarnation)
  }

  /// Writes bytes unchanged.
  package mutating func raw(_ value: [UInt8]) {
    bytes.append(contentsOf: value)
  }

  /// Writes bytes from the caller's memory unchanged.
  mutating func raw(_ value: UnsafeBufferPointer<UInt8>) {
    bytes.append(contentsOf: value)
  }

  /// Writes a length and the bytes.
  package mutating func blob(_ value: [UInt8]) {
    varint(value.count)
    bytes.append(contentsOf: value)
  }

  /// Writes a length and the UTF-8 bytes.
  package mutating func text(_ value: String) {
    var value = value
    value.withUTF8 { utf8 in
      varint(utf8.count)
      bytes.append(contentsOf: utf8)
    }
  }

  /// Writes a tag byte and the payload.
  package mutating func value(_ value: Value) {
    byte(value.tag)
    switch value {
    case .null, .bool: break
    case .int(let number): signed(number)
    case .text(let string): text(string)
    case .bytes(let array): blob(array)
    }
  }

  /// Writes a count, then author and sequence of each entry, in order of author.
  package mutating func frontier(_ frontier: Frontier) {
    varint(frontier.entries.count)
    for entry in frontier.entries {
      author(entry.author)
      varint(entry.sequence)
    }
  }

  /// Writes a count, then author, sequence and cited hash of each entry, in order of author.
  package mutating func difference(_ difference: FrontierDifference) {
    varint(difference.heads.count)
    for head in difference.heads {
      author(head.author)
      varint(head.sequence)
      fixed64(head.hash)
    }
  }
}

extension Value {
  /// The number that distinguishes kinds of values in every encoding.
  var tag: UInt8 {
    switch self {
    case .null: 0
    case .bool(false): 1
    case .bool(true): 2
    case .int: 3
    case .text: 4
    case .bytes: 5
    }
  }

  /// The tag of whole numbers.
  ///
  /// Values with greater tags have a length.
  static let intTag: UInt32 = 3
  /// The greatest tag.
  static let maximumTag: UInt32 = 5
}
