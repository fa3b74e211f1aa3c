import HearthCRDT
import HearthSync
import Household

/// What a person does with the challenge of a day, as steps: `challenge draw|pick NAME`,
/// `challenge complete rating=4 note=fun`, `challenge skip because=weather`, `challenge undo`.
///
/// A person's devices keep this in a private database of their own. Its rules ask nothing of the
/// zone that they are folded in, so that here the household's will do.
extension Commands {
  static func challenge(
    _ step: Step, _ challenges: PersonChallenges, now: UInt64, in builder: inout OperationBuilder
  ) throws {
    switch step.words.first {
    case "draw": challenges.assign(try card(step), .drawn, in: &builder)
    case "pick": try challenges.pick(try card(step), in: &builder)
    case "complete":
      _ = try challenges.complete(
        rating: step.value("rating").flatMap { Int($0) }, note: step.value("note"),
        milliseconds: now, in: &builder)
    case "skip":
      _ = try challenges.skip(
        reason: step.value("because").flatMap(SkipReason.init(rawValue:)), milliseconds: now,
        in: &builder)
    case "undo":
      guard let entry = try challenges.lastEntry() else {
        throw StepFailure("there is nothing to undo")
      }
      try challenges.undo(entry, in: &builder)
    default: throw StepFailure("challenge draw|pick|complete|skip|undo")
    }
  }

  /// A challenge by its name: the same on every device.
  private static func card(_ step: Step) throws -> ChallengeCard {
    guard let name = step.words.dropFirst().first,
      let card = ChallengeCard(
        key: ChallengeKey(catalogue: .zero, id: name), catalogueName: "stories", title: name,
        category: "calm", minutes: 10)
    else { throw StepFailure("challenge draw|pick NAME") }
    return card
  }
}

extension SimDevice {
  /// Reads the challenges.
  func readChallenges<Result>(
    at time: UInt64, _ body: (PersonChallenges) throws -> Result
  ) throws -> Result {
    let today = try today(at: time)
    return try readSource { try body(PersonChallenges(source: $0, today: today)) }
  }
}

extension World {
  /// `challenge` for what today's is and how it stands, `challenge-history` for all entries, oldest
  /// first, `challenge-streak`; nil where the question is another's.
  func askChallenges(_ what: String, _ device: SimDevice) throws -> String? {
    guard what.hasPrefix("challenge") else { return nil }
    return try device.readChallenges(at: now) { challenges in
      switch what {
      case "challenge":
        guard let challenge = try challenges.challenge(on: challenges.today) else { return "-" }
        let also = challenge.alsoDone.map { "+\($0.card.title)" }.joined()
        return "\(challenge.card.title)-\(challenge.state.rawValue)\(also)"
      case "challenge-history":
        let entries = try challenges.history(after: nil, limit: 1000).entries.reversed()
        return entries.isEmpty ? "-" : entries.map(World.words).joined(separator: ",")
      case "challenge-streak": return "\(try challenges.statistics().streak)"
      default: return nil
      }
    }
  }

  private static func words(_ entry: ChallengeEntry) -> String {
    let rating = entry.rating.map { "*\($0)" } ?? ""
    let reason = entry.reason.map { "(\($0.rawValue))" } ?? ""
    return "\(entry.card.title)-\(entry.outcome.rawValue)\(rating)\(reason)"
  }
}
