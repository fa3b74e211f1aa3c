import HearthCRDT
import HearthCrypto
import HearthMembership

// The private database: a group whose only member is the person, shared by the person's devices.
extension Engine {
  private static var privateGroupFact: String { "private.group" }

  /// The group that a fact names; by default the first private database of this device.
  func storedPrivateGroup() throws -> GroupID? {
    if let bytes = try store.facts.value(of: Engine.privateGroupFact) {
      return try Identifier(checking: bytes)
    }
    return zones.first { $0.database == .personal }?.group
  }

  /// Makes a group the private database in use; the previous one is kept but no longer used.
  package mutating func usePrivateGroup(_ group: GroupID) throws {
    var draft = self
    try store.transaction {
      draft = self
      guard try controlZone(of: group).database == .personal else {
        throw SyncError(.invalidOperation, "a household is not a private database")
      }
      try store.facts.set(Engine.privateGroupFact, to: group.bytes)
      draft.privateGroup = group
    }
    self = draft
  }

  /// Whether a zone belongs to a private database that is not in use.
  ///
  /// This is a database that the device had before it began to share another one, or one that the
  /// device has not been admitted to yet.
  package func isRetired(_ zone: ZoneState) -> Bool {
    zone.database == .personal && zone.group != privateGroup
  }

  /// Whether the private database concerns more than this device.
  ///
  /// This is the case if another device is or was in it or is invited, or if recovery words lead to
  /// it. Otherwise nobody else could read it on transports, so nothing of it is exchanged.
  package var isPrivateDatabaseShared: Bool {
    guard let privateGroup else { return false }
    let membership = membership(of: privateGroup)
    return membership.allDevices.count > 1 || !membership.invites.isEmpty
      || !membership.recoveryKeys().isEmpty
  }

  /// Whether a zone is exchanged over transports.
  ///
  /// Zones of households are, and zones of the private database while it is shared.
  package func isExchanged(_ zone: ZoneState) -> Bool {
    switch zone.database {
    case .shared: true
    case .personal: zone.group == privateGroup && isPrivateDatabaseShared
    case .open: false
    }
  }

  /// The groups whose zones are exchanged over transports, in order of id.
  package var exchangedGroups: [GroupID] {
    Set(zones.filter { isExchanged($0) }.map(\.group)).sorted()
  }

  /// This person's devices that are in the private database but have lost their households.
  ///
  /// A device counts if it belongs to no household of this device, and was revoked in at least one
  /// of them. The person who revoked it declared it lost, and its owner's other devices trust that
  /// declaration.
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
