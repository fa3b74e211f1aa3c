import HearthCRDT
import HearthMembership
import HearthSync

/// The two kinds of periods that close, independently of each other.
package enum PeriodKind: String, CaseIterable, Sendable {
  /// Seven days from the household's first day of the week.
  case week
  /// A month of the calendar.
  case month
}

/// The close of a period as its author wrote it (R10).
struct PeriodClose: Sendable {
  let id: RecordID
  let version: Version
  /// The frontier of the period: the frontier that its author had seen.
  let cause: Frontier
  let kind: PeriodKind
  let days: ClosedRange<Int>
  let terms: Terms

  /// The settings that apply to the days of a period: those of its close, or the present ones.
  struct Terms: Equatable, Sendable {
    let duplicate: DuplicatePolicy
    let strictAssignee: Bool
    /// The frontier as of which settings apply; nil for the present.
    let seen: Frontier?
  }

  /// Reads an event; nil if a field is missing, or if the period is not whole or was not over by
  /// the author's clock.
  init?(_ id: RecordID, _ event: EventState) {
    guard let cause = event.cause,
      let kind = event[CloseField.period].text.flatMap(PeriodKind.init(rawValue:)),
      let first = event[CloseField.first].date, let last = event[CloseField.last].date,
      let duplicate = event[CloseField.duplicate].text.flatMap(DuplicatePolicy.init(rawValue:)),
      let strict = event[CloseField.strict].bool, first <= last
    else { return nil }
    let isWhole =
      kind == .week
      ? first.days(until: last) == 6
      : first == first.yearMonth.firstDay && last == first.yearMonth.lastDay
    let today = event.version.time.milliseconds / PeriodClose.millisecondsPerDay
    guard isWhole, Int64(last.dayNumber) <= Int64(today) else { return nil }
    self.id = id
    version = event.version
    self.cause = cause
    self.kind = kind
    days = Int(first.dayNumber)...Int(last.dayNumber)
    terms = Terms(duplicate: duplicate, strictAssignee: strict, seen: cause)
  }

  private static let millisecondsPerDay: UInt64 = 24 * 60 * 60 * 1000
}

/// The closed days and their closes; of several closes of a day, the least one applies (R10).
///
/// A view over one state of the zone that caches its lookups.
final class ClosedDays {
  private let source: any ProjectionSource
  private let present: PeriodClose.Terms
  private var closes: [RecordID: PeriodClose?] = [:]
  private var owners: [PeriodKind: [Int: PeriodClose?]] = [:]
  private var members: [DeviceID: Member?] = [:]
  /// The record of one setting; nil before it is read.
  private var missedSetting: RecordState??

  init(_ source: any ProjectionSource, settings: HouseholdSettings) {
    self.source = source
    present = PeriodClose.Terms(
      duplicate: settings.duplicate, strictAssignee: settings.strictAssignee, seen: nil)
  }

  /// Returns the person of a device; nil for a stranger.
  func member(of device: DeviceID) throws -> Member? {
    if let known = members[device] { return known }
    let member = try source.member(of: device)
    members[device] = .some(member)
    return member
  }

  /// Returns the policy for missed occurrences as of a frontier.
  func missedPolicy(seen: Frontier) throws -> MissedPolicy {
    if missedSetting == nil {
      let key = HouseholdSettings.recordKey(of: "missed", in: source.zone)
      missedSetting = .some(try source.record(key))
    }
    guard case .history(let history)? = missedSetting??[SettingField.value],
      let text = history.shown(asOf: seen)?.value.text
    else { return HouseholdSettings().missed }
    return MissedPolicy(rawValue: text) ?? HouseholdSettings().missed
  }

  func isAdministrator(_ device: DeviceID) throws -> Bool {
    (try member(of: device)?.role.rank ?? 0) >= Role.admin.rank
  }

  /// Returns the close that applies to a day; nil while the day is open.
  func close(_ kind: PeriodKind, on day: Int) throws -> PeriodClose? {
    if let known = owners[kind]?[day] { return known }
    let row = try source.rows(
      of: HouseholdTables.closed, where: [.text(kind.rawValue), .int(Int64(day))]
    ).first
    let close = try row?[2].identifier.flatMap { try event($0) }
    owners[kind, default: [:]][day] = .some(close)
    return close
  }

  /// Returns the first day, after `day`, to which the close does not apply.
  func end(of close: PeriodClose, from day: Int) throws -> Int {
    var end = day + 1
    while end <= close.days.upperBound, try self.close(close.kind, on: end)?.id == close.id {
      end += 1
    }
    return end
  }

  func terms(on day: Int) throws -> PeriodClose.Terms { try terms(onAnyOf: [day]) }

  /// Returns the settings for work on several days: those of the earliest close of any of them.
  ///
  /// A later close of another of these days then changes nothing that was settled.
  func terms(onAnyOf days: [Int]) throws -> PeriodClose.Terms {
    let held = try days.flatMap { day in
      try PeriodKind.allCases.compactMap { try close($0, on: day) }
    }
    return held.min { ($0.version, $0.id) < ($1.version, $1.id) }?.terms ?? present
  }

  private func event(_ id: RecordID) throws -> PeriodClose? {
    if let known = closes[id] { return known }
    let close = try source.event(RecordKey(type: HouseholdSchema.close, id: id))
      .flatMap { PeriodClose(id, $0) }
    closes[id] = .some(close)
    return close
  }

  /// Computes again which close applies to each day.
  ///
  /// - Returns: the days for which the close changed, in order.
  func refresh(_ writer: any ProjectionWriter) throws -> [Int] {
    var holding: [PeriodKind: [Int: RecordID]] = [:]
    let closes = try source.ids(of: HouseholdSchema.close).compactMap { try event($0) }
      .sorted { ($0.version, $0.id) < ($1.version, $1.id) }
    for close in closes where try isAdministrator(close.version.dot.author.device) {
      Probe.closedTwice.hit(if: holding[close.kind]?[close.days.lowerBound] != nil)
      for day in close.days where holding[close.kind]?[day] == nil {
        holding[close.kind, default: [:]][day] = close.id
      }
    }
    var changed: Set<Int> = []
    let table = HouseholdTables.closed
    for row in try source.rows(of: table, where: []) {
      guard let kind = row[0].text.flatMap(PeriodKind.init(rawValue:)), let day = row[1].int
      else { continue }
      let close = holding[kind]?.removeValue(forKey: Int(day))
      guard close != row[2].identifier else { continue }
      changed.insert(Int(day))
      if let close {
        try writer.put([row[0], row[1], .id(close)], in: table)
      } else {
        try writer.remove(from: table, where: [row[0], row[1]])
      }
    }
    for kind in PeriodKind.allCases {
      for (day, close) in (holding[kind] ?? [:]).sorted(by: { $0.key < $1.key }) {
        changed.insert(day)
        try writer.put([.text(kind.rawValue), .int(Int64(day)), .id(close)], in: table)
      }
    }
    owners = [:]
    Probe.daysClosed.hit(if: !changed.isEmpty)
    return changed.sorted()
  }
}
