import HearthCRDT
import HearthSync

/// The outcome of a challenge.
package enum ChallengeOutcome: String, Sendable {
  case completed
  case skipped
}

/// The reason for skipping a challenge.
package enum SkipReason: String, CaseIterable, Sendable {
  case tooHard = "too-hard"
  case noTime = "no-time"
  case wrongPlace = "wrong-place"
  case cost
  case notInterested = "not-interested"
  case weather
  case other

  /// The reason as displayed.
  package var words: String { rawValue.split(separator: "-").joined(separator: " ") }
}

/// An event that records a done or skipped challenge.
struct ChallengeAttempt: Equatable {
  let attempt: Identifier
  let day: CivilDate
  let at: Int64
  let card: ChallengeCard
  let outcome: ChallengeOutcome
  let reason: SkipReason?
  let rating: Int?
  let note: String?
  /// The event's own id, which distinguishes copies of one attempt.
  let event: RecordID

  /// Reads an event; nil for one that this version cannot interpret.
  init?(_ event: EventState, id: RecordID) {
    guard let attempt = event[AttemptField.attempt].identifier,
      let day = event[AttemptField.day].date, let at = event[AttemptField.at].int,
      (0...Int64(HybridTime.maximumMilliseconds)).contains(at),
      let outcome = event[AttemptField.outcome].text.flatMap(ChallengeOutcome.init(rawValue:)),
      let card = ChallengeCard(
        catalogue: event[AttemptField.catalogue], name: event[AttemptField.catalogueName],
        id: event[AttemptField.challenge], title: event[AttemptField.title],
        category: event[AttemptField.category], minutes: event[AttemptField.minutes])
    else { return nil }
    self.attempt = attempt
    self.day = day
    self.at = at
    self.card = card
    self.outcome = outcome
    self.event = id
    reason = event[AttemptField.reason].text.map { SkipReason(rawValue: $0) ?? .other }
    rating = event[AttemptField.rating].int.flatMap { Int(exactly: $0) }
      .flatMap { ChallengeEntry.ratings.contains($0) ? $0 : nil }
    note = event[AttemptField.note].text.flatMap {
      $0.utf8.count <= Validation.maximumNoteBytes ? $0 : nil
    }
  }

  /// A total order that is the same on every device: by time, then by the random name.
  static func isBefore(_ left: ChallengeAttempt, _ right: ChallengeAttempt) -> Bool {
    (left.at, left.attempt, left.event) < (right.at, right.attempt, right.event)
  }
}

extension ChallengeCard {
  /// Reads the values of a record or event.
  init?(
    catalogue: Value, name: Value, id: Value, title: Value, category: Value, minutes: Value
  ) {
    guard let catalogue = catalogue.identifier, let id = id.text, let title = title.text else {
      return nil
    }
    self.init(
      key: ChallengeKey(catalogue: catalogue, id: id), catalogueName: name.text ?? "",
      title: title, category: category.text ?? "", minutes: Int(clamping: minutes.int ?? 0))
  }
}

/// One day's history of one challenge.
///
/// An effort counts once, however many devices recorded it. A completion wins over a skip, and the
/// last rating and note win (R23).
package struct ChallengeEntry: Equatable, Sendable {
  /// The allowed ratings, in stars.
  package static let ratings = 1...5

  /// The name of the entry: its first attempt.
  package let attempt: Identifier
  package let day: CivilDate
  /// The time of the first record, in milliseconds since 1970.
  package let milliseconds: UInt64
  package let card: ChallengeCard
  package let outcome: ChallengeOutcome
  package let reason: SkipReason?
  package let rating: Int?
  package let note: String?

  /// The entries of one day, in order of time.
  ///
  /// - Parameter isUndone: whether an attempt was taken back.
  static func entries(
    of attempts: [ChallengeAttempt], isUndone: (Identifier) throws -> Bool
  ) rethrows -> [ChallengeEntry] {
    var byChallenge: [ChallengeKey: [ChallengeAttempt]] = [:]
    for attempt in attempts.sorted(by: ChallengeAttempt.isBefore)
    where try !isUndone(attempt.attempt) {
      byChallenge[attempt.card.key, default: []].append(attempt)
    }
    return byChallenge.values.compactMap(ChallengeEntry.init(joining:))
      .sorted { ($0.milliseconds, $0.attempt) < ($1.milliseconds, $1.attempt) }
  }

  /// Joins the attempts at one challenge on one day, which must be in order.
  private init?(joining all: [ChallengeAttempt]) {
    let completed = all.filter { $0.outcome == .completed }
    let joined = completed.isEmpty ? all : completed
    guard let first = joined.first else { return nil }
    attempt = first.attempt
    day = first.day
    milliseconds = UInt64(max(0, first.at))
    card = first.card
    outcome = first.outcome
    reason = joined.last { $0.reason != nil }?.reason
    rating = joined.last { $0.rating != nil }?.rating
    note = joined.last { $0.note != nil }?.note
  }

  /// Reads a row; nil if the projection did not write it.
  init?(_ row: [Value]) {
    guard row.count == 13, let attempt = row[0].identifier, let day = row[1].date,
      let at = row[2].int,
      let card = ChallengeCard(
        catalogue: row[3], name: row[4], id: row[5], title: row[6], category: row[7],
        minutes: row[8]),
      let outcome = row[9].text.flatMap(ChallengeOutcome.init(rawValue:))
    else { return nil }
    self.attempt = attempt
    self.day = day
    milliseconds = UInt64(max(0, at))
    self.card = card
    self.outcome = outcome
    reason = row[10].text.flatMap(SkipReason.init(rawValue:))
    rating = row[11].int.map { Int(clamping: $0) }
    note = row[12].text
  }

  var row: [Value] {
    [
      .id(attempt), .day(day), .int(Int64(milliseconds)), .id(card.key.catalogue),
      .text(card.catalogueName), .text(card.key.id), .text(card.title), .text(card.category),
      .int(Int64(card.minutes)), .text(outcome.rawValue),
      reason.map { .text($0.rawValue) } ?? .null,
      rating.map { .int(Int64($0)) } ?? .null, note.map(Value.text) ?? .null,
    ]
  }
}
