import HearthCRDT
import HearthMembership
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

@Suite("Bit rot in rows that no signature covers")
struct BitRotTests {
  private let anna = runAuthor(1)

  private func filled() throws -> (scratch: Scratch, store: ReplicaStore) {
    let scratch = try Scratch()
    let store = try scratch.open([Thing.schema, Thing.markSchema])
    try store.transaction {
      try store.zones.save(storedZone())
      for sequence in 1...4 as ClosedRange<UInt64> {
        try store.log.append(
          [1, UInt8(sequence), 3], dot: Dot(author: anna, sequence: sequence), to: zoneID)
      }
      try store.facts.setBytes(of: "kept", to: [1, 2])
      try store.facts.setBytes(of: FactNames.cachePrefix + "derived", to: [3, 4])
      try store.zones.save([LogHead(author: anna)], of: zoneID)
    }
    return (scratch, store)
  }

  private func run(_ sql: String, in store: ReplicaStore) throws {
    try store.connection.run { try store.connection.execute(sql) }
  }

  private func isDamage(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return false
    } catch { return (error as? StoreError)?.code == .corrupt }
  }

  @Test(
    "An own change that is in no segment yet is read as it was written, or not at all",
    arguments: [
      "bytes = x'010203'", "bytes = x''", "sequence = 9", "digest = zeroblob(16)", "digest = x''",
    ])
  func change(damage: String) throws {
    let (_, store) = try filled()
    let read = { try store.log.changes(of: anna, in: zoneID, after: 0, limit: 99) }
    #expect(try read().count == 4)
    try run("UPDATE hearth_changes SET \(damage) WHERE sequence = 3", in: store)
    #expect(isDamage { _ = try read() })
    // What comes before the damage is still read.
    #expect(try store.log.changes(of: anna, in: zoneID, after: 0, limit: 2).count == 2)
    try store.close()
  }

  @Test("A change of one zone or author is none of another")
  func place() throws {
    let (_, store) = try filled()
    let other = Identifier(high: 1, low: 1)
    try store.transaction {
      try store.zones.save(storedZone(other, name: "Second"))
      try store.zones.learn([runAuthor(2)])
    }
    try run("UPDATE hearth_changes SET zone = zone + 1 WHERE sequence = 4", in: store)
    #expect(isDamage { _ = try store.log.changes(of: anna, in: other, after: 0, limit: 9) })
    try run("UPDATE hearth_changes SET zone = 1, author = author + 1 WHERE sequence = 4", in: store)
    #expect(
      isDamage { _ = try store.log.changes(of: runAuthor(2), in: zoneID, after: 0, limit: 9) })
    try store.close()
  }

  @Test("A damaged fact is an error; a damaged cache counts as missing, and repair removes it")
  func fact() throws {
    let (_, store) = try filled()
    let cache = FactNames.cachePrefix + "derived"
    #expect(try store.facts.bytes(of: "kept") == [1, 2])
    #expect(try store.facts.bytes(of: cache) == [3, 4])
    #expect(try store.facts.damaged().isEmpty)
    try run("UPDATE hearth_facts SET value = x'0902'", in: store)
    #expect(isDamage { _ = try store.facts.bytes(of: "kept") })
    #expect(try store.facts.bytes(of: cache) == nil)
    #expect(Set(try store.facts.damaged()).isSuperset(of: [cache, "kept"]))
    try store.transaction { try store.facts.removeDamagedCaches() }
    let left = try store.facts.damaged()
    #expect(left.contains("kept") && !left.contains(cache))
    // A value under another name is damaged too.
    try store.transaction { try store.facts.setBytes(of: "kept", to: [7]) }
    try run("UPDATE hearth_facts SET name = 'other' WHERE name = 'kept'", in: store)
    #expect(isDamage { _ = try store.facts.bytes(of: "other") })
    try store.close()
  }

  @Test(
    "A damaged list of types, authors or heads is an error when the file is opened or read",
    arguments: [
      "UPDATE hearth_types SET type = 70000 WHERE name = 'thing'",
      "UPDATE hearth_types SET type = -1 WHERE name = 'thing'",
      "UPDATE hearth_fields SET field = field + 65536", "UPDATE hearth_fields SET name = 'f f'",
      // What a damaged index of a key returns twice.
      "ALTER TABLE hearth_fields RENAME TO old; CREATE TABLE hearth_fields AS "
        + "SELECT * FROM old UNION ALL SELECT * FROM old",
      "ALTER TABLE hearth_heads RENAME TO old; CREATE TABLE hearth_heads AS "
        + "SELECT * FROM old UNION ALL SELECT * FROM old",
      "UPDATE hearth_authors SET number = number + 64",
      "UPDATE hearth_heads SET sequence = -1", "UPDATE hearth_heads SET hash = x'01'",
      "UPDATE hearth_heads SET forked_at = 0",
    ])
  func lists(damage: String) throws {
    let (scratch, store) = try filled()
    try run(damage, in: store)
    try store.close()
    #expect(
      isDamage {
        try scratch.session([Thing.schema, Thing.markSchema]) { store throws in
          _ = try store.zones.heads(of: zoneID)
        }
      })
  }

  @Test("A segment always names a range of changes, however its row is damaged")
  func range() throws {
    let (scratch, store) = try filled()
    let names: [(Int64, Int64)] = [(0, 0), (9, 3), (-1, 5), (4, -7), (.min, .max), (1, 2)]
    try store.transaction {
      for (number, _) in names.enumerated() {
        try store.log.save(
          StoredSegment(
            author: anna, first: 1, last: 2, digest: recordID(number), byteCount: 1),
          bytes: [UInt8(number)], in: zoneID)
      }
    }
    for (number, name) in names.enumerated() {
      try run(
        "UPDATE hearth_segments SET first = \(name.0), last = \(name.1), size = -4 "
          + "WHERE number = \(number + 1)", in: store)
    }
    try store.close()
    try scratch.session([Thing.schema, Thing.markSchema]) { store throws in
      let segments = try store.log.segments(of: zoneID)
      #expect(segments.count == names.count)
      for segment in segments {
        #expect(segment.first >= 1 && segment.first <= segment.last && segment.byteCount >= 0)
        #expect(segment.last <= Frontier.maximumSequence)
      }
    }
  }
}
