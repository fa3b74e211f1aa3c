import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync

/// What a node sees of its zones, its devices and its files, without changing anything.
package struct Diagnostics: Sendable {
  let node: Node

  /// The version of the cryptographic library.
  package static var sodiumVersion: String { Sodium.version }

  // MARK: Zones

  /// Returns the status of each zone, data zones and control zones alike.
  package func zones() async throws -> [ZoneStatus] {
    try await node.working { try NodeInspection(core: $0).zones() }
  }

  /// Returns the applied part of each author's log in a zone, the latest first.
  package func authorLogs(of zone: ZoneID) async throws -> [AuthorLog] {
    try await node.looking { try NodeInspection(core: $0).authorLogs(of: zone) }
  }

  /// Whether changes of a group stay unreadable here until an owner or admin provides a snapshot
  /// that contains them.
  package func awaitsSnapshot(in group: GroupID) async throws -> Bool {
    try await node.looking { core in
      try core.engine.zones.contains {
        try $0.group == group && ClosedSegments(engine: core.engine).awaitsSnapshot($0.id)
      }
    }
  }

  /// Returns the people from any one of whom this device accepts the awaited snapshot, if it awaits
  /// one.
  package func awaitedSnapshotAuthors(in group: GroupID) async throws -> [String] {
    try await node.looking { SnapshotTrust(engine: $0.engine).awaitedVoices(in: group).map(\.name) }
  }

  /// Returns the maker of the snapshot from which a zone of a group began, and the people who
  /// attest something else; nil if there are none.
  package func refutedSnapshot(
    in group: GroupID
  ) async throws -> (maker: String, others: [String])? {
    try await node.looking { core in
      for zone in core.engine.zones where zone.group == group && zone.kind == .data {
        if let refuted = try AttestationCheck(engine: core.engine).refutedBase(of: zone.id) {
          return refuted
        }
      }
      return nil
    }
  }

  /// Returns the devices of a group with the same changes as this one and a different record
  /// digest.
  package func stateDifferences(in group: GroupID) async throws -> [StateDifference] {
    try await node.looking { core in
      try core.engine.zones.filter { $0.group == group && $0.kind == .data }
        .flatMap { try ComparedState.stateDifferences(in: $0.id, by: core.engine) }
    }
  }

  /// Returns the records of a group's zones that accept no more from an author.
  package func overfullRecords(in group: GroupID) async throws -> [OverfullRecord] {
    try await node.looking { core in
      try core.engine.zones.filter { $0.group == group && $0.kind == .data }
        .flatMap { try OverfullRecords.overfullRecords(in: $0.id, with: core.engine.store) }
    }
  }

  // MARK: Devices

  /// Returns the progress of every active device of a group, in order of device.
  ///
  /// A device reports its progress with every change, and by heartbeats. The result is a lower
  /// bound: the device may have read more since.
  package func progress(in group: GroupID) async throws -> [DeviceProgress] {
    try await node.looking { try ProgressReports(core: $0).progress(in: group) }
  }

  /// Returns the changes that others report and that are not here.
  package func withheldChanges(in group: GroupID) async throws -> [WithheldChanges] {
    try await node.looking { try ProgressReports(core: $0).withheld(in: group) }
  }

  /// Returns thirty digits for all applied changes of a group: equal on two devices exactly if they
  /// have the same changes.
  package func fingerprint(of group: GroupID) async throws -> String {
    try await node.looking { ProgressReports(core: $0).fingerprint(of: group) }
  }

  /// Returns the number of delivered keys that this device cannot open, in all zones of a group.
  ///
  /// They are the keys for which it has complained and nobody has delivered them again.
  package func unopenedKeys(in group: GroupID) async throws -> Int {
    try await node.looking { ProgressReports(core: $0).unopenedKeys(in: group) }
  }

  /// Returns the devices whose clocks are more than five minutes from this one's or from what they
  /// saw.
  package func clocks() async throws -> [ClockFinding] {
    try await node.looking { NodeInspection(core: $0).clocks() }
  }

  /// Returns that a device with this one's keys runs elsewhere, with the remedy; nil if none is
  /// known.
  ///
  /// The notice about it appears once. This result lasts while the device is a member and keeps its
  /// incarnation.
  package func copy() async throws -> (fault: String, remedy: String)? {
    try await node.looking { try IncarnationNotices(core: $0).copyFinding() }
  }

  // MARK: The home folder

  /// Returns the permissions of the home folder and key file that are wider than necessary.
  package func permissionFaults() async throws -> [(path: String, mode: Int, wanted: Int)] {
    try await node.looking { NodeInspection(core: $0).permissionFaults() }
  }

  /// Returns the free bytes of the node's disk; nil if the system does not report them.
  package func freeBytes() async throws -> UInt64? {
    try await node.looking { NodeInspection(core: $0).freeBytes() }
  }
}

extension Node {
  /// What this node sees of its zones, its devices and its files.
  package nonisolated var diagnostics: Diagnostics { Diagnostics(node: self) }
}
