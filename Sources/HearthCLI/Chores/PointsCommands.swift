import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// `hearth points`.
struct PointsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "points",
    abstract: "Show and explain a person's points; close a week or month.",
    discussion: """
      Examples:
        hearth points               your points
        hearth points anna          Anna's points
        hearth points explain anna  every entry behind them
        hearth points close         close last week
      """,
    subcommands: [ShowPoints.self, ExplainPoints.self, ClosePeriod.self],
    defaultSubcommand: ShowPoints.self)
}

/// A person's points in a JSON document.
private struct PointsDocument: Encodable {
  struct Sum: Encodable {
    let period, first, last: String
    let closed: Bool
    let points, late: Int

    init(_ sum: PeriodSum) {
      period = sum.period.rawValue
      first = sum.first.iso
      last = sum.last.iso
      closed = sum.isClosed
      points = sum.points
      late = sum.late
    }
  }

  let person: String
  let total, week, month: Int
  var periods: [Sum]?
  var entries: [EntryDocument]?

  init(
    _ state: HouseholdState, of name: String?, otherwise me: PersonID, _ gate: RoleGate
  ) throws {
    let person = try name.map { try ChoreNames.person($0, in: state, gate).id } ?? me
    let points = try state.totals.points(of: person)
    id = person
    self.person =
      try ChoreNames.names(in: state)[person]
      ?? gate.membership.person(person)?.name ?? person.hex
    (total, week, month) = (points.total, points.week, points.month)
  }

  let id: PersonID

  enum CodingKeys: CodingKey { case person, total, week, month, periods, entries }

  var line: String {
    "\(Style.safe(person)): \(total) points, \(week) this week, \(month) this month"
  }
}

/// `hearth points show`.
struct ShowPoints: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show a person's points.",
    discussion: """
      `hearth points explain [PERSON]` lists every entry behind them; `hearth points close` closes
      a week or month.
      """)
  @OptionGroup var common: CommonOptions
  @Argument(help: "The person; by default you.") var person: String?
  @Flag(help: "Week by week.") var weeks = false
  @Flag(help: "Month by month.") var months = false

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let me = await household.node.person
    let (name, gate) = (person, try await household.roleGate())
    let kinds: [PeriodKind] = (weeks ? [.week] : []) + (months ? [.month] : [])
    let document = try await household.read { state in
      var document = try PointsDocument(state, of: name, otherwise: me, gate)
      let sums = try kinds.flatMap { try state.totals.periods($0, of: document.id) }
      document.periods = kinds.isEmpty ? nil : sums.map(PointsDocument.Sum.init)
      return document
    }
    if common.json { return try Output.json(document) }
    Output.print(document.line)
    guard let periods = document.periods else { return }
    let rows = periods.map {
      [
        $0.period, $0.first, $0.last, String($0.points), $0.late == 0 ? "" : String($0.late),
        $0.closed ? "closed" : "open",
      ]
    }
    Output.print(
      Table(
        headers: ["PERIOD", "FROM", "TO", "POINTS", "LATE", ""], rows: rows, rightAligned: [3, 4]
      ).text)
  }
}

/// `hearth points explain`.
struct ExplainPoints: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "List every entry behind a person's points.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The person; by default you.") var person: String?

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let me = await household.node.person
    let (name, gate) = (person, try await household.roleGate())
    let document = try await household.read { state in
      var document = try PointsDocument(state, of: name, otherwise: me, gate)
      let names = try ChoreNames.names(in: state)
      document.entries = try state.ledger.entries(of: document.id).map { EntryDocument($0, names) }
      return document
    }
    if common.json { return try Output.json(document) }
    Output.print(document.line)
    EntryDocument.printTable(document.entries ?? [])
  }
}

/// `hearth points close`.
struct ClosePeriod: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "close",
    abstract: "Close a week or month; late entries count in the next open one.",
    discussion: """
      Entries that arrive afterwards for a closed week count in the next open one, as a late
      adjustment; they keep their own day. Only administrators and the owner may close. A closed
      period stays closed.

      Examples:
        hearth points close                  last week
        hearth points close --week 2026-W46
        hearth points close --month          last month
        hearth points close --month 2026-10
      """)
  @OptionGroup var common: CommonOptions
  @Flag(help: "A month instead of a week.") var month = false
  @Option(help: "The week, as 2026-W46; by default the last one.") var week: String?
  @Argument(help: "The month after --month, as 2026-10; by default the last one.")
  var period: String?

  private struct Document: Encodable {
    struct Line: Encodable {
      let person: String
      let points: Int
    }
    let period, first, last: String
    let people: [Line]
  }

  func run() async throws {
    guard !month || week == nil else {
      throw CommandFailure(.usage, "--week and --month exclude each other")
    }
    guard period == nil || month else {
      throw CommandFailure(
        .usage, "the kind of period is missing", hint: "--week WEEK or --month MONTH")
    }
    let household = try await HouseholdContext.open(common)
    let me = await household.node.person
    let membership = try await household.node.membership(of: household.zone.group)
    guard Administrators.include(me, in: membership) else {
      throw CommandFailure(
        .notAllowed, "only an administrator or the owner may close a week or month",
        hint: "who can: " + Administrators.names(in: membership))
    }
    let kind: PeriodKind = month ? .month : .week
    let named = week ?? period
    let days = try await household.write { state, builder in
      let days = try state.periods.days(of: kind, named: named)
      try state.periods.close(kind, first: days.first, last: days.last, in: &builder)
      return days
    }
    let people = try await household.read { state in
      try state.people.all().map { person in
        let sum = try state.totals.periods(kind, of: person.id)
          .filter { $0.isClosed && days.first <= $0.first && $0.last <= days.last }
          .reduce(0) { $0 + $1.points }
        return Document.Line(person: person.name, points: sum)
      }
    }
    if common.json {
      return try Output.json(
        Document(
          period: kind.rawValue, first: days.first.iso, last: days.last.iso, people: people))
    }
    Output.note("closed the \(kind.rawValue) from \(days.first.iso) to \(days.last.iso)")
    Output.print(
      Table(
        headers: ["NAME", "POINTS"], rows: people.map { [$0.person, String($0.points)] },
        rightAligned: [1]
      ).text)
  }
}

/// `hearth leaderboard`.
struct LeaderboardCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "leaderboard", abstract: "Show everybody's points of this week, most first.",
    discussion: "With --month it shows this month, with --all all time.")
  @OptionGroup var common: CommonOptions
  @Flag(help: "Of this week; this is the default.") var week = false
  @Flag(help: "Of this month.") var month = false
  @Flag(help: "Of all time.") var all = false

  private struct Document: Encodable {
    /// `week`, `month` or `all`.
    let period: String
    /// The period's first and last day; absent for `all`.
    let first, last: String?
    let standings: [Place]
  }

  private struct Place: Encodable {
    let rank, points, completions: Int
    let name: String
    let personId: String
    /// The name, with a mark that distinguishes it from others' names.
    let shown: String

    private enum CodingKeys: String, CodingKey { case rank, points, completions, name, personId }
  }

  func run() async throws {
    guard [week, month, all].count(where: { $0 }) <= 1 else {
      throw CommandFailure(.usage, "--week, --month and --all exclude each other")
    }
    let period: Period = all ? .all : month ? .month : .week
    let context = try await HouseholdContext.open(common)
    let (places, days) = try await context.read { state in
      let standings = try state.totals.leaderboard(period)
      let names = ShownNames(standings.map { PersonChoice(id: $0.person, name: $0.name) })
      let places = standings.map {
        Place(
          rank: $0.rank, points: $0.points, completions: $0.completions, name: $0.name,
          personId: $0.person.hex, shown: names.name(of: $0.person) ?? $0.name)
      }
      let week = WeekKey(containing: state.today, weekStart: state.settings.weekStart)
      let days: (first: CivilDate, last: CivilDate)? =
        switch period {
        case .all: nil
        case .month: (state.today.yearMonth.firstDay, state.today.yearMonth.lastDay)
        case .week: try state.periods.days(of: .week, named: week.iso)
        }
      return (places, days)
    }
    let word = all ? "all" : month ? "month" : "week"
    if common.json {
      return try Output.json(
        Document(period: word, first: days?.first.iso, last: days?.last.iso, standings: places))
    }
    Output.print(
      days.map { "points of this \(word), \($0.first.iso) to \($0.last.iso)" }
        ?? "points of all time")
    let rows = places.map {
      [String($0.rank), $0.shown, String($0.points), String($0.completions)]
    }
    Output.print(
      Table(headers: ["RANK", "NAME", "POINTS", "DONE"], rows: rows, rightAligned: [0, 2, 3]).text)
  }
}
