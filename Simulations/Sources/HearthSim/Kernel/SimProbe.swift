/// A situation of the simulated world that runs must come to; the code's own marks are `Probe`.
enum SimProbe: String, CaseIterable, Codable, Sendable {
  case stepWhileOff = "world.step-while-off"
  case removalIgnored = "folder.removal-ignored"
  case fileArrivedInPart = "folder.file-in-part"
  case fileArrivedDamaged = "folder.file-damaged-on-the-way"
  case fileDamaged = "folder.file-damaged-in-place"
  case fileResurrected = "folder.file-resurrected"
  case partition = "world.partition"
  case startFailed = "disk.start-failed"
  case powerLost = "disk.power-lost"
  case diskFull = "disk.full"
  case diskFailed = "disk.failed"
  case syncFailed = "disk.sync-failed"
  case syncLied = "disk.sync-lied"
  case powerLostInStep = "disk.power-lost-in-step"
  case killed = "life.killed"
  case restarted = "life.restarted"
  case upgraded = "life.upgraded"
  case rolledBackUnnoticed = "life.rolled-back-unnoticed"
  case databaseRolledBack = "life.database-rolled-back"
  case fileForged = "folder.file-forged"
  case folderMissing = "folder.missing"
  case lostToLies = "disk.lost-to-lies"
  case folderEmptied = "folder.emptied"
  case folderDeletedEverywhere = "folder.deleted-everywhere"
  case anchorLost = "life.anchor-lost"
  case anchorOld = "life.anchor-old"
  case folderFull = "folder.full"
  case listingStale = "folder.listing-stale"
  case fileLost = "folder.file-lost-on-the-way"
  case oldBuildWrote = "work.old-build-wrote"
  case clockBack = "clock.back"
  case clockAhead = "clock.ahead"
  case clockDrifts = "clock.drifts"
  case comparedAfterStart = "oracle.compared-after-start"
  case talliesCompared = "oracle.tallies-compared"
  case occurrencesCompared = "oracle.occurrences-compared"
  case freshBySnapshot = "oracle.fresh-by-snapshot"
  case freshByLog = "oracle.fresh-by-log"
  case rolledBack = "life.rolled-back"
  case rolledBackBeforeJoining = "life.rolled-back-before-joining"
  case cloned = "life.cloned"
  case attemptBecameDurable = "ledger.attempt-became-durable"
  case equalFrontiers = "oracle.equal-frontiers"
  case redelivered = "oracle.redelivered"
  case rebuilt = "oracle.rebuilt"
  case joinedBySnapshot = "oracle.joined-by-snapshot"
  case undone = "work.undone"
  case archivedAndRestored = "work.archived-and-restored"
  case wrongClockWrote = "clock.wrong-clock-wrote"
  case clock1970 = "clock.1970"
  case clock2099 = "clock.2099"
  case coreHealed = "settle.core"

  // Touched from the one thread that runs a simulation.
  nonisolated(unsafe) private static var counts = [Int](repeating: 0, count: allCases.count)
  private static let places = Dictionary(
    uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })

  /// Counts one more.
  func hit() { SimProbe.counts[SimProbe.places[self] ?? 0] += 1 }

  static func read() -> [(probe: SimProbe, count: Int)] { zip(allCases, counts).map { ($0, $1) } }

  static func reset() { counts = [Int](repeating: 0, count: allCases.count) }
}
