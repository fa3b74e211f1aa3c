import Foundation
import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport

/// The status of one zone of a node.
package struct ZoneStatus: Sendable {
  /// The zone.
  package let zone: ZoneState
  /// The number of applied changes of all authors.
  package let changes: UInt64
  /// The number of own changes in no segment yet: no other device can have them.
  package let unsealed: Int
  /// The number of own changes that no transport has taken yet, sealed or not.
  package let unsynced: Int
  /// The number of pending segments by reason, in order of the reason's word.
  package let waiting: [(reason: PendingReason, count: Int)]
  /// The devices that segments of a newer version name; this version cannot verify that.
  package let newer: [DeviceID]
  /// The authors that published two histories.
  package let forks: [Author]
  /// The changes that are held back because their authors cannot have seen what they cite, and the
  /// devices that claim to have seen what this device never wrote, in words.
  package let falseClaims: [String]
}

/// The status of one transport.
package struct TransportStatus: Sendable {
  /// The transport.
  package let setting: TransportSetting
  /// The number of segments that it lacks; nil if it is unreachable.
  package let unpublished: Int?
  /// The reason why it is unreachable, in words.
  package let failure: String?
  /// The remedy, if the transport is reachable but refuses, or if another relay answers.
  package var refusalRemedy: String?
  /// Whether the answering relay is not the one of the address, or cannot prove that it is.
  package var isMistrusted = false
  /// The reason why the next round could not write to it, although it is readable; nil if none is
  /// seen.
  package var fault: String?
  /// Its failure in this node's last sync; nil if there was none.
  package var lastFailure: WayFailure?
  /// The problem that keeps replaced keys valid there, as far as the last round could tell.
  package var oldKeys: TransportProblem?
  /// When it was last seen rolled back to an older state; nil if not within a week.
  package let setBackMilliseconds: UInt64?
}

/// A device whose clock is far from others'.
package struct ClockFinding: Equatable, Sendable {
  /// The result of the comparison.
  package enum Kind: String, Sendable {
    /// Its last change lies ahead of this device's clock.
    case ahead
    /// Its last change lies behind changes that it had seen.
    case behind
  }

  package let kind: Kind
  package let device: DeviceID
  package let deviceName: String
  /// The difference in milliseconds.
  package let milliseconds: UInt64
}

/// The applied part of one author's log, for people.
package struct AuthorLog: Sendable {
  package let author: Author
  package let deviceName: String
  package let personName: String
  package let changes: UInt64
  /// When its last change was made, by its own clock.
  package let lastMilliseconds: UInt64
}

extension Node {
  /// Returns the status of each zone, data zones and control zones alike.
  package func zoneStatuses() throws -> [ZoneStatus] {
    try replicas.working {
      try allZones().sorted {
        ($0.database.rawValue, $0.group, $0.kind.rawValue, $0.name, $0.id)
          < ($1.database.rawValue, $1.group, $1.kind.rawValue, $1.name, $1.id)
      }.map { zone in
        var unsealed = 0
        for head in zone.heads where head.author.device == device {
          unsealed += try store.changes(
            of: head.author, in: zone.id, after: 0, limit: Node.maximumCountedChanges
          ).count
        }
        var counts: [PendingReason: Int] = [:]
        var newer: Set<DeviceID> = []
        for segment in try store.pendingEntries(in: zone.id) {
          counts[segment.reason, default: 0] += 1
          if segment.reason == .format, let author = segment.author(in: zone) {
            newer.insert(author.device)
          }
        }
        let claims = try engine.falseClaims(in: zone.id).map { engine.words(for: $0, in: zone) }
        let unwritten = try engine.unwrittenClaims(in: zone.group).filter { $0.zone == zone.id }
          .map { engine.words(for: $0, in: zone) }
        return ZoneStatus(
          zone: zone, changes: zone.heads.reduce(0) { $0 + $1.sequence }, unsealed: unsealed,
          unsynced: Int(clamping: try engine.unsyncedCount(of: zone)),
          waiting: counts.keys.sorted { $0.rawValue < $1.rawValue }.map { ($0, counts[$0] ?? 0) },
          newer: newer.sorted(),
          forks: Set(zone.heads.filter { $0.forkedAt != nil }.map(\.author))
            .union(zone.forkEnds.keys).sorted(),
          falseClaims: claims + unwritten)
      }
    }
  }

  private static let maximumCountedChanges = 1_000_000

  /// Returns the number of this device's changes that no other device can have.
  ///
  /// They are not sealed yet, or in none of the folders. A relay that no longer admits this device
  /// reveals nothing: if there is one, sealed changes are assumed to be published.
  package func changesOnlyHere(in group: GroupID) async throws -> Int {
    try await alone {
      let settings = try transports(of: group)
      var count = 0
      for zone in allZones() where zone.group == group && zone.kind == .data {
        for head in zone.heads where head.author.device == device {
          count += try store.changes(
            of: head.author, in: zone.id, after: 0, limit: Node.maximumCountedChanges
          ).count
        }
        guard !settings.contains(where: { Node.isRelay($0.path) }) else { continue }
        var held: Set<SegmentName> = []
        for setting in settings {
          let listing = try? await transport(setting.path).list(of: zone)
          held.formUnion(listing?.segments ?? [])
        }
        let listing = TransportListing(segments: held.sorted())
        let stored = try store.segments(of: zone.id).filter { $0.author.device == device }
        count += SyncPlan(zone: zone, stored: stored, pending: [])
          .publications(to: listing, stored: stored, trusted: held, of: zone, by: device)
          .reduce(0) { $0 + Int(clamping: $1.segment.last - $1.segment.first + 1) }
      }
      return count
    }
  }

  /// Returns the status of each transport, after reading its listing.
  package func transportStatuses() async throws -> [TransportStatus] {
    try await alone {
      var statuses: [TransportStatus] = []
      for setting in try transports() { statuses.append(try await status(of: setting)) }
      return statuses
    }
  }

  private func status(of setting: TransportSetting) async throws -> TransportStatus {
    let setBack = try setBack(of: setting)
    let last = try lastFailure(of: setting)
    var missing = 0
    do {
      let transport = try transport(setting.path)
      let carried = groups(over: setting)
      for zone in allZones() where engine.isExchanged(zone) && carried.contains(zone.group) {
        // A removed device publishes nothing any more.
        if ending(in: zone.group) != nil { continue }
        let listing = try await transport.list(of: zone)
        let stored = try store.segments(of: zone.id)
        missing +=
          try SyncPlan(zone: zone, stored: stored, pending: [])
          .publications(
            to: listing, stored: stored,
            trusted: engine.trustedNames(of: zone, in: listing, stored: stored), of: zone,
            by: engine.device
          ).count
      }
      let relay = transport as? RelayTransport
      return TransportStatus(
        setting: setting, unpublished: missing, failure: nil,
        fault: folderFault(of: setting), lastFailure: last,
        oldKeys: try relay?.keepsOldKeys() == true ? relay?.oldKeysProblem : nil,
        setBackMilliseconds: setBack)
    } catch let error as TransportError {
      return TransportStatus(
        setting: setting, unpublished: nil, failure: "\(error)",
        refusalRemedy: [.relayRefused, .relayCertificate].contains(error.code)
          ? error.remedy : nil,
        isMistrusted: error.code == .relayCertificate, lastFailure: last,
        setBackMilliseconds: setBack)
    }
  }

  /// The clock difference that is reported: more than five minutes.
  package static let clockToleranceMilliseconds = HybridClock.maximumLeadMilliseconds

  /// Returns the devices whose clocks are more than five minutes from this one's or from what they
  /// saw.
  ///
  /// A log's times follow the times it has seen by up to five minutes. So a device that wrote more
  /// than that before a time that it had seen has a clock that is behind.
  package func clockFindings() -> [ClockFinding] {
    let wall = now()
    let tolerance = Node.clockToleranceMilliseconds
    var found: [DeviceID: ClockFinding] = [:]
    for zone in allZones() {
      let membership = membership(of: zone.group)
      let times = Dictionary(uniqueKeysWithValues: zone.heads.map { ($0.author, $0) })
      for head in zone.heads where head.sequence > 0 {
        let time = head.time.milliseconds
        let seen = head.seen.entries.compactMap { entry -> UInt64? in
          guard let other = times[entry.author], other.sequence == entry.sequence,
            other.author.device != head.author.device,
            other.time.milliseconds <= wall + tolerance
          else { return nil }
          return other.time.milliseconds
        }.max()
        let finding: (ClockFinding.Kind, UInt64)
        if time > wall + tolerance {
          finding = (.ahead, time - wall)
        } else if let seen, seen > time + tolerance {
          finding = (.behind, seen - time)
        } else {
          continue
        }
        if let known = found[head.author.device], known.milliseconds >= finding.1 { continue }
        found[head.author.device] = ClockFinding(
          kind: finding.0, device: head.author.device,
          deviceName: membership.device(head.author.device)?.card.name ?? "an unknown device",
          milliseconds: finding.1)
      }
    }
    return found.values.sorted { $0.device < $1.device }
  }

  /// Returns the applied part of each author's log in a zone, the latest first.
  package func authorLogs(of zone: ZoneID) throws -> [AuthorLog] {
    let state = try engine.zone(zone)
    let membership = membership(of: state.group)
    return state.heads.filter { $0.sequence > 0 }
      .sorted { ($1.time, $0.author) < ($0.time, $1.author) }
      .map { head in
        AuthorLog(
          author: head.author,
          deviceName: membership.device(head.author.device)?.card.name ?? "an unknown device",
          personName: membership.person(of: head.author.device)?.name ?? "nobody known",
          changes: head.sequence, lastMilliseconds: head.time.milliseconds)
      }
  }

  // MARK: The home folder

  /// The path of this node's home folder.
  package var home: String { folder.root.path }

  /// Returns the permissions of the home folder and key file that are wider than necessary.
  package func permissionFaults() -> [(path: String, mode: Int, wanted: Int)] {
    [(folder.root.path, 0o700), (folder.keyFile, 0o600)].compactMap { path, wanted in
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      guard let mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue,
        mode & 0o777 & ~wanted != 0
      else { return nil }
      return (path, mode & 0o777, wanted)
    }
  }

  /// Returns the free bytes of the node's disk; nil if the system does not report them.
  package func freeBytes() -> UInt64? {
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder.root.path)
    return (attributes?[.systemFreeSize] as? NSNumber)?.uint64Value
  }
}
