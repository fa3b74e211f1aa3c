import HearthCRDT
import HearthSync

extension PersonChallenges {
  /// Makes a challenge today's challenge and replaces the existing one.
  package func assign(
    _ card: ChallengeCard, _ choice: ChallengeChoice, in builder: inout OperationBuilder
  ) {
    let key = PersonChallenges.record(of: today, in: builder.zone)
    for (field, value) in [
      (DailyField.day, Value.text(today.iso)),
      (DailyField.catalogue, .id(card.key.catalogue)),
      (DailyField.catalogueName, .text(card.catalogueName)),
      (DailyField.challenge, .text(card.key.id)),
      (DailyField.title, .text(card.title)),
      (DailyField.category, .text(card.category)),
      (DailyField.minutes, .int(Int64(card.minutes))),
      (DailyField.choice, .text(choice.rawValue)),
    ] { builder.append(key, .assign(field, value)) }
  }

  /// Makes a challenge today's challenge by the person's choice, and reopens one skipped today.
  ///
  /// - Throws: `alreadyDone`.
  package func pick(_ card: ChallengeCard, in builder: inout OperationBuilder) throws {
    if let entry = try rows.entries(on: today).first(where: { $0.card.key == card.key }) {
      guard entry.outcome == .skipped else { throw alreadyDone(entry.card) }
      try undo(entry, in: &builder)
    }
    assign(card, .picked, in: &builder)
  }

  /// Records that today's challenge was done, even after it was skipped.
  ///
  /// - Throws: `noChallenge`, `alreadyDone`, `badRating`, `badNote`.
  package func complete(
    rating: Int? = nil, note: String? = nil, milliseconds: UInt64,
    in builder: inout OperationBuilder
  ) throws -> DayChallenge {
    let challenge = try challengeOfToday()
    guard challenge.state != .completed else { throw alreadyDone(challenge.card) }
    if let rating, !ChallengeEntry.ratings.contains(rating) {
      throw HouseholdError(
        .badRating, "a challenge cannot be given \(rating) stars; use 1 to 5")
    }
    if let note { try Validation.note(note) }
    record(
      challenge.card, .completed, milliseconds,
      [
        EventField(AttemptField.rating, rating.map { .int(Int64($0)) } ?? .null),
        EventField(AttemptField.note, note.map(Value.text) ?? .null),
      ], &builder)
    return challenge
  }

  /// Skips today's challenge.
  ///
  /// - Throws: `noChallenge`, `alreadyDone`, `alreadySkipped`.
  package func skip(
    reason: SkipReason?, milliseconds: UInt64, in builder: inout OperationBuilder
  ) throws -> DayChallenge {
    let challenge = try challengeOfToday()
    switch challenge.state {
    case .completed: throw alreadyDone(challenge.card)
    case .skipped:
      throw HouseholdError(
        .alreadySkipped,
        "\(quoted(challenge.card.title)) is already skipped; pick another, or undo that")
    case .pending: break
    }
    record(
      challenge.card, .skipped, milliseconds,
      [EventField(AttemptField.reason, reason.map { .text($0.rawValue) } ?? .null)], &builder)
    return challenge
  }

  /// Takes an entry back permanently: all attempts that it joins, from every device.
  ///
  /// - Throws: `noSuchEntry`.
  package func undo(_ entry: ChallengeEntry, in builder: inout OperationBuilder) throws {
    let attempts = try rows.attempts(on: entry.day).filter {
      $0.card.key == entry.card.key && $0.outcome == entry.outcome
    }
    let names = try Set(attempts.map(\.attempt)).sorted().filter { try !rows.isUndone($0) }
    guard !names.isEmpty else {
      throw HouseholdError(
        .noSuchEntry, "there is no entry \(entry.attempt.hex); look it up in the history")
    }
    for name in names {
      _ = builder.event(
        HouseholdSchema.challengeUndo, [EventField(ChallengeUndoField.attempt, .id(name))])
    }
  }

  private func challengeOfToday() throws -> DayChallenge {
    guard let challenge = try challenge(on: today) else {
      throw HouseholdError(
        .noChallenge, "there is no challenge for \(today) yet; have one drawn, or pick one")
    }
    return challenge
  }

  private func alreadyDone(_ card: ChallengeCard) -> HouseholdError {
    HouseholdError(
      .alreadyDone,
      "\(quoted(card.title)) is already done; undo that first if it is wrong, or pick "
        + "another if you want one more")
  }

  private func record(
    _ card: ChallengeCard, _ outcome: ChallengeOutcome, _ milliseconds: UInt64,
    _ more: [EventField], _ builder: inout OperationBuilder
  ) {
    let attempt = builder.newID()
    _ = builder.event(
      HouseholdSchema.challengeAttempt,
      [
        EventField(AttemptField.attempt, .id(attempt)),
        EventField(AttemptField.day, .day(today)),
        EventField(AttemptField.at, .milliseconds(milliseconds)),
        EventField(AttemptField.catalogue, .id(card.key.catalogue)),
        EventField(AttemptField.catalogueName, .text(card.catalogueName)),
        EventField(AttemptField.challenge, .text(card.key.id)),
        EventField(AttemptField.title, .text(card.title)),
        EventField(AttemptField.category, .text(card.category)),
        EventField(AttemptField.minutes, .int(Int64(card.minutes))),
        EventField(AttemptField.outcome, .text(outcome.rawValue)),
      ] + more)
  }
}
