import HearthCRDT
import HearthMembership
import HearthRelayProtocol
import HearthSync
import HearthTransport

/// The result of `transport repair` for one household or private database.
package struct RelayRepairReport: Sendable {
  /// The group's id.
  package let group: GroupID
  /// The name of the household or database.
  package let name: String
  /// The result.
  package let repair: RelayRepair
}

/// Repairs the mailboxes at a relay that somebody has damaged.
struct RelayRepairs: NodeWork {
  let core: NodeCore
  let node: Node

  /// Repairs the mailboxes of a relay for the groups in which this person is an owner or admin.
  ///
  /// It syncs before, so that nothing unread is cleared, and after, so that missing data is
  /// published again.
  ///
  /// - Throws: `invalid` if it is not a relay, `notAllowed`, `offline`.
  func repair(_ name: String) async throws -> (
    repairs: [RelayRepairReport], report: SyncReport
  ) {
    let setting = try transports.setting(named: name)
    guard TransportAddress.isRelay(setting.path) else {
      throw HearthError(.invalid, "\(setting.path) is a folder: only a relay has mailboxes")
    }
    let carried = transports.groups(over: setting)
    let groups = ExchangeScope(engine: engine).exchangedGroups.filter { group in
      ending(in: group) == nil && carried.contains(group)
        && (engine.membership(of: group).role(of: device)?.rawValue ?? 0) >= Role.admin.rawValue
    }
    guard !groups.isEmpty else {
      throw HearthError(
        .notAllowed, "only an owner or admin of a household can repair its mailboxes")
    }
    let before = try await node.sync()
    let round = before.transports.first { $0.setting == setting.path }
    let isRead = round.map { $0.failure == nil } ?? false
    var repairs: [RelayRepairReport] = []
    var fault: TransportError?
    let relay = try connections.relay(setting.path)
    for group in groups {
      let name = dataZones().first { $0.group == group }?.name ?? group.hex
      do {
        let repair = try await RelayMailboxRepair(
          of: RelayMailboxes(at: relay, with: replicas), needing: needed(in: group)
        ).repair(group, mayClear: isRead)
        repairs.append(RelayRepairReport(group: group, name: name, repair: repair))
      } catch let error as TransportError {
        // The repairs of the other groups are reported all the same.
        fault = fault ?? error
        repairs.append(RelayRepairReport(group: group, name: name, repair: .failed("\(error)")))
      }
    }
    let isDone = repairs.contains { if case .failed = $0.repair { false } else { true } }
    if let fault, !isDone { throw HearthError(.offline, "\(fault)", cause: fault) }
    try relay.client.keep()
    return (repairs, try await node.sync())
  }

  /// The chunks of attachments that records of a group need, of each zone of which that is clear.
  private func needed(in group: GroupID) async throws -> [ZoneID: Set<Identifier>] {
    var needed: [ZoneID: Set<Identifier>] = [:]
    for zone in dataZones() where zone.group == group {
      needed[zone.id] = try await AttachmentUse(core: core).clearNeeds(of: zone.id)
    }
    return needed
  }
}
