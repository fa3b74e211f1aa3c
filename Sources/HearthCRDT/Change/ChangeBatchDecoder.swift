extension ChangeBatch {
  /// Decodes a batch.
  ///
  /// All changes except the first have an empty `previousHash`. The caller fills it in while it
  /// verifies the chain. O(n).
  ///
  /// - Parameters:
  ///   - incarnation: the author's incarnation, from the segment's header.
  ///   - first: the first change's sequence number, from the segment's header.
  ///   - weight: the work that the segment declares; nil if nobody declared any.
  /// - Throws: `CodecError` if the bytes differ from the output of ``encode(_:)``, exceed a limit,
  ///   or contain other work than declared. The error comes before memory is allocated for the
  ///   excess.
  package static func decode(
    _ bytes: [UInt8], incarnation: UInt64, first: UInt64, weight: Int? = nil
  ) throws(CodecError) -> [Change] {
    guard bytes.count <= Limits.maximumSegmentBytes else {
      throw CodecError(.beyondLimit, "batch", offset: 0)
    }
    var decoder = ChangeBatchDecoder(
      bytes, incarnation: incarnation, first: first, weight: weight)
    return try decoder.decode()
  }
}

/// Decodes the body of a segment, column by column.
///
/// Every count is bounded before memory is allocated: by the remaining bytes if an item takes a
/// byte, or by ``Limits`` if a run stands for many items.
struct ChangeBatchDecoder {
  private var reader: ByteReader
  private let incarnation: UInt64
  private let first: UInt64
  /// The declared work that was not found yet.
  private var unspent: Int
  private let isDeclared: Bool
  private var version = ChangeBatch.formatVersion

  private var operationCounts: [UInt32] = []
  private var codes: [Operation.Code] = []
  private var types: [UInt32] = []
  private var records: [RecordID] = []
  private var eventFieldCounts: [UInt32] = []
  private var fields: [UInt32] = []
  private var tags: [UInt32] = []
  private var areDeltas = false
  private var numbers: [Int64] = []
  private var lengths: [Int] = []

  /// The position of the assembly in each column.
  private struct Cursor {
    var operation = 0
    var event = 0
    var field = 0
    var tag = 0
    var number = 0
    var length = 0
    var lastNumbers = LastNumbers()
    var plainBytes = 0
    var deltaBytes = 0
  }
  private var cursor = Cursor()

  init(_ bytes: [UInt8], incarnation: UInt64, first: UInt64, weight: Int?) {
    reader = ByteReader(bytes)
    self.incarnation = incarnation
    self.first = first
    unspent = weight ?? .max
    isDeclared = weight != nil
  }

  /// Subtracts work from the declared work before the work is done.
  private mutating func spend(_ work: Int) throws(CodecError) {
    guard work <= unspent else {
      throw CodecError(.beyondLimit, "declared work", offset: reader.offset)
    }
    unspent -= work
  }

  mutating func decode() throws(CodecError) -> [Change] {
    version = try reader.byte("batch version")
    guard (ChangeBatch.oldestVersion...ChangeBatch.formatVersion).contains(version) else {
      throw CodecError(.unknown, "batch version", offset: 0)
    }
    let chain = try reader.raw(32, "chain hash")
    let author = Author(device: try reader.identifier("device"), incarnation: incarnation)
    let count = try reader.count("changes", atMost: Limits.maximumSegmentChanges)
    guard count > 0 else { throw CodecError(.notCanonical, "changes", offset: reader.offset) }
    guard first > 0, first <= Frontier.maximumSequence - UInt64(count - 1) else {
      throw CodecError(.beyondLimit, "sequence", offset: reader.offset)
    }
    try spend(ChangeBatch.changeWeight * count)
    let times = try decodeTimes(count)
    let schemaVersions = try RunColumn.decode(
      from: &reader, "schema versions", count: count, atMost: .max)
    let (seen, controlSeen) = try decodeDifferences(count)
    try decodeOperationColumns(changes: count)
    var changes: [Change] = []
    changes.reserveCapacity(count)
    for place in 0..<count {
      let contentStart = reader.offset
      let dot = Dot(author: author, sequence: first + UInt64(place))
      let operations = try assembleOperations(Int(operationCounts[place]), of: dot)
      let change = Change(
        dot: dot,
        previousHash: place == 0 ? chain : [], seen: seen[place], controlSeen: controlSeen[place],
        time: times[place], schemaVersion: schemaVersions[place], operations: operations)
      try checkSize(of: change, contentBytes: reader.offset - contentStart)
      changes.append(change)
    }
    try reader.finish()
    guard unspent == 0 || !isDeclared else {
      throw CodecError(.notCanonical, "declared work", offset: reader.offset)
    }
    guard areDeltas == (cursor.deltaBytes < cursor.plainBytes) else {
      throw CodecError(.notCanonical, "numbers", offset: reader.offset)
    }
    return changes
  }

  /// Rejects a change whose canonical bytes would exceed their limit.
  private func checkSize(of change: Change, contentBytes: Int) throws(CodecError) {
    let authors = change.seen.heads.count + change.controlSeen.heads.count
    var items = change.operations.count
    for case .event(let fields) in change.operations.lazy.map(\.body) { items += fields.count }
    // No author, operation or event field takes more than 42 bytes apart from its text.
    if 128 + 42 * (authors + items) + contentBytes <= Limits.maximumChangeBytes { return }
    var writer = ByteWriter()
    change.encode(into: &writer)
    // Changes after the first have no hash here.
    guard writer.count + 32 - change.previousHash.count <= Limits.maximumChangeBytes else {
      throw CodecError(.beyondLimit, "change", offset: reader.offset)
    }
  }
}

// MARK: - Columns of changes

extension ChangeBatchDecoder {
  private mutating func decodeTimes(_ count: Int) throws(CodecError) -> [HybridTime] {
    var time = try reader.fixed64("time")
    var times = [HybridTime(rawValue: time)]
    times.reserveCapacity(count)
    for _ in 1..<count {
      time &+= UInt64(bitPattern: try reader.signed("time"))
      times.append(HybridTime(rawValue: time))
    }
    return times
  }

  private mutating func decodeDifferences(
    _ count: Int
  ) throws(CodecError) -> ([FrontierDifference], [FrontierDifference]) {
    let number = try reader.count("authors", itemBytes: 24, atMost: 2 * Limits.maximumAuthors)
    var authors: [Author] = []
    authors.reserveCapacity(number)
    var known = Set<Author>(minimumCapacity: number)
    for _ in 0..<number {
      let start = reader.offset
      let author = try reader.author("author")
      guard known.insert(author).inserted else {
        throw CodecError(.notCanonical, "authors", offset: start)
      }
      authors.append(author)
    }
    let limit = UInt32(Limits.maximumAuthors)
    let seenCounts = try RunColumn.decode(from: &reader, "seen", count: count, atMost: limit)
    let controlCounts = try RunColumn.decode(
      from: &reader, "control seen", count: count, atMost: limit)
    try spend((seenCounts + controlCounts).reduce(0) { $0 + Int($1) })
    var used = 0
    var marks: [Frontier.Entry] = []
    var last = (seen: LastCited(), controlSeen: LastCited())
    for place in 0..<count {
      try decodeMarks(Int(seenCounts[place]), authors, &used, &last.seen, into: &marks)
      try decodeMarks(Int(controlCounts[place]), authors, &used, &last.controlSeen, into: &marks)
    }
    guard used == authors.count else {
      throw CodecError(.notCanonical, "authors", offset: reader.offset)
    }
    guard marks.count <= reader.remaining / 8 else {
      throw CodecError(.truncated, "cited hashes", offset: reader.offset)
    }
    var rest = marks[...]
    var seen: [FrontierDifference] = []
    var controlSeen: [FrontierDifference] = []
    seen.reserveCapacity(count)
    controlSeen.reserveCapacity(count)
    for place in 0..<count {
      seen.append(try decodeHashes(of: &rest, Int(seenCounts[place])))
      controlSeen.append(try decodeHashes(of: &rest, Int(controlCounts[place])))
    }
    return (seen, controlSeen)
  }

  /// Combines the next marks with their hashes.
  private mutating func decodeHashes(
    of marks: inout ArraySlice<Frontier.Entry>, _ count: Int
  ) throws(CodecError) -> FrontierDifference {
    guard count > 0 else { return .none }
    var heads: [CitedHead] = []
    heads.reserveCapacity(count)
    for mark in marks.prefix(count) {
      heads.append(
        CitedHead(
          author: mark.author, sequence: mark.sequence, hash: try reader.fixed64("cited hash")))
    }
    marks = marks.dropFirst(count)
    return FrontierDifference(heads: heads)
  }

  private mutating func decodeMarks(
    _ count: Int, _ authors: [Author], _ used: inout Int, _ last: inout LastCited,
    into marks: inout [Frontier.Entry]
  ) throws(CodecError) {
    guard count <= reader.remaining / 2 else {
      throw CodecError(.truncated, "seen", offset: reader.offset)
    }
    let first = marks.count
    for _ in 0..<count {
      let start = reader.offset
      let number = try reader.varint("author number", atMost: Int(UInt32.max))
      guard number < authors.count else {
        throw CodecError(.unknown, "author number", offset: start)
      }
      let increment = try reader.varint("increment")
      guard increment > 0, number <= used,
        marks.count == first || marks[marks.count - 1].author < authors[number]
      else { throw CodecError(.notCanonical, "seen", offset: start) }
      guard let sequence = last.sequence(of: number, beyondBy: increment) else {
        throw CodecError(.beyondLimit, "increment", offset: start)
      }
      if number == used { used += 1 }
      marks.append(Frontier.Entry(author: authors[number], sequence: sequence))
    }
  }
}

// MARK: - Columns of operations

extension ChangeBatchDecoder {
  private mutating func decodeOperationColumns(changes: Int) throws(CodecError) {
    operationCounts = try RunColumn.decode(
      from: &reader, "operation counts", count: changes, atMost: UInt32(Limits.maximumOperations))
    let operations = operationCounts.reduce(0) { $0 + Int($1) }
    guard operations <= Limits.maximumSegmentItems else {
      throw CodecError(.beyondLimit, "operations", offset: reader.offset)
    }
    try spend(ChangeBatch.operationWeight(inVersion: version) * operations)
    Work.operations.add(operations)
    try decodeCodes(operations)
    types = try RunColumn.decode(
      from: &reader, "types", count: operations, atMost: UInt32(UInt16.max))
    try decodeRecords(operations)
    let fieldCount = try decodeEventFieldCounts(operations)
    fields = try RunColumn.decode(
      from: &reader, "fields", count: fieldCount, atMost: UInt32(UInt16.max))
    let counts = codes.reduce(0) { $0 + ($1 == .count ? 1 : 0) }
    tags = try RunColumn.decode(
      from: &reader, "tags", count: fieldCount - counts, atMost: Value.maximumTag)
    var ints = counts
    var texts = 0
    for tag in tags {
      if tag == Value.intTag { ints += 1 } else if tag > Value.intTag { texts += 1 }
    }
    let start = reader.offset
    let spelling = try reader.byte("numbers")
    guard spelling < 2 else { throw CodecError(.unknown, "numbers", offset: start) }
    areDeltas = spelling == 1
    guard ints + texts <= reader.remaining else {
      throw CodecError(.truncated, "values", offset: reader.offset)
    }
    numbers.reserveCapacity(ints)
    for _ in 0..<ints { numbers.append(try reader.signed("number")) }
    lengths.reserveCapacity(texts)
    for _ in 0..<texts {
      lengths.append(try reader.varint("length", atMost: Limits.maximumValueBytes))
    }
  }

  private mutating func decodeCodes(_ operations: Int) throws(CodecError) {
    let start = reader.offset
    let raw = try RunColumn.decode(
      from: &reader, "codes", count: operations, atMost: UInt32(UInt8.max))
    codes.reserveCapacity(operations)
    for value in raw {
      guard let code = Operation.Code(rawValue: UInt8(value)) else {
        throw CodecError(.unknown, "codes", offset: start)
      }
      codes.append(code)
    }
  }

  private mutating func decodeRecords(_ operations: Int) throws(CodecError) {
    let start = reader.offset
    let references = try RunColumn.decode(
      from: &reader, "references", count: operations, atMost: .max >> 1)
    let newCount = references.reduce(0) { $0 + ($1 == 1 ? 1 : 0) }
    guard newCount <= reader.remaining / Identifier.byteCount else {
      throw CodecError(.truncated, "records", offset: reader.offset)
    }
    var distinct: [RecordID] = []
    distinct.reserveCapacity(newCount)
    var known = Set<RecordID>(minimumCapacity: newCount)
    records.reserveCapacity(operations)
    for reference in references {
      if reference == 0 {
        guard let last = records.last else {
          throw CodecError(.notCanonical, "references", offset: start)
        }
        records.append(last)
      } else if reference == 1 {
        let record = try reader.identifier("record")
        guard known.insert(record).inserted else {
          throw CodecError(.notCanonical, "records", offset: reader.offset)
        }
        distinct.append(record)
        records.append(record)
      } else {
        let number = Int(reference) - 2
        guard number < distinct.count else {
          throw CodecError(.unknown, "references", offset: start)
        }
        guard records.last != distinct[number] else {
          throw CodecError(.notCanonical, "references", offset: start)
        }
        records.append(distinct[number])
      }
    }
  }

  /// Reads the event field counts and returns the number of fields in all operations.
  private mutating func decodeEventFieldCounts(_ operations: Int) throws(CodecError) -> Int {
    var events = 0
    var named = 0
    for code in codes {
      switch code {
      case .insert, .delete: break
      case .assign, .count, .include, .exclude, .edit: named += 1
      case .event: events += 1
      }
    }
    eventFieldCounts = try RunColumn.decode(
      from: &reader, "event field counts", count: events, atMost: UInt32(Limits.maximumEventFields))
    let eventFields = eventFieldCounts.reduce(0) { $0 + Int($1) }
    guard operations + eventFields <= Limits.maximumSegmentItems else {
      throw CodecError(.beyondLimit, "event fields", offset: reader.offset)
    }
    try spend(eventFields)
    return named + eventFields
  }
}

// MARK: - Assembly

extension ChangeBatchDecoder {
  private mutating func assembleOperations(
    _ count: Int, of dot: Dot
  ) throws(CodecError) -> [Operation] {
    var operations: [Operation] = []
    operations.reserveCapacity(count)
    for _ in 0..<count {
      let place = cursor.operation
      cursor.operation += 1
      let type = TypeID(rawValue: UInt16(truncatingIfNeeded: types[place]))
      let body: Operation.Body
      switch codes[place] {
      case .insert: body = .insert
      case .delete: body = .delete
      case .assign: body = .assign(nextField(), try nextValue(type))
      case .include: body = .include(nextField(), try nextValue(type))
      case .exclude: body = .exclude(nextField(), try nextValue(type))
      case .count:
        let field = nextField()
        body = .count(field, nextNumber(type, field))
      case .edit: body = .edit(nextField(), try nextEdit(in: dot))
      case .event: body = .event(try nextEvent(type))
      }
      operations.append(Operation(RecordKey(type: type, id: records[place]), body))
    }
    return operations
  }

  private mutating func nextEvent(_ type: TypeID) throws(CodecError) -> [EventField] {
    let count = Int(eventFieldCounts[cursor.event])
    cursor.event += 1
    var result: [EventField] = []
    result.reserveCapacity(count)
    for _ in 0..<count {
      let field = nextField()
      guard result.last.map({ $0.field < field }) ?? true else {
        throw CodecError(.notCanonical, "event fields", offset: reader.offset)
      }
      result.append(EventField(field, try nextValue(type)))
    }
    return result
  }

  private mutating func nextField() -> FieldID {
    defer { cursor.field += 1 }
    return ChangeBatch.field(rotated: fields[cursor.field])
  }

  private mutating func nextNumber(_ type: TypeID, _ field: FieldID) -> Int64 {
    let written = numbers[cursor.number]
    cursor.number += 1
    let number: Int64
    let delta: Int64
    if areDeltas {
      delta = written
      number = cursor.lastNumbers.number(beyond: delta, type: type, field: field)
    } else {
      number = written
      delta = cursor.lastNumbers.delta(to: number, type: type, field: field)
    }
    cursor.plainBytes += ByteWriter.byteCount(ofSigned: number)
    cursor.deltaBytes += ByteWriter.byteCount(ofSigned: delta)
    return number
  }

  private mutating func nextLength() -> Int {
    defer { cursor.length += 1 }
    return lengths[cursor.length]
  }

  private mutating func nextEdit(in dot: Dot) throws(CodecError) -> TextEdit {
    guard tags[cursor.tag] == Value.maximumTag else {
      throw CodecError(.notCanonical, "edit", offset: reader.offset)
    }
    cursor.tag += 1
    return try TextEdit(decoding: try reader.raw(nextLength(), "edit"), in: dot)
  }

  /// The value of the last read field.
  private mutating func nextValue(_ type: TypeID) throws(CodecError) -> Value {
    defer { cursor.tag += 1 }
    switch tags[cursor.tag] {
    case 0: return .null
    case 1: return .bool(false)
    case 2: return .bool(true)
    case Value.intTag:
      let field = ChangeBatch.field(rotated: fields[cursor.field - 1])
      return .int(nextNumber(type, field))
    case 4: return .text(try reader.utf8(nextLength(), "text"))
    default: return .bytes(try reader.raw(nextLength(), "bytes"))
    }
  }
}
