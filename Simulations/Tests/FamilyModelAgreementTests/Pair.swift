import FamilyModel
import FamilyTranslation
import HearthCRDT
import HearthMembership
import HearthSync
import Household
import TestSupport

/// A household of devices over the real code, and the facts that were written, for the model.
final class Pair {
  static let start = 20_000  // 2024-10-04, a Friday
  let replicas: [Replica]
  let people = [PersonID(high: 9, low: 1), PersonID(high: 9, low: 2), PersonID(high: 9, low: 3)]
  private(set) var changes: [Change] = []
  /// The facts of each change, by its place.
  private(set) var facts: [[ModelFact]] = []
  var day = Pair.start
  var minute = 480
  /// How far each device's clock is off, for the times of changes.
  var skewMinutes = [0, 0, 0]
  private var ids: UInt64 = 1000
  private var names = RecordNames()

  init() throws {
    replicas = (0..<3).map { _ in Replica(projection: HouseholdProjection()) }
    for (person, name) in zip(people, ["Ada", "Ben", "Cleo"]) {
      try write(0) { try $0.people.create(person, name: name, milliseconds: 1, in: &$1) }
    }
    try meet()
  }

  func date(_ offset: Int) throws -> CivilDate {
    try CivilDate(dayNumber: Pair.start + offset)
  }

  func state(_ device: Int) throws -> HouseholdState {
    try HouseholdState(source: replicas[device], today: CivilDate(dayNumber: day))
  }

  /// The model of what a device holds.
  func model(_ device: Int) -> FamilyModel {
    let known = zip(changes, facts).filter { replicas[device].known.covers($0.0.version.dot) }
    return FamilyModel(facts: known.flatMap(\.1), today: day)
  }

  var milliseconds: UInt64 { UInt64(day * 1440 + minute) * 60_000 }

  @discardableResult
  func write<Result>(
    _ device: Int, _ body: (HouseholdState, inout OperationBuilder) throws -> Result
  ) throws -> Result {
    minute += 1
    let replica = replicas[device]
    let author = Author(device: DeviceID(high: 7, low: UInt64(device)), incarnation: 1 << 32)
    let dot = Dot(author: author, sequence: replica.known[author] + 1)
    var builder = OperationBuilder(zone: replica.zone, dot: dot) {
      self.ids += 1
      return Identifier(high: 5, low: self.ids)
    }
    let result = try body(try state(device), &builder)
    let time = Int(milliseconds) + skewMinutes[device] * 60_000
    let change = Change(
      version: Version(dot: dot, time: HybridTime(milliseconds: UInt64(time))),
      past: replica.known, operations: builder.operations)
    names.note(change.operations)
    changes.append(change)
    facts.append(
      Translation(
        version: change.version, past: change.past, operations: change.operations,
        author: try user(of: device), names: names
      ).facts)
    try replica.apply(change)
    return result
  }

  /// Who uses a device: the first one is the owner's.
  private func user(of device: Int) throws -> (PersonID, ModelRole) {
    let member = replicas[device].member(of: DeviceID(high: 7, low: UInt64(device)))
    return (member?.id ?? people[device], member?.role == .owner ? .owner : .member)
  }

  /// One device gets what another one has.
  func bring(from source: Int, to target: Int) throws {
    for change in changes where replicas[source].known.covers(change.version.dot) {
      try replicas[target].apply(change)
    }
  }

  /// Everybody gets everything.
  func meet() throws {
    for replica in replicas {
      for change in changes { try replica.apply(change) }
    }
  }

  /// A chore known to all.
  func add(_ draft: ChoreDraft) throws -> RecordID {
    let id = try write(0) { try $0.chores.add(draft, milliseconds: 1, in: &$1) }
    try meet()
    return id
  }

  @discardableResult
  func done(
    _ chore: RecordID, by person: Int, on device: Int, key: OccurrenceKey? = nil, back: Int = 0
  ) throws -> RecordID {
    try write(device) { state, builder in
      try state.completions.add(
        chore, occurrence: key, by: self.people[person],
        doneAt: (try CivilDate(dayNumber: self.day - back), nil),
        milliseconds: self.milliseconds, isEarly: true, in: &builder)
    }
  }

  /// Writes a completion that no honest program would, on a clock that shows its day.
  func forge(
    _ chore: RecordID, offset: Int?, by person: Int, on device: Int, day: Int
  ) throws {
    let skew = skewMinutes[device]
    defer { skewMinutes[device] = skew }
    skewMinutes[device] = (day - self.day) * 1440
    let key: Value = try offset.map { .int(Int64(try Occurrence(try date($0)).key)) } ?? .null
    try write(device) { _, builder in
      let instant = Int64(self.milliseconds) + Int64(self.skewMinutes[device]) * 60_000
      let values: [(UInt16, Value)] = [
        (1, .bytes(chore.bytes)), (2, key), (3, .bytes(self.people[person].bytes)),
        (4, .int(Int64(day))), (5, .int(instant)), (6, .text("forged")),
      ]
      _ = builder.event(
        HouseholdSchema.completion, values.map { EventField(FieldID(.register, $0), $1) })
    }
  }

  func set(_ key: String, _ value: String?, on device: Int = 0) throws {
    try write(device) { try $0.storedSettings.set(key, value, in: &$1) }
  }

  func edit(_ chore: RecordID, on device: Int, _ change: (inout ChoreEdit) -> Void) throws {
    var edit = ChoreEdit()
    change(&edit)
    try write(device) { try $0.chores.edit(chore, edit, in: &$1) }
  }

  func undo(_ event: RecordID, by person: Int, on device: Int, asAdmin: Bool = false) throws {
    try write(device) {
      try $0.completions.undo(event, by: people[person], isAdministrator: asAdmin, in: &$1)
    }
  }

  // MARK: what both say

  /// Every difference between what a device shows and what the model says, in words.
  func differences(_ device: Int) throws -> [String] {
    let (state, model) = (try state(device), model(device))
    return try ledgerDifferences(state, model) + personDifferences(state, model)
      + choreDifferences(state, model)
  }

  private func ledgerDifferences(_ state: HouseholdState, _ model: FamilyModel) throws -> [String] {
    let real = try state.ledger.entries(of: nil).map {
      "\($0.event.hex.suffix(4)) \($0.chore.low) \($0.person.low) \($0.day) \($0.kind) \($0.points)"
    }
    let expected = try model.ledger.map { entry in
      let event = Identifier(high: entry.event.high, low: entry.event.low).hex.suffix(4)
      let day = try CivilDate(dayNumber: entry.day)
      return "\(event) \(entry.completion.chore.low) \(entry.person.low) \(day) \(entry.kind) "
        + "\(entry.points)"
    }
    return difference("ledger", real.sorted(), expected.sorted())
  }

  private func personDifferences(_ state: HouseholdState, _ model: FamilyModel) throws -> [String] {
    try people.flatMap { person -> [String] in
      let id = ModelID(person)
      let date = ModelCalendar.date(day)
      let points = try state.totals.points(of: person)
      let real = [
        points.total, points.week, points.month, try state.achievements.streak(of: person),
        try state.achievements.day(ofCompletion: 2, by: person).map { Int($0.dayNumber) } ?? 0,
      ]
      let expected = [
        model.total(id), model.points(id, containing: day),
        model.points(id, year: date.year, month: date.month), model.streak(id),
        model.day(ofCredited: 2, by: id) ?? 0,
      ]
      return zip(["total", "week", "month", "streak", "badge"], zip(real, expected))
        .filter { $0.1.0 != $0.1.1 }
        .map { "\($0.0) of \(person.low): real \($0.1.0), model \($0.1.1)" }
    }
  }

  private func choreDifferences(_ state: HouseholdState, _ model: FamilyModel) throws -> [String] {
    var result: [String] = []
    let last = try CivilDate(dayNumber: day + 10)
    let open = try state.occurrences.due(through: last)
    for chore in try state.chores.all(includingArchived: true) {
      let id = ModelID(chore.id)
      let shown = model.shown(id)
      result += difference(
        "chore \(chore.id.low)",
        ["\(chore.title) \(chore.points) \(chore.isArchived) \(chore.tags)"],
        ["\(shown.title) \(shown.points) \(shown.isArchived) \(shown.tags)"])
      result += difference(
        "next of \(chore.id.low)", chore.next.map { [text($0)] } ?? [],
        model.nextOccurrence(id).map { [text($0)] } ?? [])
      result += difference(
        "open of \(chore.id.low)", open.filter { $0.chore == chore.id }.map(text).sorted(),
        model.openOccurrences(id, through: day + 10).map(text).sorted())
    }
    return result
  }

  private func text(_ occurrence: OccurrenceView) -> String {
    let due = occurrence.due.map { String(Int($0.dayNumber) - Pair.start) } ?? "-"
    let person = occurrence.assignee.map { String($0.low) } ?? "-"
    return "\(occurrence.key) due \(due) \(person) \(occurrence.state) \(occurrence.missedBefore)"
  }

  private func text(_ occurrence: ModelOccurrence) -> String {
    let due = occurrence.due.map { String($0 - Pair.start) } ?? "-"
    let person = occurrence.assignee.map { String($0.low) } ?? "-"
    return "\(occurrence.key) due \(due) \(person) \(occurrence.state) \(occurrence.missedBefore)"
  }

  private func difference(_ what: String, _ real: [String], _ expected: [String]) -> [String] {
    if real == expected { return [] }
    return [
      "\(what): real only \(real.filter { !expected.contains($0) }), "
        + "model only \(expected.filter { !real.contains($0) })"
    ]
  }
}
