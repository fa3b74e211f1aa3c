import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync

/// What verifying one zone found.
package struct ZoneVerification: Sendable {
  /// The zone.
  package let zone: ZoneState
  /// How many segments were opened again.
  package fileprivate(set) var segments = 0
  /// How many changes the log holds.
  package fileprivate(set) var changes = 0
  /// How many segments wait for something.
  package fileprivate(set) var pending = 0
  /// What is wrong, in words, each with where.
  package fileprivate(set) var faults: [String] = []
  /// The digest of the records as they stand; nil if they cannot be read.
  package fileprivate(set) var digest: [UInt8]?
  /// Whether every change of the log is there and authentic: then the rest follows from it.
  fileprivate var isLogSound = false

  fileprivate init(of zone: ZoneState) { self.zone = zone }
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
    Verification(zones: try verifyZones(), fileFaults: try fileFaults())
  }

  /// Builds anew what is damaged and follows from what is not: indexes, records, derived tables.
  ///
  /// The log decides: a zone whose log is damaged stays as it is, and so does every zone of a group
  /// whose members' log is, as that says what counts in the others.
  ///
  /// - Returns: what verifying finds afterwards.
  package func repair() throws -> Verification {
    if try !fileFaults().isEmpty { try mendFile() }
    let found = try verifyZones()
    var seen: Set<GroupID> = []
    for group in found.filter({ !$0.faults.isEmpty }).map(\.zone.group)
    where seen.insert(group).inserted {
      try repair(found.filter { $0.zone.group == group })
    }
    return try verify()
  }

  /// Builds the zones of one group anew, all of those with a sound log or none.
  private func repair(_ zones: [ZoneVerification]) throws {
    let control = zones.filter { $0.zone.kind == .control }
    guard control.allSatisfy(\.isLogSound) else { return }
    let data = zones.filter { $0.zone.kind == .data && $0.isLogSound }
    let before = engine
    do {
      try store.transaction {
        // What the members' log decides is looked up in the records of the others, so they come
        // before it; and after it, as it decides what of them counts.
        for zone in (data + control + data).map(\.zone.id) {
          _ = try engine.receive([], in: zone, nowMilliseconds: now())
          try engine.rebuild(zone, nowMilliseconds: now())
        }
        for zone in zones { try store.rebuildProjections(of: zone.zone.id) }
        guard try control.allSatisfy({ try verify($0.zone, comparing: true).faults.isEmpty })
        else { throw Unmended() }
      }
    } catch {
      engine = before
      // Verifying tells what of this group is damaged.
      guard error is Unmended || Node.isDamage(error) else { throw error }
    }
  }

  /// Ends a repair that did not help.
  private struct Unmended: Error {}

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
          .flatMap { try transport.damage(of: $0) }
          .filter { seen.insert($0.place).inserted }
        return found.isEmpty ? nil : (setting.path, found)
      } catch is TransportError {
        return nil
      }
    }
  }

  private func verifyZones() throws -> [ZoneVerification] {
    var damaged: Set<GroupID> = []
    return try orderedZones().map { zone in
      // Where it is not known who belongs to a group, nothing can be said of its records.
      let found = try verify(zone, comparing: !damaged.contains(zone.group))
      if zone.kind == .control, !found.faults.isEmpty { damaged.insert(zone.group) }
      return found
    }
  }

  private func verify(_ zone: ZoneState, comparing: Bool) throws -> ZoneVerification {
    var found = ZoneVerification(of: zone)
    do {
      let audit = try store.read { try engine.audit(zone.id) }
      (found.segments, found.changes) = (audit.segments, audit.changes)
      found.faults = words(for: audit, of: zone)
      found.isLogSound = audit.findings.isEmpty
      found.pending = try store.pendingEntries(in: zone.id).count
      found.digest = try digest(of: zone.id)
      if found.isLogSound, comparing,
        let fault = try engine.auditRecords(of: zone.id, nowMilliseconds: now())
      {
        found.faults.append(fault)
      }
      for table in try store.staleProjections(of: zone.id) {
        found.faults.append("the table \(table) is not what the records say")
      }
    } catch  where Node.isDamage(error) {
      found.faults.append("not everything can be read: \(error)")
    }
    return found
  }

  /// Whether an error tells that what is stored is not what it should be, rather than that the disk
  /// or another program is in the way.
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

  /// The version of the library that seals and signs.
  package static var sodiumVersion: String { Sodium.version }
}
