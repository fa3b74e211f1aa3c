import ArgumentParser
import Hearth
import HearthCRDT
import Household

/// `hearth challenge history`.
struct ChallengeHistory: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "List what you did and skipped, newest first, by pages.")
  @OptionGroup var common: CommonOptions
  @Option(help: "Only those of this category.") var category: String?
  @Option(help: "Only from this day on: 2026-11-21, yesterday, Monday.") var since: String?
  @Option(help: "How many entries at most, 1 to \(SettingKey.maximumPageSize).") var limit = 20
  @Option(help: "The cursor at the end of the previous page.") var before: String?

  private struct Document: Encodable {
    let entries: [ChallengeEntryDocument]
    let next: String?
    let arrivedEarlier: Int
  }

  func run() async throws {
    guard (1...SettingKey.maximumPageSize).contains(limit) else {
      throw CommandFailure(
        .usage, "a page cannot have \(limit) entries",
        hint: "use 1 to \(SettingKey.maximumPageSize)")
    }
    let category = try self.category.map(ChallengeNames.category)
    let context = try await ChallengeContext.open(common)
    let first = try since.map { try DateWords.moment($0, today: context.today).day }
    let (limit, cursor) = (limit, before)
    let page = try await context.read {
      try $0.history(of: category, since: first, after: cursor, limit: limit)
    }
    try await context.node.close()
    if common.json {
      return try Output.json(
        Document(
          entries: page.entries.map(ChallengeEntryDocument.init), next: page.next,
          arrivedEarlier: page.arrivedEarlier))
    }
    guard !page.entries.isEmpty else { return Output.note("no entries match") }
    printTable(page.entries)
    if page.arrivedEarlier > 0 {
      let noun = page.arrivedEarlier == 1 ? "entry" : "entries"
      Output.note(
        "\(page.arrivedEarlier) earlier \(noun) arrived since the previous page; see them with "
          + "`hearth challenge history`")
    }
    if let next = page.next {
      var words = ["hearth", "challenge", "history"]
      if let category { words += ["--category", category] }
      if let first { words += ["--since", first.iso] }
      Output.note("more: \(words.joined(separator: " ")) --limit \(limit) --before \(next)")
    }
  }

  private func printTable(_ entries: [ChallengeEntry]) {
    let rows = entries.map { entry in
      [
        entry.day.iso, entry.card.title, entry.card.category,
        entry.outcome == .completed
          ? "done" : "skipped" + (entry.reason.map { ": " + $0.words } ?? ""),
        entry.rating.map(String.init) ?? "", entry.note ?? "",
        String(entry.attempt.hex.prefix(12)),
      ]
    }
    Output.print(
      Table(
        headers: ["DAY", "CHALLENGE", "CATEGORY", "STATE", "STARS", "NOTE", "ENTRY"], rows: rows,
        rightAligned: [4]
      ).text)
  }
}

/// `hearth challenge stats`.
struct ChallengeStats: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats", abstract: "Show how many you did, by category, and days in a row.",
    discussion: "This device counts your own history and sends the numbers to nobody.")
  @OptionGroup var common: CommonOptions

  private struct Document: Encodable {
    struct Category: Encodable {
      let category: String
      let completed: Int
    }
    let completed, skipped, streak, longestStreak, rated, stars: Int
    let categories: [Category]
  }

  func run() async throws {
    let context = try await ChallengeContext.open(common)
    let statistics = try await context.read { try $0.statistics() }
    try await context.node.close()
    if common.json {
      return try Output.json(
        Document(
          completed: statistics.completed, skipped: statistics.skipped, streak: statistics.streak,
          longestStreak: statistics.longestStreak, rated: statistics.rated,
          stars: statistics.stars,
          categories: statistics.categories.map {
            .init(category: $0.name, completed: $0.completed)
          }))
    }
    Output.print("done: \(statistics.completed), skipped: \(statistics.skipped)")
    Output.print(
      "days in a row: \(statistics.streak) now, \(statistics.longestStreak) at most")
    if statistics.rated > 0 {
      let mean = ChallengeText.mean(statistics.stars, of: statistics.rated)
      Output.print("stars: \(mean) of 5 on average, from \(statistics.rated)")
    }
    guard !statistics.categories.isEmpty else { return }
    Output.print(
      Table(
        headers: ["CATEGORY", "DONE"],
        rows: statistics.categories.map { [$0.name, String($0.completed)] }, rightAligned: [1]
      ).text)
  }
}
