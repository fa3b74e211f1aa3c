import CSimVFS

/// A fault that a simulated disk can be armed with.
///
/// It strikes the first operations it applies to, from the given number on: the first operation of
/// a disk is number 1, so "the next one" is `disk.operations + 1`. Reads are numbered apart, as how
/// often a program reads depends on its caches.
package enum DiskFault: Hashable, Sendable {
  /// The machine loses power during the operation; everything fails until `SimDisk.reboot()`.
  case powerCut(atOperation: UInt64)
  /// The process ends during the operation; what it wrote stays in the system's cache.
  case processKill(atOperation: UInt64)
  /// Writes that need room, and creations, find none (`SQLITE_FULL`).
  case noSpace(atOperation: UInt64, count: UInt64)
  /// Writes, truncations, creations, deletions and renames fail (`SQLITE_IOERR`).
  case writeError(atOperation: UInt64, count: UInt64)
  /// Syncs fail; what they should have written counts as clean and is lost at the next power cut.
  ///
  /// Linux behaves so: pages are marked clean after a failed fsync, and the next one succeeds
  /// (Rebello et al., "Can Applications Recover from fsync Failures?", ATC 2020).
  case syncError(atOperation: UInt64, count: UInt64)
  /// Syncs succeed and do nothing, as on a disk that ignores the flush command.
  case syncLie(atOperation: UInt64, count: UInt64)
  /// Reads fail.
  case readError(atRead: UInt64, count: UInt64)
  /// Reads deliver their first half and say so (`SQLITE_IOERR_SHORT_READ`).
  case shortRead(atRead: UInt64, count: UInt64)

  /// The fault without its place, for rates.
  package enum Kind: CaseIterable, Hashable, Sendable {
    case powerCut
    case processKill
    case noSpace
    case writeError
    case syncError
    case syncLie
    case readError
    case shortRead

    var code: simdisk_fault {
      switch self {
      case .powerCut: SIMDISK_POWER_CUT
      case .processKill: SIMDISK_PROCESS_KILL
      case .noSpace: SIMDISK_NO_SPACE
      case .writeError: SIMDISK_WRITE_ERROR
      case .syncError: SIMDISK_SYNC_ERROR
      case .syncLie: SIMDISK_SYNC_LIE
      case .readError: SIMDISK_READ_ERROR
      case .shortRead: SIMDISK_SHORT_READ
      }
    }
  }

  /// Which fault this is.
  package var kind: Kind {
    switch self {
    case .powerCut: .powerCut
    case .processKill: .processKill
    case .noSpace: .noSpace
    case .writeError: .writeError
    case .syncError: .syncError
    case .syncLie: .syncLie
    case .readError: .readError
    case .shortRead: .shortRead
    }
  }

  /// Number of the first operation, or read, and how many it strikes.
  var place: (first: UInt64, count: UInt64) {
    switch self {
    case .powerCut(let operation), .processKill(let operation): (operation, 1)
    case .noSpace(let operation, let count), .writeError(let operation, let count),
      .syncError(let operation, let count), .syncLie(let operation, let count):
      (operation, count)
    case .readError(let read, let count), .shortRead(let read, let count): (read, count)
    }
  }
}
