import Foundation
import Hearth
import HearthCRDT
import HearthRelayProtocol
import HearthSync
import Household

/// A person's challenges for commands: the private database and the day.
struct ChallengeContext {
  let node: Node
  let zone: ZoneState
  let today: CivilDate

  /// Opens the node.
  ///
  /// The day is that of the selected household; a node without one uses its own clock.
  static func open(_ common: CommonOptions) async throws -> ChallengeContext {
    let node = try await common.open()
    guard let zone = await node.privateDatabase.zone() else {
      throw CommandFailure(
        .failed, "this node has no private database", hint: "`hearth doctor` looks for the fault")
    }
    let household: ZoneState?
    do {
      household = try await HouseholdContext.chosen(common, on: node)
    } catch let failure as CommandFailure {
      guard common.household == nil else { throw failure }
      household = nil
    }
    let today: CivilDate
    if let household {
      today = try await HouseholdContext(node: node, zone: household).today().date
    } else {
      today = try HouseholdClock(timeZone: MachineTimeZone.name)
        .civil(milliseconds: await node.nowMilliseconds()).date
    }
    return ChallengeContext(node: node, zone: zone, today: today)
  }

  /// Reads the person's challenges.
  func read<Result: Sendable>(
    _ body: @escaping @Sendable (PersonChallenges) throws -> Result
  ) async throws -> Result {
    let today = today
    return try await node.read(zone.id) { try body(PersonChallenges(source: $0, today: today)) }
  }

  /// Writes one transaction of the person's challenges.
  ///
  /// - Throws: `notAllowed` if this device no longer belongs to the private database.
  func write<Result: Sendable>(
    _ body: @escaping @Sendable (PersonChallenges, inout OperationBuilder) throws -> Result
  ) async throws -> Result {
    if let ending = try await node.ending(in: zone.group) {
      throw CommandFailure(
        .notAllowed, EndingText.line(ending, household: "your private database"),
        hint: "`hearth device add` on another device of yours, then `hearth join -` here")
    }
    let (zone, today) = (zone.id, today)
    return try await node.write(to: zone) { source, dot in
      var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
      let result = try body(PersonChallenges(source: source, today: today), &builder)
      return (builder.operations, result)
    }
  }

  /// Returns the person's settings for challenges.
  func wishes() async throws -> SettingValues {
    try await SettingValues.load(SettingKey.ofChallenges, of: node, household: nil)
  }

  // MARK: Offers

  /// Returns the challenges in the local copies of the followed catalogues, by title.
  ///
  /// - Throws: a failure with the remedy if no catalogue offers any.
  func offers() async throws -> [ChallengeOffer] {
    let followed = try await node.catalogues.list()
    guard !followed.isEmpty else {
      throw CommandFailure(
        .failed, "you follow no catalogue of challenges yet",
        hint: "`hearth public follow ADDRESS` fetches one")
    }
    let versions = Dictionary(
      followed.map { ($0.address.catalogue, $0.head?.version ?? 0) },
      uniquingKeysWith: { first, _ in first })
    let offers = try await node.catalogues.records(type: "challenge")
      .compactMap { ChallengeOffer($0, version: versions[$0.catalogue] ?? 0) }
    guard !offers.isEmpty else {
      throw CommandFailure(
        .failed, "the catalogues that you follow contain no challenge here",
        hint: "`hearth sync` fetches new versions; `hearth public status` shows the copies here")
    }
    return offers.sorted { ($0.card.title, $0.card.key) < ($1.card.title, $1.card.key) }
  }

  /// Returns the offer of a day's challenge, if its catalogue is still available.
  func offer(of card: ChallengeCard) async throws -> ChallengeOffer? {
    try await node.catalogues.records(type: "challenge")
      .filter { $0.catalogue.id == card.key.catalogue && $0.record.path.id == card.key.id }
      .compactMap { ChallengeOffer($0, version: 0) }.first
  }

  /// Returns today's challenge, and draws one if there is none.
  ///
  /// - Throws: a failure with the remedy if none can be drawn.
  func challengeOfToday() async throws -> DayChallenge {
    let today = today
    if let present = try await read({ try $0.challenge(on: today) }) { return present }
    let (offers, wishes) = (try await offers(), try await wishes())
    let (filter, rest) = (wishes.challengeFilter, wishes.challengeRest)
    let doneLately = try await read { try $0.done(inDaysBefore: rest) }
    guard
      let drawn = ChallengeDraw.draw(
        among: offers, filter: filter, doneLately: doneLately, for: await node.person, on: today)
    else { throw nothingToDraw(isFiltered: !offers.contains(where: filter.accepts), rest: rest) }
    try await write { challenges, builder in challenges.assign(drawn.card, .drawn, in: &builder) }
    guard let challenge = try await read({ try $0.challenge(on: today) }) else {
      throw CommandFailure(.failed, "the challenge that was drawn cannot be read back")
    }
    return challenge
  }

  private func nothingToDraw(isFiltered: Bool, rest: Int) -> CommandFailure {
    if isFiltered {
      return CommandFailure(
        .failed, "your settings exclude every challenge of the followed catalogues",
        hint: "`hearth settings list --scope person` shows them: their names begin with "
          + "challenge-; `hearth challenge list --all` shows every challenge")
    }
    return CommandFailure(
      .failed,
      "you did every suitable challenge in the last \(Words.count(rest, "day"))",
      hint: "`hearth challenge pick NAME` picks one again; `hearth settings set challenge-rest "
        + "DAYS` sets for how long a finished challenge is excluded")
  }
}

extension ChallengeOffer {
  /// Reads a record of a catalogue; nil if a history cannot keep it.
  init?(_ found: FoundRecord, version: UInt64) {
    let body = PublicText.body(of: found.record)
    guard
      let card = ChallengeCard(
        key: ChallengeKey(catalogue: found.catalogue.id, id: found.record.path.id),
        catalogueName: found.catalogue.name,
        title: ShownText.normal(body["title"]?.text ?? ""),
        category: body["category"]?.text ?? "",
        minutes: Int(clamping: body["minutes"]?.int ?? 0))
    else { return nil }
    self.init(
      card, version: version, text: body["description"]?.text ?? "",
      company: body["socialRequirement"]?.text.flatMap(ChallengeCompany.init),
      cost: body["costLevel"]?.text.flatMap(ChallengeCost.init),
      difficulty: body["difficultyLevel"]?.int.flatMap { Int(exactly: $0) })
  }
}

/// Resolves typed names.
enum ChallengeNames {
  /// Returns the challenge of an id, a catalogue and id, or a title.
  ///
  /// - Throws: a failure that lists the candidates, or suggests the nearest titles.
  static func offer(_ text: String, among offers: [ChallengeOffer]) throws -> ChallengeOffer {
    let byID = offers.filter {
      text == $0.card.key.id || text == "\($0.card.catalogueName)/\($0.card.key.id)"
    }
    guard byID.count <= 1 else { throw several(text, byID) }
    if let only = byID.first { return only }
    switch NameMatch(text, among: offers, name: \.card.title) {
    case .one(let offer): return offer
    case .several(let found): throw several(text, found)
    case .none(let nearest):
      throw CommandFailure(
        .failed, "there is no challenge \(ShownText.quoted(text))",
        hint: nearest.isEmpty
          ? "see `hearth challenge list --all`"
          : "did you mean "
            + nearest.map { ShownText.quoted($0.card.title) }.joined(separator: " or ") + "?")
    }
  }

  private static func several(_ text: String, _ found: [ChallengeOffer]) -> CommandFailure {
    let list = found.prefix(10).map {
      "  \($0.card.catalogueName)/\($0.card.key.id)  \(Style.safe($0.card.title))"
    }
    let more = found.count > 10 ? "\n  and \(found.count - 10) more" : ""
    return CommandFailure(
      .failed,
      "\(ShownText.quoted(text)) fits \(found.count) challenges:\n"
        + list.joined(separator: "\n") + more, hint: "write more of the title, or CATALOGUE/ID")
  }

  /// Returns the reason that begins with a text: `no time`, `no-time` and `time` are the same.
  ///
  /// - Throws: a usage failure that lists the reasons.
  static func reason(_ text: String) throws -> SkipReason {
    let words = text.split { $0 == "-" || $0 == "_" }.joined(separator: " ")
    if case .one(let reason) = NameMatch(words, among: SkipReason.allCases, name: \.words) {
      return reason
    }
    throw CommandFailure(
      .usage, "\(ShownText.quoted(text)) is not a known reason",
      hint: "use " + SkipReason.allCases.map(\.words).joined(separator: ", "))
  }

  /// Returns the category that begins with a text.
  ///
  /// - Throws: a usage failure that lists the categories.
  static func category(_ text: String) throws -> String {
    if case .one(let name) = NameMatch(text, among: ChallengeFilter.categories, name: \.self) {
      return name
    }
    throw CommandFailure(
      .usage, "there is no category \(ShownText.quoted(text))",
      hint: "use " + ChallengeFilter.categories.joined(separator: ", "))
  }
}
