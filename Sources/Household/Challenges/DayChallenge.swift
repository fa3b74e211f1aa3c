import HearthCRDT
import HearthSync

/// The chooser of a day's challenge.
package enum ChallengeChoice: String, Sendable {
  /// The draw.
  case drawn
  /// The person.
  case picked
}

/// A day's challenge and its state.
package struct DayChallenge: Equatable, Sendable {
  package enum State: String, Sendable {
    case pending
    case completed
    case skipped
  }

  package let day: CivilDate
  package let card: ChallengeCard
  /// The chooser; nil if only the completion is known.
  package let choice: ChallengeChoice?
  package let state: State
  /// The entry of that challenge on that day.
  package let entry: ChallengeEntry?
  /// The other challenges done that day.
  package let alsoDone: [ChallengeEntry]
}

/// One of several concurrent values of a day's record.
struct DayCandidate: Equatable {
  let card: ChallengeCard
  let choice: ChallengeChoice
  let version: Version

  /// Returns every value that no later one replaced.
  ///
  /// A field that one of the writes did not set has its shown value.
  static func all(of state: RecordState?) -> [DayCandidate] {
    guard let state, !state.life.isDeleted,
      case .register(let register)? = state[DailyField.challenge]
    else { return [] }
    return register.siblings.compactMap { sibling in
      func value(_ field: FieldID) -> Value {
        guard case .register(let register)? = state[field] else { return .null }
        let own = register.siblings.first { $0.version.dot == sibling.version.dot }
        return (own ?? register.shown).value ?? .null
      }
      return ChallengeCard(
        catalogue: value(DailyField.catalogue), name: value(DailyField.catalogueName),
        id: value(DailyField.challenge), title: value(DailyField.title),
        category: value(DailyField.category), minutes: value(DailyField.minutes)
      ).map { card in
        let word = value(DailyField.choice).text
        return DayCandidate(
          card: card, choice: word.flatMap(ChallengeChoice.init(rawValue:)) ?? .picked,
          version: sibling.version)
      }
    }
  }
}

extension DayChallenge {
  /// The one challenge that a day shows, the same on every device with the same records (R22).
  ///
  /// Devices that were offline may each have chosen one. The first completed one wins; otherwise
  /// the first that the person picked, then the first that was drawn. A drawn challenge also yields
  /// to another challenge that was completed that day. A picked one does not, since the person who
  /// picks it wants one more.
  init?(on day: CivilDate, among candidates: [DayCandidate], entries: [ChallengeEntry]) {
    let sorted = candidates.sorted { $0.version < $1.version }
    let done = entries.filter { $0.outcome == .completed }
    let completed = sorted.first { candidate in done.contains { $0.card.key == candidate.card.key }
    }
    let picked = sorted.first { $0.choice == .picked }
    let chosen = completed ?? picked ?? (done.isEmpty ? sorted.first : nil)
    guard let card = chosen?.card ?? done.first?.card else { return nil }
    let own = entries.first { $0.card.key == card.key }
    self.day = day
    self.card = card
    choice = chosen?.choice
    entry = own
    alsoDone = done.filter { $0.card.key != card.key }
    switch own?.outcome {
    case .completed: state = .completed
    case .skipped: state = .skipped
    case nil: state = .pending
    }
  }
}
