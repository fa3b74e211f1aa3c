import HearthCRDT
import HearthSync

/// One row of the ledger.
struct LedgerRow: Equatable {
  /// What a row changes for other rows; the ledger finds rows by it, so that those without an
  /// effect cost nothing, however many there are.
  enum Effect: Int64, CaseIterable {
    /// It breaks a rule.
    case nothing = 0
    /// It was taken back, and breaks no rule.
    case takenBack = 1
    /// It counts for its occurrence, paid or not.
    case counts = 2
  }

  let event: RecordID
  let chore: RecordID
  let person: PersonID
  let day: CivilDate
  let points: Int
  let kind: LedgerKind
  let key: OccurrenceKey?
  let title: String
  let recordedBy: PersonID
  let version: Version
  let effect: Effect

  init(_ item: FoldItem, _ outcome: Outcome) {
    let completion = item.completion
    event = completion.id
    chore = completion.chore
    person = completion.person
    day = completion.day
    points = outcome.points
    kind = outcome.kind
    key = completion.key
    title = completion.title
    recordedBy = completion.recordedBy
    version = completion.version
    effect =
      if item.isValid { item.retractions.isEmpty ? .counts : .takenBack } else { .nothing }
  }

  var order: FoldOrder { FoldOrder(version: version, event: event) }

  /// The same row with another outcome.
  init(_ row: LedgerRow, _ outcome: Outcome) {
    event = row.event
    chore = row.chore
    person = row.person
    day = row.day
    points = outcome.points
    kind = outcome.kind
    key = row.key
    title = row.title
    recordedBy = row.recordedBy
    version = row.version
    effect = row.effect
  }

  /// Reads a row; nil if this projection did not write it.
  init?(_ row: [Value]) {
    guard row.count == 14, let event = row[0].identifier, let chore = row[1].identifier,
      let person = row[2].identifier, let day = row[3].date, let points = row[4].int,
      let kind = row[5].text.flatMap(LedgerKind.init(rawValue:)), let title = row[7].text,
      let recordedBy = row[8].identifier, let device = row[9].identifier,
      let incarnation = row[10].int, let sequence = row[11].int, let time = row[12].int,
      let effect = row[13].int.flatMap(Effect.init(rawValue:))
    else { return nil }
    self.chore = chore
    self.event = event
    self.person = person
    self.day = day
    self.points = Int(points)
    self.kind = kind
    key = row[6].int.map(OccurrenceKey.init(rawValue:))
    self.effect = effect
    self.title = title
    self.recordedBy = recordedBy
    let author = Author(device: device, incarnation: UInt64(bitPattern: incarnation))
    version = Version(
      dot: Dot(author: author, sequence: UInt64(bitPattern: sequence)),
      time: LedgerRow.time(ofColumn: time))
  }

  var values: [Value] {
    [
      .id(event), .id(chore), .id(person), .day(day), .int(Int64(points)), .text(kind.rawValue),
      key.map { .int($0.rawValue) } ?? .null, .text(title), .id(recordedBy),
      .id(version.dot.author.device), .int(Int64(bitPattern: version.dot.author.incarnation)),
      .int(Int64(bitPattern: version.dot.sequence)), LedgerRow.column(of: version.time),
      .int(effect.rawValue),
    ]
  }

  /// Whether it counts for its occurrence, paid or not.
  var isValid: Bool { kind == .credited || kind == .alsoDone }

  /// A time as a signed column in the same order.
  static func column(of time: HybridTime) -> Value {
    .int(Int64(bitPattern: time.rawValue ^ 1 << 63))
  }

  private static func time(ofColumn column: Int64) -> HybridTime {
    HybridTime(rawValue: UInt64(bitPattern: column) ^ 1 << 63)
  }

  /// Adds the row to the sums, or subtracts it.
  func count(_ sign: Int64, to writer: any ProjectionWriter) throws {
    let isCredited = kind == .credited
    if isCredited {
      try writer.add(
        [sign, key == nil ? sign : 0], toRow: [.id(chore)], in: HouseholdTables.chains)
    }
    guard points != 0 || isCredited else { return }
    try writer.add(
      [sign * Int64(points), sign, isCredited ? sign : 0], toRow: [.id(person), .day(day)],
      in: HouseholdTables.points)
  }
}
