/// What became of one completion.
package struct ModelEntry: Hashable, Sendable {
  /// The five fates.
  package enum Kind: Hashable, Sendable {
    /// Counts for its occurrence.
    case credited
    /// Somebody else, or the same person, was credited for that occurrence; paid all the same
    /// where the household pays each or splits.
    case alsoDone
    /// Taken back.
    case undone
    /// Against a rule: an impossible time, a chore seen archived, an occurrence that the doer's
    /// rule does not have or that was not to be done then, not the assignee's.
    case invalid
    /// Of a day after tomorrow: it counts when that day comes.
    case ahead
  }

  package let fact: ModelFact
  package let completion: ModelCompletion
  package let kind: Kind
  package let points: Int

  package var event: ModelID { completion.event }
  package var person: ModelID { completion.person }
  package var day: Int { completion.day }
}

/// A completion with the fact that tells it.
struct Done {
  let fact: ModelFact
  let what: ModelCompletion
  /// What it is of; nil for what is counted from completion.
  let key: Int64?

  /// Whether the doer knew of other work; of two in one change, of the one with the lesser name.
  func knew(_ other: Done) -> Bool {
    fact.stamp == other.fact.stamp
      ? other.what.event < what.event : fact.saw(other.fact)
  }
}

extension FamilyModel {
  private static let day: Int64 = 86_400_000
  private static let tolerance: Int64 = 5 * 60_000
  private static let maximumDaysBack: Int64 = 7
  private static let sameWork: Int64 = 12 * 3_600_000
  private static let mostSeen = 64

  // MARK: which events hold

  /// Every completion of a chore, in the total order.
  func completions(of chore: ModelID) -> [Done] {
    facts.compactMap { fact in
      guard case .completion(let what) = fact.kind, what.chore == chore else { return nil }
      let isOfDay = unreadable.contains(what.event)
      return Done(fact: fact, what: what, key: isOfDay ? wholeDay(what.day) : what.key)
    }
  }

  /// R29: what cannot be understood pays nobody more than once a day.
  ///
  /// Work under such a rule is of its day, which is the key of no occurrence.
  func wholeDay(_ day: Int) -> Int64 { Int64(day) * 32 + 31 }

  /// Those that count for something: neither taken back, nor against a rule, nor of a day to come.
  func valid(of chore: ModelID) -> [Done] {
    completions(of: chore).filter {
      sound.contains($0.what.event) && !isUndone($0) && !isAhead($0)
    }
  }

  /// Work of a day to come counts when that day comes.
  private func isAhead(_ done: Done) -> Bool { done.what.day > today }

  /// R11: taken back by one who may, at whatever time, for ever.
  ///
  /// Assumption: who recorded the work may take it back like who did it, since it was that
  /// person's action; so may whoever uses the device it was told on. The closing of periods (R10)
  /// is not modelled, so no week's end ends the right.
  private func isUndone(_ done: Done, seenBy observer: ModelFact? = nil) -> Bool {
    isUndone(
      done.what.event, told: done.fact, ownedBy: [done.what.person, done.what.recordedBy],
      seenBy: observer)
  }

  func isUndone(
    _ event: ModelID, told: ModelFact, ownedBy owners: Set<ModelID>,
    seenBy observer: ModelFact? = nil
  ) -> Bool {
    edits.contains { fact in
      guard case .retraction(event, let by, let role) = fact.kind, observer?.saw(fact) ?? true
      else { return false }
      return role == .admin || role == .owner || fact.isOfOneDevice(with: told)
        || owners.contains(by)
    }
  }

  /// Whether a completion is against a rule.
  ///
  /// - Parameter links: the chain's completions that are not, as far as the doer can have known.
  func isInvalid(_ done: Done, after links: [Done]) -> Bool {
    !hasPossibleTime(done)
      // R4: what was done without knowing of the archive counts, the rest does not.
      || isArchived(done.what.chore, seenBy: done.fact)
      || !hasOccurrence(done, after: links)
      || !isAllowed(done)
  }

  /// R6: what is done is an occurrence that the chore's rule has, as the doer had seen it.
  ///
  /// Once done chores have the one occurrence 0; what is counted from completion names none.
  /// Nobody does what they had not heard of. R8: what gave way to a later one by the day of the
  /// work is not to be done any more, unless in the doer's household every one stays due. And of
  /// what is not due by the day of the work, or the day after, the first alone can be done early.
  private func hasOccurrence(_ done: Done, after links: [Done]) -> Bool {
    let (chore, fact) = (done.what.chore, done.fact)
    guard knows(chore, fact) else { return false }
    guard let rule = rule(of: chore, seenBy: fact) else { return done.key == 0 }
    if !rule.isReadable { return true }
    if rule.isAfterCompletion { return done.key == nil && isNextLink(done, rule, after: links) }
    guard let key = done.key, key % 32 == 0 else { return false }
    let (date, day) = (Int(key / 32), done.what.day)
    guard rule.falls(on: date) else { return false }
    let due = min(date, overrideDue(chore, key, seenBy: fact) ?? date)
    if due > day + 1 {
      // Assumption: nobody does anything a year ahead.
      if due - day > 366 { return false }
      return !(max(day + 2, rule.anchor)..<max(date, day + 2, rule.anchor)).contains {
        rule.falls(on: $0)
      }
    }
    if setting("missed", seenBy: fact) == "stack" || date >= day { return true }
    return !(date + 1...day).contains { rule.falls(on: $0) }
  }

  /// R7: what is counted from completion may be done before its day, the first one ahead, but not
  /// again by somebody who knows that it was done twice in one interval.
  ///
  /// It was done twice if the second doer knew of the first one's work; else it may be the same
  /// work, or both did what was due as far as they knew. Work that the doer knows to be taken back
  /// is none. Assumptions: the interval is looked at in both directions, as work may be told late;
  /// nobody does it a year before it begins, nor after its end; and whoever knows of sixty-four
  /// works in one interval, taken back or not, has no further one.
  private func isNextLink(_ done: Done, _ rule: ModelRule, after links: [Done]) -> Bool {
    if rule.anchor - done.what.day > 366 { return false }
    let known = links.filter { done.knew($0) }
    if let until = rule.until {
      let last = known.filter { rule.interval(after: $0.what.day) > until }
      let standing = last.filter { !isUndone($0, seenBy: done.fact) }
      if !standing.isEmpty || last.count >= FamilyModel.mostSeen { return false }
    }
    let near = known.filter { rule.isWithinInterval($0.what.day, done.what.day) }
    if near.count >= FamilyModel.mostSeen { return false }
    let standing = near.filter { !isUndone($0, seenBy: done.fact) }
    return !standing.contains { second in standing.contains { second.knew($0) } }
  }

  /// Whether somebody had seen of a chore what it is worth, who does it or when.
  ///
  /// Words alone, on a chore whose making counts for nothing, are nothing that can be done.
  func knows(_ chore: ModelID, _ observer: ModelFact) -> Bool {
    edits.contains { fact in
      guard case .choreField(chore, let field) = fact.kind else { return false }
      switch field {
      case .points, .assignment, .rule, .archived: return observer.saw(fact)
      case .title, .due, .time, .ruleFrom, .other: return false
      }
    }
  }

  /// R9: done at most five minutes after the change and seven days before it; the day is within
  /// one of its UTC date.
  ///
  /// Assumption: the seven days are civil days, as people name them, so the instants may be up to
  /// eight times 24 hours apart: early work of a day may be told late seven days after.
  private func hasPossibleTime(_ done: Done) -> Bool {
    let told = Int64(done.fact.stamp.milliseconds)
    let at = done.what.doneAtMilliseconds
    guard at >= 0, at <= told + FamilyModel.tolerance else { return false }
    return told - at <= (FamilyModel.maximumDaysBack + 1) * FamilyModel.day
      && abs(Int64(done.what.day) - at / FamilyModel.day) <= 1
  }

  /// R2: in a strict household only who was assigned in the doer's eyes, or is now, is credited.
  ///
  /// Assumption: of a rotation everybody in it is assigned, since whose turn it was may depend on
  /// what was credited; what nobody is assigned to is everybody's. Work counted from completion
  /// does not say which link its doer had in mind, so the chore's assignment judges it.
  private func isAllowed(_ done: Done) -> Bool {
    guard setting("strict-assignee") == "yes" else { return true }
    let what = done.what
    func includes(_ one: ModelID?, _ assignment: ModelAssignment) -> Bool {
      if let one { return one == what.person }
      switch assignment {
      case .nobody: return true
      case .person(let person): return person == what.person
      case .rotation(let people, _): return people.contains(what.person)
      }
    }
    let then = includes(
      done.key.flatMap { overrideAssignee(what.chore, $0, seenBy: done.fact) },
      assignment(of: what.chore, seenBy: done.fact))
    return then
      || includes(
        done.key.flatMap { overrideAssignee(what.chore, $0) }, assignment(of: what.chore))
  }

  // MARK: who is credited

  /// R6 and R7: valid completions by what they closed, in the total order, each with its
  /// duplicates.
  ///
  /// What names an occurrence is of that one; what is counted from completion closes the next link.
  /// Concurrent work of nearly the same time is one, unless both name an occurrence.
  /// Assumption: the completion's own words decide which it is, not the rule shown now. An earlier
  /// form of this model went by that rule: then an edit of it changed what was paid long before
  /// (two who were paid for two days of a calendar became one link), which R3 and R10 exclude.
  func links(of chore: ModelID) -> [[Done]] {
    var links: [[Done]] = []
    for done in valid(of: chore) {
      let known = links.firstIndex { link in
        done.key != nil && link.contains { $0.key == done.key }
      }
      if let known {
        links[known].append(done)
      } else if let last = links.last?.first,
        isSameWork(last, done) || isDoneTwice(by: done, among: links)
      {
        links[links.count - 1].append(done)
      } else {
        links.append([done])
      }
    }
    return links
  }

  private func isSameWork(_ last: Done, _ done: Done) -> Bool {
    // Half an interval is never less than twelve hours, since an interval is a day at least.
    (last.key == nil || done.key == nil) && done.fact.isConcurrent(with: last.fact)
      && abs(done.what.doneAtMilliseconds - last.what.doneAtMilliseconds) <= FamilyModel.sameWork
  }

  /// R1 and R7: a person is one, whatever their devices know of each other.
  ///
  /// Who closed two links within an interval of a further one closes none by that one. Assumption:
  /// it is of the last link then, like work that is told twice.
  private func isDoneTwice(by done: Done, among links: [[Done]]) -> Bool {
    guard let rule = rulesOfLinks[done.what.event] else { return false }
    let own = links.compactMap(\.first).filter {
      $0.key == nil && $0.what.person == done.what.person
        && rule.isWithinInterval($0.what.day, done.what.day)
    }
    return own.count >= 2
  }

  /// R1 and R3: the fate of each completion of a chore.
  func entries(of chore: ModelID) -> [ModelEntry] {
    let payments = links(of: chore).map { pay($0) }
    let credited = Set(payments.compactMap(\.first?.event))
    var paid: [ModelID: Int] = [:]
    for (event, points) in payments.joined() { paid[event] = points }
    return completions(of: chore).map { done in
      let kind: ModelEntry.Kind =
        if isUndone(done) {
          .undone
        } else if !sound.contains(done.what.event) {
          .invalid
        } else if isAhead(done) {
          .ahead
        } else {
          credited.contains(done.what.event) ? .credited : .alsoDone
        }
      return ModelEntry(
        fact: done.fact, completion: done.what, kind: kind, points: paid[done.what.event] ?? 0)
    }
  }

  /// R1: what each claim on one occurrence is paid, the credited one first; a person has one claim.
  ///
  /// R3: the award is what the doer saw the chore to be worth. Assumption: what is split is the
  /// award of the first.
  private func pay(_ group: [Done]) -> [(event: ModelID, points: Int)] {
    var claims: [Done] = []
    for done in group where !claims.contains(where: { $0.what.person == done.what.person }) {
      claims.append(done)
    }
    guard let first = claims.first else { return [] }
    let award = points(of: first.what.chore, seenBy: first.fact)
    switch setting("duplicate") {
    case "each":
      return claims.map { ($0.what.event, points(of: $0.what.chore, seenBy: $0.fact)) }
    case "split":
      let share = award / claims.count
      return [(first.what.event, award - share * (claims.count - 1))]
        + claims.dropFirst().map { ($0.what.event, share) }
    default:
      return [(first.what.event, award)] + claims.dropFirst().map { ($0.what.event, 0) }
    }
  }

  // MARK: sums

  /// The completions that count, in the total order.
  package func credited() -> [ModelEntry] { ledger.filter { $0.kind == .credited } }

  /// All points of a person.
  package func total(_ person: ModelID) -> Int {
    ledger.filter { $0.person == person }.map(\.points).reduce(0, +)
  }

  /// R9: the points of the week that holds a day, by the days the events say.
  ///
  /// - Parameter weekStart: 1 is Monday; nil is the household's setting, Monday by default.
  package func points(_ person: ModelID, weekStart: Int? = nil, containing day: Int) -> Int {
    let start = ModelCalendar.startOfWeek(day, beginningOn: weekStart ?? self.weekStart)
    return points(person) { (start..<(start + 7)).contains($0) }
  }

  /// R9: the points of a month.
  package func points(_ person: ModelID, year: Int, month: Int) -> Int {
    points(person) { day in
      let date = ModelCalendar.date(day)
      return (date.year, date.month) == (year, month)
    }
  }

  private func points(_ person: ModelID, where isInside: (Int) -> Bool) -> Int {
    ledger.filter { $0.person == person && isInside($0.day) }.map(\.points).reduce(0, +)
  }

  /// The household's first day of the week, 1 being Monday.
  package var weekStart: Int {
    let codes = ["mo", "tu", "we", "th", "fr", "sa", "su"]
    return (codes.firstIndex(of: setting("week-start") ?? "mo") ?? 0) + 1
  }

  /// R16: the day of a person's n-th credited completion, from 1, in the order of their days.
  package func day(ofCredited number: Int, by person: ModelID) -> Int? {
    let days = credited().filter { $0.person == person }.map(\.day).sorted()
    return (1...max(days.count, 1)).contains(number) && !days.isEmpty ? days[number - 1] : nil
  }

  /// R17: how many days in a row, to today, a person was credited.
  ///
  /// Days on which nothing was due are passed over; today does not break while it lasts.
  /// Assumption: credits of days after today (another zone's) do not count yet.
  package func streak(_ person: ModelID) -> Int {
    let days = Set(credited().filter { $0.person == person }.map(\.day))
    guard let first = days.min(), first <= today else { return 0 }
    let open = chores.map { shown($0) }.filter { !$0.isArchived }
    var streak = 0
    for day in (first...today).reversed() {
      if days.contains(day) {
        streak += 1
      } else if day < today && open.contains(where: { wasDue($0, on: day) }) {
        break
      }
    }
    return streak
  }

  /// Whether a chore was due on a day.
  ///
  /// Assumption: what was due to anybody counts, not to the person alone, as rotations do not say
  /// whose turn it was; by the rules and days now shown, of chores that are not archived now; a
  /// chain counted from completion has no calendar.
  private func wasDue(_ chore: ModelChore, on day: Int) -> Bool {
    guard let rule = chore.rule, rule.isReadable else { return chore.due == day }
    return !rule.isAfterCompletion && rule.falls(on: day)
  }
}
