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
  /// The digest of the records as they stand.
  package let digest: [UInt8]
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
  /// projections with a rebuild and asks SQLite about its file. Changes nothing; linear in the
  /// size of the data.
  package func verify() throws -> Verification {
    let order = allZones().sorted {
      ($0.database.rawValue, $0.group, $0.kind.rawValue, $0.name, $0.id)
        < ($1.database.rawValue, $1.group, $1.kind.rawValue, $1.name, $1.id)
    }
    let fileFaults = try store.integrity().filter { $0 != "ok" }
    return Verification(zones: try order.map(verify), fileFaults: fileFaults)
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
    let membership = membership(of: zone.group)
    let audit = try store.read { try engine.audit(zone.id) }
    var faults = audit.findings.map { finding in
      let name = membership.device(finding.author.device)?.card.name ?? "an unknown device"
      let range =
        finding.changes.count == 1
        ? "change \(finding.changes.lowerBound)"
        : "changes \(finding.changes.lowerBound) to \(finding.changes.upperBound)"
      return "\(range) of \(name) (\(finding.author)): \(finding.text)"
    }
    for table in try store.staleProjections(of: zone.id) {
      faults.append("the table \(table) is not what the records say")
    }
    return ZoneVerification(
      zone: zone, segments: audit.segments, changes: audit.changes,
      pending: try store.pending(in: zone.id).count, faults: faults,
      digest: try digest(of: zone.id))
  }

  /// The version of the library that seals and signs.
  package static var sodiumVersion: String { Sodium.version }
}
