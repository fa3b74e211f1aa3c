// Columns of whole numbers and of identifiers, one plane of bytes after another. Equal parts of
// neighbours (upper bytes, common units) are adjacent and compress to almost nothing; random parts
// keep their own width. docs/reference/snapshot-format.md describes them byte by byte.

/// Whole numbers as multiples of their common step above the least one.
enum NumberColumn {
  /// Writes numbers as multiples of their common step above the least one.
  ///
  /// The column has the least number, the step, the width in bytes, then that many planes, the
  /// lowest bytes first. An empty column takes no bytes; any other takes at least one byte for each
  /// number. O(n).
  static func encode(_ values: [Int64], into writer: inout ByteWriter) {
    guard var least = values.first else { return }
    for value in values where value < least { least = value }
    var most: UInt64 = 0
    var step: UInt64 = 0
    for value in values {
      let offset = UInt64(bitPattern: value &- least)
      most = max(most, offset)
      if step != 1 { step = commonStep(step, offset) }
    }
    step = max(step, 1)
    let width = byteWidth(of: most / step)
    writer.signed(least)
    writer.varint(step)
    writer.byte(UInt8(width))
    let count = values.count
    writer.raw(
      [UInt8](unsafeUninitializedCapacity: count * width) { planes, written in
        for (place, value) in values.enumerated() {
          let offset = UInt64(bitPattern: value &- least)
          var rest = step == 1 ? offset : offset / step
          for plane in 0..<width {
            planes.initializeElement(
              at: plane * count + place, to: UInt8(truncatingIfNeeded: rest))
            rest >>= 8
          }
        }
        written = count * width
      })
  }

  /// Reads a column of exactly `count` numbers.
  ///
  /// Each number takes at least one byte, so `count` is compared with the remaining bytes before
  /// memory is allocated.
  static func decode(
    from reader: inout ByteReader, _ item: String, count: Int
  ) throws(CodecError) -> [Int64] {
    guard count > 0 else { return [] }
    let start = reader.offset
    let least = try reader.signed(item)
    let step = try reader.varint(item)
    let width = Int(try reader.byte(item))
    guard step > 0, (1...8).contains(width) else {
      throw CodecError(.notCanonical, item, offset: start)
    }
    guard count <= reader.remaining / width else {
      throw CodecError(.truncated, item, offset: start)
    }
    let planes = try reader.raw(count * width, item)
    let multiples = [UInt64](unsafeUninitializedCapacity: count) { buffer, written in
      for place in 0..<count {
        var multiple: UInt64 = 0
        for plane in 0..<width {
          multiple |= UInt64(planes[plane * count + place]) << (8 * UInt64(plane))
        }
        buffer.initializeElement(at: place, to: multiple)
      }
      written = count
    }
    return try verified(item, at: start, least, step, width, multiples)
  }

  /// Verifies that a column has the encoding that ``encode(_:into:)`` produces.
  private static func verified(
    _ item: String, at start: Int, _ least: Int64, _ step: UInt64, _ width: Int,
    _ multiples: [UInt64]
  ) throws(CodecError) -> [Int64] {
    var most: UInt64 = 0
    var common: UInt64 = 0
    var hasLeast = false
    for multiple in multiples {
      most = max(most, multiple)
      hasLeast = hasLeast || multiple == 0
      if common != 1 { common = commonStep(common, multiple) }
    }
    guard hasLeast, common == 1 || common == 0 && step == 1, byteWidth(of: most) == width
    else { throw CodecError(.notCanonical, item, offset: start) }
    let (greatest, overflow) = most.multipliedReportingOverflow(by: step)
    guard !overflow, greatest <= UInt64(bitPattern: Int64.max &- least) else {
      throw CodecError(.beyondLimit, item, offset: start)
    }
    return multiples.map { least &+ Int64(bitPattern: $0 &* step) }
  }

  /// The greatest common divisor, where 0 divides nothing.
  private static func commonStep(_ left: UInt64, _ right: UInt64) -> UInt64 {
    var (left, right) = (left, right)
    while right != 0 { (left, right) = (right, left % right) }
    return left
  }

  /// The number of bytes in a number, at least one.
  private static func byteWidth(of number: UInt64) -> Int {
    max(1, (71 - number.leadingZeroBitCount) / 8)
  }
}

/// Identifiers, one plane of bytes after another.
enum IdentifierColumn {
  /// Writes identifiers, 16 bytes each: all first bytes, then all second bytes, and so on.
  static func encode(_ values: [Identifier], into writer: inout ByteWriter) {
    let count = values.count
    writer.raw(
      [UInt8](unsafeUninitializedCapacity: count * Identifier.byteCount) { planes, written in
        for (place, value) in values.enumerated() {
          for plane in 0..<8 {
            let shift = UInt64(56 - 8 * plane)
            planes.initializeElement(
              at: plane * count + place, to: UInt8(truncatingIfNeeded: value.high >> shift))
            planes.initializeElement(
              at: (plane + 8) * count + place, to: UInt8(truncatingIfNeeded: value.low >> shift))
          }
        }
        written = count * Identifier.byteCount
      })
  }

  /// Reads a column of exactly `count` identifiers.
  static func decode(
    from reader: inout ByteReader, _ item: String, count: Int
  ) throws(CodecError) -> [Identifier] {
    guard count <= reader.remaining / Identifier.byteCount else {
      throw CodecError(.truncated, item, offset: reader.offset)
    }
    let planes = try reader.raw(count * Identifier.byteCount, item)
    return (0..<count).map { place in
      var halves: (UInt64, UInt64) = (0, 0)
      for plane in 0..<8 {
        halves.0 = halves.0 << 8 | UInt64(planes[plane * count + place])
        halves.1 = halves.1 << 8 | UInt64(planes[(plane + 8) * count + place])
      }
      return Identifier(high: halves.0, low: halves.1)
    }
  }
}
