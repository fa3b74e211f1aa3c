import Foundation
import GRDB
import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

@Suite("Opening a database")
struct OpeningTests {
  private func pragma(_ name: String, _ store: ReplicaStore) throws -> String {
    try store.read {
      let statement = try store.connection.statement("PRAGMA \(name)")
      defer { statement.reset() }
      return try statement.step() ? statement.text(0) : ""
    }
  }

  @Test("Durable settings hold after creating and after opening again")
  func pragmas() throws {
    let scratch = try Scratch()
    for round in ["created", "opened again", "and again"] {
      try scratch.session { store throws in
        let found = try [
          "synchronous", "journal_mode", "foreign_keys", "temp_store", "mmap_size",
          "application_id",
        ].map { try pragma($0, store) }
        #expect(found == ["3", "wal", "1", "2", "0", "\(0x4852_5448)"], "\(round)")
      }
    }
  }

  @Test("A file that is no database, cut, or overwritten is told as damaged, with a remedy")
  func damage() throws {
    let scratch = try Scratch()
    try scratch.session { store throws in
      try store.transaction { try store.zones.save(storedZone()) }
    }
    let good = try Data(contentsOf: URL(fileURLWithPath: scratch.path))
    var damaged: [(String, Data)] = [
      ("text", Data(String(repeating: "not a database ", count: 500).utf8)),
      ("one byte", Data([7])), ("half", good.prefix(good.count / 2 + 100)),
      ("a page and a bit", good.prefix(4096 + 17)),
    ]
    var noise = good
    for place in stride(from: 100, to: noise.count, by: 3) { noise[place] = 0xa5 }
    damaged.append(("overwritten behind the header", noise))
    var header = good
    header[3] ^= 0xff
    damaged.append(("header", header))
    for (what, data) in damaged {
      let other = try Scratch()
      try data.write(to: URL(fileURLWithPath: other.path))
      let error = #expect(throws: StoreError.self, "\(what)") { try other.session { _ in } }
      #expect(error?.code == .corrupt, "\(what): \(String(describing: error))")
      #expect(error?.message.contains("move it aside") == true, "\(what)")
    }
  }

  @Test("Another program's database is refused and stays as it is, byte for byte")
  func foreign() throws {
    for application in [0, 42] {
      let scratch = try Scratch()
      let queue = try DatabaseQueue(path: scratch.path)
      try queue.write { database in
        try database.execute(sql: "CREATE TABLE songs(title)")
        try database.execute(sql: "PRAGMA application_id = \(application)")
      }
      try queue.close()
      let before = try Data(contentsOf: URL(fileURLWithPath: scratch.path))
      let error = #expect(throws: StoreError.self) { try scratch.session { _ in } }
      #expect(error?.code == .corrupt)
      #expect(error?.message.contains("another program") == true)
      #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.path)) == before)
    }
  }

  @Test("A database of a newer version is refused, with the words to update")
  func newer() throws {
    let scratch = try Scratch()
    try scratch.session { store throws in
      try store.transaction {
        try store.connection.execute(
          "INSERT INTO grdb_migrations(identifier) VALUES('9999-from-the-future')")
      }
    }
    let error = #expect(throws: StoreError.self) { try scratch.session { _ in } }
    #expect(error?.code == .newerFormat)
    #expect(error?.message.contains("update") == true)
  }

  @Test("A database from before step 0001 changed is refused and stays as it is, byte for byte")
  func earlier() throws {
    let scratch = try Scratch()
    try scratch.session { _ in }
    let queue = try DatabaseQueue(path: scratch.path)
    try queue.write { database in
      try database.execute(sql: "DROP TABLE hearth_pending")
      try database.execute(
        sql: """
          CREATE TABLE hearth_pending(
            zone INTEGER NOT NULL, digest BLOB NOT NULL, reason TEXT NOT NULL, bytes BLOB NOT NULL,
            PRIMARY KEY(zone, digest))
          """)
    }
    try queue.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: scratch.path))
    let error = #expect(throws: StoreError.self) { try scratch.session { _ in } }
    #expect(error?.code == .earlierFormat)
    #expect(error?.message.contains("move it aside") == true)
    #expect(try Data(contentsOf: URL(fileURLWithPath: scratch.path)) == before)
  }

  @Test("Migrations are numbered from 0001 without gaps, and those released stay as they were")
  func migrations() throws {
    let names = Migrations.migrator().migrations
    for (place, name) in names.enumerated() {
      let number = String(place + 1)
      #expect(name.hasPrefix(String(repeating: "0", count: 4 - number.count) + number + "-"))
    }
    #expect(names.prefix(2) == ["0001-log", "0002-application-id"])
  }

  @Test("An empty file becomes a database; a missing folder is an error with a code")
  func beginnings() throws {
    let scratch = try Scratch()
    try Data().write(to: URL(fileURLWithPath: scratch.path))
    try scratch.session { store throws in #expect(try store.integrity() == ["ok"]) }
    let error = #expect(throws: StoreError.self) {
      try ReplicaStore(path: scratch.root.path + "/none/node.db", schema: [])
    }
    #expect(error?.code == .readOnly)
  }

  @Test("A database whose rows contradict themselves is told as damaged when they are read")
  func rows() throws {
    let scratch = try Scratch()
    let key = RecordKey(type: Thing.type, id: recordID(1))
    try scratch.session { store throws in
      try store.transaction {
        try store.zones.save(storedZone())
        try store.zones.learn([runAuthor(1)])
        var state = RecordState()
        state.apply(
          .assign(Thing.fields[2].id, .text("x")),
          version: Version(
            dot: Dot(author: runAuthor(1), sequence: 1), time: HybridTime(rawValue: 1)),
          past: Frontier())
        try store.records.save([RecordChange(key: key, state: state, isNew: true)], in: zoneID)
        try store.zones.save([LogHead(author: runAuthor(1))], of: zoneID)
      }
    }
    let damages = [
      "UPDATE thing SET meta = x'ffff'", "UPDATE thing SET meta = x''",
      "UPDATE thing SET f0_int = 7.5", "UPDATE hearth_heads SET author = 77",
      "UPDATE hearth_heads SET seen = x'07'", "UPDATE hearth_authors SET device = x'00'",
      "UPDATE hearth_zones SET id = x'0011'", "UPDATE hearth_zones SET kind = 9",
    ]
    for damage in damages {
      let copy = try Scratch()
      for suffix in ["", "-wal"] {
        try? FileManager.default.copyItem(
          atPath: scratch.path + suffix, toPath: copy.path + suffix)
      }
      let queue = try DatabaseQueue(path: copy.path)
      try queue.write { try $0.execute(sql: damage) }
      try queue.close()
      let error = #expect(throws: StoreError.self, "\(damage)") {
        try copy.session { store throws in
          _ = try store.zones.all()
          _ = try store.zones.heads(of: zoneID)
          _ = try store.records.record(key, in: zoneID)
        }
      }
      #expect(error?.code == .corrupt || error?.code == .newerFormat, "\(damage)")
    }
  }
}
