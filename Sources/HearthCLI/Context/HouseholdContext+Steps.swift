import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

extension HouseholdContext {
  /// Returns the context of a zone's household.
  static func of(_ id: ZoneID, node: Node) async throws -> HouseholdContext {
    guard let zone = await node.dataZones().first(where: { $0.id == id }) else {
      throw CommandFailure(.failed, "the household is not on this node")
    }
    return HouseholdContext(node: node, zone: zone)
  }

  /// Writes this node's person into the household's people.
  ///
  /// It does nothing if the person is there, or if the role does not allow it. A reader has no
  /// place among the people who do chores, and gets one with another role.
  ///
  /// - Returns: whether anything was written.
  @discardableResult
  func introducePerson() async throws -> Bool {
    let gate = try await roleGate()
    let (person, name) = (await node.person, await node.profile.personName)
    let now = await node.nowMilliseconds()
    guard gate.role.map({ $0 != .reader }) ?? false,
      try await node.read(zone.id, { try HouseholdContext.lacks(person, $0) })
    else { return false }
    let zone = zone.id
    return try await node.write(to: zone) { source, dot in
      var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
      let state = try HouseholdState(source: source, today: CivilDate(dayNumber: 0))
      try state.people.create(person, name: name, milliseconds: now, in: &builder)
      return (builder.operations, true)
    }
  }

  /// Whether the household has no record of a person.
  private static func lacks(_ person: PersonID, _ source: any ProjectionSource) throws -> Bool {
    try source.record(RecordKey(type: HouseholdSchema.person, id: person)) == nil
  }

  /// Returns this person's rights here.
  func roleGate() async throws -> RoleGate { try await RoleGate.of(zone, on: node) }

  /// Returns the name of the household's time zone.
  func timeZoneName() async throws -> String {
    try await node.read(zone.id) { source in
      try HouseholdSettings(source: source).timeZone
    }
  }
}

extension HouseholdContext {
  /// Returns the display settings of this household on this device for this person.
  func display() async throws -> SettingValues {
    try await SettingValues.load(SettingKey.ofDisplay, of: node, household: zone)
  }
}
