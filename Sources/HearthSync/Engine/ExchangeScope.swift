import HearthCRDT
import HearthCrypto
import HearthMembership

/// The private database: a group whose only member is the person, shared by the person's devices.
package struct ExchangeScope<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// Whether a zone belongs to a private database that is not in use.
  ///
  /// This is a database that the device had before it began to share another one, or one that the
  /// device has not been admitted to yet.
  package func isRetired(_ zone: ZoneState) -> Bool {
    zone.database == .personal && zone.group != engine.privateGroup
  }

  /// Whether the private database concerns more than this device.
  ///
  /// This is the case if another device is or was in it or is invited, or if recovery words lead to
  /// it. Otherwise nobody else could read it on transports, so nothing of it is exchanged.
  package var isPrivateDatabaseShared: Bool {
    guard let privateGroup = engine.privateGroup else { return false }
    let membership = engine.membership(of: privateGroup)
    return membership.allDevices.count > 1 || !membership.invites.isEmpty
      || !membership.recovery.recoveryKeys().isEmpty
  }

  /// Whether a zone is exchanged over transports.
  ///
  /// Zones of households are, and zones of the private database while it is shared.
  package func isExchanged(_ zone: ZoneState) -> Bool {
    switch zone.database {
    case .shared: true
    case .personal: zone.group == engine.privateGroup && isPrivateDatabaseShared
    case .open: false
    }
  }

  /// The groups whose zones are exchanged over transports, in order of id.
  package var exchangedGroups: [GroupID] {
    Set(engine.zones.filter { isExchanged($0) }.map(\.group)).sorted()
  }

  /// This person's devices that are in the private database but have lost their households.
  ///
  /// A device counts if it belongs to no household of this device, and was revoked in at least one
  /// of them. The person who revoked it declared it lost, and its owner's other devices trust that
  /// declaration.
  package func devicesToCutOff() -> [DeviceID] {
    guard let privateGroup = engine.privateGroup,
      engine.membership(of: privateGroup).isActive(engine.device)
    else { return [] }
    let households = Set(engine.zones.filter { $0.database == .shared }.map(\.group)).sorted()
      .map { engine.membership(of: $0) }.filter { $0.isActive(engine.device) }
    return engine.membership(of: privateGroup).devices.map(\.id).filter { other in
      other != engine.device
        && !households.contains { $0.isActive(other) }
        && households.contains { household in
          household.device(other).map { $0.person == household.device(engine.device)?.person }
            ?? false
            && household.isRevoked(other)
        }
    }
  }
}
