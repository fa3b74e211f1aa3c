import HearthCRDT
import HearthMembership
import HearthSync
import HearthTransport

/// The transports of a node: the folders and relays over which it reaches other devices.
package struct Transports: Sendable {
  let node: Node

  /// Returns the transports, in order of number.
  package func list() async throws -> [TransportSetting] {
    try await node.looking { try $0.transports.list() }
  }

  /// Returns the transports that carry a group, in order of number.
  package func list(of group: GroupID) async throws -> [TransportSetting] {
    try await node.looking { try $0.transports.list(of: group) }
  }

  // MARK: Adding and removing

  /// Adds a shared folder; for an existing one it may only extend the scope.
  ///
  /// - Parameter scope: the folder's scope; nil for everything.
  /// - Throws: `invalid` for a folder that would expose a node's key.
  package func add(
    folder path: String, carrying scope: TransportScope? = nil
  ) async throws -> TransportSetting {
    try await node.working { try $0.transports.add(folder: path, carrying: scope) }
  }

  /// Adds a relay; for an existing one it changes the token and may extend the scope.
  ///
  /// - Parameter scope: the relay's scope; nil for everything.
  /// - Throws: `invalid` if the text is no address, `offline` if the relay is unreachable or is
  ///   another one.
  package func add(
    relay address: String, token: String? = nil, carrying scope: TransportScope? = nil
  ) async throws -> TransportSetting {
    try await node.alone {
      try await $0.transports.add(relay: address, token: token, carrying: scope)
    }
  }

  /// Removes a transport by its number or path.
  package func remove(_ name: String) async throws {
    try await node.working { try $0.transports.remove(name) }
  }

  // MARK: Scope

  /// Sets the scope of a transport from now on; data already there stays.
  ///
  /// - Parameters:
  ///   - name: its number, path or address.
  ///   - scope: the scope; nil for everything.
  /// - Throws: `notFound`, `invalid` for an empty scope.
  package func setScope(
    of name: String, to scope: TransportScope?
  ) async throws -> TransportSetting {
    try await node.working { try $0.transports.setScope(of: name, to: scope) }
  }

  /// Extends the scope of a transport; one that carries everything stays unchanged.
  ///
  /// - Throws: `notFound`.
  package func extendScope(
    of name: String, by scope: TransportScope
  ) async throws -> TransportSetting {
    try await node.working { core in
      try core.transports.widen(try core.transports.setting(named: name), to: scope)
    }
  }

  /// Returns the groups that a transport carries.
  ///
  /// The private database is the present one, and one that this node is about to join.
  package func groups(over setting: TransportSetting) async throws -> CarriedGroups {
    try await node.looking { $0.transports.groups(over: setting) }
  }

  /// Returns the groups that are exchanged with others, or would be if there were a transport.
  package func exchangedGroups() async throws -> [GroupID] {
    try await node.looking { ExchangeScope(engine: $0.engine).exchangedGroups }
  }

  /// Returns the households and private database that are to be exchanged and that no transport
  /// carries, though there are transports; in order of name.
  ///
  /// - Parameter withUnshared: whether to include a private database that no other device shares
  ///   yet and that has no recovery words.
  package func uncarriedZones(withUnshared: Bool = false) async throws -> [ZoneState] {
    try await node.looking { try $0.transports.uncarriedZones(withUnshared: withUnshared) }
  }

  // MARK: Status

  /// Returns the status of each transport, after reading its listing.
  package func statuses() async throws -> [TransportStatus] {
    try await node.alone { core in
      let inspection = TransportInspection(core: core)
      var statuses: [TransportStatus] = []
      for setting in try core.transports.list() {
        statuses.append(try await inspection.status(of: setting))
      }
      return statuses
    }
  }

  /// Returns the number of this device's changes that no other device can have.
  ///
  /// They are not sealed yet, or in none of the folders. A relay that no longer admits this device
  /// reveals nothing: if there is one, sealed changes are assumed to be published.
  package func changesOnlyHere(in group: GroupID) async throws -> Int {
    try await node.alone { try await TransportInspection(core: $0).changesOnlyHere(in: group) }
  }

  /// Returns the unusable files of each shared folder.
  ///
  /// It reads every file and changes nothing; an unreachable folder has none.
  package func damagedFiles() async throws -> [(folder: String, problems: [TransportProblem])] {
    try await node.alone { try await TransportInspection(core: $0).damagedFiles() }
  }

  /// Repairs the mailboxes of a relay for the groups in which this person is an owner or admin.
  ///
  /// It syncs before, so that nothing unread is cleared, and after, so that missing data is
  /// published again.
  ///
  /// - Throws: `invalid` if it is not a relay, `notAllowed`, `offline`.
  package func repair(relay name: String) async throws -> (
    repairs: [RelayRepairReport], report: SyncReport
  ) {
    try await node.alone { try await RelayRepairs(core: $0, node: node).repair(name) }
  }
}

extension Node {
  /// The folders and relays over which this node reaches other devices.
  package nonisolated var transports: Transports { Transports(node: self) }
}
