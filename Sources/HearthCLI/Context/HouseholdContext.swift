import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// A household for commands.
struct HouseholdContext {
  let node: Node
  let zone: ZoneState

  /// Opens the selected household: the named one, the only one, or the one in the settings.
  static func open(_ options: CommonOptions) async throws -> HouseholdContext {
    let node = try await options.open()
    return HouseholdContext(node: node, zone: try await chosen(options, on: node))
  }

  /// Returns the zone of the selected household.
  static func chosen(_ options: CommonOptions, on node: Node) async throws -> ZoneState {
    let shared = await node.dataZones().filter { $0.database == .shared }
    guard !shared.isEmpty else { throw try await noHousehold(on: node) }
    if let wanted = options.household { return try HouseholdNames.zone(wanted, among: shared) }
    if shared.count == 1, let zone = shared.first { return zone }
    let values = try await SettingValues.load([.defaultHousehold], of: node, household: nil)
    let usual = values.effective(.defaultHousehold).value
    if !usual.isEmpty, !HouseholdNames.zones(usual, among: shared).isEmpty {
      return try HouseholdNames.zone(usual, among: shared)
    }
    // A household that this device has left is used only if it is named, or is the only one.
    var present: [ZoneState] = []
    for zone in shared where try await node.ending(in: zone.group) == nil { present.append(zone) }
    if present.count == 1, let zone = present.first { return zone }
    let names = (present.isEmpty ? shared : present).map { Style.safe($0.name) }
      .joined(separator: ", ")
    throw CommandFailure(
      .usage, "this node is in several households: \(names)",
      hint: "add --household NAME, or choose with `hearth settings set default-household NAME`")
  }

  /// Returns the failure for a node without a household, with the remedy.
  private static func noHousehold(on node: Node) async throws -> CommandFailure {
    let asked = try await node.admissions.requested().filter { $0.isPrivate != true }
    guard let last = asked.last else {
      return CommandFailure(
        .failed, "this node is in no household yet",
        hint: "create one with `hearth household create NAME`, or join one with `hearth join -`")
    }
    let pending = PendingJoinText(last)
    return CommandFailure(
      .failed, "this node is in no household yet: \(pending.words)",
      hint: pending.isOver
        ? "`hearth join -` with a new link"
        : "`hearth sync` checks whether it has; the number to compare is \(pending.number)")
  }

  /// Returns the present day and minute in the household's time zone.
  ///
  /// Before the hour at which the household's day starts, the day is still the previous one.
  func today() async throws -> (date: CivilDate, time: CivilTime) {
    let (zoneName, startHour) = try await node.read(zone.id) { source in
      let settings = try HouseholdSettings(source: source)
      return (settings.timeZone, settings.dayStartHour)
    }
    if !HouseholdClock.isKnown(zoneName) { try await SettingFaultText.warn(of: zone, on: node) }
    let moment = try HouseholdClock(knownOrUTC: zoneName).civil(
      milliseconds: await node.nowMilliseconds())
    guard Int(moment.time.minuteOfDay) < startHour * 60 else { return moment }
    return (moment.date.adding(days: -1) ?? moment.date, moment.time)
  }

  /// Reads the household's state.
  ///
  /// - Parameter day: the present day, if the caller knows it.
  func read<Result: Sendable>(
    on day: CivilDate? = nil,
    _ body: @escaping @Sendable (HouseholdState) throws -> Result
  ) async throws -> Result {
    let today = if let day { day } else { try await self.today().date }
    return try await node.read(zone.id) { source in
      try body(try HouseholdState(source: source, today: today))
    }
  }

  /// Writes one transaction through the household's state.
  ///
  /// - Parameter day: the present day, if the caller knows it.
  func write<Result: Sendable>(
    on day: CivilDate? = nil,
    _ body: @escaping @Sendable (HouseholdState, inout OperationBuilder) throws -> Result
  ) async throws -> Result {
    let today = if let day { day } else { try await self.today().date }
    let zone = zone.id
    let gate = try await roleGate()
    let result = try await node.write(to: zone) { source, dot in
      let state = try HouseholdState(source: source, today: today)
      var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
      let result = try body(state, &builder)
      try gate.check(builder.operations)
      return (builder.operations, result)
    }
    try await introducePerson()
    return result
  }
}
