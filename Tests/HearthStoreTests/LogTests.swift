import HearthCRDT
import HearthMembership
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

@Suite("The log in the store")
struct LogTests {
  private let anna = runAuthor(1)
  private let ben = runAuthor(2)

  private func head(_ author: Author, _ sequence: UInt64, forkedAt: UInt64? = nil) -> LogHead {
    LogHead(
      author: author, sequence: sequence, hash: [UInt8](repeating: 7, count: 32),
      time: HybridTime(rawValue: .max - sequence),
      seen: Frontier([(anna, UInt64(3)), (ben, 1 << 62)]),
      controlSeen: Frontier([(ben, UInt64(9))]), forkedAt: forkedAt)
  }

  @Test("Zones come back with their keys; saving again renames and adds keys")
  func zones() throws {
    let scratch = try Scratch()
    var zone = storedZone()
    let other = StoredZone(
      id: Identifier(high: 0, low: 9), group: .zero, kind: .control, database: .personal, name: "",
      wrappedSecret: [], wrappedEpochs: [])
    try scratch.session { store throws in
      try store.transaction {
        try store.zones.save(zone)
        try store.zones.save(other)
      }
      #expect(try store.zones.all() == [other, zone])
    }
    zone = StoredZone(
      id: zone.id, group: zone.group, kind: zone.kind, database: zone.database, name: "Casa",
      wrappedSecret: zone.wrappedSecret, wrappedEpochs: zone.wrappedEpochs + [[9]])
    try scratch.session { store throws in try store.transaction { try store.zones.save(zone) } }
    try scratch.session { store throws in #expect(try store.zones.all() == [other, zone]) }
  }

  @Test("A part of a transaction that fails is undone alone, with the authors that it numbered")
  func failedPart() throws {
    let scratch = try Scratch()
    try scratch.session { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.save([head(ben, 1)], of: zoneID)
        #expect(throws: StoreError.self) {
          try store.transaction {
            try store.zones.removeHeads(of: zoneID)
            try store.zones.save([head(anna, 1)], of: zoneID)
            throw StoreError(.failed, "this part does not work")
          }
        }
        #expect(try store.zones.heads(of: zoneID) == [head(ben, 1)])
        try store.zones.save([head(anna, 2)], of: zoneID)
      }
    }
    try scratch.session { store throws in
      let heads = try store.zones.heads(of: zoneID).sorted { $0.author < $1.author }
      #expect(heads == [head(anna, 2), head(ben, 1)])
    }
  }

  @Test("Where a fault ends the whole transaction, who goes on can write nothing of it")
  func endedTransaction() throws {
    let scratch = try Scratch()
    try scratch.session { store throws in
      try store.transaction { try store.zones.save(storedZone()) }
      var refused: [Bool] = []
      func tries(_ body: () throws -> Void) {
        do {
          try body()
          refused.append(false)
        } catch { refused.append(error is StoreError) }
      }
      tries {
        try store.transaction {
          try store.zones.save([head(ben, 1)], of: zoneID)
          tries {
            try store.transaction {
              try store.zones.save([head(anna, 1)], of: zoneID)
              try store.connection.execute("ROLLBACK")
              throw StoreError(.io, "the disk fails, and SQLite undoes everything")
            }
          }
          tries { try store.zones.save([head(anna, 2)], of: zoneID) }
          tries { try store.transaction { try store.zones.save([head(anna, 3)], of: zoneID) } }
        }
      }
      #expect(refused == [true, true, true, true])
      #expect(try store.zones.heads(of: zoneID) == [])
      try store.transaction { try store.zones.save([head(runAuthor(3), 4)], of: zoneID) }
    }
    try scratch.session { store throws in
      #expect(try store.zones.heads(of: zoneID) == [head(runAuthor(3), 4)])
    }
  }

  @Test("Heads come back exactly, the greatest numbers and forks included, and can be removed")
  func heads() throws {
    let scratch = try Scratch()
    let heads = [
      head(anna, Frontier.maximumSequence), head(ben, 1, forkedAt: .max),
      head(Author(device: ben.device, incarnation: .max), 2),
    ]
    try scratch.session { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.save([head(anna, 1, forkedAt: 1)], of: zoneID)
        try store.zones.save(heads, of: zoneID)
      }
    }
    try scratch.session { store throws in
      #expect(try store.zones.heads(of: zoneID).sorted { $0.author < $1.author } == heads)
      try store.transaction { try store.zones.removeHeads(of: zoneID) }
    }
    try scratch.session { store throws in #expect(try store.zones.heads(of: zoneID).isEmpty) }
  }

  @Test("Own changes are kept in order, by author and zone, and removed up to a number")
  func changes() throws {
    let scratch = try Scratch()
    let second = Identifier(high: 5, low: 5)
    try scratch.session { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.save(storedZone(second, name: "Second"))
        for number in [3, 1, 2, 300] as [UInt64] {
          try store.log.append(
            [UInt8(truncatingIfNeeded: number)], dot: Dot(author: anna, sequence: number),
            to: zoneID)
        }
        try store.log.append([99], dot: Dot(author: ben, sequence: 1), to: zoneID)
        try store.log.append([98], dot: Dot(author: anna, sequence: 1), to: second)
      }
      #expect(throws: StoreError.self, "one number is used once") {
        try store.transaction {
          try store.log.append([0], dot: Dot(author: anna, sequence: 2), to: zoneID)
        }
      }
    }
    try scratch.session { store throws in
      #expect(try store.log.changes(of: anna, in: zoneID, after: 0, limit: 2) == [[1], [2]])
      #expect(try store.log.changes(of: anna, in: zoneID, after: 2, limit: 9) == [[3], [44]])
      #expect(try store.log.changes(of: runAuthor(7), in: zoneID, after: 0, limit: 9).isEmpty)
      try store.transaction { try store.log.removeChanges(of: anna, in: zoneID, through: 3) }
      #expect(try store.log.changes(of: anna, in: zoneID, after: 0, limit: 9) == [[44]])
      #expect(try store.log.changes(of: ben, in: zoneID, after: 0, limit: 9) == [[99]])
      #expect(try store.log.changes(of: anna, in: second, after: 0, limit: 9) == [[98]])
    }
  }

  @Test("Segments are kept once under their digest, with their bytes, until removed")
  func segments() throws {
    let scratch = try Scratch()
    let one = StoredSegment(
      author: anna, first: 1, last: 4, digest: Identifier(high: 1, low: 1), byteCount: 3)
    let two = StoredSegment(
      author: ben, first: 1, last: Frontier.maximumSequence, digest: Identifier(high: 1, low: 2),
      byteCount: 0)
    try scratch.session { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.log.save(one, bytes: [1, 2, 3], in: zoneID)
        try store.log.save(one, bytes: [6, 6, 6], in: zoneID)
        try store.log.save(two, bytes: [], in: zoneID)
      }
    }
    try scratch.session { store throws in
      #expect(try store.log.segments(of: zoneID) == [one, two])
      #expect(try store.log.bytes(of: one.digest, in: zoneID) == [1, 2, 3])
      #expect(try store.log.bytes(of: two.digest, in: zoneID) == [])
      try store.transaction { try store.log.removeSegment(one.digest, in: zoneID) }
      #expect(try store.log.bytes(of: one.digest, in: zoneID) == nil)
      #expect(try store.log.segments(of: zoneID) == [two])
    }
  }

  @Test("Waiting segments, the base snapshot, facts and notices come back")
  func rest() throws {
    let scratch = try Scratch()
    let reasons: [PendingReason] = [.gap, .cause, .author, .epoch, .quarantine, .format]
    let pending = reasons.enumerated().map {
      PendingSegment(digest: Identifier(high: 0, low: UInt64($0)), reason: $1, bytes: [UInt8($0)])
    }
    let notices = [Notice.Kind.newLife, .fork, .clock, .reissued].enumerated().map {
      Notice(
        kind: $1, zone: $0 == 0 ? nil : zoneID, device: $0 == 1 ? nil : anna.device,
        text: "\($0) ü",
        milliseconds: .max - UInt64($0))
    }
    try scratch.session { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        for segment in pending { try store.pending.save(segment, in: zoneID) }
        try store.pending.save(
          PendingSegment(digest: pending[0].digest, reason: .cause, bytes: [0]), in: zoneID)
        try store.snapshots.saveBase([1], of: zoneID)
        try store.snapshots.saveBase([2], of: zoneID)
        try store.facts.setBytes(of: "a", to: [1])
        try store.facts.setBytes(of: "a", to: [])
        try store.facts.setBytes(of: "b", to: [3])
        try store.facts.setBytes(of: "b", to: nil)
        for notice in notices { try store.notices.add(notice) }
      }
    }
    try scratch.session { store throws in
      let found = try store.pending.segments(in: zoneID)
      #expect(found.map(\.reason) == [.cause, .cause, .author, .epoch, .quarantine, .format])
      #expect(found.map(\.bytes) == pending.map(\.bytes))
      try store.transaction { try store.pending.remove(pending[3].digest, in: zoneID) }
      #expect(try store.pending.segments(in: zoneID).count == 5)
      #expect(try store.snapshots.base(of: zoneID) == [2])
      #expect(try store.facts.bytes(of: "a") == [])
      #expect(try store.facts.bytes(of: "b") == nil)
      #expect(try store.notices.all() == notices)
    }
  }

  @Test("A zone that is not in the database is an error, not an empty answer")
  func unknownZone() throws {
    let scratch = try Scratch()
    try scratch.session { store throws in
      #expect(throws: StoreError(.notFound, "")) { try store.zones.heads(of: zoneID) }
      #expect(throws: StoreError(.notFound, "")) { try store.log.segments(of: zoneID) }
      #expect(throws: StoreError(.notFound, "")) { try store.pending.segments(in: zoneID) }
    }
  }
}

/// What a transaction of the test ends with.
private struct Stop: Error {}

@Suite("One transaction is all or nothing")
struct TransactionTests {
  /// Every writing call of the port, in an order that works.
  private static func steps(_ store: ReplicaStore) -> [(String, () throws -> Void)] {
    let anna = runAuthor(1)
    let key = RecordKey(type: Thing.type, id: recordID(1))
    let mark = RecordKey(type: Thing.mark, id: recordID(2))
    var state = RecordState()
    let version = Version(dot: Dot(author: anna, sequence: 1), time: HybridTime(rawValue: 9))
    state.apply(.assign(Thing.fields[2].id, .text("x")), version: version, past: Frontier())
    let made = state
    let segment = StoredSegment(
      author: anna, first: 1, last: 1, digest: recordID(4), byteCount: 1)
    return [
      ("zone", { try store.zones.save(storedZone(recordID(3), name: "New")) }),
      ("learn", { try store.zones.learn([runAuthor(5)]) }),
      ("heads", { try store.zones.save([LogHead(author: anna)], of: zoneID) }),
      ("append", { try store.log.append([1], dot: version.dot, to: zoneID) }),
      ("segment", { try store.log.save(segment, bytes: [1], in: zoneID) }),
      (
        "pending",
        {
          try store.pending.save(
            PendingSegment(digest: recordID(5), reason: .gap, bytes: [1]), in: zoneID)
        }
      ),
      (
        "records",
        { try store.records.save([RecordChange(key: key, state: made, isNew: true)], in: zoneID) }
      ),
      (
        "events",
        {
          try store.records.insert(
            [(mark, EventState(version: version, cause: Frontier(), fields: []))], in: zoneID)
        }
      ),
      ("projections", { try store.projections.update(for: [key], in: zoneID) }),
      ("snapshot", { try store.snapshots.saveBase([1], of: zoneID) }),
      ("fact", { try store.facts.setBytes(of: "f", to: [1]) }),
      (
        "notice",
        {
          try store.notices.add(
            Notice(kind: .clock, zone: nil, device: nil, text: "t", milliseconds: 1))
        }
      ),
      ("remove records", { try store.records.removeAll(of: zoneID) }),
      ("remove heads", { try store.zones.removeHeads(of: zoneID) }),
    ]
  }

  /// Everything that the database holds, as text.
  private static func dump(_ store: ReplicaStore) throws -> [String] {
    try store.read {
      let tables = try store.connection.statement(
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      var names: [String] = []
      while try tables.step() { names.append(tables.text(0)) }
      return try names.flatMap { name -> [String] in
        let columns = try store.connection.statement(
          "SELECT name FROM pragma_table_info('\(name)')")
        var list: [String] = []
        while try columns.step() { list.append("quote(\"\(columns.text(0))\")") }
        let rows = try store.connection.statement(
          "SELECT \(list.joined(separator: "||'|'||")) FROM \"\(name)\"")
        var lines: [String] = []
        while try rows.step() { lines.append("\(name): \(rows.text(0))") }
        return lines.sorted()
      }
    }
  }

  @Test("A throw after any call leaves nothing behind, then and after opening again")
  func atomic() throws {
    let scratch = try Scratch()
    let schema = [Thing.schema, Thing.markSchema]
    try scratch.session(schema, [CountProjection()]) { store throws in
      try store.transaction { try store.zones.save(storedZone()) }
    }
    let before = try scratch.session(schema, [CountProjection()], Self.dump)
    let count = try scratch.session(schema, [CountProjection()]) { Self.steps($0).count }
    for last in 0..<count {
      try scratch.session(schema, [CountProjection()]) { store throws in
        let steps = Self.steps(store)
        #expect(throws: Stop.self) {
          try store.transaction {
            for step in steps[...last] { try step.1() }
            throw Stop()
          }
        }
        #expect(try Self.dump(store) == before, "after \(steps[last].0)")
        #expect(store.zones.ids.count == 1, "after \(steps[last].0)")
        #expect(store.authors.table.authors.isEmpty, "after \(steps[last].0)")
      }
      #expect(try scratch.session(schema, [CountProjection()], Self.dump) == before)
    }
    // The same calls without the throw are there.
    try scratch.session(schema, [CountProjection()]) { store throws in
      let steps = Self.steps(store)
      try store.transaction { for step in steps.dropLast(2) { try step.1() } }
    }
    #expect(try scratch.session(schema, [CountProjection()], Self.dump).count > before.count + 9)
  }

  @Test("A transaction inside another is part of it")
  func nested() throws {
    let scratch = try Scratch()
    let store = try scratch.open()
    do {
      try store.transaction {
        try store.transaction { try store.zones.save(storedZone()) }
        #expect(try store.zones.all().count == 1)
        throw Stop()
      }
      Issue.record("nothing was thrown")
    } catch is Stop {}
    #expect(try store.zones.all().isEmpty)
    // The connection is usable after it.
    try store.transaction { try store.zones.save(storedZone()) }
    try store.close()
    try scratch.session { store throws in #expect(try store.zones.all() == [storedZone()]) }
  }
}
