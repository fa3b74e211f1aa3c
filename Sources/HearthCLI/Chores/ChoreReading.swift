import ArgumentParser
import HearthCRDT
import Household

/// `hearth list`.
struct ListChores: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the chores.")
  @OptionGroup var common: CommonOptions
  @Flag(help: "Also archived ones.") var all = false
  @Option(help: "Only those with this tag.") var tag: String?

  func run() async throws {
    let (all, tag) = (all, tag.map(ShownText.normal))
    let household = try await HouseholdContext.open(common)
    let (chores, names) = try await household.read { state in
      (
        try state.chores.all(includingArchived: all).filter {
          tag == nil || $0.tags.contains(tag ?? "")
        },
        try ChoreNames.names(in: state)
      )
    }
    if common.json {
      return try Output.json(["chores": chores.map { ChoreDocument($0, names) }])
    }
    let rows = try await household.display().listOrder.sorted(chores).map { chore in
      [
        chore.title, String(chore.points), chore.next?.due?.iso ?? chore.due?.iso ?? "",
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
    let (chore, names) = try await HouseholdContext.open(common).read { state in
      (
        try ChoreNames.chore(name, in: state, includingArchived: true),
        try ChoreNames.names(in: state)
      )
    }
    if common.json { return try Output.json(["chore": ChoreDocument(chore, names)]) }
    var lines = [Style.bold(Style.safe(chore.title)), "points: \(chore.points)"]
    let assigned = ChoreNames.words(chore.assignment, names)
    if !assigned.isEmpty { lines.append("who: \(Style.safe(assigned))") }
    if let rule = chore.rule { lines.append("repeats: \(rule.describe())") }
    if let next = chore.next { lines.append("next: \(next.due?.iso ?? "any day"), \(next.state)") }
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
