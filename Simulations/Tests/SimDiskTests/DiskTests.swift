import GRDBSQLite
import SimDisk
import Testing

@Suite("A simulated disk", .serialized)
struct DiskTests {
  @Test("lets two connections share a WAL")
  func sharedWAL() throws {
    let disk = SimDisk(seed: 1)
    let writer = try RawDatabase(disk, pragmas: Opening.extra)
    try writer.run("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    let reader = try RawDatabase(disk, pragmas: Opening.extra)
    try reader.run("BEGIN")
    #expect(try reader.column("SELECT a FROM t") == ["1"])
    try writer.run("INSERT INTO t VALUES(2)")
    #expect(try reader.column("SELECT a FROM t") == ["1"], "a reader keeps its snapshot")
    try reader.run("COMMIT")
    #expect(try reader.column("SELECT a FROM t") == ["1", "2"])
    try writer.run("BEGIN IMMEDIATE")
    #expect(throws: SQLiteFailure.self) { try reader.run("BEGIN IMMEDIATE") }
    try writer.run("COMMIT")
    try reader.run("INSERT INTO t VALUES(3)")
    // Checkpoint while a reader holds a snapshot, then to the end.
    try reader.run("BEGIN; SELECT * FROM t")
    #expect(try writer.column("PRAGMA wal_checkpoint(TRUNCATE)") == ["1"])
    try reader.run("COMMIT")
    #expect(try writer.column("PRAGMA wal_checkpoint(TRUNCATE)") == ["0"])
    #expect(disk.size(of: "a.db-wal") == 0)
    #expect(disk.count(.truncates) > 0)
    #expect(try writer.column("SELECT a FROM t") == ["1", "2", "3"])
    writer.close()
    reader.close()
    #expect(disk.names == ["a.db"], "the last connection removes the WAL")
  }

  @Test("locks connections out of each other in rollback mode")
  func rollbackLocks() throws {
    let disk = SimDisk(seed: 1)
    let one = try RawDatabase(disk, pragmas: Opening.journal)
    try one.run("CREATE TABLE t(a)")
    let two = try RawDatabase(disk, pragmas: Opening.journal)
    try one.run("BEGIN; INSERT INTO t VALUES(1)")
    #expect(try two.number("SELECT count(*) FROM t") == 0, "reserved lets readers in")
    #expect(throws: SQLiteFailure.self) { try two.run("INSERT INTO t VALUES(2)") }
    try two.run("BEGIN; SELECT * FROM t")
    #expect(throws: SQLiteFailure.self) { try one.run("COMMIT") }
    try two.run("COMMIT")
    try one.run("COMMIT; BEGIN EXCLUSIVE")
    #expect(throws: SQLiteFailure.self) { try two.number("SELECT count(*) FROM t") }
    try one.run("COMMIT")
    #expect(try two.number("SELECT count(*) FROM t") == 1)
  }

  @Test("keeps clones and images apart from itself")
  func clones() throws {
    let disk = SimDisk(seed: 1)
    let database = try RawDatabase(disk, pragmas: Opening.extra)
    try database.run("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    let image = disk.image()
    let clone = disk.clone(seed: 2)
    #expect(clone.hash() == disk.hash())
    #expect(clone.hash(of: .durable) == clone.hash())
    try database.run("INSERT INTO t VALUES(2)")
    let other = try RawDatabase(clone, pragmas: Opening.extra)
    try other.run("INSERT INTO t VALUES(3)")
    #expect(try database.column("SELECT a FROM t") == ["1", "2"])
    #expect(try other.column("SELECT a FROM t") == ["1", "3"])
    // Rolling back makes the open connection fail for good.
    disk.restore(image)
    #expect(throws: SQLiteFailure.self) { try database.run("INSERT INTO t VALUES(4)") }
    let restored = try RawDatabase(disk, pragmas: Opening.extra)
    #expect(try restored.column("SELECT a FROM t") == ["1"])
    disk.reboot()
    let rebooted = try RawDatabase(disk, pragmas: Opening.extra)
    #expect(try rebooted.column("SELECT a FROM t") == ["1"], "a restored image is durable")
    #expect(try other.column("SELECT a FROM t") == ["1", "3"])
  }

  @Test("outlives its owner as long as SQLite holds a file")
  func destroyedUnderOpenConnection() throws {
    var disk: SimDisk? = SimDisk(seed: 1)
    let database = try RawDatabase(try #require(disk), pragmas: Opening.extra)
    try database.run("CREATE TABLE t(a)")
    disk = nil
    #expect(throws: SQLiteFailure.self) { try database.run("INSERT INTO t VALUES(1)") }
    database.close()
  }

  @Test("fails in every call until it is rebooted")
  func down() throws {
    let disk = SimDisk(seed: 1)
    let database = try RawDatabase(disk, pragmas: Opening.extra)
    try disk.write([1], to: "key")
    disk.cutPower()
    let before = disk.operations
    #expect(throws: SQLiteFailure.self) { try database.run("CREATE TABLE t(a)") }
    #expect(throws: SQLiteFailure.self) { try RawDatabase(disk, pragmas: Opening.extra) }
    #expect(throws: DiskError(.io)) { try disk.read("key") }
    #expect(throws: DiskError(.io)) { try disk.write([2], to: "key") }
    #expect(throws: DiskError(.io)) { try disk.remove("key") }
    #expect(throws: DiskError(.io)) { try disk.rename("key", to: "b") }
    #expect(disk.operations == before)
    disk.reboot()
    #expect(try disk.read("key") == [1])
    #expect(throws: SQLiteFailure.self, "an old handle stays dead") {
      try database.run("CREATE TABLE t(a)")
    }
  }

  @Test("tells SQLite the injected time")
  func time() throws {
    let disk = SimDisk(seed: 1)
    SimDisk.setTime(milliseconds: 951_782_400_000)
    let database = try RawDatabase(disk)
    #expect(try database.column("SELECT datetime('now')") == ["2000-02-29 00:00:00"])
  }

  @Test("takes names of the greatest length, not longer ones, and no foreign paths")
  func names() throws {
    let disk = SimDisk(seed: 1)
    let longest = String(repeating: "n", count: 200)
    try disk.write([1], to: longest, steps: [])
    #expect(try disk.read(longest) == [1])
    #expect(throws: DiskError(.notFound)) { try disk.write([1], to: longest + "n", steps: []) }
    // The temporary name needs four more.
    let atomic = String(repeating: "m", count: 196)
    try disk.write([1], to: atomic)
    #expect(throws: DiskError(.notFound)) { try disk.write([1], to: atomic + "m") }
    #expect(disk.names == [atomic, longest].sorted())
    var handle: OpaquePointer?
    for path in ["/tmp/a.db", "/disk/", "/disk/1", "/disk/x/a", "/disk/999999999/a", "/disk/1/"] {
      #expect(sqlite3_open_v2(path, &handle, 6, SimDisk.vfsName) != SQLITE_OK, "\(path)")
      sqlite3_close(handle)
    }
  }

  @Test("holds 4096 files and no more")
  func fileLimit() throws {
    let disk = SimDisk(seed: 1)
    for number in 0..<4096 { try disk.write([1], to: "\(number)", steps: []) }
    #expect(throws: DiskError(.notFound)) { try disk.write([1], to: "more", steps: []) }
    try disk.remove("7")
    try disk.write([1], to: "more", steps: [])
    disk.reboot()
    #expect(disk.names.count <= 4096)
  }

  @Test("keeps sparse and shrunk files right", arguments: SimDisk.Profile.allCases)
  func sizes(profile: SimDisk.Profile) throws {
    for seed in 0..<300 as Range<UInt64> {
      let disk = SimDisk(seed: seed, profile: profile)
      try disk.write([UInt8](repeating: 9, count: 10_000), to: "a")
      try disk.write([UInt8](repeating: 8, count: 3000), to: "a", steps: [])
      disk.reboot()
      let bytes = try #require(try disk.read("a"))
      #expect([0, 3000, 10_000].contains(bytes.count) || bytes.count % 512 == 0, "seed \(seed)")
      // Emptied and grown again, nothing old may shine through.
      try disk.write([], to: "a")
      try disk.write([UInt8](repeating: 7, count: 5000), to: "a")
      disk.reboot()
      #expect(try disk.read("a") == [UInt8](repeating: 7, count: 5000))
    }
  }
}
