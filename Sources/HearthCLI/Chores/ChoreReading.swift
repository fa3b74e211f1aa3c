import ArgumentParser
import HearthCRDT
import Household

/// `hearth list`.
struct ListChores: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the chores that are still to be done, now or later.")
  @OptionGroup var common: CommonOptions
  @Flag(help: "Also finished and archived ones, marked as such.") var all = false
  @Option(help: "Only those with this tag.") var tag: String?

  func run() async throws {
    let (all, tag) = (all, tag.map(ShownText.normal))
    let household = try await HouseholdContext.open(common)
    let (chores, names, past) = try await household.read { state in
      let chores = try state.chores.all(includingArchived: all).filter {
        (all || !$0.isFinished) && (tag == nil || $0.tags.contains(tag ?? ""))
      }
      let finished = chores.filter(\.isFinished)
      let past = try finished.map { ($0.id, try ChorePast(of: $0.id, in: state)) }
      return (
        chores, try ChoreNames.names(in: state), Dictionary(past) { first, _ in first }
      )
    }
    if common.json {
      return try Output.json([
        "chores": chores.map { ChoreDocument($0, names, past[$0.id]) }
      ])
    }
    let rows = try await household.display().listOrder.sorted(chores).map { chore in
      [
        chore.title, String(chore.points), ChoreText.next(chore, past[chore.id]),
        ChoreNames.words(chore.assignment, names), chore.rule?.describe() ?? "",
        chore.tags.joined(separator: ","),
      ]
    }
    Output.print(
      Table(
        headers: ["CHORE", "POINTS", "NEXT", "WHO", "REPEATS", "TAGS"], rows: rows,
        rightAligned: [1]
      ).text)
  }
}

/// Prints the open occurrences up to a day.
private func printOccurrences(_ common: CommonOptions, daysAhead: Int) async throws {
  let household = try await HouseholdContext.open(common)
  let today = try await household.today().date
  let last = today.adding(days: daysAhead) ?? today
  let (open, names) = try await household.read(on: today) { state in
    (try state.occurrences.due(through: last), try ChoreNames.names(in: state))
  }
  if common.json {
    return try Output.json(["occurrences": open.map { OccurrenceDocument($0, names) }])
  }
  guard !open.isEmpty else { return Output.note("nothing is open") }
  let rows = open.map { one in
    [
      one.state.rawValue, one.due?.iso ?? "", one.time?.iso ?? "", one.title, String(one.points),
      one.assignee.map { names[$0] ?? String($0.hex.prefix(8)) } ?? "",
    ]
  }
  Output.print(
    Table(
      headers: ["STATE", "DUE", "AT", "CHORE", "POINTS", "WHO"], rows: rows, rightAligned: [4]
    ).text)
}

/// `hearth today`.
struct TodayChores: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "today", abstract: "List chores that are due today or overdue.")
  @OptionGroup var common: CommonOptions
  func run() async throws { try await printOccurrences(common, daysAhead: 0) }
}

/// `hearth week`.
struct WeekChores: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "week", abstract: "List chores that are due in the next seven days or overdue.")
  @OptionGroup var common: CommonOptions
  func run() async throws { try await printOccurrences(common, daysAhead: 6) }
}

/// `hearth show`.
struct ShowChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show everything about one chore.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The chore.") var name: String

  func run() async throws {
    let name = name
    let household = try await HouseholdContext.open(common)
    let (chore, names, past) = try await household.read { state in
      let chore = try ChoreNames.chore(name, in: state, of: .all)
      return (
        chore, try ChoreNames.names(in: state), try ChorePast(of: chore.id, in: state)
      )
    }
    if common.json { return try Output.json(["chore": ChoreDocument(chore, names, past)]) }
    var lines = [Style.bold(Style.safe(chore.title)), "points: \(chore.points)"]
    let assigned = ChoreNames.words(chore.assignment, names)
    if !assigned.isEmpty { lines.append("who: \(Style.safe(assigned))") }
    if let rule = chore.rule { lines.append("repeats: \(rule.describe())") }
    if let next = chore.next { lines.append("next: \(next.due?.iso ?? "any day"), \(next.state)") }
    lines += ChoreText.past(past, isFinished: chore.isFinished, names)
    if !chore.tags.isEmpty {
      lines.append("tags: " + Style.safe(chore.tags.joined(separator: ", ")))
    }
    if !chore.note.isEmpty {
      lines += chore.note.split(separator: "\n").map { "note: " + Style.safe(String($0)) }
    }
    if chore.isArchived { lines.append("archived") }
    if chore.needsUpdate { lines.append("written by a newer version: update this program") }
    lines.append("id: \(chore.id.hex)")
    Output.print(lines.joined(separator: "\n"))
  }
}
