extension StateBlock {
  /// Reads a block of records.
  ///
  /// - Parameter authors: the author table that the block was written with.
  /// - Throws: `CodecError` if the bytes differ from the output of the encoder, or exceed a limit.
  package static func decodeRecords(
    from reader: inout ByteReader, authors: AuthorTable
  ) throws(CodecError) -> [(id: RecordID, state: RecordState)] {
    let ids = try ids(from: &reader)
    var decoder = RecordBlockDecoder(authors: authors, records: ids.count)
    let states = try decoder.decode(from: &reader)
    return zip(ids, states).map { (id: $0, state: $1) }
  }

  /// Reads the number of records or events in a block, and their ids.
  static func ids(from reader: inout ByteReader) throws(CodecError) -> [RecordID] {
    let start = reader.offset
    let number = try reader.varint("block", atMost: Limits.maximumBlockRecords)
    let ids = try IdentifierColumn.decode(from: &reader, "ids", count: number)
    guard number > 0, zip(ids, ids.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw CodecError(.notCanonical, "ids", offset: start)
    }
    return ids
  }
}

/// Reads a block of records, column by column.
private struct RecordBlockDecoder {
  private let authors: AuthorTable
  private let records: Int
  private var entries: [[RecordState.Entry]]
  /// The versions that each record's registers and histories name, one record after another.
  private var versions: [Version] = []
  /// The start of each record's versions, and the end of the last record's.
  private var starts: [Int] = [0]
  private var isUsed: [Bool] = []

  init(authors: AuthorTable, records: Int) {
    self.authors = authors
    self.records = records
    entries = [[RecordState.Entry]](repeating: [], count: records)
  }

  mutating func decode(from reader: inout ByteReader) throws(CodecError) -> [RecordState] {
    try decodeVersions(from: &reader, table: try decodeTable(from: &reader))
    let start = reader.offset
    let fieldCount = try reader.count("fields", itemBytes: 2, atMost: Limits.maximumRecordFields)
    for place in entries.indices {
      entries[place].reserveCapacity(min(fieldCount, Limits.maximumEventFields))
    }
    var last: FieldID?
    for _ in 0..<fieldCount {
      let id = try FieldID(from: &reader)
      guard last.map({ $0 < id }) ?? true else {
        throw CodecError(.notCanonical, "fields", offset: start)
      }
      last = id
      try decodeField(id, from: &reader)
    }
    guard isUsed.allSatisfy({ $0 }) else {
      throw CodecError(.notCanonical, "versions", offset: reader.offset)
    }
    return try decodeLives(from: &reader)
  }

  // MARK: Changes

  private func decodeTable(from reader: inout ByteReader) throws(CodecError) -> [Version] {
    let start = reader.offset
    let count = try reader.count("changes")
    guard count > 0 else { return [] }
    let sequences = try NumberColumn.decode(from: &reader, "change sequences", count: count)
    guard !authors.authors.isEmpty else { throw CodecError(.unknown, "changes", offset: start) }
    let numbers = try RunColumn.decode(
      from: &reader, "change authors", count: count, atMost: UInt32(authors.authors.count - 1))
    let first = try reader.signed("change time")
    let times = [first] + (try NumberColumn.decode(from: &reader, "change times", count: count - 1))
    let counters = try NumberColumn.decode(from: &reader, "change counters", count: count)
    var table: [Version] = []
    table.reserveCapacity(count)
    var last = ChangeKey(author: 0, sequence: 0, time: 0)
    for place in 0..<count {
      let base = numbers[place] == last.author ? Int64(last.sequence) : 0
      let (sequence, overflow) = base.addingReportingOverflow(sequences[place])
      let (milliseconds, late) = Int64(last.time >> 16).addingReportingOverflow(times[place])
      guard !overflow, !late, sequence > 0, sequences[place] >= 0,
        (0...Int64(HybridTime.maximumMilliseconds)).contains(milliseconds),
        (0...0xffff).contains(counters[place])
      else { throw CodecError(.beyondLimit, "changes", offset: start) }
      let key = ChangeKey(
        author: numbers[place], sequence: UInt64(sequence),
        time: UInt64(milliseconds) << 16 | UInt64(counters[place]))
      guard last < key else { throw CodecError(.notCanonical, "changes", offset: start) }
      table.append(
        Version(
          dot: Dot(author: authors.authors[Int(key.author)], sequence: key.sequence),
          time: HybridTime(rawValue: key.time)))
      last = key
    }
    return table
  }

  private mutating func decodeVersions(
    from reader: inout ByteReader, table: [Version]
  ) throws(CodecError) {
    let start = reader.offset
    let (counts, sum) = try DotListColumn.decodeCounts(from: &reader, "versions", count: records)
    let places = try NumberColumn.decode(from: &reader, "versions", count: sum)
    versions.reserveCapacity(sum)
    var isNamed = [Bool](repeating: false, count: table.count)
    for count in counts {
      var next = 0
      for _ in 0..<count {
        let gap = places[versions.count]
        guard gap >= 0, gap < table.count - next else {
          throw CodecError(.unknown, "versions", offset: start)
        }
        let place = next + Int(gap)
        isNamed[place] = true
        versions.append(table[place])
        next = place + 1
      }
      starts.append(versions.count)
    }
    guard isNamed.allSatisfy({ $0 }) else {
      throw CodecError(.notCanonical, "changes", offset: start)
    }
    isUsed = [Bool](repeating: false, count: versions.count)
  }

  private mutating func version(
    _ number: Int64, ofRecord record: Int, at start: Int
  ) throws(CodecError) -> Version {
    let count = starts[record + 1] - starts[record]
    guard number >= 0, number < count else {
      throw CodecError(.unknown, "version number", offset: start)
    }
    let place = starts[record] + Int(number)
    isUsed[place] = true
    return versions[place]
  }

  // MARK: Fields

  private mutating func decodeField(
    _ id: FieldID, from reader: inout ByteReader
  ) throws(CodecError) {
    let start = reader.offset
    let presence = try RunColumn.decode(from: &reader, "presence", count: records, atMost: 1)
    let owners = presence.indices.filter { presence[$0] == 1 }
    guard !owners.isEmpty else { throw CodecError(.notCanonical, "presence", offset: start) }
    let (counts, sum) = try DotListColumn.decodeCounts(from: &reader, "counts", count: owners.count)
    switch id.kind {
    case .register: try decodeRegisters(id, owners, counts, sum, from: &reader)
    case .history: try decodeHistories(id, owners, counts, sum, from: &reader)
    case .counter: try decodeCounters(id, owners, counts, sum, from: &reader)
    case .set: try decodeSets(id, owners, counts, sum, from: &reader)
    case .text: try decodeTexts(id, owners, sum, from: &reader)
    }
  }

  private mutating func decodeRegisters(
    _ id: FieldID, _ owners: [Int], _ counts: [Int], _ sum: Int, from reader: inout ByteReader
  ) throws(CodecError) {
    let start = reader.offset
    let numbers = try NumberColumn.decode(
      from: &reader, "version numbers", count: owners.count + sum)
    let values = try ValueColumn.decode(from: &reader, "value", count: owners.count + sum)
    var item = 0
    for (owner, count) in zip(owners, counts) {
      let shown = Sibling(
        version: try version(numbers[item], ofRecord: owner, at: start), value: values[item])
      item += 1
      var others: [Sibling] = []
      for _ in 0..<count {
        let version = try version(numbers[item], ofRecord: owner, at: start)
        // An author's later write has seen the earlier one, so no two siblings have the same
        // author.
        guard version < shown.version, version.dot.author != shown.version.dot.author,
          others.last.map({ $0.version.dot.author < version.dot.author }) ?? true
        else { throw CodecError(.notCanonical, "siblings", offset: start) }
        others.append(Sibling(version: version, value: values[item]))
        item += 1
      }
      entries[owner].append(
        RecordState.Entry(
          id: id, field: .register(Register(shown: shown, sortedOthers: others))))
    }
  }

  private mutating func decodeHistories(
    _ id: FieldID, _ owners: [Int], _ counts: [Int], _ sum: Int, from reader: inout ByteReader
  ) throws(CodecError) {
    let start = reader.offset
    let numbers = try NumberColumn.decode(from: &reader, "version numbers", count: sum)
    let values = try ValueColumn.decode(from: &reader, "value", count: sum)
    let replaced = try DotListColumn.decode(from: &reader, "replaced", count: sum, authors)
    var item = 0
    for (owner, count) in zip(owners, counts) {
      var list: [History.Entry] = []
      list.reserveCapacity(count)
      for _ in 0..<count {
        let version = try version(numbers[item], ofRecord: owner, at: start)
        guard list.last.map({ $0.version.dot < version.dot }) ?? true else {
          throw CodecError(.notCanonical, "history", offset: start)
        }
        list.append(
          History.Entry(version: version, value: values[item], replaced: Array(replaced[item])))
        item += 1
      }
      let history = try History(checking: list, at: start)
      entries[owner].append(RecordState.Entry(id: id, field: .history(history)))
    }
  }

  private mutating func decodeCounters(
    _ id: FieldID, _ owners: [Int], _ counts: [Int], _ sum: Int, from reader: inout ByteReader
  ) throws(CodecError) {
    let start = reader.offset
    let dots = try DotColumn.decode(from: &reader, "shares", count: sum, authors)
    let totals = try NumberColumn.decode(from: &reader, "totals", count: sum)
    var item = 0
    for (owner, count) in zip(owners, counts) {
      var shares: [Counter.Share] = []
      shares.reserveCapacity(count)
      for _ in 0..<count {
        let dot = dots[item]
        guard shares.last.map({ $0.author < dot.author }) ?? true else {
          throw CodecError(.notCanonical, "shares", offset: start)
        }
        shares.append(
          Counter.Share(author: dot.author, sequence: dot.sequence, total: totals[item]))
        item += 1
      }
      entries[owner].append(
        RecordState.Entry(id: id, field: .counter(Counter(sortedShares: shares))))
    }
  }

  private mutating func decodeSets(
    _ id: FieldID, _ owners: [Int], _ counts: [Int], _ sum: Int, from reader: inout ByteReader
  ) throws(CodecError) {
    let start = reader.offset
    let additionCounts = try NumberColumn.decode(from: &reader, "addition counts", count: sum)
    let values = try ValueColumn.decode(from: &reader, "element", count: sum)
    var additions = 0
    for count in additionCounts {
      guard count > 0, count <= reader.remaining - additions else {
        throw CodecError(.truncated, "addition counts", offset: start)
      }
      additions += Int(count)
    }
    let dots = try DotColumn.decode(from: &reader, "additions", count: additions, authors)
    var item = 0
    var dot = 0
    for (owner, count) in zip(owners, counts) {
      var elements: [ElementSet.Element] = []
      elements.reserveCapacity(count)
      for _ in 0..<count {
        let own = Array(dots[dot..<dot + Int(additionCounts[item])])
        guard zip(own, own.dropFirst()).allSatisfy({ $0.author < $1.author }),
          elements.last.map({ ElementSet.precedes($0.value, values[item]) }) ?? true
        else { throw CodecError(.notCanonical, "elements", offset: start) }
        elements.append(ElementSet.Element(value: values[item], additions: own))
        dot += own.count
        item += 1
      }
      entries[owner].append(
        RecordState.Entry(id: id, field: .set(ElementSet(sortedElements: elements))))
    }
  }

  /// Texts follow one after the other, each as in a state of its own.
  private mutating func decodeTexts(
    _ id: FieldID, _ owners: [Int], _ sum: Int, from reader: inout ByteReader
  ) throws(CodecError) {
    guard sum == 0 else { throw CodecError(.notCanonical, "counts", offset: reader.offset) }
    for owner in owners {
      entries[owner].append(
        RecordState.Entry(
          id: id, field: .text(try TextSequence(from: &reader, authors: authors))))
    }
  }

  // MARK: Lives

  private mutating func decodeLives(
    from reader: inout ByteReader
  ) throws(CodecError) -> [RecordState] {
    let start = reader.offset
    let lives = try RunColumn.decode(from: &reader, "lives", count: records, atMost: 7)
    let writes = try DotListColumn.decodeFrontiers(
      from: &reader, "writes", count: lives.reduce(0) { $0 + Int($1 & 1) }, authors)
    let deletes = try DotListColumn.decodeFrontiers(
      from: &reader, "deletes", count: lives.reduce(0) { $0 + Int($1 >> 1 & 1) }, authors)
    let charges = try ChargeColumn.decode(
      from: &reader, count: lives.reduce(0) { $0 + Int($1 >> 2) }, authors)
    var states: [RecordState] = []
    states.reserveCapacity(records)
    var write = 0
    var delete = 0
    var charge = 0
    for (record, flags) in lives.enumerated() {
      let told = RecordState(life: Life(), sortedEntries: entries[record]).writesTold
      var life = Life(writes: told)
      if flags & 1 != 0 {
        guard writes[write] != told else {
          throw CodecError(.notCanonical, "writes", offset: start)
        }
        life = Life(writes: writes[write])
        write += 1
      }
      if flags & 2 != 0 {
        guard !deletes[delete].isEmpty else {
          throw CodecError(.notCanonical, "deletes", offset: start)
        }
        life = Life(writes: life.writes, deletes: deletes[delete])
        delete += 1
      }
      var used = RecordCharges()
      if flags & 4 != 0 {
        used = charges[charge]
        charge += 1
      }
      states.append(
        RecordState(life: life, sortedEntries: entries[record], charges: used))
    }
    return states
  }
}
