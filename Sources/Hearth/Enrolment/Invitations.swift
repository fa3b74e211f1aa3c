import HearthCRDT
import HearthMembership
import HearthSync

/// The invitations of a node: those that it makes, and those that it follows.
package struct Invitations: Sendable {
  let node: Node

  /// Creates an invitation to a household and puts its invitation bundle on every transport of the
  /// household.
  ///
  /// - Returns: the link; anybody with the link can join.
  package func create(
    to zone: ZoneID, role: Role, maximumUses: Int, expiresInMilliseconds: UInt64
  ) async throws -> InvitationLink {
    try await create(
      to: zone,
      InvitationTerms(
        role: role, maximumUses: maximumUses, expiresInMilliseconds: expiresInMilliseconds))
  }

  /// Creates an invitation to a household and puts its invitation bundle on every transport of the
  /// household.
  ///
  /// If a transport is unreachable, no invitation is created. If one fails in between, the
  /// invitation is closed again, since nobody has its link.
  ///
  /// - Returns: the link; anybody with the link can join, or ask to join.
  /// - Throws: `offline` if nobody could reach the household, `notAllowed`.
  package func create(to zone: ZoneID, _ terms: InvitationTerms) async throws -> InvitationLink {
    try await node.alone {
      try await InvitationMaker(core: $0, node: node).create(to: zone, terms)
    }
  }

  /// Closes an invitation, with new keys if its bundle contained the old ones.
  package func close(_ invite: Identifier, of group: GroupID) async throws {
    try await node.working { try InvitationMaker(core: $0, node: node).close(invite, of: group) }
  }

  /// Closes an invitation whose link nobody received.
  package func withdraw(_ link: InvitationLink, of zone: ZoneID) async throws {
    try await node.alone {
      try await InvitationMaker(core: $0, node: node).withdraw(link, of: zone)
    }
  }

  /// Joins a household by a link that needs no approval.
  ///
  /// - Parameters:
  ///   - place: the shared folder on this device, or the relay's address, if it differs from the
  ///     link's.
  ///   - bootstrapping: snapshots to start zones from, if available.
  /// - Returns: the household's zone.
  /// - Throws: `notAllowed` if somebody must approve first; the request was sent then.
  @discardableResult
  package func join(
    _ link: InvitationLink, at place: String? = nil, bootstrapping: [ZoneID: [[UInt8]]] = [:]
  ) async throws -> ZoneID {
    switch try await follow(link, at: place, bootstrapping: bootstrapping) {
    case .joined(let zone): return zone
    case .asked(let pending):
      throw HearthError(
        .notAllowed,
        "this device asked to join \(pending.groupName): sync again when \(pending.inviterName) or "
          + "another admin has approved")
    }
  }

  /// Follows a link: joins a household, or asks to join.
  ///
  /// - Parameters:
  ///   - place: the shared folder on this device, or the relay's address, if it differs from the
  ///     link's.
  ///   - bootstrapping: snapshots to start zones from, if available.
  package func follow(
    _ link: InvitationLink, at place: String? = nil, bootstrapping: [ZoneID: [[UInt8]]] = [:]
  ) async throws -> JoinOutcome {
    try await node.alone {
      try await Joining(core: $0, node: node)
        .follow(link, folderOverride: place, bootstrapping: bootstrapping)
    }
  }
}

extension Node {
  /// The invitations that this node makes and follows.
  package nonisolated var invitations: Invitations { Invitations(node: self) }
}
