import ArgumentParser
import Hearth
import HearthCRDT
import Household

/// `hearth challenge done`.
struct ChallengeDone: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "done", abstract: "Record that today's challenge was done.",
    discussion: "An entry cannot be edited: undo it with `hearth challenge undo`.")
  @OptionGroup var common: CommonOptions
  @Option(help: "How it was: 1 to 5 stars.") var rating: Int?
  @Option(help: "A few words to remember it by.") var note: String?

  func run() async throws {
    if let rating, !ChallengeEntry.ratings.contains(rating) {
      throw CommandFailure(
        .usage, "a challenge cannot have \(rating) stars", hint: "use 1 to 5")
    }
    let note = self.note.map(ShownText.normal).flatMap { $0.isEmpty ? nil : $0 }
    let context = try await ChallengeContext.open(common)
    _ = try await context.challengeOfToday()
    let (rating, now) = (rating, await context.node.nowMilliseconds())
    try await context.write { challenges, builder in
      _ = try challenges.complete(rating: rating, note: note, milliseconds: now, in: &builder)
    }
    let challenge = try await context.challengeOfToday()
    try await context.show(challenge, json: common.json) { streak in
      "done: \(Style.safe(challenge.card.title))\(ChallengeText.streak(streak)) "
        + "(undo with `hearth challenge undo`)"
    }
  }
}

/// `hearth challenge skip`.
struct ChallengeSkip: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "skip", abstract: "Skip today's challenge.",
    discussion: "You can still do a skipped challenge that day, or pick another.")
  @OptionGroup var common: CommonOptions
  @Option(
    help: "Why: too hard, no time, wrong place, cost, not interested, weather or other.",
    completion: .list(SkipReason.allCases.map(\.rawValue)))
  var reason: String?

  func run() async throws {
    let reason = try self.reason.map(ChallengeNames.reason)
    let context = try await ChallengeContext.open(common)
    _ = try await context.challengeOfToday()
    let now = await context.node.nowMilliseconds()
    try await context.write { challenges, builder in
      _ = try challenges.skip(reason: reason, milliseconds: now, in: &builder)
    }
    let challenge = try await context.challengeOfToday()
    try await context.show(challenge, json: common.json) { _ in
      "skipped: \(Style.safe(challenge.card.title)) (`hearth challenge pick NAME` picks another)"
    }
  }
}

/// `hearth challenge undo`.
struct ChallengeUndo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "undo", abstract: "Undo the last entry, or another one.")
  @OptionGroup var common: CommonOptions
  @Option(help: "The entry, by its id in `hearth challenge history`.") var event: String?

  func run() async throws {
    let wanted = event?.lowercased()
    let context = try await ChallengeContext.open(common)
    let entry = try await context.write { challenges, builder in
      let entry = try ChallengeUndo.entry(wanted, in: challenges)
      try challenges.undo(entry, in: &builder)
      return entry
    }
    try await context.node.close()
    if common.json { return try Output.json(["undone": ChallengeEntryDocument(entry)]) }
    let what = entry.outcome == .skipped ? "skipped" : "done"
    Output.note("undone: \(Style.safe(entry.card.title)), \(what) on \(entry.day.iso)")
  }

  private static func entry(_ wanted: String?, in challenges: PersonChallenges) throws
    -> ChallengeEntry
  {
    var found: ChallengeEntry?
    if let wanted {
      let entries = try challenges.entries(idPrefix: wanted)
      guard entries.count <= 1, wanted.utf8.count >= 8 else {
        throw CommandFailure(
          .usage, "this id fits several entries or is too short", hint: "write at least 8 digits")
      }
      found = entries.first
    } else {
      found = try challenges.lastEntry()
    }
    guard let found else {
      throw CommandFailure(
        .failed, wanted == nil ? "there is nothing to undo" : "there is no such entry",
        hint: "see `hearth challenge history`")
    }
    return found
  }
}
