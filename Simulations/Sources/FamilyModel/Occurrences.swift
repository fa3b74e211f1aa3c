/// One due instance of a chore.
package struct ModelOccurrence: Hashable, Sendable {
  /// How it stands.
  package enum State: Hashable, Sendable {
    /// Due today or later, or some day.
    case open
    /// Should have been done.
    case overdue
    /// Nobody did it and nobody need do it now.
    case missed
  }

  package let chore: ModelID
  /// 0 for what is done once; 32 times the original day number for a calendar rule; 64 times one
  /// more than the work done plus the links skipped since for a chain counted from completion.
  package let key: Int64
  package let due: Int?
  package let assignee: ModelID?
  package let state: State
  /// How many older ones were missed.
  package let missedBefore: Int
}

extension FamilyModel {
  private enum MissedPolicy { case roll, stack, neverOverdue }

  /// A possible occurrence before its state is known.
  private struct Candidate {
    let key: Int64
    /// The day it is due, by rule or moved.
    let due: Int?
    /// The day it is due by rule; nil where it has no other than `due`.
    var original: Int?
    /// How many come before it, for turns.
    let ordinal: Int
    /// How many before it are still open, for turns after the last performer.
    var openBefore = 0
  }

  private var missedPolicy: MissedPolicy {
    switch setting("missed") {
    case "stack": .stack
    case "never-overdue": .neverOverdue
    default: .roll
    }
  }

  // MARK: what is to be done

  /// What is to be done next of a chore: what has come due, or what comes first by its key.
  ///
  /// Assumption: of what has not come due the first is first by the original date (R8: "the first
  /// occurrence after"), though a later one may be due before one that was moved.
  package func nextOccurrence(_ chore: ModelID) -> ModelOccurrence? {
    everyOccurrence(chore, through: today).first
  }

  /// What is open of a chore through a day, which is today or later: all that has come due and
  /// still stands, then what will come due, each by key.
  package func openOccurrences(_ chore: ModelID, through last: Int) -> [ModelOccurrence] {
    everyOccurrence(chore, through: last).filter { ($0.due ?? today) <= last }
  }

  /// R8: of those that have come due, all stay or the last alone; then the later ones.
  private func everyOccurrence(_ chore: ModelID, through last: Int) -> [ModelOccurrence] {
    let (due, later) = split(candidates(chore, through: last))
    let standing = missedPolicy == .stack ? due : due.suffix(1)
    // Assumption: only where the older give way are they called missed.
    let missed = missedPolicy == .roll ? due.count - standing.count : 0
    return (standing + later).enumerated().map { place, candidate in
      var candidate = candidate
      candidate.openBefore = place
      return occurrence(chore, candidate, missedBefore: place == 0 ? missed : 0)
    }
  }

  /// What has come due since the chore was last closed and gave way to a newer one (R8).
  package func missedOccurrences(_ chore: ModelID) -> [ModelOccurrence] {
    if missedPolicy != .roll { return [] }
    return split(candidates(chore, through: today)).due.dropLast().map {
      occurrence(chore, $0, state: .missed)
    }
  }

  /// Those that have come due, by their own day or one they were moved to, and the others.
  ///
  /// Assumption: what is moved on after its day keeps its place, so what it made missed stays so.
  private func split(_ all: [Candidate]) -> (due: [Candidate], later: [Candidate]) {
    func hasComeDue(_ candidate: Candidate) -> Bool {
      let due = candidate.due ?? today
      return min(due, candidate.original ?? due) <= today
    }
    return (all.filter(hasComeDue), all.filter { !hasComeDue($0) })
  }

  private func occurrence(
    _ chore: ModelID, _ candidate: Candidate, state: ModelOccurrence.State? = nil,
    missedBefore: Int = 0
  ) -> ModelOccurrence {
    let isPast = (candidate.due ?? today) < today
    // Assumption: whose turn it is follows the day it was due, not the day it is shown under.
    let isShownToday = isPast && state == nil && missedPolicy == .neverOverdue
    return ModelOccurrence(
      chore: chore, key: candidate.key, due: isShownToday ? today : candidate.due,
      assignee: assignee(chore, candidate),
      state: state ?? (isPast && !isShownToday ? .overdue : .open), missedBefore: missedBefore)
  }

  // MARK: which occurrences there are (R6)

  /// Every occurrence that is not closed, by key: all that can have come due by `last`, and at
  /// least one later one if there is any.
  private func candidates(_ chore: ModelID, through last: Int) -> [Candidate] {
    let shown = shown(chore)
    if shown.isArchived { return [] }
    guard let rule = shown.rule, rule.isReadable else {
      if !(shown.rule == nil ? isDoneOnce(chore) : isDoneToday(chore)) {
        return [Candidate(key: 0, due: overrideDue(chore, 0) ?? shown.due, ordinal: 0)]
      }
      return []
    }
    if rule.isAfterCompletion { return linkInHand(chore, rule, from: shown.ruleFrom) }
    return dates(chore, rule, from: shown.ruleFrom, through: last)
  }

  /// Whether what is done once was done or skipped.
  private func isDoneOnce(_ chore: ModelID) -> Bool { closedKeys(chore).contains(0) }

  /// Whether what has a rule that cannot be read was done today, or skipped.
  ///
  /// Assumption: it is there to be done every day, as nobody here can tell on which.
  private func isDoneToday(_ chore: ModelID) -> Bool {
    valid(of: chore).contains { $0.key == wholeDay(today) }
      || skips(chore).contains { $0.key == 0 }
  }

  /// R15: the keys closed by work or by a skip.
  private func closedKeys(_ chore: ModelID) -> Set<Int64> {
    Set(valid(of: chore).compactMap(\.key)).union(skips(chore).map(\.key))
  }

  /// Skips that stand: events not taken back, and the mark of an occurrence.
  private func skips(_ chore: ModelID) -> [(key: Int64, day: Int?, fact: ModelFact?)] {
    let events = facts.compactMap { fact -> (key: Int64, day: Int?, fact: ModelFact?)? in
      guard case .skip(let event, chore, let key, let by, let day) = fact.kind,
        !isUndone(event, told: fact, ownedBy: [by]), couldSkip(chore, key, fact)
      else { return nil }
      return (key, day, fact)
    }
    let marks = overriddenKeys(chore).filter { key in
      override(chore, key) { change -> Bool? in
        if case .skipped(let isSkipped) = change { isSkipped } else { nil }
      } == true
    }
    return events + marks.map { ($0, nil, nil) }
  }

  /// R6: what is skipped is an occurrence that the chore's rule has, as its author had seen it.
  ///
  /// Assumption: a link of a chain is numbered by what was done before it, so that nobody can say
  /// of any number that it is none.
  private func couldSkip(_ chore: ModelID, _ key: Int64, _ fact: ModelFact) -> Bool {
    guard knows(chore, fact) else { return false }
    guard let rule = rule(of: chore, seenBy: fact) else { return key == 0 }
    if !rule.isReadable { return true }
    if rule.isAfterCompletion { return key != 0 }
    return key % 32 == 0 && rule.falls(on: Int(key / 32))
  }

  private func overriddenKeys(_ chore: ModelID) -> [Int64] {
    let keys = edits.compactMap { fact -> Int64? in
      if case .occurrenceOverride(chore, let key, _) = fact.kind { return key }
      return nil
    }
    return Set(keys).sorted()
  }

  /// The days of a calendar rule that are not closed.
  ///
  /// R6: from the day the rule was written on. R8: after the closed date and the completion day;
  /// where every one stays due, each is closed for itself. Assumption: what is skipped closes like
  /// what is done, what is older with it, but not before its day has come: that a later day is
  /// free says nothing about this one. The keys of other kinds of rules name days long ago, so of
  /// work done under those the day alone counts.
  private func dates(
    _ chore: ModelID, _ rule: ModelRule, from ruleFrom: Int?, through last: Int
  ) -> [Candidate] {
    let opening = max(rule.anchor, ruleFrom ?? rule.anchor)
    let closed = closedKeys(chore)
    let moved = overriddenKeys(chore).map { Int($0 >> 5) }
    let closedDays =
      valid(of: chore).flatMap { [Int(($0.key ?? 0) >> 5), $0.what.day] }
      + skips(chore).map { Int($0.key >> 5) }.filter { $0 <= today }
    let first =
      missedPolicy == .stack ? opening : max(opening, (closedDays.max() ?? opening - 1) + 1)
    let horizon = max(last, today, moved.max() ?? today)
    var result: [Candidate] = []
    var day = max(first, firstInSight(rule, from: first))
    var ordinal = rule.count(before: day)
    while day <= min(rule.until ?? ModelCalendar.lastDay, ModelCalendar.lastDay) {
      let key = Int64(day) * 32
      if rule.falls(on: day) {
        if !closed.contains(key) {
          result.append(
            Candidate(
              key: key, due: overrideDue(chore, key) ?? day, original: day, ordinal: ordinal))
          if day > horizon { break }
        }
        ordinal += 1
      }
      day += 1
    }
    return result
  }

  /// The first day that is looked at: 370 days back, or the rule's last day if it has none since.
  ///
  /// Assumption: nobody asks for what was missed longer ago.
  private func firstInSight(_ rule: ModelRule, from first: Int) -> Int {
    let oldest = today - 370
    guard first < oldest else { return first }
    if (oldest...today).contains(where: rule.falls) { return oldest }
    return (first..<oldest).last(where: rule.falls) ?? oldest
  }

  /// R7: the one occurrence that a chain counted from completion knows.
  ///
  /// A rule written later than the day it would give opens on the day it was written, and after
  /// the last date that was closed by the calendar (R6). Assumptions: skipped dates count as closed
  /// until the first work under the new rule; a skip counts from the later of its day and the due
  /// day, and is of the link after the work that its author saw, so that work done again after an
  /// undo is not followed by an old skip; whose turn it is goes by the work done.
  private func linkInHand(
    _ chore: ModelID, _ rule: ModelRule, from ruleFrom: Int?
  ) -> [Candidate] {
    let links = links(of: chore)
    let lastDay = links.last?.map(\.what.day).max()
    var closed = links.last?.compactMap(\.key).map { Int($0 >> 5) } ?? []
    if links.last?.first.map({ $0.key != nil }) ?? true {
      closed += self.skips(chore).map { Int($0.key >> 5) }
    }
    var due = max(
      lastDay.map { rule.interval(after: $0) } ?? rule.anchor, ruleFrom ?? 0,
      (closed.max() ?? -1) + 1)
    let skips = skips(chore).filter { skip in
      guard let fact = skip.fact, let last = links.last else { return true }
      return last.contains { fact.saw($0.fact) }
    }
    for skipped in 0..<64 {
      let key = Int64((links.count + 1) * 64 + skipped)
      let moved = overrideDue(chore, key) ?? due
      let here = skips.filter { $0.key == key }
      if here.isEmpty {
        // Assumption: the rule's own day decides whether the rule has ended.
        if due > rule.until ?? due { return [] }
        return [Candidate(key: key, due: moved, ordinal: links.count)]
      }
      due = rule.interval(after: max(moved, here.compactMap(\.day).max() ?? moved))
    }
    return []
  }

  // MARK: whose turn it is (R18)

  private func assignee(_ chore: ModelID, _ candidate: Candidate) -> ModelID? {
    if let person = overrideAssignee(chore, candidate.key) { return person }
    switch assignment(of: chore) {
    case .nobody: return nil
    case .person(let person): return person
    case .rotation(let people, let turn):
      // Who is not there is passed over; if nobody is there, it is nobody's turn.
      guard people.contains(where: isActive) else { return nil }
      switch turn {
      case .byDate: return active(in: people, from: candidate.ordinal)
      case .byTurn:
        return active(in: people, from: turnAfterLast(chore, people) + candidate.openBefore)
      case .leastDone: return leastDone(chore, people, due: candidate.due ?? today)
      }
    }
  }

  /// The first active person from a place on, around.
  private func active(in people: [ModelID], from place: Int) -> ModelID? {
    (0..<people.count).map { people[(place + $0) % people.count] }.first(where: isActive)
  }

  /// The place after whoever was last credited; the first begins.
  ///
  /// Assumptions: "last" is the last by `<` of those in the rotation: a guest's help changes no
  /// turns. Of several open occurrences the later ones are forecast as if the turns were kept.
  private func turnAfterLast(_ chore: ModelID, _ people: [ModelID]) -> Int {
    let last = credited().last { $0.completion.chore == chore && people.contains($0.person) }
    return last.flatMap { people.firstIndex(of: $0.person) }.map { $0 + 1 } ?? 0
  }

  /// Assumption: counted are credited completions of this chore on the due day and the 27 before.
  private func leastDone(_ chore: ModelID, _ people: [ModelID], due: Int) -> ModelID? {
    func count(_ person: ModelID) -> Int {
      credited().filter {
        $0.completion.chore == chore && $0.person == person && (due - 27...due).contains($0.day)
      }.count
    }
    return people.filter(isActive).min { (count($0), $0) < (count($1), $1) }
  }
}
