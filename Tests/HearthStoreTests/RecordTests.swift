import GRDBSQLite
import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

@Suite("Records through typed columns and back")
struct RecordTests {
  private let key = RecordKey(type: Thing.type, id: recordID(1))

  @Test(
    "Whatever a record went through, the store gives back the exact state, known type or not",
    arguments: [true, false])
  func roundTrip(isKnown: Bool) throws {
    let scratch = try Scratch()
    try scratch.session(isKnown ? [Thing.schema] : []) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn((0..<3).map(runAuthor))
      }
      for seed in 0..<120 {
        var random = SplitMix64(seed: UInt64(seed))
        let key = RecordKey(type: Thing.type, id: recordID(seed))
        var model = RecordState()
        var isNew = true
        for step in randomHistory(&random, steps: 1 + random.below(25)) {
          model.apply(step.body, version: step.version, past: step.past)
          // As the engine does it: read without the shown values, change, write back.
          try store.transaction {
            var state = try store.records.states(of: [key], in: zoneID)[0] ?? RecordState()
            if state.needsShownValue(for: step.body, past: step.past) {
              try store.records.supplyShownValues(to: &state, of: key, in: zoneID)
            }
            state.apply(step.body, version: step.version, past: step.past)
            try store.records.save([RecordChange(key: key, state: state, isNew: isNew)], in: zoneID)
            isNew = false
          }
          guard try store.records.record(key, in: zoneID) == .record(model) else {
            Issue.record("seed \(seed) after \(step.body): differs")
            return
          }
        }
      }
    }
  }

  @Test("Updates of ever other columns leave few statements behind")
  func updates() throws {
    let fields = (1...11).map { FieldSchema(FieldID(.register, $0), "f\($0)", .int) }
    let scratch = try Scratch()
    try scratch.session([RecordSchema(Thing.type, "thing", fields)]) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn([runAuthor(0)])
      }
      // The greatest mask comes first, so that the record has all columns.
      for (number, mask) in (1..<1 << fields.count).reversed().enumerated() {
        let before = UInt64(number)
        let version = Version(
          dot: Dot(author: runAuthor(0), sequence: before + 1),
          time: HybridTime(milliseconds: before + 1))
        try store.transaction {
          var state = try store.records.states(of: [key], in: zoneID)[0] ?? RecordState()
          for (place, field) in fields.enumerated() where mask & 1 << place != 0 {
            state.apply(
              .assign(field.id, .int(Int64(mask))), version: version,
              past: Frontier([(runAuthor(0), before)]))
          }
          let change = RecordChange(key: key, state: state, isNew: number == 0)
          try store.records.save([change], in: zoneID)
        }
      }
      var (used, highest): (Int32, Int32) = (0, 0)
      sqlite3_db_status(store.connection.handle, SQLITE_DBSTATUS_STMT_USED, &used, &highest, 0)
      #expect(used > 0 && used < 2 << 20, "bytes of statements")
    }
  }

  @Test("Columns show what SQL users expect, and alive follows life")
  func columns() throws {
    let scratch = try Scratch()
    try scratch.session { store throws in
      var state = RecordState()
      let version = Version(
        dot: Dot(author: runAuthor(0), sequence: 1), time: HybridTime(rawValue: 1))
      let values: [Value] = [.bool(true), .int(-5), .text("a'b"), .bytes([1, 255])]
      for (field, value) in zip(Thing.fields, values) {
        state.apply(.assign(field.id, value), version: version, past: Frontier())
      }
      for value in [Value.text("q\"\n"), .int(2), .null, .bytes([171])] {
        state.apply(.include(FieldID(.set, 11), value), version: version, past: Frontier())
      }
      state.apply(.count(FieldID(.counter, 13), 42), version: version, past: Frontier())
      let made = state
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn([runAuthor(0)])
        try store.records.save([RecordChange(key: key, state: made, isNew: true)], in: zoneID)
      }
      let row = try store.read {
        let statement = try store.connection.statement(
          "SELECT alive, f0_bool, f0_int, f0_text, hex(f0_bytes), votes, f1_int IS NULL, "
            + "(SELECT group_concat(coalesce(value, 'null'), '~') FROM json_each(f2_text)) "
            + "FROM thing"
        )
        defer { statement.reset() }
        #expect(try statement.step())
        return (0..<8).map { statement.text(Int32($0)) }
      }
      #expect(row.prefix(7) == ["1", "1", "-5", "a'b", "01FF", "42", "1"])
      // Elements of another type than the column's are in `meta` alone.
      #expect(Set(row[7].split(separator: "~")) == ["q\"\n", "null"])
      var gone = made
      gone.apply(
        .delete,
        version: Version(
          dot: Dot(author: runAuthor(0), sequence: 2), time: HybridTime(rawValue: 2)),
        past: Frontier([(runAuthor(0), UInt64(1))]))
      let deleted = gone
      try store.transaction {
        try store.records.save([RecordChange(key: key, state: deleted, isNew: false)], in: zoneID)
      }
      #expect(try store.records.record(key, in: zoneID) == .record(deleted))
      try store.read {
        let source = try store.projections.source(of: zoneID)
        #expect(try source.ids(of: Thing.type, where: Thing.fields[2].id, is: .text("a'b")).isEmpty)
      }
    }
  }

  @Test(
    "Events come back with any values in any field, known type or not", arguments: [true, false])
  func events(isKnown: Bool) throws {
    let scratch = try Scratch()
    var expected: [(RecordID, EventState)] = []
    var random = SplitMix64(seed: 5)
    for number in 0..<200 {
      let cause = Frontier((0..<random.below(3)).map { (runAuthor($0), UInt64($0 + 1)) })
      let fields = [1, 2, 3, 4, 60].filter { _ in !random.oneIn(4) }
        .map { EventField(FieldID(.register, $0), random.anyValue()) }
      let version = Version(
        dot: Dot(author: runAuthor(number % 3), sequence: UInt64(number + 1)),
        time: HybridTime(rawValue: random.next()))
      expected.append(
        (recordID(number), EventState(version: version, cause: cause, fields: fields)))
    }
    let events = expected
    try scratch.session(isKnown ? [Thing.markSchema] : []) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn((0..<3).map(runAuthor))
        try store.records.insert(
          events.map { (RecordKey(type: Thing.mark, id: $0.0), $0.1) }, in: zoneID)
      }
    }
    let found = try scratch.session(isKnown ? [Thing.markSchema] : []) {
      try $0.records.events(of: Thing.mark, in: zoneID)
    }
    #expect(found.map(\.0) == events.map(\.0))
    #expect(found.map(\.1) == events.map(\.1))
  }

  @Test("Records are given in order of type and id, and removed zone by zone")
  func order() throws {
    let scratch = try Scratch()
    let other = Identifier(high: 9, low: 9)
    var state = RecordState()
    state.apply(
      .insert,
      version: Version(dot: Dot(author: runAuthor(0), sequence: 1), time: HybridTime(rawValue: 1)),
      past: Frontier())
    let made = state
    let keys = [3, 1, 2].flatMap { type in
      [5, 2, 8].map { RecordKey(type: .record(UInt16(type)), id: recordID($0)) }
    }
    try scratch.session([Thing.schema, RecordSchema(.record(3), "third", [])]) { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.save(storedZone(other, name: "Other"))
        try store.zones.learn([runAuthor(0)])
        let changes = keys.map { RecordChange(key: $0, state: made, isNew: true) }
        try store.records.save(changes, in: zoneID)
        try store.records.save(changes, in: other)
      }
      var seen: [RecordKey] = []
      try store.records.forEach(in: zoneID) { key, _ in seen.append(key) }
      #expect(seen == keys.sorted())
      try store.transaction { try store.records.removeAll(of: zoneID) }
      seen = []
      try store.records.forEach(in: zoneID) { key, _ in seen.append(key) }
      #expect(seen.isEmpty)
      try store.records.forEach(in: other) { key, _ in seen.append(key) }
      #expect(seen.count == keys.count)
    }
  }
}
