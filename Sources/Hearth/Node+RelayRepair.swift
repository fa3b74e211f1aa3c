import HearthCRDT
import HearthMembership
import HearthSync
import HearthTransport

/// What `transport repair` came to for one household or private database.
package struct RelayRepairReport: Sendable {
  /// The group's id.
  package let group: GroupID
  /// The name of the household or database.
  package let name: String
  /// What was done.
  package let repair: RelayRepair
}

// Mailboxes at a relay that somebody has spoilt.
extension Node {
  /// Puts right what goes over a relay, as far as this person is an owner or admin there.
  ///
  /// Syncs before, so that nothing is cleared that was not read, and after, so that what is missing
  /// is given again.
  ///
  /// - Throws: `invalid` for what is no relay, `notAllowed`, `offline`.
  package func repairRelay(_ name: String) throws -> (
    repairs: [RelayRepairReport], report: SyncReport
  ) {
    let setting = try transport(named: name)
    guard Node.isRelay(setting.path) else {
      throw HearthError(.invalid, "\(setting.path) is a folder: only a relay has mailboxes")
    }
    let carried = groups(over: setting)
    let groups = engine.exchangedGroups.filter { group in
      ending(in: group) == nil && carried.contains(group)
        && (engine.membership(of: group).role(of: device)?.rawValue ?? 0) >= Role.admin.rawValue
    }
    guard !groups.isEmpty else {
      throw HearthError(
        .notAllowed, "only an owner or admin of a household puts its mailboxes right")
    }
    let before = try sync()
    let round = before.transports.first { $0.setting == setting.path }
    var repairs: [RelayRepairReport] = []
    do {
      let relay = try relay(setting.path)
      for group in groups {
        let repair = try engine.repair(group, over: relay, mayClear: round?.failure == nil)
        let name = dataZones().first { $0.group == group }?.name ?? group.hex
        repairs.append(RelayRepairReport(group: group, name: name, repair: repair))
      }
      try relay.keep()
    } catch let error as TransportError {
      throw HearthError(.offline, "\(error)", cause: error)
    }
    return (repairs, try sync())
  }
}
