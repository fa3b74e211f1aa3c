/// The values of one field: tags, then numbers, then texts and byte strings.
///
/// Texts and byte strings are usually written one after another. If at most half of them and at
/// most ``maximumEntries`` are different, the column contains the different ones and one byte for
/// each item.
struct ValueColumn {
  /// The most different texts that one byte can number.
  static let maximumEntries = 256

  private var tags = RunColumn()
  private var numbers: [Int64] = []
  private var lengths: [Int64] = []
  private var content = ByteWriter(capacity: 64)

  mutating func append(_ value: Value) {
    tags.append(UInt32(value.tag))
    switch value {
    case .null, .bool: break
    case .int(let number): numbers.append(number)
    case .text(var text):
      text.withUTF8 {
        lengths.append(Int64($0.count))
        content.raw($0)
      }
    case .bytes(let bytes):
      lengths.append(Int64(bytes.count))
      content.raw(bytes)
    }
  }

  /// Appends the column's bytes.
  mutating func finish(into writer: inout ByteWriter) {
    writer.raw(tags.finish())
    NumberColumn.encode(numbers, into: &writer)
    guard !lengths.isEmpty else { return }
    guard let entries = SliceTable.numbering(content.bytes, lengths) else {
      writer.byte(0)
      NumberColumn.encode(lengths, into: &writer)
      writer.raw(content.bytes)
      return
    }
    writer.byte(1)
    writer.byte(UInt8(entries.table.slices.count - 1))
    NumberColumn.encode(entries.table.slices.map { Int64($0.count) }, into: &writer)
    content.bytes.withUnsafeBufferPointer { bytes in
      for slice in entries.table.slices {
        writer.raw(UnsafeBufferPointer(rebasing: bytes[slice]))
      }
    }
    writer.raw(entries.numbers)
  }

  /// Reads a column of exactly `count` values.
  ///
  /// The caller has bounded `count`.
  static func decode(
    from reader: inout ByteReader, _ item: String, count: Int
  ) throws(CodecError) -> [Value] {
    let tags = try RunColumn.decode(
      from: &reader, item, count: count, atMost: Value.maximumTag)
    var ints = 0
    var texts = 0
    for tag in tags {
      if tag == Value.intTag { ints += 1 } else if tag > Value.intTag { texts += 1 }
    }
    let numbers = try NumberColumn.decode(from: &reader, item, count: ints)
    var strings = try StringColumn.decode(from: &reader, item, count: texts)
    var values: [Value] = []
    values.reserveCapacity(count)
    var number = 0
    var string = 0
    for tag in tags {
      switch tag {
      case 0: values.append(.null)
      case 1: values.append(.bool(false))
      case 2: values.append(.bool(true))
      case Value.intTag:
        values.append(.int(numbers[number]))
        number += 1
      default:
        values.append(try strings.value(item, at: string, isText: tag == 4))
        string += 1
      }
    }
    return values
  }
}

/// Numbers the different slices of some bytes, in order of first use.
struct SliceTable {
  private(set) var slices: [Range<Int>] = []
  /// Positions in `slices` plus one, 0 if free.
  ///
  /// There are four times as many slots as slices.
  private var slots = [UInt16](repeating: 0, count: 4 * ValueColumn.maximumEntries)

  /// The number of a slice, which is added if it is new; nil if there is no room for it.
  mutating func number(
    of slice: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>, atMost limit: Int
  ) -> Int? {
    let all = UnsafeRawBufferPointer(bytes)
    let wanted = UnsafeRawBufferPointer(rebasing: all[slice])
    var slot = Int(truncatingIfNeeded: wanted.sliceHash >> 40) & (slots.count - 1)
    while slots[slot] != 0 {
      let number = Int(slots[slot]) - 1
      if UnsafeRawBufferPointer(rebasing: all[slices[number]]).isEqual(to: wanted) {
        return number
      }
      slot = (slot + 1) & (slots.count - 1)
    }
    guard slices.count < limit else { return nil }
    slices.append(slice)
    slots[slot] = UInt16(slices.count)
    return slices.count - 1
  }

  /// The number of every slice; nil if too many slices are different for numbering.
  static func numbering(
    _ content: [UInt8], _ lengths: [Int64]
  ) -> (table: SliceTable, numbers: [UInt8])? {
    let limit = min(ValueColumn.maximumEntries, lengths.count / 2)
    guard limit > 0 else { return nil }
    var table = SliceTable()
    var numbers: [UInt8] = []
    numbers.reserveCapacity(lengths.count)
    let isNumbered = content.withUnsafeBufferPointer { bytes in
      var start = 0
      for length in lengths {
        let slice = start..<start + Int(length)
        guard let number = table.number(of: slice, in: bytes, atMost: limit) else { return false }
        numbers.append(UInt8(number))
        start = slice.upperBound
      }
      return true
    }
    return isNumbered ? (table, numbers) : nil
  }
}

extension UnsafeRawBufferPointer {
  /// The first slot that a slice table probes; nothing else depends on it.
  fileprivate var sliceHash: UInt64 {
    func mixed(_ value: UInt64) -> UInt64 {
      let product = value &* 0x9e37_79b9_7f4a_7c15
      return product ^ product >> 32
    }
    var hash = mixed(UInt64(count))
    let whole = count & ~7
    for offset in stride(from: 0, to: whole, by: 8) {
      hash = mixed(hash ^ loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    var rest: UInt64 = 0
    for place in whole..<count { rest = rest << 8 | UInt64(self[place]) }
    return mixed(hash ^ rest)
  }

  /// Whether both buffers contain the same bytes.
  fileprivate func isEqual(to other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    let whole = count & ~7
    for offset in stride(from: 0, to: whole, by: 8)
    where loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      != other.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    {
      return false
    }
    for place in whole..<count where self[place] != other[place] { return false }
    return true
  }
}

/// The texts and byte strings of a column being read.
private struct StringColumn {
  var content: [UInt8] = []
  var lengths: [Int64] = []
  var starts: [Int] = []
  /// The slice number of each item, if slices are numbered.
  var numbers: [UInt8]? {
    didSet { shared = [Value?](repeating: nil, count: 2 * starts.count) }
  }
  /// The values made from numbered slices, as bytes and as text.
  private var shared: [Value?] = []
  /// The position of the content, for errors.
  var offset = 0

  /// Reads a column of exactly `count` texts and byte strings.
  static func decode(
    from reader: inout ByteReader, _ item: String, count: Int
  ) throws(CodecError) -> StringColumn {
    guard count > 0 else { return StringColumn() }
    let start = reader.offset
    switch try reader.byte(item) {
    case 0:
      let column = try slices(from: &reader, item, count: count)
      guard SliceTable.numbering(column.content, column.lengths) == nil else {
        throw CodecError(.notCanonical, item, offset: start)
      }
      return column
    case 1:
      let entryCount = Int(try reader.byte(item)) + 1
      guard entryCount <= count / 2 else { throw CodecError(.notCanonical, item, offset: start) }
      var column = try slices(from: &reader, item, count: entryCount)
      let numbers = try reader.raw(count, item)
      var used = 0
      for number in numbers {
        guard number <= used, number < entryCount else {
          throw CodecError(.notCanonical, item, offset: start)
        }
        if number == used { used += 1 }
      }
      guard used == entryCount, column.isDistinct else {
        throw CodecError(.notCanonical, item, offset: start)
      }
      column.numbers = numbers
      return column
    default: throw CodecError(.unknown, item, offset: start)
    }
  }

  private static func slices(
    from reader: inout ByteReader, _ item: String, count: Int
  ) throws(CodecError) -> StringColumn {
    let start = reader.offset
    var column = StringColumn()
    column.lengths = try NumberColumn.decode(from: &reader, item, count: count)
    column.starts.reserveCapacity(count)
    var sum = 0
    for length in column.lengths {
      guard (0...Int64(Limits.maximumValueBytes)).contains(length) else {
        throw CodecError(.beyondLimit, item, offset: start)
      }
      column.starts.append(sum)
      sum += Int(length)
    }
    column.offset = reader.offset
    column.content = try reader.raw(sum, item)
    return column
  }

  var isDistinct: Bool {
    content.withUnsafeBufferPointer { bytes in
      var table = SliceTable()
      return starts.indices.allSatisfy { place in
        let slice = starts[place]..<starts[place] + Int(lengths[place])
        return table.number(of: slice, in: bytes, atMost: .max) == place
      }
    }
  }

  /// The value of the item at a position.
  ///
  /// Items of one entry share one copy: one byte of input must not allocate half a mebibyte.
  mutating func value(
    _ item: String, at place: Int, isText: Bool
  ) throws(CodecError) -> Value {
    guard let numbers else { return try made(item, place, isText: isText) }
    let slot = 2 * Int(numbers[place]) + (isText ? 1 : 0)
    if let value = shared[slot] { return value }
    let value = try made(item, Int(numbers[place]), isText: isText)
    shared[slot] = value
    return value
  }

  private func made(
    _ item: String, _ slice: Int, isText: Bool
  ) throws(CodecError) -> Value {
    let range = starts[slice]..<starts[slice] + Int(lengths[slice])
    guard isText else { return .bytes(Array(content[range])) }
    let text = content.withUnsafeBufferPointer {
      String(validating: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self)
    }
    guard let text else {
      throw CodecError(.invalidText, item, offset: offset + range.lowerBound)
    }
    return .text(text)
  }
}
