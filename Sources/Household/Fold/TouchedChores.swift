import HearthCRDT
import HearthSync

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
      for row in try source.rows(of: HouseholdTables.ledger, in: range) {
        if let event = row[0].identifier { try touch(completion: event, isJudgedAnew: true) }
      }
    }
    for row in try source.rows(of: HouseholdTables.late, where: []) {
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
    let hasRows = try !ChoreLedger(source: source, chore: chore).isEmpty()
    var parts = chores[chore] ?? Parts()
    if settings.strictAssignee || !hasRows { parts.isWhole = true }
    chores[chore] = parts
  }
}
