import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

@Suite("Damaged rows")
struct RowFuzzTests {
  private func metas(_ store: ReplicaStore, _ table: String) throws -> [[UInt8]] {
    try store.read {
      let statement = try store.connection.statement("SELECT meta FROM \(table)")
      var found: [[UInt8]] = []
      while try statement.step() { found.append(statement.blob(0)) }
      return found
    }
  }

  /// Fills a store with random records of some types, and with events.
  private func fill(
    _ store: ReplicaStore, _ types: [TypeID], _ random: inout SplitMix64
  ) throws {
    try store.zones.save(storedZone())
    try store.zones.learn((0..<3).map(runAuthor))
    for number in 0..<8 {
      for type in types {
        var state = RecordState()
        for step in randomHistory(&random, steps: 25) {
          state.apply(step.body, version: step.version, past: step.past)
        }
        let key = RecordKey(type: type, id: recordID(number))
        try store.records.save([RecordChange(key: key, state: state, isNew: true)], in: zoneID)
      }
      let event = EventState(
        version: Version(
          dot: Dot(author: runAuthor(1), sequence: 4), time: HybridTime(rawValue: 1 << 50)),
        cause: Frontier([(runAuthor(0), UInt64(3)), (runAuthor(2), UInt64(300))]),
        fields: (1...6).map { EventField(FieldID(.register, $0), random.anyValue()) })
      try store.records.insert(
        [(RecordKey(type: Thing.mark, id: recordID(number)), event)], in: zoneID)
    }
  }

  @Test("Damaged meta of records, events and opaque rows is a typed error or reads and writes back")
  func meta() throws {
    let scratch = try Scratch()
    let store = try scratch.open([Thing.schema, Thing.markSchema])
    let opaque = TypeID.record(40)
    var random = SplitMix64(seed: 21)
    try store.transaction { try fill(store, [Thing.type, opaque], &random) }
    let kinds = [
      ("thing", Thing.type), ("mark", Thing.mark), ("hearth_opaque", opaque),
    ]
    var read = 0
    for (table, type) in kinds {
      var mutator = Mutator(seed: 9, corpus: try metas(store, table))
      let key = RecordKey(type: type, id: recordID(3))
      for round in 0..<500 {
        try store.transaction {
          try store.connection.statement("UPDATE \(table) SET meta = ? WHERE id = ?")
            .bind(mutator.next()).bind(key.id).execute()
        }
        do {
          // Reading for display, and reading, changing and writing as merging does.
          guard case .record(let state)? = try store.records.record(key, in: zoneID) else {
            continue
          }
          try store.transaction {
            try store.records.save([RecordChange(key: key, state: state, isNew: false)], in: zoneID)
          }
          #expect(
            try store.records.record(key, in: zoneID) == .record(state), "\(table), round \(round)")
          read += 1
        } catch let error as StoreError {
          #expect(error.code == .corrupt, "\(table), round \(round): \(error)")
        }
        if var partial = try? store.records.states(of: [key], in: zoneID)[0] {
          try? store.records.supplyShownValues(to: &partial, of: key, in: zoneID)
        }
      }
    }
    #expect(read > 15)
    try store.close()
  }
}
