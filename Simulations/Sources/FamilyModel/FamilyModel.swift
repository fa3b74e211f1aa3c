/// What every replica that holds exactly these facts must show.
///
/// A second, naive reading of the household's rules, to check the real one against. It shares no
/// code with it and imports nothing. All is computed from the set of facts, whatever their order;
/// where the rules leave something open, the reading chosen here is called an assumption.
///
/// Who wrote a fact is who signed it: the model is given nobody's word for it. Facts of void
/// transactions are not given at all.
///
/// Not modelled: the closing of weeks and months (R10), so histories that are compared with the
/// real household must contain none; the invariants over random families check closings there.
/// Nor are what a writer refuses, rotation by chance (R18), and counts that end a rule.
package struct FamilyModel: Sendable {
  /// Every fact once, in the total order.
  package let facts: [ModelFact]
  /// The facts but completions and skips, in the same order.
  ///
  /// Most questions are about these, and there are few of them beside years of work.
  let edits: [ModelFact]
  /// The civil date on which people look.
  package let today: Int
  /// What became of each completion, in the total order.
  package private(set) var ledger: [ModelEntry] = []
  /// The completions that are against no rule.
  private(set) var sound: Set<ModelID> = []
  /// The completions whose doers had seen a rule that cannot be read.
  private(set) var unreadable: Set<ModelID> = []
  /// The rule that the doer of what is counted from completion had seen.
  private(set) var rulesOfLinks: [ModelID: ModelRule] = [:]

  /// Takes the facts in any order, repetitions included.
  package init(facts: some Sequence<ModelFact>, today: Int) {
    self.facts = Set(facts).sorted { $0.precedes($1) }
    edits = self.facts.filter { fact in
      switch fact.kind {
      case .completion, .skip: false
      default: true
      }
    }
    self.today = today
    for chore in chores { judge(chore) }
    ledger = chores.flatMap { entries(of: $0) }.sorted { $0.fact.precedes($1.fact) }
  }

  /// Judges the completions of a chore, each after those that its doer knew of.
  private mutating func judge(_ chore: ModelID) {
    for done in completions(of: chore)
    where rule(of: chore, seenBy: done.fact)?.isReadable == false {
      unreadable.insert(done.what.event)
    }
    let told = completions(of: chore).sorted { left, right in
      let sizes = (left.fact.past.size, right.fact.past.size)
      if sizes.0 != sizes.1 { return sizes.0 < sizes.1 }
      if left.fact.stamp != right.fact.stamp { return left.fact.stamp < right.fact.stamp }
      return left.what.event < right.what.event
    }
    var links: [Done] = []
    for done in told where !isInvalid(done, after: links) {
      sound.insert(done.what.event)
      guard done.key == nil else { continue }
      links.append(done)
      rulesOfLinks[done.what.event] = rule(of: chore, seenBy: done.fact)
    }
  }

  // MARK: registers and sets

  /// The values of a register that no later write has seen (R5).
  func siblings<Value>(_ writes: [(fact: ModelFact, value: Value)]) -> [(
    fact: ModelFact, value: Value
  )] {
    writes.filter { write in !writes.contains { $0.fact.saw(write.fact) } }
  }

  /// The one value that everybody is shown: of those that stand side by side, the last by `<`.
  ///
  /// A wrong clock therefore wins among concurrent values only, never over an edit that saw it.
  func shown<Value>(_ writes: [(fact: ModelFact, value: Value)]) -> Value? {
    siblings(writes).max { $0.fact.precedes($1.fact) }?.value
  }

  /// The writes of a chore's field; with `observer`, those only that its author had seen.
  func writes<Value>(
    of chore: ModelID, seenBy observer: ModelFact? = nil, _ read: (ModelChoreField) -> Value?
  ) -> [(fact: ModelFact, value: Value)] {
    edits.compactMap { fact in
      guard case .choreField(chore, let field) = fact.kind, let value = read(field),
        observer?.saw(fact) ?? true
      else { return nil }
      return (fact, value)
    }
  }

  // MARK: what a chore shows

  /// Every chore that anything was written about, by id.
  package var chores: [ModelID] {
    let ids = edits.compactMap { fact -> ModelID? in
      if case .choreField(let chore, _) = fact.kind { return chore }
      return nil
    }
    return Set(ids).sorted()
  }

  /// The values of a chore as shown.
  package func shown(_ chore: ModelID) -> ModelChore {
    ModelChore(
      id: chore, title: shown(writes(of: chore, title)) ?? "",
      points: points(of: chore), assignment: assignment(of: chore),
      due: shown(writes(of: chore, due)) ?? nil, time: shown(writes(of: chore, time)) ?? nil,
      rule: rule(of: chore), ruleFrom: shown(writes(of: chore, ruleFrom)) ?? nil,
      isArchived: isArchived(chore), tags: tags(of: chore))
  }

  func points(of chore: ModelID, seenBy observer: ModelFact? = nil) -> Int {
    shown(writes(of: chore, seenBy: observer, points)) ?? 0
  }

  func assignment(of chore: ModelID, seenBy observer: ModelFact? = nil) -> ModelAssignment {
    shown(writes(of: chore, seenBy: observer, assignment)) ?? .nobody
  }

  func isArchived(_ chore: ModelID, seenBy observer: ModelFact? = nil) -> Bool {
    shown(writes(of: chore, seenBy: observer, archived)) ?? false
  }

  func rule(of chore: ModelID, seenBy observer: ModelFact? = nil) -> ModelRule? {
    shown(writes(of: chore, seenBy: observer, rule)) ?? nil
  }

  /// The tags: one stays while an addition stands that no removal has seen (R5).
  func tags(of chore: ModelID) -> [String] {
    var result: Set<String> = []
    for fact in edits {
      guard case .tag(chore, let tag, added: true) = fact.kind else { continue }
      let isRemoved = edits.contains {
        $0.kind == .tag(chore, tag, added: false) && $0.saw(fact)
      }
      if !isRemoved { result.insert(tag) }
    }
    return result.sorted()
  }

  private func title(_ field: ModelChoreField) -> String? {
    if case .title(let value) = field { value } else { nil }
  }

  private func points(_ field: ModelChoreField) -> Int? {
    if case .points(let value) = field { value } else { nil }
  }

  private func assignment(_ field: ModelChoreField) -> ModelAssignment? {
    if case .assignment(let value) = field { value } else { nil }
  }

  private func due(_ field: ModelChoreField) -> Int?? {
    if case .due(let value) = field { .some(value) } else { nil }
  }

  private func time(_ field: ModelChoreField) -> Int?? {
    if case .time(let value) = field { .some(value) } else { nil }
  }

  private func rule(_ field: ModelChoreField) -> ModelRule?? {
    if case .rule(let value) = field { .some(value) } else { nil }
  }

  private func ruleFrom(_ field: ModelChoreField) -> Int?? {
    if case .ruleFrom(let value) = field { .some(value) } else { nil }
  }

  private func archived(_ field: ModelChoreField) -> Bool? {
    if case .archived(let value) = field { value } else { nil }
  }

  // MARK: what one occurrence has of its own (R6)

  /// The shown value of an override of one occurrence.
  func override<Value>(
    _ chore: ModelID, _ key: Int64, seenBy observer: ModelFact? = nil,
    _ read: (ModelOverride) -> Value?
  ) -> Value? {
    shown(
      edits.compactMap { fact in
        guard case .occurrenceOverride(chore, key, let change) = fact.kind,
          let value = read(change), observer?.saw(fact) ?? true
        else { return nil }
        return (fact, value)
      })
  }

  /// Whom this occurrence was given to by itself.
  func overrideAssignee(
    _ chore: ModelID, _ key: Int64, seenBy observer: ModelFact? = nil
  ) -> ModelID? {
    override(chore, key, seenBy: observer) { change -> ModelID?? in
      if case .assignee(let person) = change { .some(person) } else { nil }
    } ?? nil
  }

  /// The day this occurrence was moved to.
  func overrideDue(_ chore: ModelID, _ key: Int64, seenBy observer: ModelFact? = nil) -> Int? {
    override(chore, key, seenBy: observer) { change -> Int?? in
      if case .due(let day) = change { .some(day) } else { nil }
    } ?? nil
  }

  // MARK: settings and people

  /// The shown value of a setting (R24): one register a key; nil is the default.
  ///
  /// - Parameter observer: somebody in whose eyes it is asked; otherwise everybody's.
  package func setting(_ key: String, seenBy observer: ModelFact? = nil) -> String? {
    shown(
      edits.compactMap { fact -> (fact: ModelFact, value: String?)? in
        guard case .setting(key, let value) = fact.kind, observer?.saw(fact) ?? true else {
          return nil
        }
        return (fact, value)
      }) ?? nil
  }

  /// The shown name of a person; nil if nobody wrote one.
  package func name(of person: ModelID) -> String? {
    shown(
      edits.compactMap { fact in
        guard case .person(person, let name) = fact.kind else { return nil }
        return (fact, name)
      })
  }

  /// Whether a person takes turns: not if deleted; an edit concurrent with the deletion revives.
  ///
  /// Assumption: a person of whom no record is known takes turns.
  func isActive(_ person: ModelID) -> Bool {
    let deletions = edits.filter { $0.kind == .personDeleted(person) }
    let names = edits.filter {
      if case .person(person, _) = $0.kind { true } else { false }
    }
    if deletions.isEmpty { return true }
    return names.contains { edit in !deletions.contains { $0.saw(edit) } }
  }
}

/// A chore as everybody is shown it.
package struct ModelChore: Hashable, Sendable {
  package let id: ModelID
  package let title: String
  package let points: Int
  package let assignment: ModelAssignment
  package let due: Int?
  package let time: Int?
  package let rule: ModelRule?
  package let ruleFrom: Int?
  package let isArchived: Bool
  package let tags: [String]
}
