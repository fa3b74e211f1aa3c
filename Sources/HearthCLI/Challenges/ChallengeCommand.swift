import ArgumentParser
import Hearth
import Household

/// `hearth challenge`.
struct ChallengeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "challenge", abstract: "Do one small private challenge a day.",
    discussion: """
      Challenges come from the catalogues that you follow (`hearth public follow`). One is drawn
      each day, the same on all devices of yours; you may pick another. Your history, stars and
      notes are in your private database. It is encrypted and syncs only between your own devices:
      neither your household nor the publisher of a catalogue can read it.

      The settings that begin with challenge- limit the draw:
        hearth settings set challenge-minutes 20
        hearth settings set challenge-categories calm,kitchen

      Examples:
        hearth challenge
        hearth challenge done --rating 4 --note "The second bench is the best"
        hearth challenge skip --reason weather
        hearth challenge pick benches
        hearth challenge history --category calm
      """,
    subcommands: [
      ChallengeToday.self, ChallengeList.self, ChallengeShow.self, ChallengePick.self,
      ChallengeDone.self, ChallengeSkip.self, ChallengeUndo.self, ChallengeHistory.self,
      ChallengeStats.self,
    ], defaultSubcommand: ChallengeToday.self)
}

extension ChallengeContext {
  /// Prints a day's challenge as a document or in words.
  ///
  /// - Parameter news: the line that only people get.
  func show(_ challenge: DayChallenge, json: Bool, news: (Int) -> String) async throws {
    let offer = try await offer(of: challenge.card)
    let streak = try await read { try $0.statistics().streak }
    try await node.close()
    if json { return try Output.json(DayChallengeDocument(challenge, offer, streak: streak)) }
    Output.note(news(streak))
  }
}

/// `hearth challenge today`.
struct ChallengeToday: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "today", abstract: "Show today's challenge; draw it if there is none yet.",
    discussion: "The drawn challenge stays today's, on every device of yours.")
  @OptionGroup var common: CommonOptions

  func run() async throws {
    let context = try await ChallengeContext.open(common)
    let challenge = try await context.challengeOfToday()
    let offer = try await context.offer(of: challenge.card)
    let streak = try await context.read { try $0.statistics().streak }
    try await context.node.close()
    if common.json {
      return try Output.json(DayChallengeDocument(challenge, offer, streak: streak))
    }
    for line in ChallengeText.lines(challenge, offer) { Output.print(line) }
    switch challenge.state {
    case .pending:
      Output.note("`hearth challenge done` when you have done it, `hearth challenge skip` if not")
    case .skipped: Output.note("`hearth challenge pick NAME` takes another")
    case .completed: if streak > 1 { Output.note("\(streak) days in a row") }
    }
  }
}

/// `hearth challenge list`.
struct ChallengeList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the challenges that may be drawn for you.")
  @OptionGroup var common: CommonOptions
  @Flag(help: "Also those that your settings exclude.") var all = false
  @Option(help: "Only those of this category.") var category: String?

  func run() async throws {
    let category = try self.category.map(ChallengeNames.category)
    let context = try await ChallengeContext.open(common)
    let filter = try await context.wishes().challengeFilter
    let offers = try await context.offers().filter {
      (all || filter.accepts($0)) && (category == nil || $0.card.category == category)
    }
    let days = try await context.read { try $0.lastDone() }
    try await context.node.close()
    if common.json {
      return try Output.json([
        "challenges": offers.map {
          ChallengeOfferDocument(
            $0, lastDone: days[$0.card.key], isWanted: filter.accepts($0))
        }
      ])
    }
    guard !offers.isEmpty else {
      return Output.note(
        all ? "no challenge matches" : "no challenge matches; --all shows every one")
    }
    let rows = offers.map { offer in
      [
        offer.card.title, offer.card.category,
        offer.card.minutes > 0 ? String(offer.card.minutes) : "",
        offer.company.map(ChallengeText.words) ?? "", offer.cost.map(ChallengeText.words) ?? "",
        offer.difficulty.map(String.init) ?? "", days[offer.card.key]?.iso ?? "",
      ]
    }
    Output.print(
      Table(
        headers: ["CHALLENGE", "CATEGORY", "MINUTES", "WHO", "COST", "LEVEL", "LAST DONE"],
        rows: rows, rightAligned: [2, 5]
      ).text)
  }
}

/// `hearth challenge show`.
struct ChallengeShow: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show everything about one challenge.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The challenge.") var name: String

  func run() async throws {
    let context = try await ChallengeContext.open(common)
    let offer = try ChallengeNames.offer(name, among: try await context.offers())
    let filter = try await context.wishes().challengeFilter
    let day = try await context.read { try $0.lastDone()[offer.card.key] }
    try await context.node.close()
    if common.json {
      return try Output.json([
        "challenge": ChallengeOfferDocument(
          offer, lastDone: day, isWanted: filter.accepts(offer))
      ])
    }
    Output.print(Style.bold(Style.safe(offer.card.title)))
    Output.print(ChallengeText.kind(offer.card, offer))
    if !offer.text.isEmpty { Output.print(Style.safe(offer.text)) }
    if let day { Output.print("last done: \(day.iso)") }
    if !filter.accepts(offer) { Output.print("your settings exclude it from the draw") }
    Output.print("id: \(offer.card.catalogueName)/\(offer.card.key.id)")
  }
}

/// `hearth challenge pick`.
struct ChallengePick: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pick", abstract: "Choose today's challenge, instead of the drawn one.",
    discussion: "You may pick one that your settings exclude, and another after the first is done.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The challenge.") var name: String

  func run() async throws {
    let context = try await ChallengeContext.open(common)
    let offer = try ChallengeNames.offer(name, among: try await context.offers())
    try await context.write { challenges, builder in try challenges.pick(offer.card, in: &builder) }
    let challenge = try await context.challengeOfToday()
    try await context.show(challenge, json: common.json) { _ in
      "today's challenge: \(Style.safe(challenge.card.title))"
    }
  }
}
