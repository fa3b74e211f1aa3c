import SimDisk
import TestSupport

/// What a program wrote to a table and was told is safe; judges what is there after a crash.
///
/// Row `i` holds a blob that follows from `i`, so a wrong byte is seen; some transactions write
/// several rows, so a torn one is.
struct Ledger {
  /// Rows whose commit returned.
  private(set) var acknowledged = 0
  /// Rows whose commit was tried.
  private(set) var attempted = 0

  static let table = "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, n INTEGER, body BLOB)"

  /// The rows of the transaction that starts after so many rows.
  private static func rows(after count: Int) -> ClosedRange<Int> {
    count + 1...count + 1 + count % 3
  }

  /// Bodies are zero-blobs of differing length with the number at the end.
  private static func body(_ row: String) -> String {
    "CAST(zeroblob(40 + (\(row) * 397) % 1500) || \(row) AS BLOB)"
  }

  /// Commits transactions until so many rows are acknowledged or the first failure.
  mutating func write(_ database: RawDatabase, rows: Int) throws {
    while acknowledged < rows {
      let next = Ledger.rows(after: acknowledged)
      attempted = max(attempted, next.upperBound)
      var sql = "BEGIN;"
      for row in next {
        sql += "INSERT INTO t VALUES(\(row), \(row * 7), \(Ledger.body("\(row)")));"
      }
      do {
        try database.run(sql + "COMMIT")
      } catch {
        try? database.run("ROLLBACK")
        throw error
      }
      acknowledged = next.upperBound
    }
  }

  /// What is wrong with a database after a crash; nil if nothing acknowledged is missing, nothing
  /// never written is there, no transaction is torn and the file is whole.
  func fault(in database: RawDatabase) throws -> String? {
    try database.run(Ledger.table)
    let integrity = try database.column("PRAGMA integrity_check")
    guard integrity == ["ok"] else { return "integrity: \(integrity.prefix(2))" }
    let found = try database.number("SELECT count(*) FROM t")
    if found < acknowledged { return "lost: \(found) of \(acknowledged) rows" }
    if found > attempted { return "invented: \(found) of \(attempted) rows" }
    if found != acknowledged && found != attempted { return "torn: \(found) rows" }
    let wrong = try database.number(
      "SELECT count(*) FROM t WHERE n != id * 7 OR body != \(Ledger.body("id")) OR id > \(found)")
    return wrong == 0 ? nil : "wrong: \(wrong) rows"
  }

  /// What is wrong with the database of a disk, one that cannot be opened or read included.
  func verdict(on disk: SimDisk, opening: [String] = Opening.extra) -> String? {
    do {
      return try fault(in: try RawDatabase(disk, pragmas: opening))
    } catch {
      return "recovery failed: \(error)"
    }
  }

  /// Takes up what a database holds after a crash, so that writing can go on.
  mutating func resume(_ database: RawDatabase) throws {
    acknowledged = try database.number("SELECT count(*) FROM t")
  }
}

/// One seeded life of a database: write, lose power, recover (losing power once more), write again.
struct CrashCycle {
  var profile: SimDisk.Profile
  var opening: [String]
  var isPowersafeOverwrite = true
  /// Whether a second cut follows soon after the first reboot.
  ///
  /// Without powersafe overwrites SQLite 3.40 is not safe then: it fills up a commit's last sector
  /// with a repeated frame, and recovery that finds this frame damaged lets the next commit begin
  /// in the sector of the last good one.
  var cutsTwice = true
  /// Only cuts after something was acknowledged.
  var cutsLate = false

  /// The result: what is wrong, or nil; and whether the power went while writing.
  func run(seed: UInt64) -> (fault: String?, wasCut: Bool, disk: SimDisk) {
    let disk = SimDisk(seed: seed, profile: profile, isPowersafeOverwrite: isPowersafeOverwrite)
    var dice = SplitMix64(seed: seed)
    let first = cutsLate ? 120 + UInt64(dice.below(150)) : 1 + UInt64(dice.below(260))
    disk.arm(.powerCut(atOperation: first))
    var ledger = Ledger()
    do {
      let database = try RawDatabase(disk, pragmas: opening)
      try database.run(Ledger.table)
      try ledger.write(database, rows: 200)
    } catch {}
    let wasCut = disk.isDown
    disk.reboot()
    // A second cut, often within recovery.
    if cutsTwice {
      disk.arm(.powerCut(atOperation: disk.operations + 1 + UInt64(dice.below(40))))
    } else {
      disk.disarm()
    }
    do {
      let database = try RawDatabase(disk, pragmas: opening)
      if let fault = try ledger.fault(in: database) { return (fault, wasCut, disk) }
      try ledger.resume(database)
      try ledger.write(database, rows: ledger.acknowledged + 20)
    } catch {
      if !disk.isDown { return ("recovery failed: \(error)", wasCut, disk) }
    }
    disk.reboot()
    disk.disarm()
    return (ledger.verdict(on: disk, opening: opening), wasCut, disk)
  }
}
