/// The columnar body of a segment: consecutive changes of one author in one zone.
///
/// It has the same content as the changes' canonical bytes, sorted into columns so that repetition
/// (codes, types, records, fields, clocks) costs almost nothing. docs/reference/segment-format.md
/// describes it byte by byte.
///
/// A batch has exactly one encoding. The decoder verifies this without encoding again. Each column
/// is a one-to-one mapping between its bytes and its values: varints are minimal, runs are maximal,
/// numberings follow first use without duplicates, and deltas wrap. The length of each column
/// follows from the columns before it. The only choice, whole numbers plain or as deltas, is
/// compared with the encoder's choice.
package enum ChangeBatch {
  /// The version of the layout and of the weights.
  ///
  /// Bodies of version 1 weigh an operation as 1. They are still read; the code that opens a
  /// segment checks that its bytes pay for its work.
  package static let formatVersion: UInt8 = 2
  /// The oldest supported version.
  static let oldestVersion: UInt8 = 1

  /// Encodes at least one change of one author, with consecutive sequence numbers.
  ///
  /// The caller keeps within ``Limits/maximumSegmentChanges`` and ``Limits/maximumSegmentItems``.
  /// O(n).
  package static func encode(_ changes: [Change]) -> [UInt8] {
    precondition(!changes.isEmpty, "a batch of no changes")
    var columns = ChangeColumns()
    for (place, change) in changes.enumerated() {
      precondition(
        change.dot.author == changes[0].dot.author
          && change.dot.sequence == changes[0].dot.sequence + UInt64(place),
        "\(change.dot) does not follow \(changes[0].dot) by \(place)")
      columns.append(change)
    }
    return columns.finish(first: changes[0], count: changes.count)
  }

  /// The field number with the kind in the low bits, so that it is small for every kind.
  static func rotated(_ field: FieldID) -> UInt32 {
    UInt32(field.rawValue << 2 | field.rawValue >> 14)
  }

  /// The inverse of ``rotated(_:)``.
  static func field(rotated: UInt32) -> FieldID {
    let bits = UInt16(truncatingIfNeeded: rotated)
    return FieldID(rawValue: bits >> 2 | bits << 14)
  }
}

/// The columns of a batch under construction.
struct ChangeColumns {
  private var times = ByteWriter(capacity: 256)
  private var lastTime: UInt64?
  private var schemaVersions = RunColumn()
  private var authors = AuthorTable()
  private var seenCounts = RunColumn()
  private var controlSeenCounts = RunColumn()
  private var seenNews = ByteWriter(capacity: 64)
  private var citedHashes = ByteWriter(capacity: 64)
  private var lastSeen = LastCited()
  private var lastControlSeen = LastCited()
  private var operationCounts = RunColumn()
  private var codes = RunColumn()
  private var types = RunColumn()
  private var references = RunColumn()
  private var records: [RecordID: UInt32] = [:]
  private var lastRecord: RecordID?
  private var newRecords = ByteWriter(capacity: 1024)
  private var eventFieldCounts = RunColumn()
  private var fields = RunColumn()
  private var tags = RunColumn()
  private var numbers = ByteWriter(capacity: 256)
  private var deltas = ByteWriter(capacity: 256)
  private var lastNumbers = LastNumbers()
  private var lengths = ByteWriter(capacity: 256)
  private var content = ByteWriter(capacity: 4096)

  mutating func append(_ change: Change) {
    if let lastTime {
      times.signed(Int64(bitPattern: change.time.rawValue &- lastTime))
    } else {
      times.fixed64(change.time.rawValue)
    }
    lastTime = change.time.rawValue
    schemaVersions.append(change.schemaVersion)
    seenCounts.append(append(change.seen, isControl: false))
    controlSeenCounts.append(append(change.controlSeen, isControl: true))
    operationCounts.append(UInt32(change.operations.count))
    for operation in change.operations {
      append(operation, of: change.dot)
    }
  }

  /// Appends the newly seen heads and returns the number of their authors.
  private mutating func append(_ difference: FrontierDifference, isControl: Bool) -> UInt32 {
    for head in difference.heads {
      authors.add(head.author)
      let number = authors.number(of: head.author)
      seenNews.varint(number)
      let increment =
        isControl
        ? lastControlSeen.increment(of: number, to: head.sequence)
        : lastSeen.increment(of: number, to: head.sequence)
      seenNews.varint(increment)
      citedHashes.fixed64(head.hash)
    }
    return UInt32(difference.heads.count)
  }

  private mutating func append(_ operation: Operation, of dot: Dot) {
    codes.append(UInt32(operation.code.rawValue))
    types.append(UInt32(operation.key.type.rawValue))
    append(operation.key.id)
    let type = operation.key.type
    switch operation.body {
    case .insert, .delete: break
    case .assign(let field, let value), .include(let field, let value),
      .exclude(let field, let value):
      append(value, type, field)
    case .edit(let field, let edit):
      append(.bytes(edit.encoded(in: dot)), type, field)
    case .count(let field, let delta):
      fields.append(ChangeBatch.rotated(field))
      append(delta, type, field)
    case .event(let items):
      eventFieldCounts.append(UInt32(items.count))
      for item in items { append(item.value, type, item.field) }
    }
  }

  private mutating func append(_ record: RecordID) {
    if record == lastRecord {
      references.append(0)
      return
    }
    lastRecord = record
    if let number = records[record] {
      references.append(number + 2)
    } else {
      records[record] = UInt32(records.count)
      references.append(1)
      newRecords.identifier(record)
    }
  }

  private mutating func append(_ value: Value, _ type: TypeID, _ field: FieldID) {
    fields.append(ChangeBatch.rotated(field))
    tags.append(UInt32(value.tag))
    switch value {
    case .null, .bool: break
    case .int(let number):
      append(number, type, field)
    case .text(var text):
      text.withUTF8 {
        lengths.varint($0.count)
        content.raw($0)
      }
    case .bytes(let array):
      lengths.varint(array.count)
      content.raw(array)
    }
  }

  private mutating func append(_ number: Int64, _ type: TypeID, _ field: FieldID) {
    numbers.signed(number)
    deltas.signed(lastNumbers.delta(to: number, type: type, field: field))
  }

  /// The whole body.
  mutating func finish(first: Change, count: Int) -> [UInt8] {
    var body = ByteWriter(capacity: 1024 + newRecords.count + content.count)
    body.byte(ChangeBatch.formatVersion)
    body.raw(first.previousHash)
    body.identifier(first.dot.author.device)
    body.varint(count)
    body.raw(times.bytes)
    body.raw(schemaVersions.finish())
    body.varint(authors.authors.count)
    for author in authors.authors { body.author(author) }
    body.raw(seenCounts.finish())
    body.raw(controlSeenCounts.finish())
    body.raw(seenNews.bytes)
    body.raw(citedHashes.bytes)
    body.raw(operationCounts.finish())
    body.raw(codes.finish())
    body.raw(types.finish())
    body.raw(references.finish())
    body.raw(newRecords.bytes)
    body.raw(eventFieldCounts.finish())
    body.raw(fields.finish())
    body.raw(tags.finish())
    // The shorter of two encodings, the plain one if they are equal. The result is never longer
    // than the canonical bytes, whatever the numbers.
    let areDeltas = deltas.count < numbers.count
    body.byte(areDeltas ? 1 : 0)
    body.raw(areDeltas ? deltas.bytes : numbers.bytes)
    body.raw(lengths.bytes)
    body.raw(content.bytes)
    return body.bytes
  }
}
