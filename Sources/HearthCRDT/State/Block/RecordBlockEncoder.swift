/// The columns of a block of records under construction.
///
/// Each record is added to them directly.
///
/// Storing the records until the block is full would retain all their values and read them twice.
package struct RecordBlockEncoder {
  private let authors: AuthorTable
  private var ids: [Identifier] = []
  /// The changes that each record's registers and histories name, one record after another.
  private var changes: [ChangeKey] = []
  private var changeCounts: [Int] = []
  /// The fields, in ascending order.
  private var fields: [FieldColumn] = []
  private var lives = RunColumn()
  private var writes = DotListColumn()
  private var deletes = DotListColumn()
  private var charges = ChargeColumn()

  /// The changes that the current record names.
  private var own = OwnChanges()

  /// Begins a block.
  ///
  /// `authors` are the authors in its records, ascending.
  package init(authors: AuthorTable) {
    self.authors = authors
  }

  /// The number of records in the block.
  package var count: Int { ids.count }

  /// Adds the next record, in ascending order of id, with all its values.
  package mutating func append(_ id: RecordID, _ state: RecordState) {
    let place = ids.count
    ids.append(id)
    own.collect(state, authors)
    changes.append(contentsOf: own.keys)
    changeCounts.append(own.keys.count)
    var cursor = 0
    for entry in state.entries {
      while cursor < fields.count, fields[cursor].id < entry.id { cursor += 1 }
      if cursor == fields.count || fields[cursor].id != entry.id {
        fields.insert(FieldColumn(id: entry.id), at: cursor)
      }
      fields[cursor].append(entry.field, ofRecord: place, authors, &own)
    }
    let isTold = state.areWritesTold
    let isDeleted = !state.life.deletes.isEmpty
    lives.append((isTold ? 0 : 1) | (isDeleted ? 2 : 0) | (state.charges.isEmpty ? 0 : 4))
    if !isTold { writes.append(state.life.writes, authors) }
    if isDeleted { deletes.append(state.life.deletes, authors) }
    if !state.charges.isEmpty { charges.append(state.charges, authors) }
  }

  /// Appends the block, of at least one and at most ``Limits/maximumBlockRecords`` records.
  package consuming func finish(into writer: inout ByteWriter) {
    precondition((1...Limits.maximumBlockRecords).contains(count), "\(count)")
    writer.varint(count)
    IdentifierColumn.encode(ids, into: &writer)
    var table = changes
    ChangeKey.sortUniquely(&table)
    RecordBlockEncoder.write(table, into: &writer)
    var counts = RunColumn()
    var places: [Int64] = []
    places.reserveCapacity(changes.count)
    var change = 0
    for number in changeCounts {
      counts.append(UInt32(number))
      var next = 0
      for _ in 0..<number {
        let place = ChangeKey.place(of: changes[change], in: table)
        places.append(Int64(place - next))
        next = place + 1
        change += 1
      }
    }
    writer.raw(counts.finish())
    NumberColumn.encode(places, into: &writer)
    writer.varint(fields.count)
    for place in fields.indices { fields[place].finish(into: &writer, records: count) }
    writer.raw(lives.finish())
    writes.finish(into: &writer)
    deletes.finish(into: &writer)
    charges.finish(into: &writer)
  }

  /// Writes count, authors, sequence numbers, milliseconds and counters; all except the first as
  /// differences.
  private static func write(_ table: [ChangeKey], into writer: inout ByteWriter) {
    writer.varint(table.count)
    var authors = RunColumn()
    var sequences: [Int64] = []
    var milliseconds: [Int64] = []
    var counters: [Int64] = []
    var last = ChangeKey(author: 0, sequence: 0, time: 0)
    for key in table {
      authors.append(key.author)
      let base = key.author == last.author ? last.sequence : 0
      sequences.append(Int64(key.sequence - base))
      milliseconds.append(Int64(key.time >> 16) - Int64(last.time >> 16))
      counters.append(Int64(key.time & 0xffff))
      last = key
    }
    NumberColumn.encode(sequences, into: &writer)
    writer.raw(authors.finish())
    if let first = milliseconds.first { writer.signed(first) }
    NumberColumn.encode(Array(milliseconds.dropFirst()), into: &writer)
    NumberColumn.encode(counters, into: &writer)
  }
}

/// The changes that the registers and histories of one record name, in order, each once.
private struct OwnChanges {
  private(set) var keys: [ChangeKey] = []
  /// The last version that was looked up, and its place: fields are often written together, so the
  /// same version occurs many times in a row.
  private var last: (version: Version, place: Int)?

  mutating func collect(_ state: RecordState, _ authors: AuthorTable) {
    keys.removeAll(keepingCapacity: true)
    last = nil
    var noted: Version?
    func note(_ version: Version) {
      if version != noted { keys.append(ChangeKey(version, authors)) }
      noted = version
    }
    for entry in state.entries {
      switch entry.field {
      case .register(let register):
        note(register.shown.version)
        for sibling in register.others { note(sibling.version) }
      case .history(let history): for item in history.entries { note(item.version) }
      case .counter, .set, .text: break
      }
    }
    ChangeKey.sortUniquely(&keys)
  }

  mutating func place(of version: Version, _ authors: AuthorTable) -> Int {
    if let last, last.version == version { return last.place }
    let place = keys.count == 1 ? 0 : ChangeKey.place(of: ChangeKey(version, authors), in: keys)
    last = (version, place)
    return place
  }
}

/// One field of a block under construction.
private struct FieldColumn {
  let id: FieldID
  private var presence = RunColumn()
  /// The number of records that `presence` covers.
  private var covered = 0
  private var counts = RunColumn()
  private var changes: [Int64] = []
  private var values = ValueColumn()
  private var replaced = DotListColumn()
  private var additionCounts: [Int64] = []
  private var dots = DotColumn()
  private var totals: [Int64] = []
  private var texts = ByteWriter(capacity: 0)

  init(id: FieldID) {
    self.id = id
  }

  private mutating func cover(through record: Int, isPresent: Bool) {
    while covered < record {
      presence.append(0)
      covered += 1
    }
    guard isPresent else { return }
    presence.append(1)
    covered += 1
  }

  private mutating func append(
    _ version: Version, _ value: Value?, _ authors: AuthorTable, _ own: inout OwnChanges
  ) {
    guard let value else { preconditionFailure("a value of \(id) was not supplied") }
    changes.append(Int64(own.place(of: version, authors)))
    values.append(value)
  }

  mutating func append(
    _ field: RecordState.Field, ofRecord record: Int, _ authors: AuthorTable,
    _ own: inout OwnChanges
  ) {
    cover(through: record, isPresent: true)
    switch field {
    case .register(let register):
      counts.append(UInt32(register.others.count))
      append(register.shown.version, register.shown.value, authors, &own)
      for sibling in register.others { append(sibling.version, sibling.value, authors, &own) }
    case .history(let history):
      counts.append(UInt32(history.entries.count))
      for item in history.entries {
        append(item.version, item.value, authors, &own)
        replaced.append(item.replaced, authors)
      }
    case .counter(let counter):
      counts.append(UInt32(counter.shares.count))
      for share in counter.shares {
        dots.append(Dot(author: share.author, sequence: share.sequence), authors)
        totals.append(share.total)
      }
    case .set(let set):
      counts.append(UInt32(set.elements.count))
      for element in set.elements {
        additionCounts.append(Int64(element.additions.count))
        values.append(element.value)
        for dot in element.additions { dots.append(dot, authors) }
      }
    case .text(let text):
      counts.append(0)
      text.encode(into: &texts, authors: authors)
    }
  }

  mutating func finish(into writer: inout ByteWriter, records: Int) {
    cover(through: records, isPresent: false)
    writer.varint(UInt64(id.rawValue))
    writer.raw(presence.finish())
    writer.raw(counts.finish())
    switch id.kind {
    case .register:
      NumberColumn.encode(changes, into: &writer)
      values.finish(into: &writer)
    case .history:
      NumberColumn.encode(changes, into: &writer)
      values.finish(into: &writer)
      replaced.finish(into: &writer)
    case .counter:
      dots.finish(into: &writer)
      NumberColumn.encode(totals, into: &writer)
    case .set:
      NumberColumn.encode(additionCounts, into: &writer)
      values.finish(into: &writer)
      dots.finish(into: &writer)
    case .text: writer.raw(texts.bytes)
    }
  }
}
