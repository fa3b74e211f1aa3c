import GRDBSQLite
import SimDisk
import Testing

@Suite("A failing disk", .serialized)
struct FaultTests {
  private func code(_ body: () throws -> Void) -> Int32 {
    do {
      try body()
      return SQLITE_OK
    } catch {
      return (error as? SQLiteFailure)?.code ?? -1
    }
  }

  /// A disk with an open database of some rows.
  private func started(
    seed: UInt64 = 1, opening: [String] = Opening.extra, rows: Int = 30
  ) throws -> (SimDisk, RawDatabase, Ledger) {
    let disk = SimDisk(seed: seed)
    let database = try RawDatabase(disk, pragmas: opening)
    try database.run(Ledger.table)
    var ledger = Ledger()
    try ledger.write(database, rows: rows)
    return (disk, database, ledger)
  }

  @Test("without room says so, keeps earlier rows and goes on with room", arguments: [true, false])
  func full(isByQuota: Bool) throws {
    let (disk, database, before) = try started()
    var ledger = before
    if isByQuota {
      disk.setQuota(bytes: 200_000)
    } else {
      disk.arm(.noSpace(atOperation: disk.operations + 50, count: 3))
    }
    #expect(code { try ledger.write(database, rows: 2000) } == SQLITE_FULL)
    #expect(disk.count(.noSpace) > 0)
    #expect(try ledger.fault(in: database) == nil)
    disk.setQuota(bytes: nil)
    disk.disarm()
    try ledger.write(database, rows: ledger.acknowledged + 100)
    disk.reboot()
    #expect(try ledger.fault(in: try RawDatabase(disk, pragmas: Opening.extra)) == nil)
  }

  @Test("takes exactly its quota and no byte more")
  func quotaLimit() throws {
    let disk = SimDisk(seed: 1)
    disk.setQuota(bytes: 100)
    try disk.write([UInt8](repeating: 1, count: 100), to: "a", steps: [])
    #expect(throws: DiskError(.full)) { try disk.write([1], to: "b", steps: []) }
    try disk.remove("a")
    #expect(throws: DiskError(.full)) {
      try disk.write([UInt8](repeating: 1, count: 101), to: "a", steps: [])
    }
  }

  @Test("reports writes and reads that fail, and keeps what was acknowledged")
  func ioErrors() throws {
    for seed in 0..<300 as Range<UInt64> {
      let (disk, database, before) = try started(seed: seed)
      var ledger = before
      disk.setRate(of: .writeError, perMillion: 20_000)
      #expect(code { try ledger.write(database, rows: 1000) } == SQLITE_IOERR)
      disk.disarm()
      database.close()
      disk.reboot()
      let reopened = try RawDatabase(disk, pragmas: Opening.extra)
      #expect(try ledger.fault(in: reopened) == nil, "seed \(seed)")
    }
    let (disk, database, _) = try started(rows: 200)
    database.close()
    let cold = try RawDatabase(disk)
    disk.setRate(of: .readError, perMillion: 1_000_000)
    #expect(code { _ = try cold.column("SELECT * FROM t") } == SQLITE_IOERR)
    disk.disarm()
    #expect(try cold.number("SELECT count(*) FROM t") >= 200)
  }

  @Test("strikes exactly the operations it was armed for")
  func armedCounts() throws {
    let disk = SimDisk(seed: 1)
    try disk.write([1], to: "a")
    let next = disk.operations + 1
    // Truncate, write, sync: no operation before `next + 1` fails, and two from there.
    disk.arm(.writeError(atOperation: next + 1, count: 2))
    #expect(throws: DiskError(.io)) { try disk.write([2], to: "a", steps: []) }
    #expect(disk.operations == next + 1)
    #expect(throws: DiskError(.io)) { try disk.write([3], to: "a", steps: []) }
    try disk.write([4], to: "a", steps: [])
    #expect(try disk.read("a") == [4])
    #expect(disk.count(.writeErrors) == 2)
  }

  @Test("whose sync fails once has lost the data although the next sync succeeds")
  func failedSync() throws {
    let disk = SimDisk(seed: 1)
    try disk.write([UInt8](repeating: 1, count: 2000), to: "a", steps: .durably)
    disk.arm(.syncError(atOperation: disk.operations + 1, count: 1))
    #expect(throws: DiskError(.io)) {
      try disk.write([UInt8](repeating: 2, count: 2000), to: "b", steps: [.syncingFile])
    }
    #expect(try disk.read("b")?.count == 2000, "seen until the cut")
    // Another file's sync commits the name, as ext4 does, but not the bytes.
    try disk.write([3], to: "c", steps: .durably)
    disk.reboot()
    #expect(try disk.read("b") ?? [] == [])
    #expect(disk.count(.sectorsLied) == 4)
    #expect(try disk.read("a") == [UInt8](repeating: 1, count: 2000))
  }

  @Test("whose syncs lie is found out by the check of acknowledged rows")
  func lyingSync() throws {
    var lost = 0
    for seed in 0..<200 as Range<UInt64> {
      let (disk, database, before) = try started(seed: seed)
      var ledger = before
      disk.arm(.syncLie(atOperation: disk.operations + 1, count: 1000))
      try ledger.write(database, rows: 60)
      #expect(disk.count(.syncLies) > 0)
      disk.reboot()
      disk.disarm()
      if ledger.verdict(on: disk) != nil { lost += 1 }
    }
    #expect(lost >= 180)
  }

  @Test("that rots is found out by SQLite in its structure, and by a digest everywhere")
  func rot() throws {
    let (disk, database, _) = try started(rows: 200)
    database.close()
    // Any sync makes the removal of the WAL durable.
    try disk.write([1], to: "key")
    let clean = disk.hash()
    let image = disk.image()
    // The type byte of the table's root page.
    try disk.flipBit(UInt64(4096 + 0) * 8 + 3, of: "a.db")
    #expect(disk.hash() != clean)
    #expect(disk.hash(of: .durable) == disk.hash(of: .current))
    let damaged = try RawDatabase(disk)
    let found = try? damaged.column("PRAGMA integrity_check")
    #expect(found != ["ok"])
    damaged.close()
    #expect(throws: DiskError(.range)) {
      try disk.flipBit(UInt64(try #require(disk.size(of: "a.db"))) * 8, of: "a.db")
    }
    #expect(throws: DiskError(.notFound)) { try disk.flipBit(0, of: "none") }
    disk.restore(image)
    #expect(disk.hash() == clean)
    // The last bit can be flipped, and flipping it again heals.
    let last = UInt64(try #require(disk.size(of: "a.db"))) * 8 - 1
    try disk.flipBit(last, of: "a.db")
    try disk.flipBit(last, of: "a.db")
    #expect(disk.hash() == clean)
  }

  @Test("that reads short does not go unnoticed")
  func shortRead() throws {
    let (disk, database, ledger) = try started(rows: 200)
    database.close()
    var unnoticed = 0
    for read in 1..<60 as Range<UInt64> {
      let clone = disk.clone(seed: read)
      clone.arm(.shortRead(atRead: read, count: 1))
      let fault = ledger.verdict(on: clone)
      if clone.count(.shortReads) > 0, fault == nil { unnoticed += 1 }
    }
    // The read of a page's unused half, or of the 16 bytes of the change counter, may be harmless.
    #expect(unnoticed < 20)
  }
}
