import SimDisk
import Testing

@Suite("A power cut", .serialized)
struct CutTests {
  @Test(
    "loses no acknowledged commit with EXTRA before WAL",
    arguments: SimDisk.Profile.allCases, [true, false])
  func extraIsSafe(profile: SimDisk.Profile, isPowersafe: Bool) {
    let cycle = CrashCycle(
      profile: profile, opening: Opening.extra, isPowersafeOverwrite: isPowersafe,
      cutsTwice: isPowersafe)
    var cuts: UInt64 = 0
    var probes: [DiskProbe: UInt64] = [:]
    let count: UInt64 = isPowersafe ? 2000 : 500
    for seed in 0..<count {
      let (fault, wasCut, disk) = cycle.run(seed: seed)
      if wasCut { cuts += 1 }
      probes.merge(disk.counts(), uniquingKeysWith: +)
      #expect(fault == nil, "seed \(seed)")
    }
    #expect(cuts > count * 19 / 20)
    // Every kind of damage must have happened, or the test proves nothing.
    let wanted: [DiskProbe] = [
      .sectorsKept, .sectorsLost, .sectorsTorn, .sectorsGarbage, .sectorsStale, .sizesLost,
      .namesKept, .namesLost,
    ]
    for probe in wanted { #expect(probes[probe, default: 0] > 0) }
    let parts: [DiskProbe] = [
      .sectorsKept, .sectorsStale, .sectorsLost, .sectorsTorn, .sectorsGarbage,
    ]
    let sum = parts.reduce(0) { $0 + probes[$1, default: 0] }
    #expect(sum == probes[.sectorsUnsynced])
  }

  @Test("loses no acknowledged commit in rollback mode", arguments: SimDisk.Profile.allCases)
  func journalIsSafe(profile: SimDisk.Profile) {
    let cycle = CrashCycle(profile: profile, opening: Opening.journal)
    for seed in 0..<1000 as Range<UInt64> {
      #expect(cycle.run(seed: seed).fault == nil, "seed \(seed)")
    }
  }

  @Test("loses acknowledged commits without syncs, so that the check can fail")
  func offIsUnsafe() {
    let cycle = CrashCycle(profile: .ordered, opening: Opening.off, cutsLate: true)
    let faults = (0..<500 as Range<UInt64>).count { cycle.run(seed: $0).fault != nil }
    #expect(faults >= 450)
  }

  private func faults(_ profile: SimDisk.Profile, _ opening: [String]) -> Int {
    (0..<400 as Range<UInt64>).count { seed in
      CrashCycle(profile: profile, opening: opening, cutsLate: true).run(seed: seed).fault != nil
    }
  }

  @Test("brings an old journal back with FULL before WAL where directories are not synced")
  func fullBeforeWAL() {
    #expect(faults(.lazyUnlink, Opening.full) > 100)
    #expect(faults(.lazyUnlink, Opening.extra) == 0)
    // Elsewhere the first sync of the new WAL makes the removal of the journal durable too.
    #expect(faults(.ordered, Opening.full) == 0)
    #expect(faults(.adversarial, Opening.full) == 0)
  }

  @Test("brings an old journal back with FULL in rollback mode where unlinking is not durable")
  func fullInRollbackMode() {
    let opening = ["synchronous = FULL", "journal_mode = DELETE"]
    #expect(faults(.adversarial, opening) > 50)
    #expect(faults(.adversarial, Opening.journal) == 0)
  }

  @Test("leaves the same bytes for the same seed, and others for another")
  func isDeterministic() throws {
    // No journal: SQLite draws nothing from the generator that all tests of a process share.
    func life(_ seed: UInt64) throws -> [UInt64] {
      let disk = SimDisk(seed: seed, profile: .adversarial)
      var hashes: [UInt64] = []
      for round in 0..<5 as Range<UInt64> {
        disk.arm(.powerCut(atOperation: disk.operations + 10 + round * 7))
        let database = try RawDatabase(disk, "\(round).db", pragmas: ["journal_mode = OFF"])
        try? database.run(Ledger.table)
        var ledger = Ledger()
        try? ledger.write(database, rows: 200)
        try? disk.write([1, 2, 3], to: "key")
        disk.reboot()
        hashes += [disk.hash(of: .current), disk.hash(of: .durable)]
      }
      return hashes
    }
    let first = try life(7)
    #expect(try life(7) == first)
    #expect(try life(8) != first)
    for round in 0..<5 {
      #expect(first[round * 2] == first[round * 2 + 1], "a reboot leaves one view")
    }
    #expect(Set(first).count > 1)
  }

  @Test("leaves the same WAL when SQLite's generator is seeded")
  func seedsSQLite() throws {
    func hash() throws -> UInt64 {
      let disk = SimDisk(seed: 1)
      SimDisk.seedSQLite(99)
      let database = try RawDatabase(disk, pragmas: Opening.extra)
      try database.run(Ledger.table)
      return disk.hash(of: .current)
    }
    // Other tests of the process may draw in between, but not every time.
    let hashes = try (0..<20).map { _ in try hash() }
    #expect(Set(hashes).count < hashes.count)
  }

  @Test("is unlike the end of a process, which loses nothing that was written")
  func processKill() throws {
    for seed in 0..<200 as Range<UInt64> {
      let disk = SimDisk(seed: seed, profile: .adversarial)
      disk.arm(.processKill(atOperation: 20 + seed))
      var ledger = Ledger()
      do {
        let database = try RawDatabase(disk, pragmas: Opening.off)
        try database.run(Ledger.table)
        try ledger.write(database, rows: 200)
      } catch {}
      #expect(disk.isDown)
      disk.reboot()
      let database = try RawDatabase(disk, pragmas: Opening.off)
      #expect(try ledger.fault(in: database) == nil, "seed \(seed)")
    }
  }
}
