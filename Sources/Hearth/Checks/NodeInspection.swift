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

/// A device whose clock is far from others'.
package struct ClockFinding: Equatable, Sendable {
  /// The result of the comparison.
  package enum Kind: String, Sendable {
    /// Its last change lies ahead of this device's clock.
    case ahead
    /// Its last change lies behind changes that it had seen.
    case behind
  }

  /// The difference that is reported: more than five minutes.
  package static let toleranceMilliseconds = HybridClock.maximumLeadMilliseconds

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

/// Looks at a node's zones, clocks and home folder.
struct NodeInspection: NodeWork {
  let core: NodeCore

  /// Returns the status of each zone, data zones and control zones alike.
  func zones() throws -> [ZoneStatus] {
    try allZones().sorted {
      ($0.database.rawValue, $0.group, $0.kind.rawValue, $0.name, $0.id)
        < ($1.database.rawValue, $1.group, $1.kind.rawValue, $1.name, $1.id)
    }.map { zone in
      var unsealed = 0
      for head in zone.heads where head.author.device == device {
        unsealed += try store.log.changes(
          of: head.author, in: zone.id, after: 0, limit: NodeCore.maximumCountedChanges
        ).count
      }
      var counts: [PendingReason: Int] = [:]
      var newer: Set<DeviceID> = []
      for segment in try store.pending.entries(in: zone.id) {
        counts[segment.reason, default: 0] += 1
        if segment.reason == .format, let author = segment.author(in: zone) {
          newer.insert(author.device)
        }
      }
      let claims = try FalseClaims(engine: engine).claims(in: zone.id).map {
        FalseClaims(engine: engine).words(for: $0, in: zone)
      }
      let unwritten = try UnwrittenClaims(engine: engine).claims(in: zone.group).filter {
        $0.zone == zone.id
      }
      .map { UnwrittenClaims(engine: engine).words(for: $0, in: zone) }
      return ZoneStatus(
        zone: zone, changes: zone.heads.reduce(0) { $0 + $1.sequence }, unsealed: unsealed,
        unsynced: Int(clamping: try AcknowledgedChanges.unsyncedCount(of: zone, in: engine)),
        waiting: counts.keys.sorted { $0.rawValue < $1.rawValue }.map { ($0, counts[$0] ?? 0) },
        newer: newer.sorted(),
        forks: Set(zone.heads.filter { $0.forkedAt != nil }.map(\.author))
          .union(zone.forkEnds.keys).sorted(),
        falseClaims: claims + unwritten)
    }
  }

  /// Returns the devices whose clocks are more than five minutes from this one's or from what they
  /// saw.
  ///
  /// A log's times follow the times it has seen by up to five minutes. So a device that wrote more
  /// than that before a time that it had seen has a clock that is behind.
  func clocks() -> [ClockFinding] {
    let wall = now()
    let tolerance = ClockFinding.toleranceMilliseconds
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
  func authorLogs(of zone: ZoneID) throws -> [AuthorLog] {
    let state = try engine.zone(zone)
    let membership = membership(of: state.group)
    return state.heads.filter { $0.sequence > 0 }
      .sorted { ($1.time, $0.author) < ($0.time, $1.author) }
      .map { head in
        AuthorLog(
          author: head.author,
          deviceName: membership.device(head.author.device)?.card.name ?? "an unknown device",
          personName: membership.person(of: head.author.device)?.name ?? "an unknown person",
          changes: head.sequence, lastMilliseconds: head.time.milliseconds)
      }
  }

  // MARK: The home folder

  /// Returns the permissions of the home folder and key file that are wider than necessary.
  func permissionFaults() -> [(path: String, mode: Int, wanted: Int)] {
    [(folder.root.path, 0o700), (folder.keyFile, 0o600)].compactMap { path, wanted in
      let attributes = try? FileManager.default.attributesOfItem(atPath: path)
      guard let mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue,
        mode & 0o777 & ~wanted != 0
      else { return nil }
      return (path, mode & 0o777, wanted)
    }
  }

  /// Returns the free bytes of the node's disk; nil if the system does not report them.
  func freeBytes() -> UInt64? {
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder.root.path)
    return (attributes?[.systemFreeSize] as? NSNumber)?.uint64Value
  }
}
