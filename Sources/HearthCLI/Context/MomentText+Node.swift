import Foundation
import Hearth
import HearthMembership
import HearthSync

// Whose time zone shows an instant.
extension MomentText {
  /// In the time zone of the node's first household, or in this machine's if there is none.
  static func of(_ node: Node) async throws -> MomentText {
    guard let zone = await node.dataZones().first(where: { $0.database == .shared }) else {
      return MomentText(clock: try HouseholdClock(timeZone: MachineTimeZone.name))
    }
    return try await of(HouseholdContext(node: node, zone: zone))
  }

  /// In the time zone of a household, or in UTC if this machine does not know it.
  static func of(_ context: HouseholdContext) async throws -> MomentText {
    let name = try await context.timeZoneName()
    return MomentText(clock: try HouseholdClock(knownOrUTC: name))
  }
}
