import HearthSync

/// The private database of a node's person, which the person's devices share.
package struct PrivateDatabase: Sendable {
  let node: Node

  /// Returns the zone of the person's own records; nil only for a node whose creation was
  /// interrupted.
  package func zone() async -> ZoneState? { await node.privateZone() }

  /// Returns the status of this node with its person's private database.
  package func status() async throws -> PrivateDatabaseStatus? {
    try await node.looking { try $0.privateDatabase.status() }
  }
}

extension Node {
  /// Returns the zone of the person's own records, which needs no membership.
  fileprivate func privateZone() -> ZoneState? { core.privateDatabase.zone }

  /// The private database of this node's person.
  package nonisolated var privateDatabase: PrivateDatabase { PrivateDatabase(node: self) }
}
