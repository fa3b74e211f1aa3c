/// Sixteen bytes that compare and hash as two machine words: the tags of an envelope header.
package struct Bytes16: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The length in bytes.
  package static let count = 16
  private let high: UInt64
  private let low: UInt64

  /// Takes exactly 16 bytes.
  /// - Throws: `badLength`.
  package init(_ bytes: [UInt8]) throws {
    try CryptoError.require("A 16-byte value", bytes.count, equals: Self.count)
    self = bytes.withUnsafeBytes { Bytes16(loading: $0) }
  }

  /// Takes bytes whose length the caller has checked; any other length traps.
  package init(exactly bytes: [UInt8]) {
    self = bytes.withUnsafeBytes { Bytes16(loading: $0) }
  }

  /// Loads from memory whose length was checked before.
  init(loading bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == Self.count, "\(bytes.count) bytes for a 16-byte value")
    high = bytes.bigEndianUInt64(at: 0)
    low = bytes.bigEndianUInt64(at: 8)
  }

  /// The bytes in order.
  package var array: [UInt8] { Blake2b.array(Self.count) { store(into: $0) } }
  /// The bytes in hexadecimal.
  package var description: String { Hex.encode(array) }

  /// Orders by the bytes, first byte first.
  package static func < (left: Bytes16, right: Bytes16) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }

  func store(into out: UnsafeMutableRawBufferPointer) {
    out.storeBigEndian(high, at: 0)
    out.storeBigEndian(low, at: 8)
  }
}

/// Thirty-two bytes that compare and hash as four machine words: the links of an envelope header.
package struct Bytes32: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The length in bytes.
  package static let count = 32
  private let first: UInt64
  private let second: UInt64
  private let third: UInt64
  private let fourth: UInt64

  /// Takes exactly 32 bytes.
  /// - Throws: `badLength`.
  package init(_ bytes: [UInt8]) throws {
    try CryptoError.require("A 32-byte value", bytes.count, equals: Self.count)
    self = bytes.withUnsafeBytes { Bytes32(loading: $0) }
  }

  /// Takes bytes whose length the caller has checked; any other length traps.
  package init(exactly bytes: [UInt8]) {
    self = bytes.withUnsafeBytes { Bytes32(loading: $0) }
  }

  /// Loads from memory whose length was checked before.
  init(loading bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == Self.count, "\(bytes.count) bytes for a 32-byte value")
    first = bytes.bigEndianUInt64(at: 0)
    second = bytes.bigEndianUInt64(at: 8)
    third = bytes.bigEndianUInt64(at: 16)
    fourth = bytes.bigEndianUInt64(at: 24)
  }

  /// The bytes in order.
  package var array: [UInt8] { Blake2b.array(Self.count) { store(into: $0) } }
  /// The bytes in hexadecimal.
  package var description: String { Hex.encode(array) }

  /// Orders by the bytes, first byte first.
  package static func < (left: Bytes32, right: Bytes32) -> Bool {
    (left.first, left.second, left.third, left.fourth)
      < (right.first, right.second, right.third, right.fourth)
  }

  func store(into out: UnsafeMutableRawBufferPointer) {
    out.storeBigEndian(first, at: 0)
    out.storeBigEndian(second, at: 8)
    out.storeBigEndian(third, at: 16)
    out.storeBigEndian(fourth, at: 24)
  }
}

extension UnsafeRawBufferPointer {
  func bigEndianUInt64(at offset: Int) -> UInt64 {
    UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  func bigEndianUInt32(at offset: Int) -> UInt32 {
    UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  func bigEndianUInt16(at offset: Int) -> UInt16 {
    UInt16(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }
}

extension UnsafeMutableRawBufferPointer {
  func storeBigEndian<Value: FixedWidthInteger>(_ value: Value, at offset: Int) {
    storeBytes(of: value.bigEndian, toByteOffset: offset, as: Value.self)
  }
}
