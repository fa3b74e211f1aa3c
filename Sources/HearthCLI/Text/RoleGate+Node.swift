import Hearth
import HearthMembership
import HearthSync

// Whose rights a gate knows.
extension RoleGate {
  /// Returns the rights of a node's person in a household.
  static func of(_ zone: ZoneState, on node: Node) async throws -> RoleGate {
    let membership = try await node.membership(of: zone.group)
    return RoleGate(
      household: zone.name, membership: membership,
      person: membership.person(of: await node.device),
      ending: try await node.ending(in: zone.group).map {
        EndingText.line($0, household: zone.name)
      })
  }
}
