import HearthCRDT
import HearthSync

/// The ledger of points and its sums per person and day, kept in step with the records.
///
/// A changed record refolds its chore only, and only rows that differ are written; a changed
/// setting refolds every chore. Sums of a week or month read a row per person and day.
package struct HouseholdProjection: Projection {
  static let ledger = "ledger"
  static let points = "points"

  package let name = "household"
  package let version = 1
  package let tables = [
    ProjectionTable(
      HouseholdProjection.ledger,
      key: [.init("chore", .bytes), .init("event", .bytes)],
      columns: [
        .init("person", .bytes), .init("day", .int), .init("points", .int),
        .init("status", .text), .init("key", .int), .init("title", .text),
        .init("recorded_by", .bytes), .init("device", .bytes), .init("incarnation", .int),
        .init("sequence", .int), .init("time", .int),
      ],
      indexes: [["person", "day"], ["day"]]),
    ProjectionTable(
      HouseholdProjection.points,
      key: [.init("person", .bytes), .init("day", .int)],
      columns: [.init("points", .int), .init("completions", .int)]),
  ]
  package let types = [
    HouseholdSchema.chore, HouseholdSchema.occurrence, HouseholdSchema.setting,
    HouseholdSchema.completion, HouseholdSchema.retraction, HouseholdSchema.skip,
  ]

  /// Makes the projection; it has no state.
  package init() {}

  package func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    let settings = try HouseholdSettings(source: source)
    for chore in try touched(keys, source) {
      try refold(chore, settings, source, writer)
    }
  }

  /// The chores whose outcome may have changed, in order.
  private func touched(_ keys: [RecordKey], _ source: any ProjectionSource) throws -> [RecordID] {
    if keys.contains(where: { $0.type == HouseholdSchema.setting }) {
      return try source.ids(of: HouseholdSchema.chore)
    }
    var chores: Set<RecordID> = []
    for key in keys {
      let value: Value? =
        switch key.type {
        case HouseholdSchema.chore: .id(key.id)
        case HouseholdSchema.occurrence: try source.record(key)?.shown(OccurrenceField.chore)
        case HouseholdSchema.completion: try source.event(key)?[CompletionField.chore]
        case HouseholdSchema.retraction: try source.event(key)?[RetractionField.chore]
        case HouseholdSchema.skip: try source.event(key)?[SkipField.chore]
        default: nil
        }
      if let chore = value?.identifier { chores.insert(chore) }
    }
    return chores.sorted()
  }

  private func refold(
    _ chore: RecordID, _ settings: HouseholdSettings, _ source: any ProjectionSource,
    _ writer: any ProjectionWriter
  ) throws {
    let old = try source.rows(of: HouseholdProjection.ledger, where: [.id(chore)])
      .compactMap { try LedgerRow($0) }.sorted { $0.event < $1.event }
    var new: [LedgerRow] = []
    if let facts = try ChoreFacts(chore, from: source) {
      new = ChoreFold(facts, settings: settings).outcomes.map { LedgerRow($0, chore: chore) }
        .sorted { $0.event < $1.event }
    }
    var before = 0
    var after = 0
    while before < old.count || after < new.count {
      let left = before < old.count ? old[before] : nil
      let right = after < new.count ? new[after] : nil
      let event = min(left?.event ?? right?.event ?? .zero, right?.event ?? left?.event ?? .zero)
      let leaving = left?.event == event ? left : nil
      let coming = right?.event == event ? right : nil
      before += leaving == nil ? 0 : 1
      after += coming == nil ? 0 : 1
      guard leaving != coming else { continue }
      if let leaving { try leaving.count(-1, to: writer) }
      if let coming {
        try writer.put(coming.values, in: HouseholdProjection.ledger)
        try coming.count(1, to: writer)
      } else {
        try writer.remove(from: HouseholdProjection.ledger, where: [.id(chore), .id(event)])
      }
    }
  }
}

/// One row of the ledger.
struct LedgerRow: Equatable {
  let chore: RecordID
  let event: RecordID
  let person: PersonID
  let day: CivilDate
  let points: Int
  let kind: LedgerKind
  let key: OccurrenceKey?
  let title: String
  let recordedBy: PersonID
  let version: Version

  init(_ outcome: CompletionOutcome, chore: RecordID) {
    let completion = outcome.completion
    self.chore = chore
    event = completion.id
    person = completion.person
    day = completion.day
    points = outcome.points
    kind = outcome.kind
    key = completion.key
    title = completion.title
    recordedBy = completion.recordedBy
    version = completion.version
  }

  /// Reads a row back; nil if it is not one that this projection wrote.
  init?(_ row: [Value]) throws {
    guard row.count == 13, let chore = row[0].identifier, let event = row[1].identifier,
      let person = row[2].identifier, let day = row[3].date, let points = row[4].int,
      let kind = row[5].text.flatMap(LedgerKind.init(rawValue:)), let title = row[7].text,
      let recordedBy = row[8].identifier, let device = row[9].identifier,
      let incarnation = row[10].int, let sequence = row[11].int, let time = row[12].int
    else { return nil }
    self.chore = chore
    self.event = event
    self.person = person
    self.day = day
    self.points = Int(points)
    self.kind = kind
    key = row[6].int.map(OccurrenceKey.init(rawValue:))
    self.title = title
    self.recordedBy = recordedBy
    let author = Author(device: device, incarnation: UInt64(bitPattern: incarnation))
    version = Version(
      dot: Dot(author: author, sequence: UInt64(bitPattern: sequence)),
      time: HybridTime(rawValue: UInt64(bitPattern: time)))
  }

  var values: [Value] {
    [
      .id(chore), .id(event), .id(person), .day(day), .int(Int64(points)), .text(kind.rawValue),
      key.map { .int($0.rawValue) } ?? .null, .text(title), .id(recordedBy),
      .id(version.dot.author.device), .int(Int64(bitPattern: version.dot.author.incarnation)),
      .int(Int64(bitPattern: version.dot.sequence)), .int(Int64(bitPattern: version.time.rawValue)),
    ]
  }

  /// Adds the row to the sums, or takes it away.
  func count(_ sign: Int64, to writer: any ProjectionWriter) throws {
    let completions: Int64 = kind == .credited || points > 0 ? 1 : 0
    guard points != 0 || completions != 0 else { return }
    try writer.add(
      [sign * Int64(points), sign * completions], toRow: [.id(person), .day(day)],
      in: HouseholdProjection.points)
  }
}
