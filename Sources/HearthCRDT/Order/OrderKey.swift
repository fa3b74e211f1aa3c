/// A position in a list that people sort by hand: a fraction between 0 and 1 in base 256.
///
/// A list's order is one register per item, and moving an item writes only that item. Two offline
/// devices that insert at one position get equal keys. Items are ordered by (key, ``Version`` of
/// the register), so every replica displays one order, and no item is lost. Nothing is random:
/// equal inputs give equal keys.
///
/// Appending and prepending make keys of 2 bytes for some 32,000 items and of 4 for 16 million.
/// Repeated insertions at one position cost one byte for eight insertions.
package struct OrderKey: Hashable, Sendable {
  /// The digits, most significant first; at least one, the last not 0.
  package let bytes: [UInt8]

  /// The most digits of a key.
  ///
  /// A list that needs more gets new keys (``spread(_:)``).
  package static let maximumBytes = 64

  /// The key of a list's first item.
  package static let first = OrderKey(digits: [0x80])

  /// Takes digits; nil for none, for more than ``maximumBytes``, or for a last digit of 0.
  package init?(bytes: [UInt8]) {
    guard let last = bytes.last, last != 0, bytes.count <= OrderKey.maximumBytes else { return nil }
    self.bytes = bytes
  }

  private init(digits: [UInt8]) {
    precondition(digits.last ?? 0 != 0, "an order key may not end with 0: \(digits)")
    bytes = digits
  }

  /// A key strictly between two others, where nil stands for the list's end on that side.
  ///
  /// If there is no such key, the caller writes new keys for the whole list (``spread(_:)``).
  /// O(length).
  ///
  /// - Throws: ``OrderKeyError`` if the bounds are equal or in the wrong order (two items inserted
  ///   offline), or if the key would exceed ``maximumBytes``.
  package static func between(
    _ lower: OrderKey?, _ upper: OrderKey?
  ) throws(OrderKeyError) -> OrderKey {
    let digits: [UInt8]
    switch (lower, upper) {
    case (nil, nil): return first
    case (let lower?, nil): digits = next(after: lower.bytes)
    case (nil, let upper?): digits = next(before: upper.bytes)
    case (let lower?, let upper?):
      guard lower < upper else { throw OrderKeyError(.notAscending) }
      digits = middle(lower.bytes, upper.bytes)
    }
    guard digits.count <= maximumBytes else { throw OrderKeyError(.beyondLimit) }
    return OrderKey(digits: digits)
  }

  /// Keys for a whole list, ascending and evenly spread, as short as their number allows.
  package static func spread(_ count: Int) -> [OrderKey] {
    precondition(count >= 0, "a list of \(count) items")
    var width = 1
    while width < 7, count >= 1 << (8 * width) - 1 { width += 1 }
    let step = UInt64(1 << (8 * width)) / (UInt64(count) + 1)
    return (0..<count).map { place in
      OrderKey(digits: digits(of: step * (UInt64(place) + 1), width: width))
    }
  }
}

// MARK: - Digits

extension OrderKey {
  /// The least fraction beyond `digits`, in a precision that grows with the leading 255s.
  ///
  /// With f leading 255s the precision is 2f + 2 digits, so the room for appending grows faster
  /// than the keys.
  private static func next(after digits: [UInt8]) -> [UInt8] {
    let full = digits.prefix { $0 == 255 }.count
    var result = padded(digits, to: 2 * full + 2)
    // Digit number `full` is below 255, so the carry ends there at the latest.
    var place = result.count - 1
    while result[place] == 255 {
      result[place] = 0
      place -= 1
    }
    result[place] += 1
    return stripped(result)
  }

  /// The greatest fraction below `digits`, in a precision that grows with the leading zeros.
  private static func next(before digits: [UInt8]) -> [UInt8] {
    let empty = digits.prefix { $0 == 0 }.count
    let precision = 2 * empty + 2
    // A fraction cut to the precision is already below `digits`.
    if digits.count > precision { return stripped(Array(digits.prefix(precision))) }
    var result = padded(digits, to: precision)
    // Digit number `empty` is above 0, so the borrow ends there at the latest.
    var place = result.count - 1
    while result[place] == 0 {
      result[place] = 255
      place -= 1
    }
    result[place] -= 1
    return stripped(result)
  }

  /// A short fraction near the middle between two fractions; `lower` must be below `upper`.
  private static func middle(_ lower: [UInt8], _ upper: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var isBounded = true
    while true {
      let place = result.count
      let low = place < lower.count ? Int(lower[place]) : 0
      let high = isBounded ? (place < upper.count ? Int(upper[place]) : 0) : 256
      if high - low > 1 {
        result.append(UInt8((low + high) / 2))
        return result
      }
      // The digits are equal or neighbours. For neighbours, every fraction that starts with the
      // lower digit is below `upper`.
      if high != low { isBounded = false }
      result.append(UInt8(low))
    }
  }

  private static func padded(_ digits: [UInt8], to count: Int) -> [UInt8] {
    digits.prefix(count) + [UInt8](repeating: 0, count: max(0, count - digits.count))
  }

  private static func stripped(_ digits: [UInt8]) -> [UInt8] {
    var digits = digits
    while digits.last == 0 { digits.removeLast() }
    return digits
  }

  private static func digits(of number: UInt64, width: Int) -> [UInt8] {
    stripped((1...width).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (width - $0))) })
  }
}

extension OrderKey: Comparable {
  /// The order of the fractions, equal to the order of the bytes and of the text.
  package static func < (left: OrderKey, right: OrderKey) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

extension OrderKey: CustomStringConvertible {
  /// Two lower-case hexadecimal digits for each byte: the form in a register.
  ///
  /// Texts compare like the keys, so a query can sort by the column directly.
  package var text: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Reads the text form; nil for anything that ``text`` does not produce.
  package init?(text: String) {
    guard text.utf8.count % 2 == 0, text.utf8.count <= 2 * OrderKey.maximumBytes else { return nil }
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in text.utf8 {
      let nibble: UInt8
      switch digit {
      case 0x30...0x39: nibble = digit - 0x30
      case 0x61...0x66: nibble = digit - 0x61 + 10
      default: return nil
      }
      if let upper = high {
        bytes.append(upper << 4 | nibble)
        high = nil
      } else {
        high = nibble
      }
    }
    self.init(bytes: bytes)
  }

  /// The same as ``text``.
  package var description: String { text }
}

/// The reason why there is no key between two others.
package struct OrderKeyError: Error, Equatable, CustomStringConvertible {
  /// The kind of reason.
  package enum Code: String, Sendable {
    /// The lower bound is not below the upper one.
    case notAscending
    /// The key would be longer than ``OrderKey/maximumBytes``.
    case beyondLimit
  }

  /// The kind of reason.
  package let code: Code

  init(_ code: Code) {
    self.code = code
  }

  /// The reason and the remedy.
  package var description: String {
    switch code {
    case .notAscending: "no place between equal or swapped order keys: make new keys for the list"
    case .beyondLimit: "the order key would be too long: make new keys for the list"
    }
  }
}
