import Foundation
import HearthCRDT

/// The content of a field as it is stored and synced.
///
/// There is no floating point: its text and rounding differ between machines. Use whole numbers of
/// a smaller unit, such as cents.
public enum StoredValue: Hashable, Sendable {
  /// No value.
  case null
  /// A truth value.
  case bool(Bool)
  /// A whole number.
  case int(Int64)
  /// Text.
  case text(String)
  /// Bytes.
  case bytes([UInt8])

  /// The kind of a stored value.
  public enum Kind: String, Sendable {
    /// A truth value.
    case bool
    /// A whole number.
    case int
    /// Text.
    case text
    /// Bytes.
    case bytes

    /// The kind in the schemas of the layers below.
    var fieldType: FieldType {
      switch self {
      case .bool: .bool
      case .int: .int
      case .text: .text
      case .bytes: .bytes
      }
    }
  }

  init(_ value: HearthCRDT.Value) {
    self =
      switch value {
      case .null: .null
      case .bool(let truth): .bool(truth)
      case .int(let number): .int(number)
      case .text(let text): .text(text)
      case .bytes(let bytes): .bytes(bytes)
      }
  }

  var value: HearthCRDT.Value {
    switch self {
    case .null: .null
    case .bool(let truth): .bool(truth)
    case .int(let number): .int(number)
    case .text(let text): .text(text)
    case .bytes(let bytes): .bytes(bytes)
    }
  }
}

extension StoredValue {
  /// Whether two values have the same bytes.
  ///
  /// Two texts that look alike and are equal in Swift, such as "é" in one or in two characters, are
  /// two values here.
  public static func == (left: StoredValue, right: StoredValue) -> Bool {
    left.value == right.value
  }

  /// Feeds the content, in accordance with equality.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let truth): hasher.combine(truth)
    case .int(let number): hasher.combine(number)
    case .text(var text):
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    case .bytes(let bytes): hasher.combine(bytes)
    }
  }
}

extension StoredValue: CustomStringConvertible {
  /// The value as text; of bytes only their number.
  public var description: String {
    switch self {
    case .null: "nothing"
    case .bool(let truth): "\(truth)"
    case .int(let number): "\(number)"
    case .text(let text): text
    case .bytes(let bytes): "\(bytes.count) bytes"
    }
  }
}

/// A Swift type that a field can have.
///
/// `Bool`, `Int`, `Int64`, `String`, `Date`, `Data`, `[UInt8]`, ``Key`` and optionals of them
/// conform. An enumeration with raw values conforms by saying so:
///
/// ```swift
/// enum Priority: Int, FieldValue { case low, high }
/// ```
public protocol FieldValue: Equatable, Sendable {
  /// The kind of the stored values; it never changes for a field.
  static var storedKind: StoredValue.Kind { get }
  /// Whether the type has a value for "nothing".
  static var hasNothing: Bool { get }
  /// The value as it is stored.
  var stored: StoredValue { get }
  /// Makes a value from a stored one; nil if it does not fit, such as one of a newer program.
  init?(stored: StoredValue)
}

extension FieldValue {
  /// False, except for optionals.
  public static var hasNothing: Bool { false }
}

extension FieldValue where Self: RawRepresentable, RawValue: FieldValue {
  /// The kind of the raw values.
  public static var storedKind: StoredValue.Kind { RawValue.storedKind }
  /// The stored raw value.
  public var stored: StoredValue { rawValue.stored }
  /// Makes a value from a stored raw value; nil if there is none of it.
  public init?(stored: StoredValue) {
    guard let raw = RawValue(stored: stored) else { return nil }
    self.init(rawValue: raw)
  }
}

extension Bool: FieldValue {
  /// A truth value.
  public static var storedKind: StoredValue.Kind { .bool }
  /// The value.
  public var stored: StoredValue { .bool(self) }
  /// Reads a truth value.
  public init?(stored: StoredValue) {
    guard case .bool(let truth) = stored else { return nil }
    self = truth
  }
}

extension Int64: FieldValue {
  /// A whole number.
  public static var storedKind: StoredValue.Kind { .int }
  /// The value.
  public var stored: StoredValue { .int(self) }
  /// Reads a whole number.
  public init?(stored: StoredValue) {
    guard case .int(let number) = stored else { return nil }
    self = number
  }
}

extension Int: FieldValue {
  /// A whole number.
  public static var storedKind: StoredValue.Kind { .int }
  /// The value.
  public var stored: StoredValue { .int(Int64(self)) }
  /// Reads a whole number that this machine can hold.
  public init?(stored: StoredValue) {
    guard case .int(let number) = stored else { return nil }
    self.init(exactly: number)
  }
}

extension String: FieldValue {
  /// Text.
  public static var storedKind: StoredValue.Kind { .text }
  /// The value.
  public var stored: StoredValue { .text(self) }
  /// Reads text.
  public init?(stored: StoredValue) {
    guard case .text(let text) = stored else { return nil }
    self = text
  }
}

extension Date: FieldValue {
  /// A whole number: milliseconds since 1970.
  public static var storedKind: StoredValue.Kind { .int }
  /// The moment in milliseconds since 1970, rounded.
  public var stored: StoredValue {
    let milliseconds = (timeIntervalSince1970 * 1000).rounded()
    return .int(Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max))
  }
  /// Reads milliseconds since 1970.
  public init?(stored: StoredValue) {
    guard case .int(let milliseconds) = stored else { return nil }
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }
}

extension Data: FieldValue {
  /// Bytes.
  public static var storedKind: StoredValue.Kind { .bytes }
  /// The bytes.
  public var stored: StoredValue { .bytes(Array(self)) }
  /// Reads bytes.
  public init?(stored: StoredValue) {
    guard case .bytes(let bytes) = stored else { return nil }
    self.init(bytes)
  }
}

extension Array: FieldValue where Element == UInt8 {
  /// Bytes.
  public static var storedKind: StoredValue.Kind { .bytes }
  /// The bytes.
  public var stored: StoredValue { .bytes(self) }
  /// Reads bytes.
  public init?(stored: StoredValue) {
    guard case .bytes(let bytes) = stored else { return nil }
    self = bytes
  }
}

extension Key: FieldValue {
  /// Bytes.
  public static var storedKind: StoredValue.Kind { .bytes }
  /// The sixteen bytes of the key.
  public var stored: StoredValue { .bytes(identifier.bytes) }
  /// Reads sixteen bytes.
  public init?(stored: StoredValue) {
    guard case .bytes(let bytes) = stored, let identifier = Identifier(bytes: bytes) else {
      return nil
    }
    self.init(identifier)
  }
}

extension Optional: FieldValue where Wrapped: FieldValue {
  /// The kind of the wrapped values.
  public static var storedKind: StoredValue.Kind { Wrapped.storedKind }
  /// True.
  public static var hasNothing: Bool { true }
  /// The wrapped value, or null.
  public var stored: StoredValue { self?.stored ?? .null }
  /// Reads null or a wrapped value.
  public init?(stored: StoredValue) {
    guard stored != .null else {
      self = .none
      return
    }
    guard let wrapped = Wrapped(stored: stored) else { return nil }
    self = .some(wrapped)
  }
}
