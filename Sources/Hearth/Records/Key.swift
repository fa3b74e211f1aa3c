import HearthCRDT

/// Another source of new records' keys than the system's randomness, for repeatable tests.
///
/// A key is no secret; keys of encryption never come from here.
package enum KeySource {
  /// Returns the next key within a task; nil for the system's randomness.
  @TaskLocal package static var next: (@Sendable () -> Identifier)?

  /// Makes a key: six bytes of the time in milliseconds, then ten random ones.
  ///
  /// Records that are made together thus lie together in the tables: random keys alone would touch
  /// a page of each table for every record. Source: RFC 9562, version 7.
  static func makeIdentifier() -> Identifier {
    if let next { return next() }
    let random = Node.randomIdentifier()
    return Identifier(high: Node.wallClock() << 16 | random.high & 0xffff, low: random.low)
  }
}

/// The identity of a record or zone; it never changes.
///
/// A record's own key and a reference to another record have the same type, so a key of one type
/// cannot be used for another:
///
/// ```swift
/// struct Item: Record {
///   var id = Key<Item>()
///   var list: Key<ShoppingList>?
/// }
/// ```
public struct Key<Subject>: Hashable, Sendable {
  let identifier: Identifier

  init(_ identifier: Identifier) {
    self.identifier = identifier
  }

  /// Makes a new key, which nobody else has.
  ///
  /// It begins with the system's time, so members of a zone can tell when it was made.
  public init() {
    identifier = KeySource.makeIdentifier()
  }
}

extension Key: LosslessStringConvertible {
  /// Reads 32 hexadecimal digits; nil for anything else.
  public init?(_ text: String) {
    guard let identifier = Identifier(hex: text) else { return nil }
    self.init(identifier)
  }

  /// The key as 32 hexadecimal digits.
  public var description: String { identifier.hex }
}

extension Key: Comparable {
  /// The order of the keys' bytes: about the order in which they were made, by each device's clock.
  public static func < (left: Key, right: Key) -> Bool { left.identifier < right.identifier }
}

extension Key: Codable {
  /// Reads 32 hexadecimal digits.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let key = Key(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a key has 32 hexadecimal digits")
    }
    self = key
  }

  /// Writes 32 hexadecimal digits.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
