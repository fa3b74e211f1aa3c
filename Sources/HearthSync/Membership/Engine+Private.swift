import HearthCRDT
import HearthCrypto
import HearthMembership

// The private database: a group whose only member is the person, shared by the person's devices.
extension Engine {
  private static var privateGroupFact: String { "private.group" }

  /// The group that a fact names; where none does, the one that this device made first.
  func storedPrivateGroup() throws -> GroupID? {
    if let bytes = try store.fact(Engine.privateGroupFact) {
      return try Engine.identifier(bytes)
    }
    return zones.first { $0.database == .personal }?.group
  }

  /// Makes a group the private database in use; the one before is kept and not used any more.
  package mutating func usePrivateGroup(_ group: GroupID) throws {
    var draft = self
    try store.transaction {
      draft = self
      guard try controlZone(of: group).database == .personal else {
        throw SyncError(.invalidOperation, "a household is no private database")
      }
      try store.setFact(Engine.privateGroupFact, group.bytes)
      draft.privateGroup = group
    }
    self = draft
  }

  /// Whether a zone is of a private database that is not in use: one that this device had before
  /// it came to share another, or of which it is not a device yet.
  package func isRetired(_ zone: ZoneState) -> Bool {
    zone.database == .personal && zone.group != privateGroup
  }

  /// Whether the private database concerns more than this device: another one is or was in it or
  /// is invited, or recovery words lead to it.
  ///
  /// While it does not, nobody could read what would lie on transports: nothing of it goes there.
  package var isPrivateDatabaseShared: Bool {
    guard let privateGroup else { return false }
    let membership = membership(of: privateGroup)
    return membership.allDevices.count > 1 || !membership.invites.isEmpty
      || !membership.recoveryKeys().isEmpty
  }

  /// Whether a zone goes over transports: those of households do, and the private database's while
  /// it is shared.
  package func isExchanged(_ zone: ZoneState) -> Bool {
    switch zone.database {
    case .shared: true
    case .personal: zone.group == privateGroup && isPrivateDatabaseShared
    case .open: false
    }
  }

  /// The groups whose zones go over transports, in order of id.
  package var exchangedGroups: [GroupID] {
    Set(zones.filter { isExchanged($0) }.map(\.group)).sorted()
  }

  /// Devices of this person that are in the private database and whose time in households ended.
  ///
  /// A device counts if it belongs to no household in which this device is, and was revoked in at
  /// least one of them: whoever may revoke it there said that it is lost, and its person's other
  /// devices take it at its word.
  package func devicesToCutOff() -> [DeviceID] {
    guard let privateGroup, membership(of: privateGroup).isActive(device) else { return [] }
    let households = Set(zones.filter { $0.database == .shared }.map(\.group)).sorted()
      .map { membership(of: $0) }.filter { $0.isActive(device) }
    return membership(of: privateGroup).devices.map(\.id).filter { other in
      other != device
        && !households.contains { $0.isActive(other) }
        && households.contains { household in
          household.device(other).map { $0.person == household.device(device)?.person } ?? false
            && household.isRevoked(other)
        }
    }
  }
}
