import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync

/// The result of verifying one zone.
package struct ZoneVerification: Sendable {
  /// The zone.
  package let zone: ZoneState
  /// The number of segments that were opened again.
  package fileprivate(set) var segments = 0
  /// The number of changes in the log.
  package fileprivate(set) var changes = 0
  /// The number of pending segments.
  package fileprivate(set) var pending = 0
  /// The faults in words, each with its place.
  package fileprivate(set) var faults: [String] = []
  /// The digest of the present records; nil if they are unreadable.
  package fileprivate(set) var digest: [UInt8]?
  /// Whether every change of the log is present and authentic, so that the rest can be derived from
  /// it.
  fileprivate var isLogSound = false

  fileprivate init(of zone: ZoneState) { self.zone = zone }
}

/// The result of verifying a node.
package struct Verification: Sendable {
  /// Each zone in order of database, kind and name.
  package let zones: [ZoneVerification]
  /// The faults of the file that SQLite reports; empty if there are none.
  package let fileFaults: [String]

  /// Whether there are no faults.
  package var isSound: Bool { fileFaults.isEmpty && zones.allSatisfy(\.faults.isEmpty) }
}

/// Checks all data of a node against its signatures, hash chains and rules, and rebuilds what
/// follows from sound data.
struct Verifier: NodeWork {
  let core: NodeCore

  /// Checks all data of this node against its signatures, hash chains and rules.
  ///
  /// It opens every stored segment again, follows each author's chain to its head, compares the
  /// records with the log's result and the projections with a rebuild, and has SQLite check its
  /// file. It changes nothing; linear in the size of the data.
  func verify() throws -> Verification {
    Verification(zones: try verifyZones(), fileFaults: try fileFaults())
  }

  /// Rebuilds damaged data that follows from intact data: indexes, records, derived tables.
  ///
  /// The log decides. A zone with a damaged log stays as it is. So does every zone of a group with
  /// a damaged control log, because that log decides what counts in the others.
  ///
  /// - Returns: the result of a verification afterwards.
  func repair() throws -> Verification {
    if try !fileFaults().isEmpty { try repairFile() }
    let found = try verifyZones()
    var seen: Set<GroupID> = []
    for group in found.filter({ !$0.faults.isEmpty }).map(\.zone.group)
    where seen.insert(group).inserted {
      try repair(found.filter { $0.zone.group == group })
    }
    return try verify()
  }

  /// Rebuilds the zones of one group that have a sound log: all of them or none.
  private func repair(_ zones: [ZoneVerification]) throws {
    let control = zones.filter { $0.zone.kind == .control }
    guard control.allSatisfy(\.isLogSound) else { return }
    let data = zones.filter { $0.zone.kind == .data && $0.isLogSound }
    let before = engine
    do {
      try store.transaction {
        // The control log looks up records of the other zones, so these zones come before it. They
        // also come after it, because it decides which of their changes count.
        for zone in (data + control + data).map(\.zone.id) {
          _ = try engine.receive([], in: zone, nowMilliseconds: now())
          try Rebuild.rebuild(zone, in: &engine, nowMilliseconds: now())
        }
        for zone in zones { try store.rebuildProjections(of: zone.zone.id) }
        guard try control.allSatisfy({ try verify($0.zone, comparing: true).faults.isEmpty })
        else { throw Unrepaired() }
      }
    } catch {
      engine = before
      // The verification reports the damage of this group.
      guard error is Unrepaired || Verifier.isDamage(error) else { throw error }
    }
  }

  /// Ends a repair that did not help.
  private struct Unrepaired: Error {}

  private func fileFaults() throws -> [String] {
    var faults = try store.integrity().filter { $0 != "ok" }
    faults += try store.facts.damaged().map { "its value \"\($0)\" is damaged" }
    if let group = engine.privateGroup, !engine.zones.contains(where: { $0.group == group }) {
      faults.append("it lacks the private database that it names as its own")
    }
    return faults
  }

  private func repairFile() throws {
    do {
      try store.rebuildIndexes()
    } catch let error as StoreError where [.corrupt, .failed].contains(error.code) {
      // Rows that no index can contain stay as they are, and the verification reports them again.
    }
    try store.transaction { try store.facts.removeDamagedCaches() }
    // If there is only one, it is the one meant.
    let personal = Set(engine.zones.filter { $0.database == .personal }.map(\.group))
    if let only = personal.first, personal.count == 1, engine.privateGroup != only {
      try PrivateGroupChoice.use(only, in: &engine)
    }
  }

  /// Returns every zone; a group's control log precedes the zones that it governs.
  private func orderedZones() -> [ZoneState] {
    allZones().sorted {
      ($0.database.rawValue, $0.group, $0.kind.rawValue, $0.name, $0.id)
        < ($1.database.rawValue, $1.group, $1.kind.rawValue, $1.name, $1.id)
    }
  }

  private func verifyZones() throws -> [ZoneVerification] {
    var damaged: Set<GroupID> = []
    return try orderedZones().map { zone in
      // If the members of a group are unknown, its records cannot be judged.
      let found = try verify(zone, comparing: !damaged.contains(zone.group))
      if zone.kind == .control, !found.faults.isEmpty { damaged.insert(zone.group) }
      return found
    }
  }

  private func verify(_ zone: ZoneState, comparing: Bool) throws -> ZoneVerification {
    var found = ZoneVerification(of: zone)
    do {
      let audit = try store.read { try ZoneAudit(engine: engine).audit(zone.id) }
      (found.segments, found.changes) = (audit.segments, audit.changes)
      found.faults = words(for: audit, of: zone)
      found.isLogSound = audit.findings.isEmpty
      found.pending = try store.pending.entries(in: zone.id).count
      found.digest = try store.read { try engine.digest(of: zone.id) }
      if found.isLogSound, comparing,
        let fault = try ZoneAudit(engine: engine).auditRecords(
          of: zone.id, after: audit, withDigest: found.digest, nowMilliseconds: now())
      {
        found.faults.append(fault)
      }
      for table in try store.staleProjections(of: zone.id) {
        found.faults.append("the table \(table) does not match the records")
      }
    } catch  where Verifier.isDamage(error) {
      found.faults.append("not everything can be read: \(error)")
    }
    return found
  }

  /// Whether an error means that stored data is wrong, rather than that the disk or another program
  /// interferes.
  private static func isDamage(_ error: any Error) -> Bool {
    switch error {
    case let error as StoreError: [.corrupt, .failed].contains(error.code)
    case is SyncError, is CryptoError, is CodecError: true
    default: false
    }
  }

  private func words(for audit: LogAudit, of zone: ZoneState) -> [String] {
    let membership = membership(of: zone.group)
    return audit.findings.map { finding in
      let name = membership.device(finding.author.device)?.card.name ?? "an unknown device"
      let range =
        finding.changes.count == 1
        ? "change \(finding.changes.lowerBound)"
        : "changes \(finding.changes.lowerBound) to \(finding.changes.upperBound)"
      return "\(range) of \(name) (\(finding.author)): \(finding.text)"
    }
  }
}
