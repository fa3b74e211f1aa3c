import HearthCRDT
import HearthMembership

/// The zones that an exchange carries, and what this device is in them.
package struct ExchangedZones<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// Whether this device belonged to a zone's group and no longer does.
  package func isFormer(of id: ZoneID) -> Bool {
    guard let zone = try? engine.zone(id) else { return false }
    let membership = engine.membership(of: zone.group)
    return membership.device(engine.device) != nil && !membership.isActive(engine.device)
  }

  /// The zones that a transport carries, control zones first.
  func exchangedZones(_ carried: CarriedGroups) -> [ZoneID] {
    engine.zones.filter {
      ExchangeScope(engine: engine).isExchanged($0) && carried.contains($0.group)
    }
    .sorted { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }.map(\.id)
  }

  /// Forgets which files were refused: a person who has all files read again wants these read too.
  func examineAgain(_ carried: CarriedGroups) throws {
    try engine.store.transaction {
      for zone in exchangedZones(carried) { try Refusals.forget(zone, in: engine.store) }
    }
  }

  /// The group of a zone; nil if this device does not belong to it.
  func ownGroup(of id: ZoneID) -> GroupID? {
    isMember(of: id) ? try? engine.zone(id).group : nil
  }

  /// Whether this device belongs to a zone's group.
  func isMember(of id: ZoneID) -> Bool {
    guard let zone = try? engine.zone(id) else { return false }
    let isMember = engine.membership(of: zone.group).isActive(engine.device)
    Probe.notYetMember.hit(if: !isMember)
    return isMember
  }
}
