import FamilyModel
import HearthCRDT
import HearthSync
import Household

/// The operations of a change as facts, by the numbers of the schema.
///
/// It knows the form of what is written and none of what it means.
package struct Translation {
  private let version: Version
  private let past: Frontier
  private let operations: [Operation]
  /// Whose device wrote the change, and what they may do: the membership says it, not the data.
  private let author: (person: PersonID, role: ModelRole)
  private let names: RecordNames

  package init(
    version: Version, past: Frontier, operations: [Operation],
    author: (person: PersonID, role: ModelRole), names: RecordNames
  ) {
    self.version = version
    self.past = past
    self.operations = operations
    self.author = author
    self.names = names
  }

  package var facts: [ModelFact] {
    operations.enumerated().flatMap { place, operation in
      kinds(operation).map {
        ModelFact(stamp: stamp, past: modelPast, place: place, kind: $0)
      }
    }
  }

  private var stamp: ModelStamp {
    let dot = version.dot
    return ModelStamp(
      time: version.time.rawValue, authorHigh: dot.author.device.high,
      authorLow: dot.author.device.low, incarnation: dot.author.incarnation,
      sequence: dot.sequence)
  }

  private var modelPast: ModelPast {
    ModelPast(
      Dictionary(
        uniqueKeysWithValues: past.entries.map {
          let device = $0.author.device
          return (
            ModelAuthor(
              high: device.high, low: device.low, incarnation: $0.author.incarnation),
            $0.sequence
          )
        }))
  }

  private func kinds(_ operation: Operation) -> [ModelFactKind] {
    let id = ModelID(operation.key.id)
    switch (operation.key.type, operation.body) {
    case (HouseholdSchema.person, .assign(FieldID(.register, 1), let value)):
      return [.person(id, name: value.text ?? "")]
    case (HouseholdSchema.chore, .assign(let field, let value)):
      return [.choreField(id, choreField(field, value))]
    case (HouseholdSchema.chore, .include(_, let value)):
      return [.tag(id, value.text ?? "", added: true)]
    case (HouseholdSchema.chore, .exclude(_, let value)):
      return [.tag(id, value.text ?? "", added: false)]
    case (HouseholdSchema.occurrence, .assign(let field, let value)):
      guard let place = names.occurrences[operation.key.id], let change = override(field, value)
      else {
        return []
      }
      return [.occurrenceOverride(chore: place.chore, key: place.key, change)]
    case (HouseholdSchema.setting, .assign(FieldID(.history, 2), let value)):
      return names.settings[operation.key.id].map { [.setting($0, value.text)] } ?? []
    case (HouseholdSchema.setting, .delete):
      return names.settings[operation.key.id].map { [.setting($0, nil)] } ?? []
    case (_, .event(let fields)):
      return event(id, operation.key.type, fields).map { [$0] } ?? []
    default: return []
    }
  }

  private func choreField(_ field: FieldID, _ value: Value) -> ModelChoreField {
    switch field {
    case FieldID(.register, 1): .title(value.text ?? "")
    case FieldID(.history, 3): .points(Int(value.int ?? 0))
    case FieldID(.history, 4): .archived(value == .bool(true))
    case FieldID(.history, 5): .assignment(assignment(value.text ?? "nobody"))
    case FieldID(.register, 6): .due(value.int.map(Int.init))
    case FieldID(.register, 7): .time(value.int.map(Int.init))
    case FieldID(.history, 8): .rule(value.text.flatMap(rule))
    case FieldID(.register, 9): .ruleFrom(value.int.map(Int.init))
    default: .other
    }
  }

  private func override(_ field: FieldID, _ value: Value) -> ModelOverride? {
    switch field {
    case FieldID(.history, 3): .due(value.int.map(Int.init))
    case FieldID(.history, 4):
      .assignee(value.bytes.flatMap { Identifier(bytes: $0) }.map { ModelID($0) })
    case FieldID(.register, 5): .skipped(value == .bool(true))
    default: nil
    }
  }

  private func assignment(_ text: String) -> ModelAssignment {
    switch Assignment(text: text) {
    case .person(let person): .person(ModelID(person))
    case .rotation(let people, .byTurn): .rotation(people.map { ModelID($0) }, .byTurn)
    case .rotation(let people, .leastDone): .rotation(people.map { ModelID($0) }, .leastDone)
    case .rotation(let people, _): .rotation(people.map { ModelID($0) }, .byDate)
    default: .nobody
    }
  }

  private func rule(_ text: String) -> ModelRule? {
    guard let rule = try? RecurrenceRule(text: text) else {
      return ModelRule(every: 1, .unreadable, from: 0)
    }
    let unit: ModelRule.Unit
    switch (rule.frequency, rule.days) {
    case (.weekly, .weekdays(let set)):
      unit = .week(on: Set(set.days.map(\.rawValue)), start: rule.weekStart.rawValue)
    case (.weekly, _): unit = .week(on: [], start: rule.weekStart.rawValue)
    case (.monthly, .dayOfMonth(let day)): unit = .month(day: day)
    case (.monthly, _): unit = .month(day: 31)
    case (.yearly, .dayOfMonth(let day)): unit = .year(day: day)
    case (.yearly, _): unit = .year(day: 31)
    case (.daily, _): unit = .day
    }
    var until: Int?
    if case .until(let last) = rule.end { until = Int(last.dayNumber) }
    return ModelRule(
      every: rule.interval, unit, from: Int(rule.anchor.dayNumber), until: until,
      afterCompletion: rule.mode == .afterCompletion)
  }

  private func event(_ id: ModelID, _ type: TypeID, _ fields: [EventField]) -> ModelFactKind? {
    func value(_ number: UInt16) -> Value {
      fields.first { $0.field == FieldID(.register, number) }?.value ?? .null
    }
    func name(_ number: UInt16) -> ModelID {
      value(number).bytes.flatMap { Identifier(bytes: $0) }.map { ModelID($0) }
        ?? ModelID(high: 0, low: 0)
    }
    func int(_ number: UInt16) -> Int64 { value(number).int ?? 0 }
    switch type {
    case HouseholdSchema.completion:
      return .completion(
        ModelCompletion(
          event: id, chore: name(1), key: value(2).int, person: name(3),
          recordedBy: ModelID(author.person),
          day: Int(int(4)), doneAtMilliseconds: int(5)))
    case HouseholdSchema.retraction:
      return .retraction(event: name(1), by: ModelID(author.person), role: author.role)
    case HouseholdSchema.skip:
      return .skip(
        event: id, chore: name(1), key: int(2), by: ModelID(author.person), day: Int(int(5)))
    default: return nil
    }
  }
}

/// Which record is which occurrence or setting, as its own operations tell.
package struct RecordNames {
  fileprivate private(set) var occurrences: [RecordID: (chore: ModelID, key: Int64)] = [:]
  fileprivate private(set) var settings: [RecordID: String] = [:]

  package init() {}

  /// Remembers what the operations of a change tell.
  package mutating func note(_ operations: [Operation]) {
    func value(_ id: RecordID, _ field: FieldID) -> Value? {
      operations.lazy.compactMap { operation -> Value? in
        guard operation.key.id == id, case .assign(field, let value) = operation.body else {
          return nil
        }
        return value
      }.first
    }
    for id in Set(operations.map(\.key.id)).sorted() {
      let (first, second) = (value(id, FieldID(.register, 1)), value(id, FieldID(.register, 2)))
      let type = operations.first { $0.key.id == id }?.key.type
      if type == HouseholdSchema.occurrence, let chore = first?.bytes, let key = second?.int,
        let chore = Identifier(bytes: chore)
      {
        occurrences[id] = (ModelID(chore), key)
      } else if type == HouseholdSchema.setting, let key = first?.text {
        settings[id] = key
      }
    }
  }
}

extension ModelID {
  package init(_ identifier: Identifier) { self.init(high: identifier.high, low: identifier.low) }
}
