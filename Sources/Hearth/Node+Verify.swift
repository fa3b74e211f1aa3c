import HearthCRDT
import HearthCrypto
import HearthStore
import HearthSync

/// What verifying one zone found.
package struct ZoneVerification: Sendable {
  /// The zone.
  package let zone: ZoneState
  /// How many segments were opened again.
  package let segments: Int
  /// How many changes the log holds.
  package let changes: Int
  /// How many segments wait for something.
  package let pending: Int
  /// What is wrong, in words, each with where.
  package let faults: [String]
  /// The digest of the records as they stand; nil if they cannot be read.
  package let digest: [UInt8]?
}

/// What verifying a node found.
package struct Verification: Sendable {
  /// Each zone in order of database, kind and name.
  package let zones: [ZoneVerification]
  /// What SQLite says is wrong with the file; empty if nothing.
  package let fileFaults: [String]

  /// Whether nothing is wrong.
  package var isSound: Bool { fileFaults.isEmpty && zones.allSatisfy(\.faults.isEmpty) }
}

extension Node {
  /// Checks everything this node holds against its signatures, hash chains and rules.
  ///
  /// Opens every stored segment again, follows each author's chain to its head, compares the
  /// records with what the log gives and the projections with a rebuild, and asks SQLite about its
  /// file. Changes nothing; linear in the size of the data.
  package func verify() throws -> Verification {
    Verification(zones: try orderedZones().map(verify), fileFaults: try fileFaults())
  }

  /// Builds anew what is damaged and follows from what is not: indexes, records, derived tables.
  ///
  /// The log decides: a zone whose log is damaged stays as it is. Nothing is taken from a log that
  /// lacks changes which the records have.
  ///
  /// - Returns: what verifying finds afterwards.
  package func repair() throws -> Verification {
    if try !fileFaults().isEmpty { try mendFile() }
    for zone in orderedZones() where try !verify(zone).faults.isEmpty {
      do {
        try engine.rebuild(zone.id, nowMilliseconds: now())
        try store.rebuildProjections(of: zone.id)
      } catch let error as SyncError where error.code == .corrupt {
        // Verifying tells what of this log is damaged.
        continue
      }
    }
    return try verify()
  }

  private func fileFaults() throws -> [String] {
    var faults = try store.integrity().filter { $0 != "ok" }
    if let group = engine.privateGroup, !engine.zones.contains(where: { $0.group == group }) {
      faults.append("it does not hold the private database that it names as its own")
    }
    return faults
  }

  private func mendFile() throws {
    do {
      try store.rebuildIndexes()
    } catch let error as StoreError where [.corrupt, .failed].contains(error.code) {
      // Rows that no index can hold stay as they are, and verifying tells them again.
    }
    // Where there is but one, it is known which is meant.
    let personal = Set(engine.zones.filter { $0.database == .personal }.map(\.group))
    if let only = personal.first, personal.count == 1, engine.privateGroup != only {
      try engine.usePrivateGroup(only)
    }
  }

  /// Every zone, the members' log of a group before what it decides on.
  private func orderedZones() -> [ZoneState] {
    allZones().sorted {
      ($0.database.rawValue, $0.group, $0.kind.rawValue, $0.name, $0.id)
        < ($1.database.rawValue, $1.group, $1.kind.rawValue, $1.name, $1.id)
    }
  }

  /// What of the files in the shared folders cannot be used, each folder with its own.
  ///
  /// Reads every file and changes nothing; a folder that is away has none.
  package func damagedFiles() throws -> [(folder: String, problems: [TransportProblem])] {
    try transports().compactMap { setting in
      let transport = try transport(setting.path)
      do {
        let carried = groups(over: setting)
        // What lies above the zones is told by the listing of each.
        var seen: Set<String> = []
        let found = try allZones()
          .filter { engine.isExchanged($0) && carried.contains($0.group) }
          .flatMap { try engine.damage(of: $0, on: transport) }
          .filter { seen.insert($0.place).inserted }
        return found.isEmpty ? nil : (setting.path, found)
      } catch is TransportError {
        return nil
      }
    }
  }

  private func verify(_ zone: ZoneState) throws -> ZoneVerification {
    let audit = try store.read { try engine.audit(zone.id) }
    var faults = words(for: audit, of: zone)
    var digest: [UInt8]?
    do {
      digest = try self.digest(of: zone.id)
      // A log that is damaged says nothing about the records.
      if faults.isEmpty {
        faults += try [engine.auditRecords(of: zone.id, nowMilliseconds: now())].compactMap(\.self)
      }
      for table in try store.staleProjections(of: zone.id) {
        faults.append("the table \(table) is not what the records say")
      }
    } catch let error as StoreError where error.code == .corrupt {
      faults.append("the records cannot be read: \(error)")
    }
    return ZoneVerification(
      zone: zone, segments: audit.segments, changes: audit.changes,
      pending: try store.pending(in: zone.id).count, faults: faults, digest: digest)
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

  /// The version of the library that seals and signs.
  package static var sodiumVersion: String { Sodium.version }
}
