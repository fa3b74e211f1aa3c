/// One transaction of one author: the unit of causality and atomicity.
///
/// The author's hash chain covers its canonical bytes, in which nothing has two encodings. Segments
/// contain the same content in columns.
package struct Change: Equatable, Sendable {
  /// The author and sequence number of this change.
  package var dot: Dot
  /// The author's chain hash before this change, 32 bytes.
  package var previousHash: [UInt8]
  /// The changes of others in this zone that the author had seen since its previous change.
  package var seen: FrontierDifference
  /// The changes of the group's control zone that the author had seen since its previous change in
  /// this zone.
  package var controlSeen: FrontierDifference
  /// The author's clock.
  package var time: HybridTime
  /// The version of the author's schema, for information only.
  package var schemaVersion: UInt32
  /// The operations of the transaction, in order.
  package var operations: [Operation]

  package init(
    dot: Dot, previousHash: [UInt8], seen: FrontierDifference = .none,
    controlSeen: FrontierDifference = .none, time: HybridTime, schemaVersion: UInt32 = 1,
    operations: [Operation]
  ) {
    self.dot = dot
    self.previousHash = previousHash
    self.seen = seen
    self.controlSeen = controlSeen
    self.time = time
    self.schemaVersion = schemaVersion
    self.operations = operations
  }

  /// The version of the canonical encoding.
  ///
  /// A change with a greater version is kept and forwarded, not applied.
  package static let formatVersion: UInt8 = 1
}

// MARK: - Canonical bytes

extension Change {
  /// Appends the canonical bytes.
  package func encode(into writer: inout ByteWriter) {
    writer.byte(Change.formatVersion)
    writer.author(dot.author)
    writer.varint(dot.sequence)
    writer.raw(previousHash)
    writer.difference(seen)
    writer.difference(controlSeen)
    writer.fixed64(time.rawValue)
    writer.varint(UInt64(schemaVersion))
    writer.varint(operations.count)
    for operation in operations {
      operation.encode(into: &writer, of: dot)
    }
  }

  /// Reads exactly one change; rejects other encodings and trailing bytes.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    guard bytes.count <= Limits.maximumChangeBytes else {
      throw CodecError(.beyondLimit, "change", offset: 0)
    }
    var reader = ByteReader(bytes)
    guard try reader.byte("change version") == Change.formatVersion else {
      throw CodecError(.unknown, "change version", offset: 0)
    }
    let author = try reader.author("author")
    let sequence = try reader.varint("sequence")
    guard sequence > 0, sequence <= Frontier.maximumSequence else {
      throw CodecError(.beyondLimit, "sequence", offset: 25)
    }
    dot = Dot(author: author, sequence: sequence)
    previousHash = try reader.raw(32, "previous hash")
    seen = try reader.difference("seen")
    controlSeen = try reader.difference("control seen")
    time = HybridTime(rawValue: try reader.fixed64("time"))
    schemaVersion = UInt32(try reader.varint("schema version", atMost: Int(UInt32.max)))
    let number = try reader.count("operations", itemBytes: 18, atMost: Limits.maximumOperations)
    operations = []
    operations.reserveCapacity(number)
    for _ in 0..<number {
      operations.append(try Operation(from: &reader, of: dot))
    }
    try reader.finish()
  }
}

extension Operation {
  /// The code of each kind of operation.
  package enum Code: UInt8, Sendable {
    case insert = 0
    case assign = 1
    case count = 2
    case include = 3
    case exclude = 4
    case delete = 5
    case event = 6
    case edit = 7
  }

  /// The operation's code.
  package var code: Code {
    switch body {
    case .insert: .insert
    case .assign: .assign
    case .count: .count
    case .include: .include
    case .exclude: .exclude
    case .delete: .delete
    case .event: .event
    case .edit: .edit
    }
  }

  func encode(into writer: inout ByteWriter, of dot: Dot) {
    writer.byte(code.rawValue)
    writer.varint(UInt64(key.type.rawValue))
    writer.identifier(key.id)
    switch body {
    case .insert, .delete: break
    case .assign(let field, let value), .include(let field, let value),
      .exclude(let field, let value):
      writer.varint(UInt64(field.rawValue))
      writer.value(value)
    case .count(let field, let delta):
      writer.varint(UInt64(field.rawValue))
      writer.signed(delta)
    case .edit(let field, let edit):
      writer.varint(UInt64(field.rawValue))
      writer.blob(edit.encoded(in: dot))
    case .event(let fields):
      writer.varint(fields.count)
      for item in fields {
        writer.varint(UInt64(item.field.rawValue))
        writer.value(item.value)
      }
    }
  }

  init(from reader: inout ByteReader, of dot: Dot) throws(CodecError) {
    let start = reader.offset
    guard let code = Code(rawValue: try reader.byte("operation")) else {
      throw CodecError(.unknown, "operation", offset: start)
    }
    let type = TypeID(rawValue: UInt16(try reader.varint("type", atMost: Int(UInt16.max))))
    key = RecordKey(type: type, id: try reader.identifier("record"))
    switch code {
    case .insert: body = .insert
    case .delete: body = .delete
    case .assign: body = .assign(try FieldID(from: &reader), try reader.value("value"))
    case .include: body = .include(try FieldID(from: &reader), try reader.value("element"))
    case .exclude: body = .exclude(try FieldID(from: &reader), try reader.value("element"))
    case .count: body = .count(try FieldID(from: &reader), try reader.signed("delta"))
    case .edit:
      let field = try FieldID(from: &reader)
      let bytes = try reader.blob("edit", atMost: Limits.maximumValueBytes)
      body = .edit(field, try TextEdit(decoding: bytes, in: dot))
    case .event:
      let number = try reader.count(
        "event fields", itemBytes: 2, atMost: Limits.maximumEventFields)
      var fields: [EventField] = []
      fields.reserveCapacity(number)
      for _ in 0..<number {
        let start = reader.offset
        let field = try FieldID(from: &reader)
        guard fields.last.map({ $0.field < field }) ?? true else {
          throw CodecError(.notCanonical, "event fields", offset: start)
        }
        fields.append(EventField(field, try reader.value("value")))
      }
      body = .event(fields)
    }
  }
}

extension FieldID {
  /// Reads the number of a field, with its kind.
  init(from reader: inout ByteReader) throws(CodecError) {
    self.init(rawValue: UInt16(try reader.varint("field", atMost: Int(UInt16.max))))
  }
}
