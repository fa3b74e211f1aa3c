import Hearth
import HearthMembership
import HearthSync

extension HouseholdContext {
  /// Returns this person's rights here.
  func roleGate() async -> RoleGate { await node.roleGate(of: zone) }
}

extension Node {
  /// Returns this person's rights in a household.
  func roleGate(of zone: ZoneState) -> RoleGate {
    let membership = membership(of: zone.group)
    return RoleGate(
      household: zone.name, membership: membership, person: membership.person(of: device),
      ending: ending(in: zone.group).map { EndingText.line($0, household: zone.name) })
  }
}
