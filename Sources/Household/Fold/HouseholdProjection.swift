import HearthCRDT
import HearthSync

/// The ledger of points, its daily sums, the due rows of chores, and the history of challenges.
///
/// A changed record refolds the occurrences it belongs to, or the links of the chain that it can
/// affect, and only rows that differ are written. A changed payment setting refolds everything. So
/// does a merge of two people, because rows contain merged people.
package struct HouseholdProjection: Projection {
  /// Every completion and its points.
  static let ledger = "ledger"
  /// The points per person and day.
  static let points = "points"
  /// The number of completions per chore, which numbers the links of a chain, and of its links.
  static let chains = "chains"
  /// The close that applies to each day.
  static let closed = "closed"
  /// The points booked on a later day because the entry's own day was closed.
  static let late = "late"
  /// Each chore's name, and the first day on which it may be open.
  static let chores = "chores"

  package let name = "household"
  package let version = 8
  package let tables = [
    ProjectionTable(
      HouseholdProjection.ledger,
      key: [.init("event", .bytes)],
      columns: [
        .init("chore", .bytes), .init("person", .bytes), .init("day", .int),
        .init("points", .int), .init("status", .text), .init("key", .int),
        .init("title", .text), .init("recorded_by", .bytes), .init("device", .bytes),
        .init("incarnation", .int), .init("sequence", .int), .init("time", .int),
        .init("effect", .int),
      ],
      indexes: [
        ["day", "time"], ["chore", "effect", "key", "time"], ["chore", "effect", "time"],
        ["person", "time"], ["recorded_by", "time"],
      ]),
    ProjectionTable(
      HouseholdProjection.points,
      key: [.init("person", .bytes), .init("day", .int)],
      columns: [.init("points", .int), .init("completions", .int), .init("credited", .int)]),
    ProjectionTable(
      HouseholdProjection.chains,
      key: [.init("chore", .bytes)], columns: [.init("done", .int), .init("links", .int)]),
    ProjectionTable(
      HouseholdProjection.closed,
      key: [.init("period", .text), .init("day", .int)], columns: [.init("close", .bytes)]),
    ProjectionTable(
      HouseholdProjection.late,
      key: [
        .init("period", .text), .init("person", .bytes), .init("day", .int),
        .init("event", .bytes),
      ],
      columns: [.init("amount", .int)], indexes: [["event"]]),
    ProjectionTable(
      HouseholdProjection.chores,
      key: [.init("chore", .bytes)],
      columns: [
        .init("title", .text), .init("archived", .bool), .init("due", .int),
        .init("last_work", .int),
      ],
      indexes: [["title"], ["due"], ["last_work"]]),
    ChallengeRows.table,
  ]
  package let types = [
    HouseholdSchema.chore, HouseholdSchema.occurrence, HouseholdSchema.setting,
    HouseholdSchema.completion, HouseholdSchema.retraction, HouseholdSchema.skip,
    HouseholdSchema.close, HouseholdSchema.personMerge, HouseholdSchema.challengeAttempt,
    HouseholdSchema.challengeUndo,
  ]
  package let typesJudgedByAuthor = [HouseholdSchema.retraction, HouseholdSchema.close]

  package init() {}

  package func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    try update(keys, isJudgedAnew: false, from: source, to: writer)
  }

  package func judgeAnew(
    from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    let keys = try typesJudgedByAuthor.flatMap { type in
      try source.ids(of: type).map { RecordKey(type: type, id: $0) }
    }
    if !keys.isEmpty { try update(keys, isJudgedAnew: true, from: source, to: writer) }
  }

  private func update(
    _ keys: [RecordKey], isJudgedAnew: Bool, from source: any ProjectionSource,
    to writer: any ProjectionWriter
  ) throws {
    let ofChallenges = keys.filter { ChallengeRows.types.contains($0.type) }
    try ChallengeRows(source: source).update(ofChallenges, to: writer)
    guard ofChallenges.count < keys.count else { return }
    let settings = try HouseholdSettings(source: source)
    let closed = ClosedDays(source, settings: settings)
    let merges = try PersonMerges(source: source)
    var touched = TouchedChores(source: source, settings: settings, merges: merges)
    if keys.contains(where: { $0.type == HouseholdSchema.close }) {
      try touched.touch(days: try closed.refresh(writer))
    }
    for key in keys { try touched.touch(key, isJudgedAnew: isJudgedAnew) }
    for (chore, parts) in touched.sorted() {
      guard let facts = try ChoreFacts(chore, from: source, merges: merges) else { continue }
      let fold = ChoreFold(facts: facts, closed: closed, source: source)
      try ChoreRefold(fold: fold, source: source, writer: writer).run(parts)
      try ChoreRow(facts, from: source, settings: settings)
        .write(of: facts, from: source, to: writer)
    }
  }
}

/// The parts of chores to refold; for a chore without parts, only its due row is computed again.
struct TouchedChores {
  /// The affected parts of one chore.
  struct Parts {
    /// Whether the whole chore is affected.
    var isWhole = false
    /// The occurrences of which all completions are judged again.
    var keys: Set<OccurrenceKey> = []
    /// The affected completions; the ledger may not have them yet.
    var completions: [RecordID: Completion] = [:]
    /// Whether a close or the members' roles decide otherwise about them than before.
    ///
    /// What was taken back before such a change may count now, and the other way round.
    var isJudgedAnew = false
  }

  private let source: any ProjectionSource
  private let settings: HouseholdSettings
  private let merges: PersonMerges
  private var chores: [RecordID: Parts] = [:]

  init(source: any ProjectionSource, settings: HouseholdSettings, merges: PersonMerges) {
    self.source = source
    self.settings = settings
    self.merges = merges
  }

  func sorted() -> [(RecordID, Parts)] {
    chores.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  mutating func touch(_ key: RecordKey, isJudgedAnew: Bool) throws {
    switch key.type {
    case HouseholdSchema.completion: try touch(completion: key.id)
    case HouseholdSchema.retraction:
      guard let event = try source.event(key)?[RetractionField.event].identifier,
        !Mutant.undoByArrival.isActive
      else { return }
      try touch(completion: event, isJudgedAnew: isJudgedAnew)
      try touch(skip: event)
    case HouseholdSchema.skip: try touch(skip: key.id)
    case HouseholdSchema.chore: try touch(chore: key.id)
    case HouseholdSchema.occurrence:
      guard let record = try source.record(key),
        let chore = record.shown(OccurrenceField.chore)?.identifier,
        let number = record.shown(OccurrenceField.key)?.int
      else { return }
      var parts = chores[chore] ?? Parts()
      if settings.strictAssignee { parts.keys.insert(OccurrenceKey(rawValue: number)) }
      chores[chore] = parts
    case HouseholdSchema.setting: try touch(setting: key)
    case HouseholdSchema.personMerge: try touchEverything(isPay: true)
    default: break
    }
  }

  /// Marks the work on days that were closed or opened, and all late bookings.
  mutating func touch(days: [Int]) throws {
    guard !days.isEmpty else { return }
    for day in days {
      let range = RowRange(["day", "time", "event"], prefix: [.int(Int64(day))])
      for row in try source.rows(of: HouseholdProjection.ledger, in: range) {
        if let event = row[0].identifier { try touch(completion: event, isJudgedAnew: true) }
      }
    }
    for row in try source.rows(of: HouseholdProjection.late, where: []) {
      if let event = row[3].identifier { try touch(completion: event, isJudgedAnew: true) }
    }
  }

  private mutating func touch(setting key: RecordKey) throws {
    func isOne(of names: [String]) -> Bool {
      names.contains { HouseholdSettings.recordKey(of: $0, in: source.zone) == key }
    }
    let decidesPay = isOne(of: ["duplicate", "strict-assignee"])
    guard decidesPay || isOne(of: ["missed"]) else { return }
    Probe.policyChanged.hit()
    try touchEverything(isPay: decidesPay)
  }

  /// Marks every chore; with `isPay`, its completions too, whose payment may differ.
  private mutating func touchEverything(isPay: Bool) throws {
    for chore in try source.ids(of: HouseholdSchema.chore) {
      var parts = chores[chore] ?? Parts()
      if isPay { parts.isWhole = true }
      chores[chore] = parts
    }
  }

  private mutating func touch(skip id: RecordID) throws {
    let skip = try source.event(RecordKey(type: HouseholdSchema.skip, id: id))
    guard let chore = skip?[SkipField.chore].identifier else { return }
    chores[chore] = chores[chore] ?? Parts()
  }

  private mutating func touch(completion id: RecordID, isJudgedAnew: Bool = false) throws {
    guard let completion = try source.completion(id, merges: merges) else { return }
    var parts = chores[completion.chore] ?? Parts()
    parts.completions[id] = completion
    if isJudgedAnew { parts.isJudgedAnew = true }
    chores[completion.chore] = parts
  }

  /// Marks a chore.
  ///
  /// Its own values affect earlier work only where strict assignment is on, or where somebody did a
  /// chore that did not exist yet.
  private mutating func touch(chore: RecordID) throws {
    let hasRows = try !ChoreLog(source: source, chore: chore).isEmpty()
    var parts = chores[chore] ?? Parts()
    if settings.strictAssignee || !hasRows { parts.isWhole = true }
    chores[chore] = parts
  }
}
