import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

/// Counts the living things by their text, and lists them.
struct CountProjection: Projection {
  var name = "count"
  var version = 1
  let types = [Thing.type]
  let tables = [
    ProjectionTable("total", key: [.init("label", .text)], columns: [.init("number", .int)]),
    ProjectionTable(
      "item", key: [.init("id", .bytes)], columns: [.init("label", .text)], indexes: [["label"]]),
  ]

  func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    for key in keys {
      let id = Value.bytes(key.id.bytes)
      if let old = try source.rows(of: "item", where: [id]).first {
        try writer.add([-1], toRow: [old[1]], in: "total")
        try writer.remove(from: "item", where: [id])
      }
      guard let state = try source.record(key), !state.life.isDeleted else { continue }
      let label = Value.text("\(state.shown(Thing.fields[2].id) ?? .null)")
      try writer.put([id, label], in: "item")
      try writer.add([1], toRow: [label], in: "total")
    }
  }
}

@Suite("Derived tables")
struct ProjectionTests {
  private func write(
    _ store: ReplicaStore, seed: UInt64, existing: inout [RecordKey: RecordState]
  ) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<30 {
      let key = RecordKey(type: Thing.type, id: recordID(random.below(12)))
      var state = RecordState()
      for step in randomHistory(&random, steps: 6) {
        state.apply(step.body, version: step.version, past: step.past)
      }
      let isNew = existing.updateValue(state, forKey: key) == nil
      let made = state
      try store.transaction {
        try store.records.save([RecordChange(key: key, state: made, isNew: isNew)], in: zoneID)
        try store.projections.update(for: [key], in: zoneID)
      }
    }
  }

  private func rows(_ store: ReplicaStore) throws -> [[Value]] {
    try store.projections.rows(of: "count", "total", where: [], in: zoneID)
  }

  @Test("What was kept up step by step equals what is built anew")
  func rebuild() throws {
    let scratch = try Scratch()
    var existing: [RecordKey: RecordState] = [:]
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn((0..<3).map(runAuthor))
      }
      for seed in 1...5 as ClosedRange<UInt64> {
        try write(store, seed: seed, existing: &existing)
        #expect(try store.staleProjections(of: zoneID).isEmpty, "seed \(seed)")
        let before = try rows(store)
        try store.rebuildProjections(of: zoneID)
        #expect(try rows(store) == before, "seed \(seed)")
      }
      let living = existing.values.filter { !$0.life.isDeleted }.count
      #expect(try rows(store).reduce(0) { $0 + ($1[1].int ?? 0) } == Int64(living))
      #expect(living > 2)
    }
  }

  @Test("A wrong row is found by comparing, without being kept or mended")
  func stale() throws {
    let scratch = try Scratch()
    var existing: [RecordKey: RecordState] = [:]
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn((0..<3).map(runAuthor))
      }
      try write(store, seed: 9, existing: &existing)
      try store.transaction {
        try store.connection.execute("UPDATE count_total SET number = number + 1")
      }
      let wrong = try rows(store)
      #expect(try store.staleProjections(of: zoneID) == ["count_total"])
      #expect(try rows(store) == wrong)
      try store.rebuildProjections(of: zoneID)
      #expect(try store.staleProjections(of: zoneID).isEmpty)
    }
  }

  @Test("A program without the projection may write: it is built anew when one with it opens")
  func withoutIt() throws {
    let scratch = try Scratch()
    var existing: [RecordKey: RecordState] = [:]
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn((0..<3).map(runAuthor))
      }
      try write(store, seed: 3, existing: &existing)
    }
    try scratch.session { store throws in try write(store, seed: 4, existing: &existing) }
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      #expect(try store.staleProjections(of: zoneID).isEmpty)
      let before = try rows(store)
      try store.rebuildProjections(of: zoneID)
      #expect(try rows(store) == before)
    }
  }

  @Test("A projection whose version differs, up or down, is built anew")
  func versions() throws {
    let scratch = try Scratch()
    var existing: [RecordKey: RecordState] = [:]
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn((0..<3).map(runAuthor))
      }
      try write(store, seed: 3, existing: &existing)
      try store.transaction { try store.connection.execute("DELETE FROM count_item") }
    }
    for version in [2, 1] {
      var projection = CountProjection()
      projection.version = version
      try scratch.session([Thing.schema], [projection]) { store throws in
        #expect(try store.staleProjections(of: zoneID).isEmpty, "version \(version)")
        try store.transaction { try store.connection.execute("DELETE FROM count_item") }
      }
    }
  }

  @Test("Amounts add up row by row, and a row of zeros goes")
  func sums() throws {
    let scratch = try Scratch()
    try scratch.session([Thing.schema], [CountProjection()]) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        let view = try ProjectionView(
          CountProjection(), cache: store.projections.cache, zone: zoneID)
        try view.add([2], toRow: [.text("a")], in: "total")
        try view.add([3], toRow: [.text("a")], in: "total")
        try view.add([1], toRow: [.text("b")], in: "total")
        try view.add([-1], toRow: [.text("b")], in: "total")
      }
      #expect(try rows(store) == [[.text("a"), .int(5)]])
      try store.transaction { try store.projections.removeRows(of: zoneID) }
      #expect(try rows(store).isEmpty)
    }
  }
}
