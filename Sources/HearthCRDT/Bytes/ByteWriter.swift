/// Builds canonical bytes: every value has exactly one spelling.
///
/// Numbers are unsigned LEB128 varints of minimal length, signed ones zigzag first; fixed-width
/// numbers are big-endian; texts and byte strings carry their length in front.
package struct ByteWriter {
  /// What was written.
  package private(set) var bytes: [UInt8]

  /// Starts empty with room for `capacity` bytes.
  package init(capacity: Int = 256) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  /// How many bytes were written.
  package var count: Int { bytes.count }

  /// Forgets what was written and keeps the memory.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  package mutating func byte(_ value: UInt8) {
    bytes.append(value)
  }

  /// An unsigned number, 1 to 10 bytes.
  package mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// An unsigned number from a count or index.
  package mutating func varint(_ value: Int) {
    varint(UInt64(value))
  }

  /// A signed number: zigzag, then varint, so that small magnitudes are short.
  package mutating func signed(_ value: Int64) {
    varint(ByteWriter.zigzag(value))
  }

  /// How many bytes ``signed(_:)`` writes.
  static func byteCount(ofSigned value: Int64) -> Int {
    max(1, (70 - zigzag(value).leadingZeroBitCount) / 7)
  }

  static func zigzag(_ value: Int64) -> UInt64 {
    UInt64(bitPattern: value << 1) ^ UInt64(bitPattern: value >> 63)
  }

  /// Eight bytes, big-endian.
  package mutating func fixed64(_ value: UInt64) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// Sixteen bytes.
  package mutating func identifier(_ value: Identifier) {
    fixed64(value.high)
    fixed64(value.low)
  }

  /// Twenty-four bytes: device, incarnation.
  package mutating func author(_ value: Author) {
    identifier(value.device)
    fixed64(value.incarnation)
  }

  /// Bytes as they are.
  package mutating func raw(_ value: [UInt8]) {
    bytes.append(contentsOf: value)
  }

  /// Bytes as they are, from memory the caller lends.
  mutating func raw(_ value: UnsafeBufferPointer<UInt8>) {
    bytes.append(contentsOf: value)
  }

  /// A length and the bytes.
  package mutating func blob(_ value: [UInt8]) {
    varint(value.count)
    bytes.append(contentsOf: value)
  }

  /// A length and the UTF-8 bytes.
  package mutating func text(_ value: String) {
    var value = value
    value.withUTF8 { utf8 in
      varint(utf8.count)
      bytes.append(contentsOf: utf8)
    }
  }

  /// A tag byte and the payload.
  package mutating func value(_ value: Value) {
    byte(value.tag)
    switch value {
    case .null, .bool: break
    case .int(let number): signed(number)
    case .text(let string): text(string)
    case .bytes(let array): blob(array)
    }
  }

  /// Count, then author and sequence of each, in order of author.
  package mutating func frontier(_ frontier: Frontier) {
    varint(frontier.entries.count)
    for entry in frontier.entries {
      author(entry.author)
      varint(entry.sequence)
    }
  }

  /// Count, then author, sequence and cited hash of each, in order of author.
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
  /// The number that tells kinds of values apart in every encoding.
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

  /// The tag of whole numbers; the tags beyond it have a length.
  static let intTag: UInt32 = 3
  /// The greatest tag there is.
  static let maximumTag: UInt32 = 5
}
