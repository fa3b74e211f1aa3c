import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync

/// The progress of a group's device, by its own reports.
package struct DeviceProgress: Equatable, Sendable {
  package let device: DeviceID
  /// When it last wrote anything, by its own clock; nil if it never did.
  package let seenMilliseconds: UInt64?
  /// The number of local changes that it had not seen at its last report.
  package let missing: UInt64
  /// The number of changes that it had seen and that have not arrived here.
  package let ahead: UInt64
}

/// Changes that a device claims to have seen and no transport delivered to this node.
package struct WithheldChanges: Equatable, Sendable {
  /// The author of the changes.
  package let author: Author
  package let authorName: String
  /// The person of the author's device.
  package let personName: String
  package let count: UInt64
  /// The device that claims to have seen them.
  package let witnessName: String
  /// The person of that device.
  package let witnessPersonName: String
}

/// What the devices of a group report to have seen, and what this device reports.
struct ProgressReports: NodeWork {
  let core: NodeCore

  /// Returns the progress of every active device of a group, in order of device.
  ///
  /// A device reports its progress with every change, and by heartbeats. The result is a lower
  /// bound: the device may have read more since.
  func progress(in group: GroupID) throws -> [DeviceProgress] {
    let membership = membership(of: group)
    let zones = engine.zones.filter { $0.group == group }
    let reports = try reports(in: group)
    return membership.devices.map { device in
      let claims = claims(of: device.id, in: group, reports)
      var missing: UInt64 = 0
      var ahead: UInt64 = 0
      for zone in zones where zone.kind == .data {
        let claim = claims[zone.id] ?? Frontier()
        for entry in zone.frontier.entries where entry.author.device != device.id {
          missing += entry.sequence > claim[entry.author] ? entry.sequence - claim[entry.author] : 0
        }
        for entry in claim.entries where entry.sequence > zone.frontier[entry.author] {
          ahead += entry.sequence - zone.frontier[entry.author]
        }
      }
      let isOwn = device.id == self.device
      let seen = zones.flatMap(\.heads)
        .filter { $0.author.device == device.id && $0.sequence > 0 }.map(\.time.milliseconds).max()
      return DeviceProgress(
        device: device.id, seenMilliseconds: seen, missing: isOwn ? 0 : missing, ahead: ahead)
    }
  }

  /// Returns the changes that others report and that are not here.
  ///
  /// Reports are in applied changes, in heartbeats, and in pending segments that depend on those
  /// very changes. A pending segment is here and does not count as missing. What others report of
  /// this device's live incarnation is nothing that a transport could deliver: see
  /// `UnwrittenClaims.claims(in:)`.
  func withheld(in group: GroupID) throws -> [WithheldChanges] {
    let membership = membership(of: group)
    let zones = engine.zones.filter { $0.group == group }
    let waiting = try zones.map { zone in
      (zone: zone, segments: try WaitingSegments(engine: engine).segments(in: zone.id))
    }
    let reports = try reports(in: group)
    var found: [Author: WithheldChanges] = [:]
    for witness in membership.devices where witness.id != device {
      var claims = claims(of: witness.id, in: group, reports)
      for (zone, segments) in waiting {
        for segment in segments where segment.author.device == witness.id {
          add(segment, of: zone, to: &claims)
        }
      }
      for (zone, segments) in waiting {
        for entry in claims[zone.id]?.entries ?? [] where entry.author != engine.author {
          let count = ProgressReports.missing(
            of: entry.author, after: zone.frontier[entry.author], to: entry.sequence, segments)
          guard count > found[entry.author]?.count ?? 0 else { continue }
          found[entry.author] = WithheldChanges(
            author: entry.author,
            authorName: membership.device(entry.author.device)?.card.name ?? "an unknown device",
            personName: membership.person(of: entry.author.device)?.name ?? "an unknown person",
            count: count, witnessName: witness.card.name,
            witnessPersonName: membership.person(of: witness.id)?.name ?? "an unknown person")
        }
      }
    }
    return found.values.sorted { $0.author < $1.author }
  }

  /// Adds the report of a pending segment about its author.
  private func add(
    _ segment: WaitingSegment, of zone: ZoneState, to claims: inout [ZoneID: Frontier]
  ) {
    let own = Frontier([(segment.author, segment.last)])
    claims[zone.id] = (claims[zone.id] ?? Frontier()).joined(with: segment.seen).joined(with: own)
    guard zone.kind == .data,
      let control = engine.zones.first(where: { $0.group == zone.group && $0.kind == .control })
    else { return }
    claims[control.id] = (claims[control.id] ?? Frontier()).joined(with: segment.controlSeen)
  }

  /// Returns the number of an author's changes that are neither applied nor in a pending segment.
  static func missing(
    of author: Author, after applied: UInt64, to last: UInt64, _ waiting: [WaitingSegment]
  ) -> UInt64 {
    var count: UInt64 = 0
    var reached = applied
    // In order of their first change.
    for segment in waiting where segment.author == author && segment.last > reached {
      guard reached < last else { return count }
      if segment.first > reached + 1 { count += min(last, segment.first - 1) - reached }
      reached = segment.last
    }
    return reached < last ? count + (last - reached) : count
  }

  /// The last reports of a group's devices that are no operations, read once for all devices.
  private func reports(in group: GroupID) throws -> DeviceReports {
    try DeviceReports.stored(of: engine.controlZone(of: group).id, in: engine.store)
  }

  /// Returns the frontiers that a device has reported for each zone, by its changes and heartbeats.
  private func claims(
    of device: DeviceID, in group: GroupID, _ reports: DeviceReports
  ) -> [ZoneID: Frontier] {
    var claims: [ZoneID: Frontier] = [:]
    let zones = engine.zones.filter { $0.group == group }
    let control = zones.first { $0.kind == .control }?.id
    for zone in zones {
      for head in zone.heads where head.author.device == device {
        claims[zone.id] = (claims[zone.id] ?? Frontier()).joined(with: head.past)
        if let control, zone.kind == .data {
          claims[control] = (claims[control] ?? Frontier()).joined(with: head.controlSeen)
        }
      }
    }
    for said in reports.frontiers(of: device, in: membership(of: group)) {
      claims[said.zone] = (claims[said.zone] ?? Frontier()).joined(with: said.frontier)
    }
    return claims
  }

  /// How long a device that only reads waits before it reports its progress again: a day, and after
  /// ``dailyReports`` own changes of the control log a week.
  ///
  /// Everybody receives and stores each report as a file of its own.
  static func heartbeatMilliseconds(after changes: UInt64) -> UInt64 {
    let day: UInt64 = 24 * 60 * 60 * 1_000
    return changes < dailyReports ? day : 7 * day
  }

  /// The number of own changes of the control log after which a device reports once a week.
  private static let dailyReports: UInt64 = 128

  /// Sends a heartbeat to each group if this device has new data and has not written for a while.
  func sendHeartbeats() throws {
    let moment = now()
    for group in ExchangeScope(engine: engine).exchangedGroups
    where engine.membership(of: group).isActive(device) {
      let zones = engine.zones.filter { $0.group == group }
      let last = zones.flatMap(\.heads).filter { $0.author.device == device }
        .map(\.time.milliseconds).max()
      let said = try engine.controlZone(of: group).head(of: engine.author).sequence
      let interval = ProgressReports.heartbeatMilliseconds(after: said)
      guard let last, last + interval <= moment else { continue }
      let claims = claims(of: device, in: group, try reports(in: group))
      let hasNews = zones.contains { zone in
        zone.kind == .data && !(claims[zone.id] ?? Frontier()).covers(zone.frontier)
      }
      if hasNews { try MemberChanges.heartbeat(in: group, by: &engine, nowMilliseconds: moment) }
    }
  }

  /// Returns thirty digits for all applied changes of a group: equal on two devices exactly if they
  /// have the same changes.
  ///
  /// They cover each zone in order of id: the zone, then each author's log with its last change and
  /// the chain hash after it. In six groups of five.
  func fingerprint(of group: GroupID) -> String {
    var writer = ByteWriter(capacity: 1_024)
    writer.identifier(group)
    for zone in engine.zones.filter({ $0.group == group }).sorted(by: { $0.id < $1.id }) {
      let heads = zone.heads.filter { $0.sequence > 0 }
      writer.identifier(zone.id)
      writer.varint(heads.count)
      for head in heads {
        writer.identifier(head.author.device)
        writer.fixed64(head.author.incarnation)
        writer.varint(head.sequence)
        writer.raw(head.hash)
      }
    }
    return FrontierFingerprint(canonicalBytes: writer.bytes).description
  }

  /// Returns the number of delivered keys that this device cannot open, in all zones of a group.
  ///
  /// They are the keys for which it has complained and nobody has delivered them again.
  func unopenedKeys(in group: GroupID) -> Int {
    var lacking: Set<[UInt8]> = []
    for entry in membership(of: group).audit() where entry.void == nil {
      switch entry.operation {
      case .complaint(_, let epoch, _) where entry.device == device:
        lacking.insert(epoch)
      case .wrapAdd(_, let epoch, let wraps) where wraps.contains { $0.recipient == device }:
        lacking.remove(epoch)
      default: break
      }
    }
    return lacking.count
  }
}
