/// A 128-bit identifier of a device, person, zone, group or record.
///
/// It consists of two machine words instead of a byte array, so that comparing, hashing and copying
/// allocate no memory. The merge path spends most of its time on these. The order is that of the
/// sixteen bytes read big-endian, so it is the same on every machine and in every encoding.
public struct Identifier: Hashable, Comparable, Sendable {
  /// Bytes 0-7, big-endian.
  public let high: UInt64
  /// Bytes 8-15, big-endian.
  public let low: UInt64

  /// Makes an identifier from its two halves.
  @inlinable
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Makes an identifier from exactly sixteen bytes; nil for any other count.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Identifier.byteCount else { return nil }
    // Contiguous bytes are read at once: reading them one by one took half the time of reading a
    // row.
    let words = bytes.withContiguousStorageIfAvailable { storage in
      let raw = UnsafeRawBufferPointer(storage)
      return (
        high: UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
        low: UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
    if let words {
      self.init(high: words.high, low: words.low)
      return
    }
    var halves: (UInt64, UInt64) = (0, 0)
    for (position, byte) in bytes.enumerated() {
      if position < 8 {
        halves.0 = halves.0 << 8 | UInt64(byte)
      } else {
        halves.1 = halves.1 << 8 | UInt64(byte)
      }
    }
    self.init(high: halves.0, low: halves.1)
  }

  /// Makes an identifier from 32 hexadecimal digits; nil for anything else.
  public init?(hex: String) {
    guard hex.utf8.count == 2 * Identifier.byteCount else { return nil }
    var halves: (UInt64, UInt64) = (0, 0)
    for (position, digit) in hex.utf8.enumerated() {
      guard let nibble = Identifier.nibble(digit) else { return nil }
      if position < 16 {
        halves.0 = halves.0 << 4 | nibble
      } else {
        halves.1 = halves.1 << 4 | nibble
      }
    }
    self.init(high: halves.0, low: halves.1)
  }

  /// The sixteen bytes, most significant first.
  public var bytes: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Identifier.byteCount) { buffer, count in
      for position in 0..<8 {
        buffer[position] = UInt8(truncatingIfNeeded: high >> UInt64(56 - 8 * position))
        buffer[8 + position] = UInt8(truncatingIfNeeded: low >> UInt64(56 - 8 * position))
      }
      count = Identifier.byteCount
    }
  }

  /// 32 lower-case hexadecimal digits.
  public var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(2 * Identifier.byteCount)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The number of bytes in an identifier.
  public static let byteCount = 16

  /// The identifier of sixteen zero bytes, smaller than any other.
  public static let zero = Identifier(high: 0, low: 0)

  /// The order of the sixteen bytes.
  @inlinable
  public static func < (left: Identifier, right: Identifier) -> Bool {
    left.high != right.high ? left.high < right.high : left.low < right.low
  }

  private static func nibble(_ digit: UInt8) -> UInt64? {
    switch digit {
    case 0x30...0x39: UInt64(digit - 0x30)
    case 0x61...0x66: UInt64(digit - 0x61 + 10)
    case 0x41...0x46: UInt64(digit - 0x41 + 10)
    default: nil
    }
  }
}

extension Identifier: CustomStringConvertible {
  /// The same as ``hex``.
  public var description: String { hex }
}

/// A device: the hash of its public keys.
public typealias DeviceID = Identifier
/// A person of a group: one human with one or more devices.
public typealias PersonID = Identifier
/// A group: a household, or one person's private database.
public typealias GroupID = Identifier
/// A zone: the unit of atomicity, sharing, encryption and deletion.
public typealias ZoneID = Identifier
/// A record within one zone and type.
public typealias RecordID = Identifier
