/// A replicated field's value.
///
/// There is no floating point: its text and rounding differ between machines, and no rule of a
/// household needs it. Equality is that of the encoded bytes, so two spellings of one accented
/// letter are two values. A program that accepts text from people normalises it first.
public enum Value: Sendable {
  /// No value: the field was cleared.
  case null
  /// A truth value.
  case bool(Bool)
  /// A whole number.
  case int(Int64)
  /// UTF-8 text.
  case text(String)
  /// Bytes of any meaning, not interpreted.
  case bytes([UInt8])
}

extension Value: Equatable {
  /// Whether the encoded bytes are the same.
  public static func == (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int(let a), .int(let b)): a == b
    case (.text(let a), .text(let b)): a.utf8.elementsEqual(b.utf8)
    case (.bytes(let a), .bytes(let b)): a == b
    default: false
    }
  }
}

extension Value {
  /// The text, if the value is text.
  public var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// The number, if the value is a whole number.
  public var int: Int64? {
    if case .int(let number) = self { number } else { nil }
  }

  /// The truth value, if the value is one.
  public var bool: Bool? {
    if case .bool(let truth) = self { truth } else { nil }
  }

  /// The bytes, if the value is bytes.
  public var bytes: [UInt8]? {
    if case .bytes(let bytes) = self { bytes } else { nil }
  }
}
