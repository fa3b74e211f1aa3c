import HearthCRDT

/// The value of an indexed field of a public record: a word, a number, or yes or no.
///
/// Texts are equal if their bytes are equal. Values are ordered by kind (bool, int, text), then by
/// value.
package enum PublicValue: Sendable, Comparable, Hashable {
  case bool(Bool)
  case int(Int64)
  case text(String)

  package static func == (left: PublicValue, right: PublicValue) -> Bool {
    switch (left, right) {
    case (.bool(let left), .bool(let right)): left == right
    case (.int(let left), .int(let right)): left == right
    case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
    default: false
    }
  }

  package static func < (left: PublicValue, right: PublicValue) -> Bool {
    switch (left, right) {
    case (.bool(let left), .bool(let right)): !left && right
    case (.int(let left), .int(let right)): left < right
    case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
    default: left.kind < right.kind
    }
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(kind)
    switch self {
    case .bool(let value): hasher.combine(value)
    case .int(let value): hasher.combine(value)
    case .text(let value): for byte in value.utf8 { hasher.combine(byte) }
    }
  }

  /// The number of the kind: 0 bool, 1 int, 2 text.
  package var kind: Int {
    switch self {
    case .bool: 0
    case .int: 1
    case .text: 2
    }
  }

  func encode(into writer: inout ByteWriter) {
    switch self {
    case .bool(let value): writer.value(.bool(value))
    case .int(let value): writer.value(.int(value))
    case .text(let value): writer.value(.text(value))
    }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    let start = reader.offset
    switch try reader.value("field value") {
    case .bool(let value): self = .bool(value)
    case .int(let value): self = .int(value)
    case .text(let value):
      guard value.utf8.count <= PublicLimits.maximumFieldTextBytes else {
        throw CodecError(.beyondLimit, "field value", offset: start)
      }
      self = .text(value)
    case .null, .bytes: throw CodecError(.unknown, "field value", offset: start)
    }
  }
}

/// The spelling of names in catalogues.
package enum PublicName {
  /// The name of the head's entry at a relay.
  ///
  /// Names of records contain a slash.
  package static let head = Array("head".utf8)

  /// The name of a record's entry at a relay: type, slash, id.
  package static func entry(type: String, id: String) -> [UInt8] {
    Array(type.utf8) + [UInt8(ascii: "/")] + Array(id.utf8)
  }

  /// Whether a text can name a catalogue or a type: 1 to 32 of `a-z`, `0-9` and hyphens.
  package static func isWord(_ text: String) -> Bool {
    fits(text, PublicLimits.maximumNameBytes) { isLower($0) || isDigit($0) || $0 == hyphen }
  }

  /// Whether a text can be a record's id: 1 to 64 of `a-z`, `0-9`, hyphens and underscores.
  package static func isID(_ text: String) -> Bool {
    fits(text, PublicLimits.maximumIDBytes) {
      isLower($0) || isDigit($0) || $0 == hyphen || $0 == underscore
    }
  }

  /// Whether a text can name a field: a letter, then up to 31 letters, digits, hyphens and
  /// underscores.
  package static func isField(_ text: String) -> Bool {
    guard let first = text.utf8.first, isLower(first | 0x20) else { return false }
    return fits(text, PublicLimits.maximumFieldNameBytes) {
      isLower($0 | 0x20) || isDigit($0) || $0 == hyphen || $0 == underscore
    }
  }

  /// Reads a text that a rule accepts.
  ///
  /// Its length is checked first.
  static func decode(
    from reader: inout ByteReader, _ item: String, atMost most: Int,
    _ isGood: (String) -> Bool
  ) throws(CodecError) -> String {
    let start = reader.offset
    let text = try reader.text(item, atMost: most)
    guard isGood(text) else { throw CodecError(.notCanonical, item, offset: start) }
    return text
  }

  /// Reads the name of a catalogue or a type.
  static func word(from reader: inout ByteReader, _ item: String) throws(CodecError) -> String {
    try decode(from: &reader, item, atMost: PublicLimits.maximumNameBytes, isWord)
  }

  private static let hyphen = UInt8(ascii: "-")
  private static let underscore = UInt8(ascii: "_")

  private static func isLower(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func fits(_ text: String, _ most: Int, _ isGood: (UInt8) -> Bool) -> Bool {
    (1...most).contains(text.utf8.count) && text.utf8.allSatisfy(isGood)
  }
}
