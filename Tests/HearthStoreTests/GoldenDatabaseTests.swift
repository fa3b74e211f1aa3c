import Foundation
import GRDB
import HearthCRDT
import HearthCrypto
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

/// Databases that earlier versions of this program wrote: each must open, migrate and say the same.
///
/// To add one for a new migration, run the tests with `HEARTH_WRITE_GOLDEN=1`: the file of the
/// newest migration is written if it is not there. A file that is there is never written again.
@Suite("Databases of released versions")
struct GoldenDatabaseTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Golden")
  private static let digestName = "content.digest"
  private static let schema = [Thing.schema, Thing.markSchema]

  /// Fills a store from a fixed seed: no clock and no other randomness takes part.
  private static func fill(_ store: ReplicaStore) throws {
    var random = SplitMix64(seed: 2026)
    try store.transaction {
      try store.zones.save(storedZone())
      try store.zones.save(storedZone(Identifier(high: 1, low: 1), name: "Second"))
      try store.zones.learn((0..<3).map(runAuthor))
      for number in 0..<12 {
        for type in [Thing.type, .record(40)] {
          var state = RecordState()
          for step in randomHistory(&random, steps: 12) {
            state.apply(step.body, version: step.version, past: step.past)
          }
          let key = RecordKey(type: type, id: recordID(number))
          try store.records.save([RecordChange(key: key, state: state, isNew: true)], in: zoneID)
          try store.projections.update(for: [key], in: zoneID)
        }
        let version = Version(
          dot: Dot(author: runAuthor(number % 3), sequence: UInt64(number + 1)),
          time: HybridTime(rawValue: random.next()))
        let event = EventState(
          version: version, cause: Frontier([(runAuthor(2), UInt64(8))]),
          fields: (1...5).map { EventField(FieldID(.register, $0), random.anyValue()) })
        try store.records.insert(
          [(RecordKey(type: Thing.mark, id: recordID(number)), event)], in: zoneID)
        let author = runAuthor(number % 3)
        try store.log.append(
          [UInt8(number)], dot: Dot(author: author, sequence: UInt64(number + 1)), to: zoneID)
        try store.log.save(
          StoredSegment(
            author: author, first: UInt64(number + 1), last: UInt64(number + 1),
            digest: recordID(number), byteCount: 2), bytes: [UInt8(number), 1], in: zoneID)
      }
      for number in 0..<3 {
        try store.zones.save(
          [
            LogHead(
              author: runAuthor(number), sequence: 9, hash: [UInt8](repeating: 3, count: 32),
              time: HybridTime(rawValue: 77), seen: Frontier([(runAuthor(0), UInt64(2))]),
              controlSeen: Frontier(), forkedAt: number == 2 ? 10 : nil)
          ], of: zoneID)
      }
      try store.pending.save(
        PendingSegment(digest: recordID(99), reason: .format, bytes: [9]), in: zoneID)
      try store.snapshots.saveBase([8, 8], of: zoneID)
      try store.facts.setBytes(of: "profile", to: [1, 2])
      try store.notices.add(
        Notice(kind: .fork, zone: zoneID, device: recordID(1), text: "t", milliseconds: 5))
    }
  }

  /// A digest of everything that the port gives out.
  private static func digest(_ store: ReplicaStore) throws -> String {
    var lines: [String] = []
    for zone in try store.zones.all() {
      // The digest is from before the kinds of zones moved to a module of their own.
      lines.append("\(zone)".replacing("HearthMembership.", with: "HearthSync."))
      lines += try store.zones.heads(of: zone.id).sorted { $0.author < $1.author }.map { "\($0)" }
      for segment in try store.log.segments(of: zone.id) {
        lines.append("\(segment) \(try store.log.bytes(of: segment.digest, in: zone.id) ?? [])")
      }
      for number in 0..<3 {
        lines.append(
          "\(try store.log.changes(of: runAuthor(number), in: zone.id, after: 0, limit: 99))")
      }
      lines += try store.pending.segments(in: zone.id).map {
        "\($0.digest) \($0.reason) \($0.bytes)"
      }
      lines.append("\(try store.snapshots.base(of: zone.id) ?? [])")
      // As bytes, since the printed form of a state follows its layout in memory.
      let authors = AuthorTable((0..<3).map { runAuthor($0) })
      try store.records.forEach(in: zone.id) { key, record in
        guard case .record(let state) = record else { return lines.append("\(key) \(record)") }
        var writer = ByteWriter()
        state.encode(into: &writer, authors: authors, values: .all)
        lines.append("\(key) \(writer.bytes)")
      }
      lines += try store.projections.rows(of: "count", "total", where: [], in: zone.id).map {
        "\($0)"
      }
    }
    lines.append("\(try store.facts.bytes(of: "profile") ?? []) \(try store.notices.all())")
    let bytes = Blake2b.hash(Array(lines.joined(separator: "\n").utf8), count: 32)
    return ColumnCodec.hex(bytes)
  }

  /// Writes the file of the newest migration as one file without a write-ahead log.
  private static func write(_ name: String) throws {
    let scratch = try Scratch()
    let digest = try scratch.session(schema, [CountProjection()]) { store throws in
      try fill(store)
      try store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      return try Self.digest(store)
    }
    try FileManager.default.copyItem(
      at: URL(fileURLWithPath: scratch.path), to: folder.appendingPathComponent(name))
    try Data((digest + "\n").utf8).write(to: folder.appendingPathComponent(digestName))
  }

  @Test("Each opens, is brought up to date, and holds what was written into it")
  func released() throws {
    let names = Migrations.migrator().migrations.map { $0 + ".db" }
    if ProcessInfo.processInfo.environment["HEARTH_WRITE_GOLDEN"] != nil, let newest = names.last,
      !FileManager.default.fileExists(atPath: Self.folder.path + "/" + newest)
    {
      try Self.write(newest)
    }
    let expected = try String(
      contentsOf: Self.folder.appendingPathComponent(Self.digestName), encoding: .utf8)
    for name in names {
      let scratch = try Scratch()
      try FileManager.default.copyItem(
        at: Self.folder.appendingPathComponent(name), to: URL(fileURLWithPath: scratch.path))
      for round in 1...2 {
        try scratch.session(Self.schema, [CountProjection()]) { store throws in
          let digest = try Self.digest(store) + "\n"
          #expect(digest == expected, "\(name), opening \(round)")
          #expect(try store.integrity() == ["ok"])
          #expect(try store.staleProjections(of: zoneID).isEmpty)
        }
      }
    }
  }

  @Test("What today's version writes from the same seed has the same digest")
  func today() throws {
    let scratch = try Scratch()
    let expected = try String(
      contentsOf: Self.folder.appendingPathComponent(Self.digestName), encoding: .utf8)
    try scratch.session(Self.schema, [CountProjection()]) { store throws in
      try Self.fill(store)
      let digest = try Self.digest(store) + "\n"
      #expect(digest == expected)
    }
  }
}
