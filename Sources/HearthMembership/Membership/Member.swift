import HearthCRDT

/// A person of the group.
package struct Member: Equatable, Sendable {
  package let id: PersonID
  package let name: String
  package let role: Role
  /// When the person joined, by the clock of the device that wrote it.
  package let since: HybridTime

  package init(id: PersonID, name: String, role: Role, since: HybridTime) {
    self.id = id
    self.name = name
    self.role = role
    self.since = since
  }
}

/// A device that belongs or belonged to the group.
package struct MemberDevice: Equatable, Sendable {
  package let id: DeviceID
  package let person: PersonID
  package let card: DeviceCard
  package let since: HybridTime
  /// Whether it belongs to the group now.
  package let isActive: Bool
}

/// An invitation with its uses.
package struct InvitationRecord: Equatable, Sendable {
  package let operation: ControlOperation.InviteCreate
  package let creator: DeviceID
  package let version: Version
  package let isClosed: Bool
  /// Whether it was closed by its maker's person, or by somebody above the rank that it gives, so
  /// that every join unknown at that time waits; by approval, whether it was closed.
  package let isEnded: Bool
  /// The rank of those who join by it, at least a child's.
  package let rank: Int
  /// Whether somebody who joined by it was removed since.
  package let hasRemovedUser: Bool
  package let joins: [PersonID]

  /// The number of people who may still join with it.
  package var usesLeft: Int { max(0, operation.maximumUses - joins.count) }
}

/// An ownership offer that its addressee may accept.
package struct OwnershipOffer: Equatable, Sendable {
  /// The id that an acceptance names.
  package let id: RecordID
  package let from: PersonID
  package let to: PersonID
  package let since: HybridTime
}
