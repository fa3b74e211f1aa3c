import HearthCRDT
import HearthSync

/// A person's challenges on a day: it reads the private database and builds operations.
///
/// It is a value over one state of the zone; create a new one after each transaction.
package struct PersonChallenges {
  let source: any ProjectionSource
  package let today: CivilDate
  var rows: ChallengeRows { ChallengeRows(source: source) }

  /// Opens a person's challenges.
  ///
  /// - Parameter today: the civil date where the person is.
  package init(source: any ProjectionSource, today: CivilDate) {
    self.source = source
    self.today = today
  }

  /// The record key of a day, which is the same on every device.
  static func record(of day: CivilDate, in zone: ZoneID) -> RecordKey {
    let type = HouseholdSchema.dailyChallenge
    return RecordKey(type: type, id: naturalID(in: zone, type: type, key: Array(day.iso.utf8)))
  }

  /// Returns a day's challenge; nil if none was chosen and none was done.
  package func challenge(on day: CivilDate) throws -> DayChallenge? {
    let state = try source.record(PersonChallenges.record(of: day, in: source.zone))
    return DayChallenge(
      on: day, among: DayCandidate.all(of: state), entries: try rows.entries(on: day))
  }

  /// Returns the challenges done in the days before today, which the draw leaves out.
  ///
  /// Today's own history does not affect the draw (R22).
  package func done(inDaysBefore days: Int) throws -> Set<ChallengeKey> {
    guard days > 0, let eve = today.adding(days: -1) else { return [] }
    let first = today.adding(days: -days) ?? CivilDate.first
    let range = RowRange(["day", "at", "attempt"], from: [.day(first)])
    let entries = try source.rows(of: ChallengeRows.table.name, in: range)
      .compactMap(ChallengeEntry.init)
    return Set(
      entries.filter { $0.outcome == .completed && $0.day <= eve }.map(\.card.key))
  }

  /// Returns the last day on which each challenge was done: O(n) in the number of entries.
  package func lastDone() throws -> [ChallengeKey: CivilDate] {
    let range = RowRange(["day", "at", "attempt"])
    var days: [ChallengeKey: CivilDate] = [:]
    for row in try source.rows(of: ChallengeRows.table.name, in: range) {
      guard let entry = ChallengeEntry(row), entry.outcome == .completed else { continue }
      days[entry.card.key] = entry.day
    }
    return days
  }

  // MARK: History

  /// Returns a page of history, newest first: each entry once, however many arrive between pages
  /// (R26).
  ///
  /// - Parameters:
  ///   - category: the only category to include; nil for all.
  ///   - first: the earliest day; nil for all.
  ///   - cursor: the cursor of the previous page; nil for the first page.
  ///   - limit: the most entries, 1...1000; the command line shows 20.
  /// - Throws: `badCursor`.
  package func history(
    of category: String? = nil, since first: CivilDate? = nil, after cursor: String?, limit: Int
  ) throws -> ChallengePage {
    let limit = min(max(limit, 1), 1000)
    let order = (category == nil ? [] : ["category"]) + ["day", "at", "attempt"]
    let prefix = category.map { [Value.text($0)] } ?? []
    var place: ChallengePlace?
    var passed = 0
    var arrived = 0
    if let cursor {
      let (last, shown) = try ChallengePlace.parse(cursor)
      let newer = RowRange(order, prefix: prefix, from: last.values)
      passed = try source.count(of: ChallengeRows.table.name, in: newer)
      arrived = max(0, passed - shown)
      place = last
    }
    let range = RowRange(
      order, prefix: prefix, from: place?.values ?? [], isExclusive: true, isDescending: true,
      limit: limit + 1)
    let found = try source.rows(of: ChallengeRows.table.name, in: range)
      .compactMap(ChallengeEntry.init).prefix { first == nil || $0.day >= first ?? $0.day }
    let page = Array(found.prefix(limit))
    var next: String?
    if let last = page.last, found.count > limit {
      next = ChallengePlace(last).cursor(passed: passed + page.count)
    }
    return ChallengePage(entries: page, next: next, arrivedEarlier: arrived)
  }

  /// Returns at most two entries whose name begins with these hexadecimal digits.
  ///
  /// Two are enough to see whether the digits identify one entry.
  package func entries(idPrefix digits: String) throws -> [ChallengeEntry] {
    let digits = digits.lowercased()
    let padded = digits + String(repeating: "0", count: max(0, 32 - digits.utf8.count))
    guard let first = Identifier(hex: padded) else { return [] }
    return try source.rows(
      of: ChallengeRows.table.name, in: RowRange(["attempt"], from: [.id(first)], limit: 2)
    ).compactMap(ChallengeEntry.init).filter { $0.attempt.hex.hasPrefix(digits) }
  }

  /// Returns the entry that was recorded last; nil if there is none.
  package func lastEntry() throws -> ChallengeEntry? {
    try history(after: nil, limit: 1).entries.first
  }

  /// Returns the statistics of all entries: O(n) in their number.
  package func statistics() throws -> ChallengeStatistics {
    let range = RowRange(["day", "at", "attempt"])
    let entries = try source.rows(of: ChallengeRows.table.name, in: range)
      .compactMap(ChallengeEntry.init)
    return ChallengeStatistics(entries, today: today)
  }
}

/// A page of the challenge history, newest first (R26).
package struct ChallengePage: Equatable, Sendable {
  package let entries: [ChallengeEntry]
  /// The cursor of the next page; nil at the end.
  package let next: String?
  /// The number of entries before this page that arrived too late for earlier pages.
  package let arrivedEarlier: Int
}

/// The statistics of a person's challenges.
package struct ChallengeStatistics: Equatable, Sendable {
  /// The number of completed challenges in a category.
  package struct CategoryCount: Equatable, Sendable {
    package let name: String
    package let completed: Int
  }

  package let completed: Int
  package let skipped: Int
  /// The consecutive days, up to today or yesterday, with a completed challenge (R17).
  package let streak: Int
  package let longestStreak: Int
  /// The completed challenges per category, most first, then by name.
  package let categories: [CategoryCount]
  /// The number of rated completions, and the sum of their stars.
  package let rated: Int
  package let stars: Int

  /// Counts entries, which must be in order of day.
  init(_ entries: [ChallengeEntry], today: CivilDate) {
    let done = entries.filter { $0.outcome == .completed }
    completed = done.count
    skipped = entries.count - done.count
    var run = 0
    var longest = 0
    var last: CivilDate?
    for entry in done where entry.day != last {
      run = last.map { $0.days(until: entry.day) == 1 } ?? false ? run + 1 : 1
      longest = max(longest, run)
      last = entry.day
    }
    // Today does not break the streak until the day is over.
    streak = last.map { $0.days(until: today) <= 1 } ?? false ? run : 0
    longestStreak = longest
    var counts: [String: Int] = [:]
    for entry in done { counts[entry.card.category, default: 0] += 1 }
    categories = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { CategoryCount(name: $0.key, completed: $0.value) }
    rated = done.count { $0.rating != nil }
    stars = done.reduce(0) { $0 + ($1.rating ?? 0) }
  }
}

/// An entry's position in the history: later days first, then later times, then greater names.
struct ChallengePlace {
  let day: Int32
  let at: Int64
  let attempt: Identifier

  init(_ entry: ChallengeEntry) {
    day = entry.day.dayNumber
    at = Int64(entry.milliseconds)
    attempt = entry.attempt
  }

  private init(day: Int32, at: Int64, attempt: Identifier) {
    self.day = day
    self.at = at
    self.attempt = attempt
  }

  var values: [Value] { [.int(Int64(day)), .int(at), .id(attempt)] }

  func cursor(passed: Int) -> String { "\(day).\(at).\(attempt.hex).\(passed)" }

  static func parse(_ cursor: String) throws(HouseholdError) -> (ChallengePlace, passed: Int) {
    let parts = cursor.utf8.count <= 100 ? cursor.split(separator: ".") : []
    guard parts.count == 4, let day = Int32(parts[0]), let at = Int64(parts[1]),
      let attempt = Identifier(hex: String(parts[2])), let passed = Int(parts[3]), passed > 0
    else {
      throw HouseholdError(
        .badCursor,
        "\(quoted(cursor)) is not a position in the history; start again without a cursor")
    }
    return (ChallengePlace(day: day, at: at, attempt: attempt), passed)
  }
}
