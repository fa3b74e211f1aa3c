/// Writes a column of small numbers in which neighbours are often equal.
///
/// A single number is written as `2 * value`. Two or more equal neighbours are written as `2 *
/// value + 1` and the run's length minus 2. Runs are as long as possible, so a sequence has exactly
/// one encoding. A column without runs costs no more than plain varints.
struct RunColumn {
  private var writer: ByteWriter
  private var value: UInt32 = 0
  private var length = 0

  init(capacity: Int = 64) {
    writer = ByteWriter(capacity: capacity)
  }

  mutating func append(_ next: UInt32) {
    if length > 0, next == value {
      length += 1
      return
    }
    flush()
    value = next
    length = 1
  }

  /// Returns the whole column.
  mutating func finish() -> [UInt8] {
    flush()
    return writer.bytes
  }

  private mutating func flush() {
    if length == 1 {
      writer.varint(UInt64(value) << 1)
    } else if length > 1 {
      writer.varint(UInt64(value) << 1 | 1)
      writer.varint(length - 2)
    }
    length = 0
  }

  /// Reads a column of exactly `count` numbers.
  ///
  /// A short run can stand for many numbers, so the caller must bound `count` first.
  static func decode(
    from reader: inout ByteReader, _ item: String, count: Int, atMost limit: UInt32
  ) throws(CodecError) -> [UInt32] {
    var result: [UInt32] = []
    result.reserveCapacity(count)
    while result.count < count {
      let start = reader.offset
      let token = try reader.varint(item)
      guard token >> 1 <= UInt64(limit) else {
        throw CodecError(.beyondLimit, item, offset: start)
      }
      let value = UInt32(token >> 1)
      guard result.last != value else { throw CodecError(.notCanonical, item, offset: start) }
      if token & 1 == 0 {
        result.append(value)
        continue
      }
      let further = try reader.varint(item)
      let room = count - result.count
      guard room >= 2, further <= UInt64(room - 2) else {
        throw CodecError(.beyondLimit, item, offset: start)
      }
      result.append(contentsOf: repeatElement(value, count: Int(further) + 2))
    }
    return result
  }
}
