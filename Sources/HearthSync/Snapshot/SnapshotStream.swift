import HearthCRDT
import HearthCrypto

/// Writes a zone's whole state in canonical order, piece by piece.
///
/// Equal frontiers and evidence give equal bytes on every replica, so the digest of the stream is
/// the zone's digest. The layout is in `docs/reference/snapshot-format.md`: version, zone, authors,
/// heads, held-back changes, blocks of records in order of type and id, and an end mark. Only one
/// block is in memory at a time.
struct SnapshotWriter {
  /// The version of the stream.
  static let version: UInt8 = 2
  /// The oldest readable version; version 1 does not list held-back changes.
  static let oldestVersion: UInt8 = 1

  private let zone: ZoneState
  private let heads: [LogHead]
  private let heldBack: [Dot]
  private let table: AuthorTable
  /// Every change that a record may name.
  private let frontier: Frontier

  /// - Parameter heldBack: The changes before which logs end, in order of author.
  init(zone: ZoneState, heldBack: [Dot]) {
    self.zone = zone
    self.heldBack = heldBack
    heads = zone.heads.filter { $0.sequence > 0 }
    table = AuthorTable(SnapshotWriter.authors(of: heads, heldBack))
    frontier = SnapshotWriter.frontier(of: heads)
  }

  /// How far heads reach, joined with what their authors had seen: no record names a change beyond.
  ///
  /// The join adds something only for forked logs (decision 0025): an author who had seen more of a
  /// forked log still cites it. A reader may lack the key needed to detect the fork.
  static func frontier(of heads: [LogHead]) -> Frontier {
    heads.reduce(into: Frontier(heads.map { ($0.author, $0.sequence) })) { frontier, head in
      if !frontier.covers(head.seen) { frontier = frontier.joined(with: head.seen) }
    }
  }

  /// The authors that a stream numbers, in order: those of heads, of their frontiers and of
  /// held-back changes.
  static func authors(of heads: [LogHead], _ heldBack: [Dot]) -> [Author] {
    var authors = Set(heads.map(\.author))
    authors.formUnion(heldBack.map(\.author))
    for head in heads {
      authors.formUnion(head.controlSeen.entries.map(\.author))
      authors.formUnion(head.seen.entries.map(\.author))
    }
    return authors.sorted()
  }

  /// Writes the stream and emits the heads and then each block.
  ///
  /// - Throws: `corrupt` for a record that names a change of no log, as damaged records do; what
  ///   the records and the body throw.
  func write(from records: some RecordStore, _ emit: ([UInt8]) throws -> Void) throws {
    var writer = ByteWriter(capacity: 4096)
    writeHeads(into: &writer)
    var block = OpenBlock(authors: table)
    func close() throws {
      block.close(into: &writer)
      try emit(writer.bytes)
      writer.removeAll()
    }
    try records.forEach(in: zone.id) { key, record in
      guard record.lies(within: frontier) else {
        throw SyncError(
          .corrupt,
          "a record of zone \(zone.name) names changes that no log has: run "
            + "`hearth verify --repair`")
      }
      if block.ends(before: key.type) { try close() }
      block.append(key, record)
    }
    try close()
    writer.varint(0)
    try emit(writer.bytes)
  }

  private func writeHeads(into writer: inout ByteWriter) {
    writer.byte(SnapshotWriter.version)
    writer.identifier(zone.id)
    writer.varint(table.authors.count)
    for author in table.authors { writer.author(author) }
    writer.varint(heads.count)
    for head in heads {
      writer.varint(table.number(of: head.author))
      writer.varint(head.sequence)
      writer.raw(head.hash)
      writer.fixed64(head.time.rawValue)
      table.encode(head.seen, into: &writer)
      table.encode(head.controlSeen, into: &writer)
    }
    table.encode(Frontier(heldBack.map { ($0.author, $0.sequence) }), into: &writer)
  }
}

/// The block that a writer is filling.
private struct OpenBlock {
  private let authors: AuthorTable
  private var type: TypeID?
  private var records: RecordBlockEncoder?
  private var events: EventBlockEncoder?
  private var weight = 0

  init(authors: AuthorTable) {
    self.authors = authors
  }

  /// Whether the next record, given its type, starts another block.
  func ends(before next: TypeID) -> Bool {
    guard let type else { return false }
    let count = (records?.count ?? 0) + (events?.count ?? 0)
    return type != next || StateBlock.isFull(records: count, weight: weight)
  }

  mutating func append(_ key: RecordKey, _ record: StoredRecord) {
    if type == nil { begin(key.type) }
    switch record {
    case .record(let state):
      records?.append(key.id, state)
      weight += state.blockWeight
    case .event(let event):
      events?.append(key.id, event)
      weight += event.blockWeight
    }
  }

  private mutating func begin(_ type: TypeID) {
    self.type = type
    if type.isEvent {
      events = EventBlockEncoder(of: type, authors: authors)
    } else {
      records = RecordBlockEncoder(authors: authors)
    }
  }

  /// Appends the block's type and columns, unless it is empty, and empties it.
  mutating func close(into writer: inout ByteWriter) {
    guard let type else { return }
    writer.varint(UInt64(type.rawValue))
    records.take()?.finish(into: &writer)
    events.take()?.finish(into: &writer)
    self.type = nil
    weight = 0
  }
}

/// Reads the stream of a snapshot; its bytes come from outside and are not trusted.
struct SnapshotReader {
  let heads: [LogHead]
  /// The changes before which logs end, in order of author.
  let heldBack: [Dot]
  /// Every change that a record may name.
  private let frontier: Frontier
  private let table: AuthorTable
  private var reader: ByteReader
  /// Every author that the snapshot names.
  var authors: [Author] { table.authors }
  private var last: RecordKey?
  private var isLastFull = false

  init(_ bytes: [UInt8], zone: ZoneID) throws {
    var reader = ByteReader(bytes)
    let version = try reader.byte("snapshot version")
    guard (SnapshotWriter.oldestVersion...SnapshotWriter.version).contains(version) else {
      throw SyncError(
        .invalidOperation,
        "the snapshot has format \(version), and this version reads formats up to "
          + "\(SnapshotWriter.version): update this program")
    }
    guard try reader.identifier("zone") == zone else {
      throw SyncError(.notAuthentic, "the snapshot belongs to another zone")
    }
    var authors: [Author] = []
    for _ in 0..<(try reader.count("authors", itemBytes: 24, atMost: Limits.maximumAuthors)) {
      let author = try reader.author("author")
      guard authors.last.map({ $0 < author }) ?? true else {
        throw CodecError(.notCanonical, "authors", offset: reader.offset)
      }
      authors.append(author)
    }
    table = AuthorTable(authors)
    heads = try SnapshotReader.heads(from: &reader, table)
    heldBack =
      version < 2 ? [] : try SnapshotReader.heldBack(from: &reader, table, beyond: heads)
    // A node that continues the log numbers exactly these authors.
    guard authors == SnapshotWriter.authors(of: heads, heldBack) else {
      throw CodecError(.notCanonical, "authors", offset: reader.offset)
    }
    frontier = SnapshotWriter.frontier(of: heads)
    self.reader = reader
  }

  private static func heads(
    from reader: inout ByteReader, _ table: AuthorTable
  ) throws -> [LogHead] {
    var heads: [LogHead] = []
    let number = try reader.count("heads", itemBytes: 44, atMost: Limits.maximumAuthors)
    for _ in 0..<number {
      let place = try reader.varint("head", atMost: max(0, table.authors.count - 1))
      guard place < table.authors.count,
        heads.last.map({ $0.author < table.authors[place] }) ?? true
      else { throw CodecError(.notCanonical, "heads", offset: reader.offset) }
      var head = LogHead(author: table.authors[place])
      head.sequence = try reader.varint("sequence")
      guard (1...Frontier.maximumSequence).contains(head.sequence) else {
        throw CodecError(.beyondLimit, "sequence", offset: reader.offset)
      }
      head.hash = try reader.raw(32, "head hash")
      head.time = HybridTime(rawValue: try reader.fixed64("head time"))
      head.seen = try table.frontier(from: &reader, "seen")
      head.controlSeen = try table.frontier(from: &reader, "control seen")
      heads.append(head)
    }
    return heads
  }

  private static func heldBack(
    from reader: inout ByteReader, _ table: AuthorTable, beyond heads: [LogHead]
  ) throws -> [Dot] {
    let reached = Frontier(heads.map { ($0.author, $0.sequence) })
    let heldBack = try table.frontier(from: &reader, "changes held back")
    // An applied change cannot be held back.
    guard heldBack.entries.allSatisfy({ $0.sequence > reached[$0.author] }) else {
      throw CodecError(.notCanonical, "changes held back", offset: reader.offset)
    }
    return heldBack.entries.map { Dot(author: $0.author, sequence: $0.sequence) }
  }

  /// The next block's records; nil after the last block, after which no bytes may follow.
  mutating func nextBlock() throws -> [(key: RecordKey, record: StoredRecord)]? {
    let start = reader.offset
    let type = TypeID(
      rawValue: UInt16(try reader.varint("type", atMost: Int(UInt16.max))))
    guard type.rawValue != 0 else {
      try reader.finish()
      return nil
    }
    var weights: [Int] = []
    let block: [(key: RecordKey, record: StoredRecord)]
    if type.isEvent {
      block = try StateBlock.decodeEvents(of: type, from: &reader, authors: table).map {
        weights.append($0.event.blockWeight)
        return (RecordKey(type: type, id: $0.id), .event($0.event))
      }
    } else {
      block = try StateBlock.decodeRecords(from: &reader, authors: table).map {
        weights.append($0.state.blockWeight)
        return (RecordKey(type: type, id: $0.id), .record($0.state))
      }
    }
    try check(block.map(\.key), weights, at: start)
    guard block.allSatisfy({ $0.record.lies(within: frontier) }) else {
      throw CodecError(.notCanonical, "changes beyond the heads", offset: start)
    }
    return block
  }

  /// Rejects blocks that are out of order or that end where the writer would not have ended them.
  private mutating func check(_ keys: [RecordKey], _ weights: [Int], at start: Int) throws {
    guard let first = keys.first else { return }
    if let last {
      guard last < first, last.type != first.type || isLastFull else {
        throw CodecError(.notCanonical, "blocks", offset: start)
      }
    }
    let weight = weights.reduce(0, +)
    let before = weight - (weights.last ?? 0)
    guard !StateBlock.isFull(records: keys.count - 1, weight: before) else {
      throw CodecError(.notCanonical, "blocks", offset: start)
    }
    isLastFull = StateBlock.isFull(records: keys.count, weight: weight)
    last = keys.last
  }
}

extension StoredRecord {
  /// Whether a frontier covers every change that the record names.
  fileprivate func lies(within frontier: Frontier) -> Bool {
    switch self {
    case .event(let event):
      frontier.covers(event.version.dot) && event.cause.map { frontier.covers($0) } ?? true
    case .record(let state):
      frontier.covers(state.life.writes) && frontier.covers(state.life.deletes)
        && state.charges.entries.allSatisfy { frontier[$0.author] > 0 }
        && state.entries.allSatisfy { $0.field.lies(within: frontier) }
    }
  }
}

extension RecordState.Field {
  fileprivate func lies(within frontier: Frontier) -> Bool {
    switch self {
    case .register(let register):
      // Most have one value: a list of all of them would be allocated for each field of a zone.
      frontier.covers(register.shown.version.dot)
        && register.others.allSatisfy { frontier.covers($0.version.dot) }
    case .history(let history):
      history.entries.allSatisfy { entry in
        frontier.covers(entry.version.dot) && entry.replaced.allSatisfy { frontier.covers($0) }
      }
    case .counter(let counter):
      counter.shares.allSatisfy {
        frontier.covers(Dot(author: $0.author, sequence: $0.sequence))
      }
    case .set(let set):
      set.elements.allSatisfy { $0.additions.allSatisfy { frontier.covers($0) } }
    case .text(let text):
      text.runs.allSatisfy { run in
        frontier.covers(run.first.dot) && run.anchor.place.map { frontier.covers($0.dot) } ?? true
      }
    }
  }
}
