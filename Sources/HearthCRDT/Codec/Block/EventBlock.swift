extension StateBlock {
  /// Appends a block of events of one type.
  ///
  /// - Parameters:
  ///   - events: at least one, at most ``Limits/maximumBlockRecords``, in rising order of id.
  ///   - type: their type.
  ///   - authors: every author in the events, in rising order.
  package static func encode(
    _ events: [(id: RecordID, event: EventState)], of type: TypeID,
    into writer: inout ByteWriter, authors: AuthorTable
  ) {
    precondition((1...Limits.maximumBlockRecords).contains(events.count), "\(events.count)")
    var dots = DotColumn()
    var causes = DotListColumn()
    var columns: [EventFieldColumn] = []
    for (place, item) in events.enumerated() {
      dots.append(item.event.version.dot, authors)
      if type.keepsCause { causes.append(item.event.cause ?? Frontier(), authors) }
      var cursor = 0
      for field in item.event.fields {
        while cursor < columns.count, columns[cursor].id < field.field { cursor += 1 }
        if cursor == columns.count || columns[cursor].id != field.field {
          columns.insert(EventFieldColumn(id: field.field), at: cursor)
        }
        columns[cursor].append(field.value, ofEvent: place)
      }
    }
    writer.varint(events.count)
    writer.identifiers(events.map(\.id))
    dots.finish(into: &writer)
    let times = events.map(\.event.version.time)
    writer.numbers(times.map { Int64($0.milliseconds) })
    writer.numbers(times.map { Int64($0.counter) })
    if type.keepsCause { causes.finish(into: &writer) }
    writer.varint(columns.count)
    for place in columns.indices { columns[place].finish(into: &writer, events: events.count) }
  }

  /// Reads a block of events.
  ///
  /// Throws where the bytes are not exactly what encoding makes, or pass a limit.
  package static func decodeEvents(
    of type: TypeID, from reader: inout ByteReader, authors: AuthorTable
  ) throws(CodecError) -> [(id: RecordID, event: EventState)] {
    let ids = try ids(from: &reader)
    let versions = try versions(count: ids.count, from: &reader, authors: authors)
    var causes: [Frontier] = []
    if type.keepsCause {
      causes = try reader.frontiers("causes", count: ids.count, authors)
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
    let dots = try reader.dots("events", count: count, authors)
    let milliseconds = try reader.numbers("event times", count: count)
    let counters = try reader.numbers("event counters", count: count)
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
      let id = try reader.field()
      let presence = try reader.runs("presence", count: count, atMost: 1)
      let owners = presence.indices.filter { presence[$0] == 1 }
      guard last.map({ $0 < id }) ?? true, !owners.isEmpty else {
        throw CodecError(.notCanonical, "fields", offset: start)
      }
      last = id
      let values = try reader.values("value", count: owners.count)
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

/// One field of a block of events that is being encoded.
private struct EventFieldColumn {
  let id: FieldID
  private var presence = RunColumnWriter()
  /// How many events `presence` covers.
  private var covered = 0
  private var values = ValueColumnWriter()

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
