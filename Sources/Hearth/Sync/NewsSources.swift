import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync
import HearthTransport

/// Finds what to watch for news between two rounds of sync.
struct NewsSources: NodeWork {
  let core: NodeCore

  /// What to watch between two rounds.
  func all() throws -> NewsSource {
    let settings = try transports.list()
    return NewsSource(
      folders: settings.filter { $0.kind == .folder }.map { setting in
        let carried = transports.groups(over: setting)
        let zones = allZones().filter {
          ExchangeScope(engine: engine).isExchanged($0) && carried.contains($0.group)
        }
        return FolderNewsSource(path: setting.path, zoneTags: Set(zones.map(\.tag)))
      },
      relays: try settings.filter { $0.kind == .relay }.map { try newsSource(of: $0) },
      database: folder.database)
  }

  /// The zones' mailboxes, and those in which requests to join and answers lie.
  private func newsSource(of setting: TransportSetting) throws -> RelayNewsSource {
    let relay = try connections.relay(setting.path)
    var accesses = relay.client.directory.zones.keys.sorted().compactMap { tag in
      relay.client.directory.zones[tag]
    }.filter(\.mayCreate)
    for join in try pending.joins() where join.folder == setting.path {
      accesses.append(try connections.requestAccess(of: try InviteSecret(text: join.secret)))
    }
    for group in ExchangeScope(engine: engine).exchangedGroups where relay.carried.contains(group) {
      let membership = membership(of: group)
      guard let own = membership.role(of: device), own.rank >= Role.admin.rank else { continue }
      for invite in membership.invites
      where invite.operation.admission == .approve && !invite.isClosed && invite.usesLeft > 0 {
        accesses.append(try connections.requestAccess(of: invite.operation))
      }
    }
    // The connection that the exchanges use, which is shared.
    let link = try Connections.link(
      setting.path, token: setting.token, device: device.hex, identity: engine.identity)
    return RelayNewsSource(
      place: setting.path, accesses: accesses.map { relay.client.directory.completing($0) },
      link: link)
  }
}

extension Node {
  /// What to watch between two rounds of sync.
  package func newsSource() throws -> NewsSource { try looking { try NewsSources(core: $0).all() } }
}
