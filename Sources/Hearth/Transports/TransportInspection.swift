import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport

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
  package var lastFailure: TransportFailure?
  /// The problem that keeps replaced keys valid there, as far as the last round could tell.
  package var oldKeys: TransportProblem?
  /// When it was last seen rolled back to an older state; nil if not within a week.
  package let rollbackMilliseconds: UInt64?
}

/// Looks at what the transports hold, and changes nothing.
struct TransportInspection: NodeWork {
  let core: NodeCore

  func status(of setting: TransportSetting) async throws -> TransportStatus {
    let rollback = try transportRollbacks.last(of: setting)
    let last = try transportFailures.last(of: setting)
    var missing = 0
    do {
      let transport = try connections.transport(setting.path)
      let carried = transports.groups(over: setting)
      for zone in allZones()
      where ExchangeScope(engine: engine).isExchanged(zone) && carried.contains(zone.group) {
        // A removed device publishes nothing any more.
        if ending(in: zone.group) != nil { continue }
        let listing = try await transport.list(of: zone)
        let stored = try store.log.segments(of: zone.id)
        missing +=
          try SyncPlan(zone: zone, stored: stored, pending: [])
          .publications(
            to: listing, stored: stored,
            trusted: NameTrust(engine: engine).trustedNames(of: zone, in: listing, stored: stored),
            of: zone,
            by: engine.device
          ).count
      }
      var oldKeys: TransportProblem?
      if let relay = transport as? RelayTransport, try relay.notes.keepsOldKeys() {
        oldKeys = RelayWords(place: relay.place).oldKeysProblem
      }
      return TransportStatus(
        setting: setting, unpublished: missing, failure: nil,
        fault: TransportFailures.folderFault(of: setting), lastFailure: last,
        oldKeys: oldKeys,
        rollbackMilliseconds: rollback)
    } catch let error as TransportError {
      return TransportStatus(
        setting: setting, unpublished: nil, failure: "\(error)",
        refusalRemedy: [.relayRefused, .relayCertificate].contains(error.code)
          ? error.remedy : nil,
        isMistrusted: error.code == .relayCertificate, lastFailure: last,
        rollbackMilliseconds: rollback)
    }
  }

  /// Returns the number of this device's changes that no other device can have.
  ///
  /// They are not sealed yet, or in none of the folders. A relay that no longer admits this device
  /// reveals nothing: if there is one, sealed changes are assumed to be published.
  func changesOnlyHere(in group: GroupID) async throws -> Int {
    let settings = try transports.list(of: group)
    var count = 0
    for zone in allZones() where zone.group == group && zone.kind == .data {
      for head in zone.heads where head.author.device == device {
        count += try store.log.changes(
          of: head.author, in: zone.id, after: 0, limit: NodeCore.maximumCountedChanges
        ).count
      }
      guard !settings.contains(where: { TransportAddress.isRelay($0.path) }) else { continue }
      var held: Set<SegmentName> = []
      for setting in settings {
        let listing = try? await connections.transport(setting.path).list(of: zone)
        held.formUnion(listing?.segments ?? [])
      }
      let listing = TransportListing(segments: held.sorted())
      let stored = try store.log.segments(of: zone.id).filter { $0.author.device == device }
      count += SyncPlan(zone: zone, stored: stored, pending: [])
        .publications(to: listing, stored: stored, trusted: held, of: zone, by: device)
        .reduce(0) { $0 + Int(clamping: $1.segment.last - $1.segment.first + 1) }
    }
    return count
  }

  /// Returns the unusable files of each shared folder.
  ///
  /// It reads every file and changes nothing; an unreachable folder has none.
  func damagedFiles() async throws -> [(folder: String, problems: [TransportProblem])] {
    var damaged: [(folder: String, problems: [TransportProblem])] = []
    for setting in try transports.list() {
      let transport = try connections.transport(setting.path)
      let carried = transports.groups(over: setting)
      // The listing of each zone reports the problems above the zones.
      var seen: Set<String> = []
      var found: [TransportProblem] = []
      do {
        for zone in allZones()
        where ExchangeScope(engine: engine).isExchanged(zone) && carried.contains(zone.group) {
          found += try await transport.damage(of: zone).filter { seen.insert($0.place).inserted }
        }
      } catch is TransportError {
        continue
      }
      if !found.isEmpty { damaged.append((setting.path, found)) }
    }
    return damaged
  }
}
