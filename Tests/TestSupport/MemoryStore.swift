import HearthCRDT
import HearthSync

/// The store port in a few dictionaries: slow, without a disk, and obviously right.
///
/// It is what the real store is compared with. A transaction is a copy of everything that is put
/// back when the body throws.
package final class MemoryStore: Store {
  /// Everything of one zone.
  fileprivate struct Zone {
    var stored: StoredZone
    var heads: [Author: LogHead] = [:]
    var changes: [Dot: [UInt8]] = [:]
    var segments: [Identifier: (description: StoredSegment, bytes: [UInt8])] = [:]
    var pending: [Identifier: PendingSegment] = [:]
    var records: [RecordKey: StoredRecord] = [:]
    var base: [UInt8]?
    var chunks: [Identifier: (bytes: [UInt8]?, released: UInt64?)] = [:]
    var draft = Draft()
  }

  /// What takes the place of a zone's records and base.
  fileprivate struct Draft {
    var records: [RecordKey: StoredRecord] = [:]
    var base: [UInt8]?
  }

  fileprivate struct State {
    var zones: [ZoneID: Zone] = [:]
    var facts: [String: [UInt8]] = [:]
    var notices: [Notice] = []
  }

  /// What a call asks for that is not there, or does twice.
  package struct Misuse: Error {
    package let text: String
  }

  fileprivate var state = State()
  private var isInTransaction = false
  /// The zone whose draft is being written.
  fileprivate var drafted: ZoneID?
  /// Counts down with each call that writes and throws at zero; off while nil.
  package var writesUntilFailure: Int?
  /// How often the bytes of a waiting segment were read.
  package fileprivate(set) var pendingReads = 0
  /// How often a segment of a log was read.
  package fileprivate(set) var segmentReads = 0

  /// How often the records of a zone were taken away to be built anew.
  package fileprivate(set) var recordRemovals = 0

  /// How often the derived rows of a zone were taken away.
  package fileprivate(set) var rowRemovals = 0

  /// How often changes of records were written back.
  package fileprivate(set) var flushes = 0

  package init() {}

  /// The same store once more, as of a copied disk.
  package func copied() -> MemoryStore {
    let copy = MemoryStore()
    copy.state = state
    return copy
  }

  package var zones: Zones { Zones(store: self) }
  package var log: Log { Log(store: self) }
  package var pending: Pending { Pending(store: self) }
  package var records: Records { Records(store: self) }
  package var projections: Projections { Projections(store: self) }
  package var snapshots: Snapshots { Snapshots(store: self) }
  package var attachments: Attachments { Attachments(store: self) }
  package var drafts: Drafts { Drafts(store: self) }
  package var facts: Facts { Facts(store: self) }
  package var notices: Notices { Notices(store: self) }

  package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    let before = state
    let isPart = isInTransaction
    isInTransaction = true
    defer { isInTransaction = isPart }
    do {
      return try body()
    } catch {
      state = before
      throw error
    }
  }

  fileprivate func zone(_ id: ZoneID) throws -> Zone {
    guard var zone = state.zones[id] else { throw Misuse(text: "no zone \(id)") }
    if id == drafted { zone.exchangeDraft() }
    return zone
  }

  /// How many records the draft of a zone has.
  package func draftCount(of id: ZoneID) throws -> Int { try zone(id).draft.records.count }

  fileprivate func change(_ id: ZoneID, _ body: (inout Zone) throws -> Void) throws {
    try countWrite()
    guard state.zones[id] != nil else { throw Misuse(text: "no zone \(id)") }
    guard id == drafted else { return try body(&state.zones[id]!) }
    state.zones[id]!.exchangeDraft()
    defer { state.zones[id]!.exchangeDraft() }
    try body(&state.zones[id]!)
  }

  fileprivate func countWrite() throws {
    guard isInTransaction else { throw Misuse(text: "a write outside of a transaction") }
    guard let left = writesUntilFailure else { return }
    writesUntilFailure = left - 1
    if left <= 0 { throw Misuse(text: "failure on demand") }
  }
}

extension MemoryStore.Zone {
  fileprivate mutating func exchangeDraft() {
    swap(&records, &draft.records)
    swap(&base, &draft.base)
  }
}

extension MemoryStore {
  /// The zones and the heads of their logs.
  package struct Zones: ZoneStore {
    fileprivate let store: MemoryStore

    package func all() -> [StoredZone] {
      store.state.zones.values.map(\.stored).sorted { $0.id < $1.id }
    }

    package func save(_ zone: StoredZone) throws {
      try store.countWrite()
      store.state.zones[zone.id, default: Zone(stored: zone)].stored = zone
    }

    package func learn(_ authors: [Author]) {}

    package func heads(of id: ZoneID) throws -> [LogHead] {
      try store.zone(id).heads.values.sorted { $0.author < $1.author }
    }

    package func save(_ heads: [LogHead], of id: ZoneID) throws {
      try store.change(id) { for head in heads { $0.heads[head.author] = head } }
    }

    package func removeHeads(of id: ZoneID) throws {
      try store.change(id) { $0.heads = [:] }
    }
  }

  /// The changes and segments.
  package struct Log: LogStore {
    fileprivate let store: MemoryStore

    package func append(_ bytes: [UInt8], dot: Dot, to id: ZoneID) throws {
      try store.change(id) { zone in
        guard zone.changes.updateValue(bytes, forKey: dot) == nil else {
          throw Misuse(text: "\(dot) twice")
        }
      }
    }

    package func changes(
      of author: Author, in id: ZoneID, after sequence: UInt64, limit: Int
    ) throws -> [[UInt8]] {
      try store.zone(id).changes.filter { $0.key.author == author && $0.key.sequence > sequence }
        .sorted { $0.key < $1.key }.prefix(limit).map(\.value)
    }

    package func removeChanges(
      of author: Author, in id: ZoneID, through sequence: UInt64
    ) throws {
      try store.change(id) { zone in
        zone.changes = zone.changes.filter { $0.key.author != author || $0.key.sequence > sequence }
      }
    }

    package func save(_ segment: StoredSegment, bytes: [UInt8], in id: ZoneID) throws {
      try store.change(id) { zone in
        if zone.segments[segment.digest] == nil { zone.segments[segment.digest] = (segment, bytes) }
      }
    }

    package func segments(of id: ZoneID) throws -> [StoredSegment] {
      try store.zone(id).segments.values.map(\.description)
        .sorted { ($0.author, $0.first, $0.digest) < ($1.author, $1.first, $1.digest) }
    }

    package func bytes(of segment: Identifier, in id: ZoneID) throws -> [UInt8]? {
      store.segmentReads += 1
      return try store.zone(id).segments[segment]?.bytes
    }

    package func removeSegment(_ digest: Identifier, in id: ZoneID) throws {
      try store.change(id) { $0.segments[digest] = nil }
    }
  }

  /// The segments that wait.
  package struct Pending: PendingStore {
    fileprivate let store: MemoryStore

    package func save(_ segment: PendingSegment, in id: ZoneID) throws {
      try store.change(id) { $0.pending[segment.digest] = segment }
    }

    package func segments(in id: ZoneID) throws -> [PendingSegment] {
      store.pendingReads += 1
      return try store.zone(id).pending.values.sorted { $0.digest < $1.digest }
    }

    package func entries(in id: ZoneID) throws -> [PendingEntry] {
      try store.zone(id).pending.values.map(\.entry).sorted { $0.digest < $1.digest }
    }

    package func bytes(of digest: Identifier, in id: ZoneID) throws -> [UInt8]? {
      store.pendingReads += 1
      return try store.zone(id).pending[digest]?.bytes
    }

    package func remove(_ digest: Identifier, in id: ZoneID) throws {
      try store.change(id) { $0.pending[digest] = nil }
    }
  }
}

extension MemoryStore {
  /// The records and events.
  package struct Records: RecordStore {
    fileprivate let store: MemoryStore

    package func states(of keys: [RecordKey], in id: ZoneID) throws -> [RecordState?] {
      let zone = try store.zone(id)
      return keys.map { key in
        guard case .record(let state) = zone.records[key] else { return nil }
        return state
      }
    }

    /// Values are never left out here.
    package func supplyShownValues(to state: inout RecordState, of key: RecordKey, in id: ZoneID) {}

    package func save(_ changes: [RecordChange], in id: ZoneID) throws {
      try store.change(id) { zone in
        for item in changes {
          guard (zone.records[item.key] == nil) == item.isNew else {
            throw Misuse(text: "\(item.key) is said to be new: \(item.isNew)")
          }
          zone.records[item.key] = .record(item.state)
        }
      }
    }

    package func insert(_ events: [(RecordKey, EventState)], in id: ZoneID) throws {
      try store.change(id) { zone in
        for (key, event) in events {
          guard zone.records.updateValue(.event(event), forKey: key) == nil else {
            throw Misuse(text: "event \(key) twice")
          }
        }
      }
    }

    package func events(of type: TypeID, in id: ZoneID) throws -> [(RecordID, EventState)] {
      try store.zone(id).records.sorted { $0.key < $1.key }.compactMap { key, record in
        guard key.type == type, case .event(let event) = record else { return nil }
        return (key.id, event)
      }
    }

    package func forEach(in id: ZoneID, _ body: (RecordKey, StoredRecord) throws -> Void) throws {
      for (key, record) in try store.zone(id).records.sorted(by: { $0.key < $1.key }) {
        try body(key, record)
      }
    }

    package func removeAll(of id: ZoneID) throws {
      store.recordRemovals += 1
      try store.change(id) { $0.records = [:] }
    }
  }

  /// Nothing is derived here; it counts how often changes were written back.
  package struct Projections: ProjectionStore {
    fileprivate let store: MemoryStore

    package func update(for keys: [RecordKey], in zone: ZoneID) { store.flushes += 1 }

    package func removeRows(of zone: ZoneID) { store.rowRemovals += 1 }
  }

  /// The base snapshots.
  package struct Snapshots: SnapshotStore {
    fileprivate let store: MemoryStore

    package func base(of id: ZoneID, atMost byteCount: Int) throws -> [UInt8]? {
      try store.zone(id).base.map { Array($0.prefix(byteCount)) }
    }

    package func saveBase(_ bytes: [UInt8], of id: ZoneID) throws {
      try store.change(id) { $0.base = bytes }
    }

    package func removeBase(of id: ZoneID) throws {
      try store.change(id) { $0.base = nil }
    }
  }

  /// The chunks of attachments.
  package struct Attachments: AttachmentStore {
    fileprivate let store: MemoryStore

    package func chunks(
      of id: ZoneID, after last: Identifier?, atMost limit: Int
    ) throws -> [KnownChunk] {
      let known = try store.zone(id).chunks.map { digest, chunk in
        KnownChunk(
          digest: digest, byteCount: chunk.bytes?.count ?? 0,
          releasedMilliseconds: chunk.released)
      }
      let rest = known.filter { chunk in last.map { $0 < chunk.digest } ?? true }
      return Array(rest.sorted { $0.digest < $1.digest }.prefix(limit))
    }

    package func bytes(of digest: Identifier, in id: ZoneID) throws -> [UInt8]? {
      try store.zone(id).chunks[digest]?.bytes
    }

    package func save(_ chunk: SealedChunk, in id: ZoneID) throws {
      try store.change(id) { $0.chunks[chunk.digest] = (chunk.bytes, nil) }
    }

    package func note(_ digests: [Identifier], in id: ZoneID) throws {
      try store.change(id) { zone in
        for digest in digests where zone.chunks[digest] == nil { zone.chunks[digest] = (nil, nil) }
      }
    }

    package func release(_ digests: [Identifier], at time: UInt64?, in id: ZoneID) throws {
      try store.change(id) { zone in
        for digest in digests { zone.chunks[digest]?.released = time }
      }
    }

    package func drop(_ digest: Identifier, in id: ZoneID) throws {
      try store.change(id) { $0.chunks[digest]?.bytes = nil }
    }

    package func forget(_ digests: [Identifier], in id: ZoneID) throws {
      try store.change(id) { zone in for digest in digests { zone.chunks[digest] = nil } }
    }
  }

  /// The drafts.
  package struct Drafts: DraftStore {
    fileprivate let store: MemoryStore

    package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
      try store.transaction(body)
    }

    package func writing<Result>(to id: ZoneID, _ body: () throws -> Result) throws -> Result {
      store.drafted = id
      defer { store.drafted = nil }
      return try body()
    }

    /// A store without projections has nothing to derive.
    private struct NoRows: DraftDerivation {
      func compute() {}
      func next(atMost count: Int) -> [DerivedValues] { [] }
      func close() {}
    }

    package func derivation(of id: ZoneID) throws -> any DraftDerivation { NoRows() }

    package func insert(_ rows: [DerivedValues], in id: ZoneID) throws {}

    package var settling: (@Sendable () throws -> Void)? { nil }

    package func exchange(of id: ZoneID) throws {
      try store.change(id) { $0.exchangeDraft() }
    }

    package func clear(of id: ZoneID, atMost count: Int) throws -> Bool {
      try store.change(id) { zone in
        for key in zone.draft.records.keys.sorted().prefix(count) { zone.draft.records[key] = nil }
        if zone.draft.records.isEmpty { zone.draft.base = nil }
      }
      return try store.zone(id).draft.records.isEmpty
    }
  }

  /// The facts.
  package struct Facts: FactStore {
    fileprivate let store: MemoryStore

    package func bytes(of name: String) -> [UInt8]? { store.state.facts[name] }

    package func setBytes(of name: String, to value: [UInt8]?) throws {
      try store.countWrite()
      store.state.facts[name] = value
    }
  }

  /// The notices.
  package struct Notices: NoticeStore {
    fileprivate let store: MemoryStore

    /// The notices, oldest first.
    package func all() -> [Notice] { store.state.notices }

    package func add(_ notice: Notice) throws {
      try store.countWrite()
      store.state.notices.append(notice)
    }
  }
}
