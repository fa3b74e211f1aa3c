import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// Which chunks the records of a zone need, and what becomes of the others.
struct AttachmentUse: NodeWork {
  let core: NodeCore

  /// How often a sync looks: once a day.
  private static let intervalMilliseconds: UInt64 = 24 * 60 * 60 * 1_000
  /// After so long without a look, what was found before says nothing any more: 2 days.
  private static let staleMilliseconds = 2 * intervalMilliseconds
  /// How many records are read before other work has its turn.
  private static let sliceRecords = 500
  /// How many chunks are noted or dropped before other work has its turn.
  private static let sliceChunks = 4_096

  /// How long what is missing or not understood keeps this device from deciding: 180 days.
  ///
  /// A member can make it so for ever, with a change that cites what never comes, or with a value
  /// that looks like a newer version's.
  private static let maximumPauseMilliseconds = 180 * intervalMilliseconds

  private static func lookedFact(at zone: ZoneID) -> Fact<UInt64> {
    Fact(number: "attachments.looked.\(zone.hex)").asCache
  }

  /// When a look was last due.
  private static func triedFact(at zone: ZoneID) -> Fact<UInt64> {
    Fact(number: "attachments.tried.\(zone.hex)").asCache
  }

  /// Since when no look could decide.
  private static func pausedFact(at zone: ZoneID) -> Fact<UInt64> {
    Fact(number: "attachments.paused.\(zone.hex)").asCache
  }

  /// Lets the time of chunks that nobody needs begin anew, if this device has not looked lately.
  ///
  /// Called before a sync, which removes those whose time is over: a record that was restored while
  /// the device was away may need them.
  func beginAnew() async throws {
    for zone in dataZones() where ending(in: zone.group) == nil {
      let last = try store.facts.value(of: Self.lookedFact(at: zone.id)) ?? 0
      guard last > now() || last + Self.staleMilliseconds < now() else { continue }
      let released = try store.attachments.chunks(of: zone.id)
        .filter { $0.releasedMilliseconds != nil }.map(\.digest)
      try await inSlices(released) { try store.attachments.release($0, at: now(), in: zone.id) }
    }
  }

  /// Notes which chunks nobody needs, and drops those that nobody has needed for a long time.
  ///
  /// Called after a sync that read every transport. It looks at each zone once a day, and at none
  /// that knows no chunk. It decides nothing while records may be missing here, for half a year.
  func keepUp() async throws {
    for zone in dataZones() where ending(in: zone.group) == nil {
      let last = try store.facts.value(of: Self.triedFact(at: zone.id)) ?? 0
      guard last > now() || last + Self.intervalMilliseconds <= now() else { continue }
      let known = try store.attachments.chunks(of: zone.id)
      guard !known.isEmpty else { continue }
      let needed = try await needed(in: zone.id)
      let isClear = try needed.isKnown && isComplete(zone)
      let decides = try store.transaction {
        try store.facts.set(Self.triedFact(at: zone.id), to: now())
        return try mayDecide(in: zone.id, isClear: isClear, last: last)
      }
      guard decides else { continue }
      try await settle(known, needed.chunks, in: zone.id)
      try store.transaction { try store.facts.set(Self.lookedFact(at: zone.id), to: now()) }
    }
  }

  /// The chunks that records of a zone need, deleted ones that may be restored included; nil while
  /// records may be missing here, or are of a newer version.
  func clearNeeds(of zone: ZoneID) async throws -> Set<Identifier>? {
    let needed = try await needed(in: zone)
    guard try needed.isKnown && isComplete(engine.zone(zone)) else { return nil }
    let over = try store.attachments.chunks(of: zone).filter { $0.isOver(at: now()) }
    return needed.chunks.union(needed.ofDeleted.subtracting(over.map(\.digest)))
  }

  /// Whether a look decides: it is clear what is needed, or it was not for too long.
  ///
  /// - Parameter last: when the look before was due. Time in which nobody looked does not count.
  private func mayDecide(in zone: ZoneID, isClear: Bool, last: UInt64) throws -> Bool {
    let fact = Self.pausedFact(at: zone)
    let since = try store.facts.value(of: fact)
    guard !isClear else {
      if since != nil { try store.facts.set(fact, to: nil) }
      return true
    }
    guard let since, since <= now(), last + Self.staleMilliseconds >= now() else {
      try store.facts.set(fact, to: now())
      return false
    }
    return since + Self.maximumPauseMilliseconds <= now()
  }

  /// Whether this device has all records of a zone, as far as it can tell.
  ///
  /// What has not arrived yet may need any chunk. A newcomer who waits for a snapshot has nothing.
  private func isComplete(_ zone: ZoneState) throws -> Bool {
    try !zone.frontier.entries.isEmpty && store.pending.entries(in: zone.id).isEmpty
      && ProgressReports(core: core).progress(in: zone.group).allSatisfy { $0.ahead == 0 }
  }

  private func settle(
    _ known: [KnownChunk], _ needed: Set<Identifier>, in zone: ZoneID
  ) async throws {
    let now = now()
    let chunks = store.attachments
    func digests(_ known: [KnownChunk], where isMeant: (KnownChunk) -> Bool) -> [Identifier] {
      known.filter(isMeant).map(\.digest)
    }
    let (used, idle) = (
      known.filter { needed.contains($0.digest) }, known.filter { !needed.contains($0.digest) }
    )
    try await inSlices(digests(used) { $0.releasedMilliseconds != nil }) {
      try chunks.release($0, at: nil, in: zone)
    }
    try await inSlices(digests(idle) { $0.releasedMilliseconds == nil }) {
      try chunks.release($0, at: now, in: zone)
    }
    try await inSlices(digests(idle) { $0.byteCount > 0 && $0.isOver(at: now) }) {
      for digest in $0 { try chunks.drop(digest, in: zone) }
    }
    try await inSlices(digests(idle) { $0.isForgotten(at: now) }) {
      try chunks.forget($0, in: zone)
    }
  }

  /// Works through chunks in transactions of their own, between which other work has its turn: a
  /// member can make any number of chunks.
  private func inSlices(
    _ digests: [Identifier], _ work: ([Identifier]) throws -> Void
  ) async throws {
    for start in stride(from: 0, to: digests.count, by: Self.sliceChunks) {
      if start > 0 { try await replicas.whileWaiting { await Task.yield() } }
      let slice = digests[start..<min(start + Self.sliceChunks, digests.count)]
      try store.transaction { try work(Array(slice)) }
    }
  }

  /// The chunks that records of a zone need.
  ///
  /// Every field of every record counts, also one that only other versions of the application know.
  /// Values in conflict need their chunks, and deleted records need none. Other work has its turn
  /// in between.
  func needed(in zone: ZoneID) async throws -> Needed {
    var needed = Needed()
    for type in schema.records.map(\.id).sorted() {
      var rest = try store.projections.source(of: zone).ids(of: type)[...]
      while !rest.isEmpty {
        for id in rest.prefix(Self.sliceRecords) {
          if let record = try store.records.record(RecordKey(type: type, id: id), in: zone) {
            needed.add(record)
          }
        }
        rest = rest.dropFirst(Self.sliceRecords)
        try await replicas.whileWaiting { await Task.yield() }
      }
    }
    try store.records.forEachUndeclared(in: zone) { needed.add($1) }
    return needed
  }

  /// The chunks that some records need.
  struct Needed {
    private(set) var chunks: Set<Identifier> = []
    /// The chunks of deleted records.
    private(set) var ofDeleted: Set<Identifier> = []
    /// Whether all references could be read: none is a newer version's.
    private(set) var isKnown = true

    mutating func add(_ record: StoredRecord) {
      switch record {
      case .event(let event): for field in event.fields { add(field.value, isDeleted: false) }
      case .record(let state):
        for value in state.entries.flatMap({ Needed.values(of: $0.field) }) {
          add(value, isDeleted: state.life.isDeleted)
        }
      }
    }

    /// The values of a field, each of which may refer to an attachment.
    private static func values(of field: RecordState.Field) -> [Value?] {
      switch field {
      case .register(let register): register.siblings.map(\.value)
      case .history(let history): history.current.map(\.value)
      case .set(let elements): Array(elements.values)
      case .counter, .text: []
      }
    }

    private mutating func add(_ value: Value?, isDeleted: Bool) {
      guard case .bytes(let bytes) = value else { return }
      if let reference = AttachmentReference(bytes) {
        if isDeleted {
          ofDeleted.formUnion(reference.chunks)
        } else {
          chunks.formUnion(reference.chunks)
        }
      } else if !isDeleted, AttachmentReference.isOfNewerVersion(bytes) {
        isKnown = false
      }
    }
  }
}
