import HearthCRDT
import HearthMembership
import HearthSync

/// A completion as its author wrote it, with merged people resolved.
struct Completion: Sendable {
  let id: RecordID
  let chore: RecordID
  let version: Version
  /// The frontier that the author had seen.
  let cause: Frontier
  /// The occurrence; nil for a chain of completions.
  var key: OccurrenceKey?
  let person: PersonID
  let day: CivilDate
  let doneAt: Int64
  let title: String
  /// The recorder, by the signature.
  let recordedBy: PersonID

  var order: FoldOrder { FoldOrder(version: version, event: id) }

  /// Whether its author had seen another completion; of those of its own change, the lesser ids.
  func sees(_ other: Version, _ event: RecordID) -> Bool {
    cause.covers(other.dot) || (other.dot == version.dot && event < id)
  }

  func sees(_ other: Completion) -> Bool { sees(other.version, other.id) }

  /// Whether neither author had seen the other's event.
  func isConcurrent(to other: Completion) -> Bool {
    !cause.covers(other.version.dot) && !other.cause.covers(version.dot)
  }
}

/// A skip as its author wrote it.
struct Skip: Sendable {
  let version: Version
  let cause: Frontier
  let key: OccurrenceKey
  let day: CivilDate
}

/// The deviations of one occurrence from its rule.
struct OccurrenceOverride: Sendable {
  let key: OccurrenceKey
  let due: CivilDate?
  let time: CivilTime?
  let isSkipped: Bool
  /// The person picked.
  private let assignee: History?
  /// The days to which it was moved.
  private let moves: History?
  private let merges: PersonMerges

  /// The day to which it was moved, as of a frontier.
  func due(seen: Frontier) -> CivilDate? { moves?.shown(asOf: seen)?.value.date }

  /// The value of an occurrence that is nobody's, whatever the chore's own assignment says.
  ///
  /// It is no identifier, so a version that does not know it uses the chore's own assignment.
  static let nobody = Value.bytes([0])

  /// Whose the occurrence is, now or as of a frontier; nil if the chore's own assignment holds.
  func assignment(seen: Frontier? = nil) -> Assignment? {
    let shown = seen.map { assignee?.shown(asOf: $0) } ?? assignee?.shown
    guard let value = shown?.value else { return nil }
    if value == OccurrenceOverride.nobody { return .nobody }
    return value.identifier.map { .person(merges.one($0)) }
  }
}

/// The records of one chore, without its completions, which are in the ledger.
struct ChoreFacts: Sendable {
  let zone: ZoneID
  let chore: RecordID
  let state: RecordState
  /// In order of version, without those taken back.
  let skips: [Skip]
  /// In order of key.
  let overrides: [OccurrenceOverride]
  /// The skips by occurrence.
  ///
  /// A schedule asks for many occurrences, and one member may write many skips.
  private let skipsByKey: [OccurrenceKey: [Skip]]
  private let overrideByKey: [OccurrenceKey: OccurrenceOverride]
  /// The merged people.
  let merges: PersonMerges

  /// Reads a chore and its records; nil if there is no such chore.
  init?(_ chore: RecordID, from source: any ProjectionSource, merges: PersonMerges) throws {
    let key = RecordKey(type: HouseholdSchema.chore, id: chore)
    guard let state = try source.record(key) else { return nil }
    let skips = try source.ids(of: HouseholdSchema.skip, where: SkipField.chore, is: .id(chore))
      .compactMap { id -> (RecordID, EventState)? in
        guard try source.retractions(of: id).isEmpty else {
          return nil
        }
        return try source.event(RecordKey(type: HouseholdSchema.skip, id: id)).map { (id, $0) }
      }
    let overrideType = HouseholdSchema.occurrence
    let overrides = try source.ids(of: overrideType, where: OccurrenceField.chore, is: .id(chore))
      .compactMap { try source.record(RecordKey(type: overrideType, id: $0)) }
    zone = source.zone
    self.chore = chore
    self.state = state
    self.merges = merges
    var rules = KnownRules()
    self.skips = skips.sorted { ($0.1.version, $0.0) < ($1.1.version, $1.0) }
      .compactMap { Skip($0.1) }.filter { ChoreFacts.has($0.key, state, asOf: $0.cause, &rules) }
    self.overrides = overrides.filter { !$0.life.isDeleted }.compactMap {
      OccurrenceOverride($0, merges)
    }
    .sorted { $0.key < $1.key }
    skipsByKey = Dictionary(grouping: self.skips, by: \.key)
    overrideByKey = Dictionary(self.overrides.map { ($0.key, $0) }) { first, _ in first }
  }

  func override(of key: OccurrenceKey) -> OccurrenceOverride? { overrideByKey[key] }

  /// Returns the skips of one occurrence, in order of version.
  func skips(of key: OccurrenceKey) -> [Skip] { skipsByKey[key] ?? [] }
}

extension ChoreFacts {
  var title: String { state.shown(ChoreField.title)?.text ?? "" }
  var note: String { state.shown(ChoreField.note)?.text ?? "" }
  var points: Int { ChoreFacts.award(state.shown(ChoreField.points)) }
  /// Whether the chore is hidden; deleting the record hides it too and keeps its history (R4).
  var isArchived: Bool {
    state.life.isDeleted || state.shown(ChoreField.archived)?.bool ?? false
  }
  var assignment: Assignment { assignment(state.shown(ChoreField.assignment)) }
  var due: CivilDate? { state.shown(ChoreField.due)?.date }
  var time: CivilTime? { state.shown(ChoreField.time)?.time }
  var ruleText: String? { state.shown(ChoreField.rule)?.text }
  var rule: RecurrenceRule? { ruleText.flatMap { try? RecurrenceRule(text: $0) } }
  var ruleFrom: CivilDate? { state.shown(ChoreField.ruleFrom)?.date }
  var tags: [String] { state.elements(ChoreField.tags).compactMap(\.text) }

  private func value(_ field: FieldID, asOf cause: Frontier) -> Value? {
    ChoreFacts.value(field, state, asOf: cause)
  }

  private static func value(
    _ field: FieldID, _ state: RecordState, asOf cause: Frontier
  ) -> Value? {
    guard case .history(let history) = state[field] else { return nil }
    return history.shown(asOf: cause)?.value
  }

  /// The points of the chore that the doer had seen (R3).
  func points(asOf cause: Frontier) -> Int {
    ChoreFacts.award(value(ChoreField.points, asOf: cause))
  }

  /// Whether the doer had seen the chore archived (R4).
  func isArchived(asOf cause: Frontier) -> Bool {
    value(ChoreField.archived, asOf: cause)?.bool ?? false
  }

  /// The rule as of a frontier (R6).
  func ruleText(asOf cause: Frontier) -> String? { value(ChoreField.rule, asOf: cause)?.text }

  /// Whether the chore existed as of a frontier.
  func wasThere(asOf cause: Frontier) -> Bool { ChoreFacts.wasThere(state, asOf: cause) }

  private static func wasThere(_ state: RecordState, asOf cause: Frontier) -> Bool {
    [ChoreField.points, ChoreField.rule, ChoreField.assignment, ChoreField.archived].contains {
      value($0, state, asOf: cause) != nil
    }
  }

  /// Whether the chore had an occurrence that could be skipped, as of a frontier.
  ///
  /// A rule that this version cannot read may have any. The links of a chain are numbered as they
  /// are done, so any number is possible.
  ///
  /// - Parameter rules: what was found before.
  private static func has(
    _ key: OccurrenceKey, _ state: RecordState, asOf cause: Frontier,
    _ rules: inout KnownRules
  ) -> Bool {
    guard wasThere(state, asOf: cause) else { return false }
    guard let text = value(ChoreField.rule, state, asOf: cause)?.text else { return key == .once }
    return rules.has(key, by: text)
  }

  /// Rules with the occurrences that they have: reading a rule, and counting along it to a far day,
  /// cost too much to be done for each of many skips.
  private struct KnownRules {
    private struct Question: Hashable {
      let text: String
      let key: OccurrenceKey
    }

    private var rules: [String: RecurrenceRule?] = [:]
    private var answers: [Question: Bool] = [:]

    mutating func has(_ key: OccurrenceKey, by text: String) -> Bool {
      let question = Question(text: text, key: key)
      if let answer = answers[question] { return answer }
      let known = rules[text] ?? (try? RecurrenceRule(text: text))
      rules[text] = .some(known)
      let answer = known.map { ChoreFacts.has(key, by: $0) } ?? true
      answers[question] = answer
      return answer
    }
  }

  private static func has(_ key: OccurrenceKey, by rule: RecurrenceRule) -> Bool {
    guard rule.mode == .calendar else { return key != .once }
    return key.occurrence.map(rule.isOccurrence) ?? false
  }

  /// The assignment that the doer had seen (R2).
  func assignment(asOf cause: Frontier) -> Assignment {
    assignment(value(ChoreField.assignment, asOf: cause))
  }

  /// The assignment, now or as of a frontier.
  func assignment(seen: Frontier?) -> Assignment {
    seen.map { assignment(asOf: $0) } ?? assignment
  }

  private static func award(_ value: Value?) -> Int {
    let points = value?.int ?? 0
    return Int(min(max(points, 0), Int64(Validation.points.upperBound)))
  }

  private func assignment(_ value: Value?) -> Assignment {
    merges.one(value?.text.flatMap(Assignment.init(text:)) ?? .nobody)
  }
}

extension Value {
  /// The time of day; nil if the value is not a minute of a day.
  var time: CivilTime? {
    int.flatMap { Int(exactly: $0) }.flatMap { try? CivilTime(minuteOfDay: $0) }
  }
}

extension ProjectionSource {
  /// Returns the retractions of an event, in order of id.
  func retractions(of event: RecordID) throws -> [EventState] {
    let type = HouseholdSchema.retraction
    return try ids(of: type, where: RetractionField.event, is: .id(event))
      .compactMap { try self.event(RecordKey(type: type, id: $0)) }
  }

  /// Returns a completion; nil if no completion has this id, or if it cannot be read.
  func completion(_ id: RecordID, merges: PersonMerges) throws -> Completion? {
    try event(RecordKey(type: HouseholdSchema.completion, id: id))
      .flatMap { Completion(id, $0, merges, by: try writer(of: $0.version)) }
  }

  /// Returns the person whose device signed a version: its author, whatever its fields claim.
  ///
  /// A device of an unknown person stands for that person: no other person is named in its place.
  func writer(of version: Version) throws -> PersonID {
    let device = version.dot.author.device
    return try member(of: device)?.id ?? device
  }
}

extension Completion {
  /// Reads an event; nil, so that it never counts, if a field is missing or of another type.
  init?(_ id: RecordID, _ event: EventState, _ merges: PersonMerges, by author: PersonID) {
    guard let cause = event.cause, let chore = event[CompletionField.chore].identifier,
      let person = event[CompletionField.person].identifier,
      let day = event[CompletionField.day].date, let doneAt = event[CompletionField.doneAt].int
    else { return nil }
    self.id = id
    self.chore = chore
    version = event.version
    self.cause = cause
    key = event[CompletionField.key].int.map(OccurrenceKey.init(rawValue:))
    self.person = merges.one(person)
    self.day = day
    self.doneAt = doneAt
    title = event[CompletionField.title].text ?? ""
    recordedBy = merges.one(author)
  }
}

extension Skip {
  init?(_ event: EventState) {
    guard let cause = event.cause, let key = event[SkipField.key].int,
      let day = event[SkipField.day].date
    else { return nil }
    version = event.version
    self.cause = cause
    self.key = OccurrenceKey(rawValue: key)
    self.day = day
  }
}

extension OccurrenceOverride {
  init?(_ record: RecordState, _ merges: PersonMerges) {
    guard let key = record.shown(OccurrenceField.key)?.int else { return nil }
    self.merges = merges
    self.key = OccurrenceKey(rawValue: key)
    due = record.shown(OccurrenceField.due)?.date
    if case .history(let history) = record[OccurrenceField.due] {
      moves = history
    } else {
      moves = nil
    }
    time = record.shown(OccurrenceField.time)?.time
    if case .history(let history) = record[OccurrenceField.assignee] {
      assignee = history
    } else {
      assignee = nil
    }
    isSkipped = record.shown(OccurrenceField.skipped)?.bool ?? false
  }
}
