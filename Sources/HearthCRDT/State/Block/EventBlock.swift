extension StateBlock {
  /// Reads a block of events.
  ///
  /// - Throws: `CodecError` if the bytes differ from the output of the encoder, or exceed a limit.
  package static func decodeEvents(
    of type: TypeID, from reader: inout ByteReader, authors: AuthorTable
  ) throws(CodecError) -> [(id: RecordID, event: EventState)] {
    let ids = try ids(from: &reader)
    let versions = try versions(count: ids.count, from: &reader, authors: authors)
    var causes: [Frontier] = []
    if type.keepsCause {
      causes = try DotListColumn.decodeFrontiers(from: &reader, "causes", count: ids.count, authors)
    }
    let fields = try eventFields(count: ids.count, from: &reader)
    return ids.indices.map { place in
      let event = EventState(
        version: versions[place], cause: type.keepsCause ? causes[place] : nil,
        fields: fields[place])
      return (id: ids[place], event: event)
    }
  }

  private static func versions(
    count: Int, from reader: inout ByteReader, authors: AuthorTable
  ) throws(CodecError) -> [Version] {
    let start = reader.offset
    let dots = try DotColumn.decode(from: &reader, "events", count: count, authors)
    let milliseconds = try NumberColumn.decode(from: &reader, "event times", count: count)
    let counters = try NumberColumn.decode(from: &reader, "event counters", count: count)
    var versions: [Version] = []
    versions.reserveCapacity(count)
    for place in 0..<count {
      guard (0...Int64(HybridTime.maximumMilliseconds)).contains(milliseconds[place]),
        (0...0xffff).contains(counters[place])
      else { throw CodecError(.beyondLimit, "event times", offset: start) }
      let time = HybridTime(
        rawValue: UInt64(milliseconds[place]) << 16 | UInt64(counters[place]))
      versions.append(Version(dot: dots[place], time: time))
    }
    return versions
  }

  private static func eventFields(
    count: Int, from reader: inout ByteReader
  ) throws(CodecError) -> [[EventField]] {
    var fields = [[EventField]](repeating: [], count: count)
    let start = reader.offset
    let number = try reader.count("fields", itemBytes: 2, atMost: Limits.maximumRecordFields)
    var last: FieldID?
    for _ in 0..<number {
      let id = try FieldID(from: &reader)
      let presence = try RunColumn.decode(from: &reader, "presence", count: count, atMost: 1)
      let owners = presence.indices.filter { presence[$0] == 1 }
      guard last.map({ $0 < id }) ?? true, !owners.isEmpty else {
        throw CodecError(.notCanonical, "fields", offset: start)
      }
      last = id
      let values = try ValueColumn.decode(from: &reader, "value", count: owners.count)
      for (owner, value) in zip(owners, values) {
        guard fields[owner].count < Limits.maximumEventFields else {
          throw CodecError(.beyondLimit, "event fields", offset: start)
        }
        fields[owner].append(EventField(id, value))
      }
    }
    return fields
  }
}

/// The columns of a block of events of one type under construction.
package struct EventBlockEncoder {
  private let type: TypeID
  private let authors: AuthorTable
  private var ids: [Identifier] = []
  private var dots = DotColumn()
  private var milliseconds: [Int64] = []
  private var counters: [Int64] = []
  private var causes = DotListColumn()
  private var columns: [EventFieldColumn] = []

  /// Begins a block.
  ///
  /// `authors` are the authors in its events, ascending.
  package init(of type: TypeID, authors: AuthorTable) {
    self.type = type
    self.authors = authors
  }

  /// The number of events in the block.
  package var count: Int { ids.count }

  /// Adds the next event, in ascending order of id.
  package mutating func append(_ id: RecordID, _ event: EventState) {
    let place = ids.count
    ids.append(id)
    dots.append(event.version.dot, authors)
    milliseconds.append(Int64(event.version.time.milliseconds))
    counters.append(Int64(event.version.time.counter))
    if type.keepsCause { causes.append(event.cause ?? Frontier(), authors) }
    var cursor = 0
    for field in event.fields {
      while cursor < columns.count, columns[cursor].id < field.field { cursor += 1 }
      if cursor == columns.count || columns[cursor].id != field.field {
        columns.insert(EventFieldColumn(id: field.field), at: cursor)
      }
      columns[cursor].append(field.value, ofEvent: place)
    }
  }

  /// Appends the block, of at least one and at most ``Limits/maximumBlockRecords`` events.
  package consuming func finish(into writer: inout ByteWriter) {
    precondition((1...Limits.maximumBlockRecords).contains(count), "\(count)")
    writer.varint(count)
    IdentifierColumn.encode(ids, into: &writer)
    dots.finish(into: &writer)
    NumberColumn.encode(milliseconds, into: &writer)
    NumberColumn.encode(counters, into: &writer)
    if type.keepsCause { causes.finish(into: &writer) }
    writer.varint(columns.count)
    for place in columns.indices { columns[place].finish(into: &writer, events: count) }
  }
}

/// One field of a block of events under construction.
private struct EventFieldColumn {
  let id: FieldID
  private var presence = RunColumn()
  /// The number of events that `presence` covers.
  private var covered = 0
  private var values = ValueColumn()

  init(id: FieldID) {
    self.id = id
  }

  private mutating func skip(to event: Int) {
    while covered < event {
      presence.append(0)
      covered += 1
    }
  }

  mutating func append(_ value: Value, ofEvent event: Int) {
    skip(to: event)
    presence.append(1)
    covered += 1
    values.append(value)
  }

  mutating func finish(into writer: inout ByteWriter, events: Int) {
    skip(to: events)
    writer.varint(UInt64(id.rawValue))
    writer.raw(presence.finish())
    values.finish(into: &writer)
  }
}
