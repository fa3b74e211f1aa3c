import HearthCRDT

/// Finds who had seen an operation in one branch of a log, and not its contradiction in another.
///
/// An operation without effect is no witness, nor is one that only publishes a branch as fork
/// evidence. A class, so that asking copies nothing.
final class BranchWitnesses {
  private let log: ControlLog
  /// The witnesses of each rank, the highest first.
  private let ranks: [(rank: Int, parts: LogParts)]

  init(_ findings: Findings) {
    log = findings.log
    let witnesses = log.items.indices.filter { place in
      if case .branch = findings.log.operation(place) { return false }
      return findings.isLive[place]
    }
    ranks = (Role.child.rank...Role.owner.rank).reversed().map { rank in
      (rank, LogParts(witnesses.filter { findings.rank($0) == rank }, of: findings.log))
    }
  }

  /// The greatest rank of another device that had seen an operation and not its contradiction.
  ///
  /// 0 if there is none.
  func rank(of place: Int, beside other: Int) -> Int {
    let found = ranks.first { _, parts in
      parts.containsFirst(seeing: place, notSeeing: other, in: log) {
        log.devices[$0] != log.devices[place]
      }
    }
    return found?.rank ?? 0
  }
}
