import HearthCRDT
import HearthSync

extension ChoreFold {
  /// Judges completions, each after all that its author had seen; returns them in order.
  ///
  /// - Parameter isWhole: whether these are all completions of the chore. If not, the ledger has
  ///   the others.
  func items(_ completions: some Sequence<Completion>, isWhole: Bool) throws -> [FoldItem] {
    let ordered = completions.map { (seen: ChainPast.extent(of: $0.cause), work: placed($0)) }
      .sorted { ($0.seen, $0.work.order) < ($1.seen, $1.work.order) }
      .map(\.work)
    let past = ChainPast(
      of: self, judgedAnew: Set(ordered.map(\.id)), readsLedger: !isWhole)
    for completion in ordered {
      past.add(
        FoldItem(
          completion: completion, isValid: try fault(of: completion, after: past) == nil,
          retractions: try retractions(of: completion)))
    }
    return past.judged.sorted { $0.completion.order < $1.completion.order }
  }

  /// Returns the completion's own fault; nil if it has none.
  ///
  /// - Parameter past: what its author had seen of the chain, judged.
  func fault(of completion: Completion, after past: ChainPast) throws -> CompletionFault? {
    Probe.doneWhileArchived.hit(if: facts.isArchived)
    if Mutant.archiveWins.isActive, facts.isArchived { return .archived }
    let cause = completion.cause
    if facts.isArchived(asOf: cause) { return .archived }
    guard ChoreFold.hasValidTime(completion) else { return .impossibleTime }
    guard facts.wasThere(asOf: cause) else { return .unknownChore }
    if let fault = try occurrenceFault(of: completion, after: past) { return fault }
    let terms = try closed.terms(on: Int(completion.day.dayNumber))
    guard terms.strictAssignee else { return nil }
    Probe.strictAssignee.hit()
    let isOne =
      isAssigned(completion, seen: cause) || isAssigned(completion, seen: terms.seen)
    return isOne ? nil : .notAssigned
  }

  /// Returns the fault of a completion of the ledger, by the other rows of the ledger.
  func fault(of row: LedgerRow) throws -> CompletionFault? {
    guard let completion = try item(row)?.completion else { return nil }
    return try fault(of: completion, after: ChainPast(of: self))
  }

  private func occurrenceFault(
    of completion: Completion, after past: ChainPast
  ) throws -> CompletionFault? {
    let rule: RecurrenceRule
    switch self.rule(asOf: completion.cause) {
    case .once: return completion.key == .once ? nil : .noSuchOccurrence
    // Each counts for its day.
    case .unreadable: return nil
    case .known(let known): rule = known
    }
    guard rule.mode == .calendar else {
      return try completion.key == nil ? past.fault(of: completion, by: rule) : .noSuchOccurrence
    }
    guard let key = completion.key, let occurrence = key.occurrence, rule.isOccurrence(occurrence)
    else { return .noSuchOccurrence }
    let move = facts.override(of: key)?.due(seen: completion.cause)
    if OccurrenceTime.isTooEarly(occurrence, movedTo: move, by: rule, on: completion.day) {
      return .tooEarly
    }
    guard OccurrenceTime.isOver(occurrence, by: rule, on: completion.day),
      try closed.missedPolicy(seen: completion.cause) != .stack
    else { return nil }
    return .superseded
  }

  /// Refuses work on a chain that no replica would count.
  ///
  /// - Throws: `tooEarly`, `noSuchOccurrence`.
  func refuseLink(on day: CivilDate, by rule: RecurrenceRule) throws {
    guard let obstacle = try ChainPast(of: self).obstacle(on: day, seenBy: nil, by: rule) else {
      return
    }
    guard obstacle.fault == .tooEarly else {
      throw HouseholdError(
        .noSuchOccurrence,
        "\(quoted(facts.title)) has no occurrence any more; change its rule first")
    }
    let next = obstacle.nextDay.map { "; enter it from \($0) on" } ?? ""
    throw HouseholdError(
      .tooEarly,
      "\(quoted(facts.title)) was done as often as its rule allows before its next day, so once "
        + "more on \(day) is too early" + next)
  }
}
