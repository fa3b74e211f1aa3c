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
    let gate = await roleGate()
    let (person, name) = (await node.person, await node.profile.personName)
    let now = await node.nowMilliseconds()
    guard gate.role.map({ $0 != .reader }) ?? false,
      try await node.read(zone.id, { try HouseholdContext.lacks(person, $0) })
    else { return false }
    let zone = zone.id
    return try await node.write(to: zone) { source, dot in
      var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
      let book = try HouseholdBook(source: source, today: CivilDate(dayNumber: 0))
      try book.createPerson(person, name: name, milliseconds: now, in: &builder)
      return (builder.operations, true)
    }
  }

  /// Whether the household has no record of a person.
  private static func lacks(_ person: PersonID, _ source: any ProjectionSource) throws -> Bool {
    try source.record(RecordKey(type: HouseholdSchema.person, id: person)) == nil
  }

  /// Returns the name of the household's time zone.
  func timeZoneName() async throws -> String {
    try await node.read(zone.id) { source in
      try HouseholdBook(source: source, today: CivilDate(dayNumber: 0)).settings.timeZone
    }
  }
}

/// Instants as displayed.
struct MomentText {
  private let clock: HouseholdClock

  /// In the time zone of the node's first household, or in this machine's if there is none.
  static func of(_ node: Node) async throws -> MomentText {
    guard let zone = await node.dataZones().first(where: { $0.database == .shared }) else {
      return MomentText(clock: try HouseholdClock(timeZone: TimeZone.current.identifier))
    }
    return try await of(HouseholdContext(node: node, zone: zone))
  }

  /// In the time zone of a household, or in UTC if this machine does not know it.
  static func of(_ context: HouseholdContext) async throws -> MomentText {
    let name = try await context.timeZoneName()
    return MomentText(clock: try HouseholdClock(knownOrUTC: name))
  }

  /// The date and minute.
  func text(_ milliseconds: UInt64) -> String {
    guard let civil = try? clock.civil(milliseconds: milliseconds) else { return "an unknown time" }
    return "\(civil.date.iso) \(civil.time.iso)"
  }

  /// The same for programs: ISO 8601 in UTC.
  static func iso(_ milliseconds: UInt64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
  }
}

/// Time spans and counts in words.
enum Words {
  /// A time span in its largest unit.
  static func span(milliseconds: UInt64) -> String {
    let minutes = milliseconds / 60_000
    switch minutes {
    case 0: return "less than a minute"
    case 1..<120: return count(Int(minutes), "minute")
    case 120..<(48 * 60): return count(Int(minutes / 60), "hour")
    default: return count(Int(clamping: minutes / (24 * 60)), "day")
    }
  }

  /// A count with its noun.
  static func count(_ number: Int, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
  }

  /// The reason why a segment is pending.
  static func reason(_ reason: PendingReason) -> String {
    switch reason {
    case .gap: "earlier changes of its author"
    case .cause: "changes of others that its author had seen"
    case .author: "the news that its author was admitted"
    case .epoch: "a key"
    case .quarantine: "a decision: its author contradicted itself"
    case .falseClaim: "what it cites: its author cannot have seen that"
    case .format: "a newer version of this program"
    }
  }
}
