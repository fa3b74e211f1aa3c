import HearthCRDT
import HearthMembership
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

/// Notes, for each record, how many records were noted before the second pass came to it.
private struct PassProjection: Projection {
  let name = "pass"
  let version = 1
  let types = [Thing.type]
  let tables = [
    ProjectionTable("noted", key: [.init("id", .bytes)], columns: []),
    ProjectionTable("known", key: [.init("id", .bytes)], columns: [.init("number", .int)]),
  ]
  let fillingPasses = 2

  func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    for pass in 0..<2 { try fill(keys, pass: pass, from: source, to: writer) }
  }

  func fill(
    _ keys: [RecordKey], pass: Int, from source: any ProjectionSource,
    to writer: any ProjectionWriter
  ) throws {
    let count = try source.rows(of: "noted", where: []).count
    for key in keys.map({ Value.bytes($0.id.bytes) }) {
      switch pass {
      case 0: try writer.put([key], in: "noted")
      default: try writer.add([Int64(count)], toRow: [key], in: "known")
      }
    }
  }
}

@Suite("Drafts of zones")
struct DraftTests {
  private static let other = Identifier(high: 0xb0b0, low: 2)

  private func prepare(_ store: ReplicaStore) throws {
    try store.transaction {
      try store.zones.save(storedZone())
      try store.zones.learn((0..<3).map(runAuthor))
    }
  }

  /// Records of some numbers, each with a random history.
  private func changes(_ numbers: Range<Int>, seed: UInt64) -> [RecordChange] {
    var random = SplitMix64(seed: seed)
    return numbers.map { number in
      var state = RecordState()
      for step in randomHistory(&random, steps: 6) {
        state.apply(step.body, version: step.version, past: step.past)
      }
      return RecordChange(
        key: RecordKey(type: Thing.type, id: recordID(number)), state: state, isNew: true)
    }
  }

  private func write(_ changes: [RecordChange], _ store: ReplicaStore) throws {
    try store.records.save(changes, in: zoneID)
    try store.projections.update(for: changes.map(\.key), in: zoneID)
  }

  private func read(_ store: ReplicaStore, _ zone: ZoneID = zoneID) throws -> [RecordKey] {
    var keys: [RecordKey] = []
    try store.records.forEach(in: zone) { key, _ in keys.append(key) }
    return keys
  }

  private func totals(_ store: ReplicaStore) throws -> [[Value]] {
    try store.projections.rows(of: "count", "total", where: [], in: zoneID)
  }

  /// Fills the draft, a few records at a time.
  ///
  /// - Parameter exceptRows: whether the derived rows are left out.
  private func fill(
    _ changes: [RecordChange], _ store: ReplicaStore, exceptRows: Bool = false
  ) throws {
    for start in stride(from: 0, to: changes.count, by: 7) {
      try store.transaction {
        try store.drafts.writing(to: zoneID) {
          try store.records.save(
            Array(changes[start..<min(start + 7, changes.count)]), in: zoneID)
        }
      }
    }
    try store.transaction {
      try store.drafts.writing(to: zoneID) { try store.snapshots.saveBase([1, 2], of: zoneID) }
    }
    guard !exceptRows else { return }
    let derivation = try store.drafts.derivation(of: zoneID)
    try derivation.compute()
    try take(derivation, store)
  }

  /// Writes derived rows to the draft, a few at a time.
  private func take(_ derivation: any DraftDerivation, _ store: ReplicaStore) throws {
    while case let rows = try derivation.next(atMost: 5), !rows.isEmpty {
      try store.transaction { try store.drafts.insert(rows, in: zoneID) }
    }
    try derivation.close()
  }

  private func clear(_ store: ReplicaStore) throws -> Int {
    var calls = 1
    while try !store.transaction({ try store.drafts.clear(of: zoneID, atMost: 6) }) { calls += 1 }
    return calls
  }

  @Test("A draft is seen by nobody until it is exchanged, with derived rows and base")
  func exchange() throws {
    let scratch = try Scratch()
    let (old, new) = (changes(0..<5, seed: 1), changes(3..<40, seed: 2))
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      try prepare(store)
      try store.transaction { try write(old, store) }
      let before = try totals(store)
      _ = store.records.takeTouched()
      try fill(new, store)
      #expect(try read(store) == old.map(\.key))
      #expect(try totals(store) == before)
      #expect(try store.snapshots.base(of: zoneID) == nil)
      #expect(store.records.takeTouched() == TouchedRecords(), "it wakes nobody")
      try store.transaction { try store.drafts.exchange(of: zoneID) }
      #expect(store.records.takeTouched() != TouchedRecords())
      #expect(try read(store) == new.map(\.key))
      #expect(try store.snapshots.base(of: zoneID) == [1, 2])
      #expect(try store.staleProjections(of: zoneID).isEmpty)
      #expect(try totals(store) != before)
      // Log, heads and keys stay where they were.
      #expect(try store.zones.all().map(\.wrappedEpochs) == [[[4], [5, 6]]])
      #expect(try clear(store) > 1)
      #expect(try read(store) == new.map(\.key))
      // And once more, onto the number of before.
      try fill(old, store)
      try store.transaction { try store.drafts.exchange(of: zoneID) }
      #expect(try read(store) == old.map(\.key))
      #expect(try totals(store) == before)
      #expect(try store.staleProjections(of: zoneID).isEmpty)
    }
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      #expect(try read(store) == old.map(\.key))
      #expect(try clear(store) > 3)
      try store.transaction { try store.drafts.exchange(of: zoneID) }
      #expect(try read(store).isEmpty)
      #expect(try totals(store).isEmpty)
      #expect(try store.snapshots.base(of: zoneID) == nil)
    }
  }

  @Test("An exchange that is undone leaves everything where it was")
  func undone() throws {
    struct Undo: Error {}
    let scratch = try Scratch()
    let (old, new) = (changes(0..<5, seed: 3), changes(3..<20, seed: 4))
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      try prepare(store)
      try store.transaction { try write(old, store) }
      try fill(new, store)
      #expect(throws: Undo.self) {
        try store.transaction {
          try store.drafts.exchange(of: zoneID)
          throw Undo()
        }
      }
      #expect(throws: Undo.self) {
        try store.transaction { try store.drafts.writing(to: zoneID) { throw Undo() } }
      }
      #expect(try read(store) == old.map(\.key))
    }
  }

  @Test("A zone that is new gets no number of a draft, whatever was exchanged")
  func numbers() throws {
    let scratch = try Scratch()
    let (old, new) = (changes(0..<5, seed: 5), changes(3..<20, seed: 6))
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      try prepare(store)
      try store.transaction { try write(old, store) }
      try fill(new, store)
      try store.transaction { try store.drafts.exchange(of: zoneID) }
      // What the zone had before still names it by its positive number.
      try store.transaction { try store.zones.save(storedZone(DraftTests.other)) }
      #expect(try read(store, DraftTests.other).isEmpty)
      #expect(try store.zones.number(of: DraftTests.other) == 2)
    }
  }

  @Test("A draft follows when the program's types and projections change meanwhile")
  func upgraded() throws {
    let scratch = try Scratch()
    let new = changes(0..<30, seed: 7)
    let narrow = RecordSchema(Thing.type, "thing", Array(Thing.fields.prefix(3)))
    try scratch.session([narrow], []) { store throws in
      try prepare(store)
      try fill(new, store)
    }
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      try store.transaction { try store.drafts.exchange(of: zoneID) }
      let keys = new.map(\.key)
      for change in new {
        #expect(try store.records.record(change.key, in: zoneID) == .record(change.state))
      }
      #expect(try read(store) == keys)
      #expect(try store.staleProjections(of: zoneID).isEmpty)
      #expect(try !totals(store).isEmpty)
    }
  }

  @Test("A projection of two passes gets every record once in each, the second after the first")
  func passes() throws {
    let scratch = try Scratch()
    let new = changes(0..<38, seed: 4)
    try scratch.session([Thing.schema], [CountProjection(), PassProjection()]) { store throws in
      try prepare(store)
      try fill(new, store)
      try store.transaction { try store.drafts.exchange(of: zoneID) }
      let known = try store.projections.rows(of: "pass", "known", where: [], in: zoneID)
      #expect(known == new.map { [.bytes($0.key.id.bytes), .int(38)] })
      #expect(try store.staleProjections(of: zoneID).isEmpty)
    }
  }

  @Test("Rows are derived beside a writer, who waits for nothing and sees none of them")
  func beside() throws {
    let scratch = try Scratch()
    let (old, new) = (changes(0..<5, seed: 5), changes(3..<40, seed: 6))
    try scratch.session([Thing.schema], [CountProjection(), PassProjection()]) { store throws in
      try prepare(store)
      try fill(new, store, exceptRows: true)
      let derivation = try store.drafts.derivation(of: zoneID)
      try store.transaction {
        try derivation.compute()
        try write(old, store)
      }
      let before = try totals(store)
      #expect(try store.staleProjections(of: zoneID).isEmpty)
      try take(derivation, store)
      #expect(try totals(store) == before)
      try store.transaction { try store.drafts.exchange(of: zoneID) }
      #expect(try read(store) == new.map(\.key))
      #expect(try store.staleProjections(of: zoneID).isEmpty)
    }
  }

  @Test("A database in memory derives the same rows, and its tables are seen again afterwards")
  func memory() throws {
    let (old, new) = (changes(0..<5, seed: 7), changes(3..<40, seed: 8))
    let store = try ReplicaStore(
      path: ReplicaStore.inMemoryPath, schema: [Thing.schema],
      projections: [CountProjection(), PassProjection()])
    try prepare(store)
    try store.transaction { try write(old, store) }
    let before = try totals(store)
    #expect(!before.isEmpty)
    try fill(new, store)
    #expect(try totals(store) == before)
    #expect(try store.staleProjections(of: zoneID).isEmpty)
    try store.transaction { try store.drafts.exchange(of: zoneID) }
    #expect(try store.staleProjections(of: zoneID).isEmpty)
    #expect(try totals(store) != before)
    try store.close()
  }
}
