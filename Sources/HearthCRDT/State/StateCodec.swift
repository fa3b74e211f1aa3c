// The bytes of record states, in snapshots and digests, and in the store without the displayed
// values. docs/reference/snapshot-format.md describes them byte by byte.

extension RecordState {
  /// The values that an encoding contains.
  package enum Values: Sendable {
    /// All values.
    case all
    /// All values except those of registers that the given columns display.
    case exceptShown(of: @Sendable (FieldID) -> Bool)
  }

  /// Appends the state: used versions, record existence, fields.
  package func encode(into writer: inout ByteWriter, authors: AuthorTable, values: Values) {
    let start = writer.count
    let versions = versionsUsed()
    writer.varint(versions.count)
    var time: UInt64 = 0
    for version in versions {
      authors.encode(version.dot, into: &writer)
      writer.signed(Int64(bitPattern: version.time.rawValue &- time))
      time = version.time.rawValue
    }
    encodeLife(into: &writer, authors: authors, versions: versions)
    writer.varint(entries.count)
    for entry in entries {
      writer.varint(UInt64(entry.id.rawValue))
      encode(entry, into: &writer, authors: authors, versions: versions, values: values)
    }
    Work.stateBytes.add(writer.count - start)
  }

  /// Reads a state.
  ///
  /// Values that the encoding omits are nil.
  package init(
    from reader: inout ByteReader, authors: AuthorTable, values: Values
  ) throws(CodecError) {
    let number = try reader.count("versions", itemBytes: 3)
    var versions: [Version] = []
    versions.reserveCapacity(min(number, Limits.maximumReservation))
    var time: UInt64 = 0
    for _ in 0..<number {
      let start = reader.offset
      let dot = try authors.dot(from: &reader, "version")
      time = time &+ UInt64(bitPattern: try reader.signed("version time"))
      guard versions.last.map({ $0.dot < dot }) ?? true else {
        throw CodecError(.notCanonical, "versions", offset: start)
      }
      versions.append(Version(dot: dot, time: HybridTime(rawValue: time)))
    }
    let (life, charges) = try RecordState.decodeLife(
      from: &reader, authors: authors, versions: versions)
    var table = VersionTable(versions)
    let fieldCount = try reader.count("fields", itemBytes: 2, atMost: Limits.maximumRecordFields)
    var entries: [Entry] = []
    entries.reserveCapacity(min(fieldCount, Limits.maximumReservation))
    for _ in 0..<fieldCount {
      let start = reader.offset
      let id = try FieldID(from: &reader)
      guard entries.last.map({ $0.id < id }) ?? true else {
        throw CodecError(.notCanonical, "fields", offset: start)
      }
      let field = try RecordState.decodeField(
        id, from: &reader, authors: authors, versions: &table, values: values)
      entries.append(Entry(id: id, field: field))
    }
    guard table.isUsedUp else {
      throw CodecError(.notCanonical, "versions", offset: reader.offset)
    }
    if Mutant.dropsUnknownFields.isActive, case .exceptShown = values {
      entries.removeAll { values.carriesShown(of: $0.id) }
    }
    self.init(life: life, sortedEntries: entries, charges: charges)
  }

  /// The versions of all register and history values, in order of dot, each once.
  private func versionsUsed() -> [Version] {
    var versions: [Version] = []
    versions.reserveCapacity(min(entries.count, 8))
    func note(_ version: Version) {
      // Fields are often written together, so the same version occurs many times in a row.
      if versions.last?.dot != version.dot { versions.append(version) }
    }
    for entry in entries {
      switch entry.field {
      case .register(let register):
        note(register.shown.version)
        for sibling in register.others { note(sibling.version) }
      case .history(let history):
        for item in history.entries { note(item.version) }
      case .counter, .set, .text: break
      }
    }
    guard versions.count > 1 else { return versions }
    versions.sort { $0.dot < $1.dot }
    var count = 1
    for version in versions.dropFirst() where version.dot != versions[count - 1].dot {
      versions[count] = version
      count += 1
    }
    versions.removeSubrange(count...)
    return versions
  }

  private static func place(of version: Version, in versions: [Version]) -> Int {
    if versions.count <= 4, let place = versions.firstIndex(of: version) { return place }
    let place = versions.partitionPoint { $0.dot >= version.dot }
    precondition(
      place < versions.count && versions[place] == version,
      "version \(version) was not collected")
    return place
  }
}

// MARK: - Life

extension RecordState {
  /// The writes that follow from the versions alone, which suffice for most records.
  private static func writesTold(by versions: [Version]) -> Frontier {
    // The versions are in order of dot, so an author's last version is the greatest.
    var told: [Frontier.Entry] = []
    told.reserveCapacity(2)
    for version in versions {
      if let last = told.last, last.author == version.dot.author {
        told[told.count - 1].sequence = version.dot.sequence
      } else {
        told.append(Frontier.Entry(author: version.dot.author, sequence: version.dot.sequence))
      }
    }
    return Frontier(sortedEntries: told)
  }

  /// Writes a byte and the optional parts that it announces.
  ///
  /// Bit 0 is set if the writes differ from those that follow from the versions, bit 1 if somebody
  /// deleted the record, and bit 2 if somebody used up a part of the limits. The writes, the
  /// deletes and the charges follow if their bit is set.
  private func encodeLife(
    into writer: inout ByteWriter, authors: AuthorTable, versions: [Version]
  ) {
    let isTold = life.writes == RecordState.writesTold(by: versions)
    let charges = Mutant.forgetsCharges.isActive ? RecordCharges() : charges
    writer.byte(
      (isTold ? 0 : 1) | (life.deletes.isEmpty ? 0 : 2) | (charges.isEmpty ? 0 : 4))
    if !isTold { authors.encode(life.writes, into: &writer) }
    if !life.deletes.isEmpty { authors.encode(life.deletes, into: &writer) }
    guard !charges.isEmpty else { return }
    writer.varint(charges.entries.count)
    for entry in charges.entries {
      authors.encode(Dot(author: entry.author, sequence: entry.units), into: &writer)
      writer.varint(UInt64(entry.field.rawValue))
    }
  }

  private static func decodeCharges(
    from reader: inout ByteReader, authors: AuthorTable
  ) throws(CodecError) -> RecordCharges {
    let start = reader.offset
    let number = try reader.count("charges", itemBytes: 3)
    guard number > 0 else { throw CodecError(.notCanonical, "charges", offset: start) }
    var entries: [RecordCharges.Entry] = []
    entries.reserveCapacity(min(number, Limits.maximumReservation))
    for _ in 0..<number {
      let dot = try authors.dot(from: &reader, "charge")
      entries.append(
        RecordCharges.Entry(
          author: dot.author, field: try FieldID(from: &reader), units: dot.sequence))
    }
    return try RecordCharges(checking: entries, at: start)
  }

  private static func decodeLife(
    from reader: inout ByteReader, authors: AuthorTable, versions: [Version]
  ) throws(CodecError) -> (Life, RecordCharges) {
    let start = reader.offset
    let flags = try reader.byte("life")
    guard flags < 8 else { throw CodecError(.unknown, "life", offset: start) }
    let told = writesTold(by: versions)
    let writes = flags & 1 == 0 ? told : try authors.frontier(from: &reader, "writes")
    let deletes = flags & 2 == 0 ? Frontier() : try authors.frontier(from: &reader, "deletes")
    guard flags & 1 == 0 || writes != told, flags & 2 == 0 || !deletes.isEmpty else {
      throw CodecError(.notCanonical, "life", offset: start)
    }
    let charges =
      flags & 4 == 0 ? RecordCharges() : try decodeCharges(from: &reader, authors: authors)
    return (Life(writes: writes, deletes: deletes), charges)
  }
}

// MARK: - Fields

extension RecordState {
  private func encode(
    _ entry: Entry, into writer: inout ByteWriter, authors: AuthorTable, versions: [Version],
    values: Values
  ) {
    switch entry.field {
    case .register(let register):
      writer.varint(register.others.count)
      writer.varint(RecordState.place(of: register.shown.version, in: versions))
      if values.carriesShown(of: entry.id) {
        guard let value = register.shown.value else {
          preconditionFailure("the shown value of \(entry.id) was not supplied")
        }
        writer.value(value)
      }
      for sibling in register.others {
        writer.varint(RecordState.place(of: sibling.version, in: versions))
        guard let value = sibling.value else {
          preconditionFailure("the value of \(entry.id) was not supplied before it lost")
        }
        writer.value(value)
      }
    case .history(let history):
      writer.varint(history.entries.count)
      for item in history.entries {
        writer.varint(RecordState.place(of: item.version, in: versions))
        writer.value(item.value)
        writer.varint(item.replaced.count)
        for dot in item.replaced { authors.encode(dot, into: &writer) }
      }
    case .counter(let counter):
      writer.varint(counter.shares.count)
      for share in counter.shares {
        authors.encode(Dot(author: share.author, sequence: share.sequence), into: &writer)
        writer.signed(share.total)
      }
    case .set(let set):
      writer.varint(set.elements.count)
      for element in set.elements {
        writer.value(element.value)
        writer.varint(element.additions.count)
        for dot in element.additions { authors.encode(dot, into: &writer) }
      }
    case .text(let text): text.encode(into: &writer, authors: authors)
    }
  }

  private static func decodeField(
    _ id: FieldID, from reader: inout ByteReader, authors: AuthorTable,
    versions: inout VersionTable, values: Values
  ) throws(CodecError) -> Field {
    switch id.kind {
    case .register:
      return .register(
        try decodeRegister(id, from: &reader, versions: &versions, values: values))
    case .history:
      return .history(try decodeHistory(from: &reader, authors: authors, versions: &versions))
    case .counter:
      return .counter(try decodeCounter(from: &reader, authors: authors))
    case .set:
      return .set(try decodeSet(from: &reader, authors: authors))
    case .text:
      return .text(try TextSequence(from: &reader, authors: authors))
    }
  }

  private static func decodeRegister(
    _ id: FieldID, from reader: inout ByteReader, versions: inout VersionTable, values: Values
  ) throws(CodecError) -> Register {
    let start = reader.offset
    let number = try reader.count("siblings", itemBytes: 2)
    let version = try versions.version(from: &reader)
    let value: Value? = values.carriesShown(of: id) ? try reader.value("value") : nil
    let shown = Sibling(version: version, value: value)
    var others: [Sibling] = []
    for _ in 0..<number {
      let version = try versions.version(from: &reader)
      // An author's later write has seen the earlier one, so no two siblings have the same author.
      guard version < shown.version, version.dot.author != shown.version.dot.author,
        others.last.map({ $0.version.dot.author < version.dot.author }) ?? true
      else { throw CodecError(.notCanonical, "siblings", offset: start) }
      others.append(Sibling(version: version, value: try reader.value("value")))
    }
    return Register(shown: shown, sortedOthers: others)
  }

  private static func decodeHistory(
    from reader: inout ByteReader, authors: AuthorTable, versions: inout VersionTable
  ) throws(CodecError) -> History {
    let start = reader.offset
    let number = try reader.count("history", itemBytes: 3)
    var entries: [History.Entry] = []
    entries.reserveCapacity(min(number, Limits.maximumReservation))
    for _ in 0..<number {
      let version = try versions.version(from: &reader)
      let value = try reader.value("value")
      var replaced: [Dot] = []
      for _ in 0..<(try reader.count("replaced", itemBytes: 2)) {
        replaced.append(try authors.dot(from: &reader, "replaced"))
      }
      guard isOfRisingAuthors(replaced), entries.last.map({ $0.version.dot < version.dot }) ?? true
      else { throw CodecError(.notCanonical, "history", offset: start) }
      entries.append(History.Entry(version: version, value: value, replaced: replaced))
    }
    return try History(checking: entries, at: start)
  }

  private static func decodeCounter(
    from reader: inout ByteReader, authors: AuthorTable
  ) throws(CodecError) -> Counter {
    let start = reader.offset
    let number = try reader.count("shares", itemBytes: 3)
    var shares: [Counter.Share] = []
    for _ in 0..<number {
      let dot = try authors.dot(from: &reader, "share")
      let total = try reader.signed("total")
      guard shares.last.map({ $0.author < dot.author }) ?? true else {
        throw CodecError(.notCanonical, "shares", offset: start)
      }
      shares.append(
        Counter.Share(author: dot.author, sequence: dot.sequence, total: total))
    }
    return Counter(sortedShares: shares)
  }

  private static func decodeSet(
    from reader: inout ByteReader, authors: AuthorTable
  ) throws(CodecError) -> ElementSet {
    let start = reader.offset
    let number = try reader.count("elements", itemBytes: 4)
    var elements: [ElementSet.Element] = []
    for _ in 0..<number {
      let value = try reader.value("element")
      var additions: [Dot] = []
      for _ in 0..<(try reader.count("additions", itemBytes: 2)) {
        additions.append(try authors.dot(from: &reader, "addition"))
      }
      guard !additions.isEmpty, isOfRisingAuthors(additions),
        elements.last.map({ ElementSet.precedes($0.value, value) }) ?? true
      else { throw CodecError(.notCanonical, "elements", offset: start) }
      elements.append(ElementSet.Element(value: value, additions: additions))
    }
    return ElementSet(sortedElements: elements)
  }

  /// Whether dots are in order and have different authors.
  ///
  /// Two dots of one author never remain concurrent, since the author's later change has seen the
  /// earlier one.
  private static func isOfRisingAuthors(_ dots: [Dot]) -> Bool {
    zip(dots, dots.dropFirst()).allSatisfy { $0.author < $1.author }
  }
}

/// The versions of a state being decoded, and whether a field has named each of them.
private struct VersionTable {
  private let versions: [Version]
  private var isUsed: [Bool]

  init(_ versions: [Version]) {
    self.versions = versions
    isUsed = [Bool](repeating: false, count: versions.count)
  }

  /// Whether every version was named.
  ///
  /// An unnamed version would be a second encoding.
  var isUsedUp: Bool { isUsed.allSatisfy { $0 } }

  mutating func version(from reader: inout ByteReader) throws(CodecError) -> Version {
    let start = reader.offset
    let place = try reader.varint("version number", atMost: Int(UInt32.max))
    guard place < versions.count else {
      throw CodecError(.unknown, "version number", offset: start)
    }
    isUsed[place] = true
    return versions[place]
  }
}

extension RecordState.Values {
  fileprivate func carriesShown(of field: FieldID) -> Bool {
    switch self {
    case .all: true
    case .exceptShown(let isColumn): !isColumn(field)
    }
  }
}

// MARK: - Events

extension EventState {
  /// Appends the event: its version, its cause if kept, and the fields that `isCarried` accepts.
  package func encode(
    into writer: inout ByteWriter, authors: AuthorTable, type: TypeID,
    carrying isCarried: (FieldID) -> Bool = { _ in true }
  ) {
    authors.encode(version.dot, into: &writer)
    writer.fixed64(version.time.rawValue)
    if type.keepsCause { authors.encode(cause ?? Frontier(), into: &writer) }
    let carried = fields.filter { isCarried($0.field) }
    writer.varint(carried.count)
    for item in carried {
      writer.varint(UInt64(item.field.rawValue))
      writer.value(item.value)
    }
  }

  /// Reads an event.
  package init(
    from reader: inout ByteReader, authors: AuthorTable, type: TypeID
  ) throws(CodecError) {
    let dot = try authors.dot(from: &reader, "event")
    version = Version(dot: dot, time: HybridTime(rawValue: try reader.fixed64("event time")))
    cause = type.keepsCause ? try authors.frontier(from: &reader, "cause") : nil
    let number = try reader.count("event fields", itemBytes: 2, atMost: Limits.maximumEventFields)
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
    self.fields = fields
  }
}
