import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport

/// Publishes that a person has left, which a regular exchange no longer does.
struct LeaveNotices: NodeWork {
  let core: NodeCore

  /// Publishes the fact that this person has left, which a regular exchange no longer does.
  func publish(over settings: [TransportSetting]) async throws {
    for group in households() where ending(in: group)?.kind == .left {
      for zone in engine.zones where zone.group == group {
        _ = try Sealing.seal(zone.id, in: &engine)
        try Anchor.keepUp(anchorFile, with: engine)
        for setting in try transports.list(of: group) where settings.contains(setting) {
          try? await publishOwn(zone.id, to: setting)
        }
      }
    }
  }

  private func publishOwn(_ id: ZoneID, to setting: TransportSetting) async throws {
    let transport = try connections.transport(setting.path)
    let zone = try engine.zone(id)
    let listing = try await transport.list(of: zone)
    let stored = try store.log.segments(of: id)
    let plan = SyncPlan(zone: zone, stored: stored, pending: [])
    let trusted = try NameTrust(engine: engine).trustedNames(of: zone, in: listing, stored: stored)
    for (segment, name) in plan.publications(
      to: listing, stored: stored, trusted: trusted, of: zone, by: device)
    where segment.author.device == device {
      guard let bytes = try store.log.bytes(of: segment.digest, in: id) else { continue }
      try await transport.publish(name, bytes)
    }
  }
}
