import CSimVFS

/// Something that a simulated disk counts: what was asked of it, and what its faults did.
///
/// A run whose probes stay at 0 proved nothing about them.
package enum DiskProbe: String, CaseIterable, Hashable, Sendable {
  case operations
  case reads
  case writes
  case bytesWritten
  case truncates
  case fileSyncs
  case directorySyncs
  case creates
  case deletes
  case renames
  case powerCuts
  case processKills
  case reboots
  /// Sectors that were not synced when the power went: the sum of the next five.
  case sectorsUnsynced
  case sectorsKept
  /// Survived in a version that had been overwritten.
  case sectorsStale
  case sectorsLost
  case sectorsTorn
  case sectorsGarbage
  /// Lost at a cut although they counted as clean, after a failed sync.
  case sectorsLied
  case sizesLost
  case namesKept
  case namesLost
  case noSpace
  case writeErrors
  case syncErrors
  case syncLies
  case readErrors
  case shortReads
  case bitsFlipped

  /// Those that count what faults did.
  package static let faults: [DiskProbe] = [
    .powerCuts, .processKills, .reboots, .sectorsKept, .sectorsStale, .sectorsLost, .sectorsTorn,
    .sectorsGarbage, .sectorsLied, .sizesLost, .namesKept, .namesLost, .noSpace, .writeErrors,
    .syncErrors, .syncLies, .readErrors,
  ]

  func count(in counters: simdisk_counters) -> UInt64 {
    switch self {
    case .operations: counters.operations
    case .reads: counters.reads
    case .writes: counters.writes
    case .bytesWritten: counters.bytes_written
    case .truncates: counters.truncates
    case .fileSyncs: counters.file_syncs
    case .directorySyncs: counters.directory_syncs
    case .creates: counters.creates
    case .deletes: counters.deletes
    case .renames: counters.renames
    case .powerCuts: counters.power_cuts
    case .processKills: counters.process_kills
    case .reboots: counters.reboots
    case .sectorsUnsynced: counters.sectors_unsynced
    case .sectorsKept: counters.sectors_kept
    case .sectorsStale: counters.sectors_stale
    case .sectorsLost: counters.sectors_lost
    case .sectorsTorn: counters.sectors_torn
    case .sectorsGarbage: counters.sectors_garbage
    case .sectorsLied: counters.sectors_lied
    case .sizesLost: counters.sizes_lost
    case .namesKept: counters.names_kept
    case .namesLost: counters.names_lost
    case .noSpace: counters.no_space
    case .writeErrors: counters.write_errors
    case .syncErrors: counters.sync_errors
    case .syncLies: counters.sync_lies
    case .readErrors: counters.read_errors
    case .shortReads: counters.short_reads
    case .bitsFlipped: counters.bits_flipped
    }
  }
}
