import ArgumentParser
import Hearth
import HearthCRDT
import Household

/// `hearth points`.
struct PointsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "points", abstract: "A person's points; `explain PERSON` lists what they are for.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "PERSON, or explain PERSON; otherwise you.") var words: [String] = []

  private struct Document: Encodable {
    let person: String
    let total, week, month: Int
    let entries: [EntryDocument]?
  }

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let me = await household.node.person
    let explains = words.first == "explain" && words.count == 2
    guard explains || words.count <= 1 else {
      throw CommandFailure(.usage, "too many words", hint: "hearth points [explain] PERSON")
    }
    let name = explains ? words[1] : words.first
    let document = try await household.read { book in
      let names = try ChoreNames.names(in: book)
      let person = try name.map { try ChoreNames.person($0, in: book).id } ?? me
      let points = try book.points(of: person)
      return Document(
        person: names[person] ?? person.hex, total: points.total, week: points.week,
        month: points.month,
        entries: explains
          ? try book.ledger(of: person).map { EntryDocument($0, names) } : nil)
    }
    if common.json { return try Output.json(document) }
    Output.print(
      "\(Style.safe(document.person)): \(document.total) points, \(document.week) this week, "
        + "\(document.month) this month")
    if let entries = document.entries { EntryDocument.printTable(entries) }
  }
}

/// `hearth leaderboard`.
struct LeaderboardCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "leaderboard", abstract: "Everybody's points, most first.")
  @OptionGroup var common: CommonOptions
  @Flag(help: "Of this week, as without any.") var week = false
  @Flag(help: "Of this month.") var month = false
  @Flag(help: "Of all time.") var all = false

  private struct Place: Encodable {
    let rank, points, completions: Int
    let name: String
  }

  func run() async throws {
    guard [week, month, all].count(where: { $0 }) <= 1 else {
      throw CommandFailure(.usage, "--week, --month and --all exclude each other")
    }
    let period: Period = all ? .all : month ? .month : .week
    let places = try await HouseholdContext.open(common).read { book in
      try book.leaderboard(period).map {
        Place(rank: $0.rank, points: $0.points, completions: $0.completions, name: $0.name)
      }
    }
    if common.json { return try Output.json(["standings": places]) }
    let rows = places.map { [String($0.rank), $0.name, String($0.points), String($0.completions)] }
    Output.print(
      Table(headers: ["RANK", "NAME", "POINTS", "DONE"], rows: rows, rightAligned: [0, 2, 3]).text)
  }
}
