import HearthCRDT
import HearthStore
import HearthSync
import Household

/// Everything of a household that a person can see on a day, for comparison as a whole.
struct Shown: Equatable {
  private var people: [PersonView] = []
  private var chores: [ChoreView] = []
  private var occurrences: [OccurrenceView] = []
  private var ledger: [LedgerEntry] = []
  /// Of each person the points in all, of this week and this month, and the streak.
  private var numbers: [[Int]] = []
  private var periods: [[PeriodSum]] = []
  private var badges: [[BadgeView]] = []
  private var settings: [String] = []
  private var challenge: [DayChallenge] = []
  private var challenges: [ChallengeEntry] = []
  private var tallies: [RecordState?] = []

  /// - Parameter people: whose points, badges and streaks are compared.
  init(_ device: SimDevice, people: [PersonID], at time: UInt64) throws {
    try device.read(at: time) { state in
      let today = try device.today(at: time)
      self.people = try state.people.all()
      chores = try state.chores.all(includingArchived: true)
      occurrences = try state.occurrences.due(through: today.adding(days: 14) ?? today)
      ledger = try state.ledger.entries(of: nil)
      for person in people {
        let points = try state.totals.points(of: person)
        numbers.append([
          points.total, points.week, points.month, try state.achievements.streak(of: person),
        ])
        periods.append(try state.totals.periods(.week, of: person))
        badges.append(try state.achievements.badges(of: person))
      }
      settings = try state.storedSettings.all().map { "\($0.key) \($0.value)" }
    }
    try device.readChallenges(at: time) { personal in
      challenge = try personal.challenge(on: personal.today).map { [$0] } ?? []
      challenges = try personal.history(after: nil, limit: 1000).entries
    }
    guard let home = device.home else { return }
    let store = try device.engine().store
    tallies = try Tally.names.map { name in
      guard case .record(let state)? = try store.records.record(Tally.key(name, in: home), in: home)
      else { return nil }
      return state
    }
  }

  /// What differs first, in words; nil if nothing does.
  func difference(from other: Shown) -> String? {
    differenceOfChores(from: other) ?? differenceOfPeople(from: other)
      ?? Shown.first("settings", settings, other.settings)
      ?? Shown.first("today's challenge", challenge, other.challenge)
      ?? Shown.first("challenges", challenges, other.challenges)
      ?? Shown.first("tallies", tallies, other.tallies)
  }

  private func differenceOfChores(from other: Shown) -> String? {
    Shown.first("chores", chores, other.chores) ?? Shown.first("ledger", ledger, other.ledger)
      ?? Shown.first("occurrences", occurrences, other.occurrences)
  }

  private func differenceOfPeople(from other: Shown) -> String? {
    Shown.first("people", people, other.people) ?? Shown.first("points", numbers, other.numbers)
      ?? Shown.first("weeks", periods, other.periods)
      ?? Shown.first("badges", badges, other.badges)
  }

  private static func first<Item: Equatable>(
    _ what: String, _ ours: [Item], _ theirs: [Item]
  ) -> String? {
    guard ours != theirs else { return nil }
    guard let place = ours.indices.first(where: { $0 >= theirs.count || ours[$0] != theirs[$0] })
    else { return "shows \(ours.count) \(what) instead of \(theirs.count)" }
    let wanted = place < theirs.count ? "\(theirs[place])" : "none"
    return "shows in \(what) \(ours[place]) instead of \(wanted)"
  }
}

extension Tally {
  /// A tally in words: `label=two|one total=3 marks=a,b deleted`; of several values the shown one
  /// comes first, of a price also what it was.
  static func words(_ name: String, on device: SimDevice) throws -> String {
    guard let home = device.home,
      case .record(let state)? = try device.engine().store.records.record(
        key(name, in: home), in: home)
    else { return "-" }
    var parts: [String] = []
    for (field, word) in [(label, "label"), (note, "note"), (price, "price")] {
      if let values = values(state[field]) {
        parts.append("\(word)=\(values.joined(separator: "|"))")
      }
    }
    if case .history(let history) = state[price], history.entries.count > history.current.count {
      parts.append("prices=\(history.entries.count)")
    }
    if case .counter(let counter) = state[total] { parts.append("total=\(counter.value)") }
    let marks = state.elements(marks).compactMap(\.text).sorted()
    if !marks.isEmpty { parts.append("marks=\(marks.joined(separator: ","))") }
    let body = TextOrder(state.text(body)).text.split(separator: " ").map { $0.dropFirst(7) }
    if !body.isEmpty { parts.append("body=\(body.joined(separator: "_"))") }
    if state.life.isDeleted { parts.append("deleted") }
    return parts.joined(separator: " ")
  }

  private static func values(_ field: RecordState.Field?) -> [String]? {
    switch field {
    case .register(let register):
      return [word(register.shown.value)] + register.others.map { word($0.value) }.sorted()
    case .history(let history):
      let shown = history.shown
      return [word(shown?.value)]
        + history.current.filter { $0.version != shown?.version }.map { word($0.value) }.sorted()
    default: return nil
    }
  }

  private static func word(_ value: Value?) -> String {
    switch value {
    case .text(let text): text.hasPrefix("Canary ") ? String(text.dropFirst(7)) : text
    case .int(let number): "\(number)"
    default: "-"
    }
  }
}
