import HearthCRDT
import HearthSync

/// One action of somebody's changes, in a reader's words.
package struct Activity: Equatable, Sendable {
  /// The action in the past tense, such as `added` or `done`.
  package let verb: String
  /// The object of the action: a chore's title, a setting's key or a name.
  package let title: String
}

/// The actions of changes, in a reader's words.
package struct ActivityFeed {
  let context: DayContext

  /// Returns the actions of changes that this state does not contain, in order, up to a limit.
  ///
  /// The titles come from the changes first, then from the state.
  ///
  /// - Returns: the first actions, and the number of all actions.
  package func activities(of changes: [Change], atMost limit: Int) throws -> (
    first: [Activity], count: Int
  ) {
    var titles: [RecordID: String] = [:]
    var first: [Activity] = []
    var count = 0
    for change in changes {
      var bodies: [RecordKey: [Operation.Body]] = [:]
      var keys: [RecordKey] = []
      for operation in change.operations {
        if bodies[operation.key] == nil { keys.append(operation.key) }
        bodies[operation.key, default: []].append(operation.body)
        if case .assign(ChoreField.title, .text(let title)) = operation.body,
          operation.key.type == HouseholdSchema.chore
        {
          titles[operation.key.id] = title
        }
      }
      for key in keys {
        count += 1
        guard first.count < limit else { continue }
        first.append(try activity(key, bodies[key] ?? [], titles))
      }
    }
    return (first, count)
  }

  private func activity(
    _ key: RecordKey, _ bodies: [Operation.Body], _ titles: [RecordID: String]
  ) throws -> Activity {
    var assigned: [FieldID: Value] = [:]
    var isDeleted = false
    for body in bodies {
      switch body {
      case .assign(let field, let value): assigned[field] = value
      case .event(let fields): for field in fields { assigned[field.field] = field.value }
      case .delete: isDeleted = true
      default: continue
      }
    }
    switch key.type {
    case HouseholdSchema.chore:
      return Activity(
        verb: isDeleted ? "deleted" : ActivityFeed.verb(ofChore: assigned),
        title: try title(of: key.id, titles))
    case HouseholdSchema.completion:
      let written = assigned[CompletionField.title]?.text
      return Activity(
        verb: "done",
        title: try written ?? title(of: assigned[CompletionField.chore]?.identifier, titles))
    case HouseholdSchema.skip:
      let chore = assigned[SkipField.chore]?.identifier
      return Activity(verb: "skipped", title: try title(of: chore, titles))
    case HouseholdSchema.retraction:
      let chore = assigned[RetractionField.chore]?.identifier
      return Activity(verb: "took back", title: try title(of: chore, titles))
    case HouseholdSchema.occurrence:
      let chore = assigned[OccurrenceField.chore]?.identifier
      return Activity(verb: "changed one day of", title: try title(of: chore, titles))
    case HouseholdSchema.setting:
      let value = assigned[SettingField.value]?.text ?? "as it was at first"
      return Activity(
        verb: "set", title: "\(assigned[SettingField.key]?.text ?? "a setting"): \(value)")
    case HouseholdSchema.person:
      if let name = assigned[PersonField.name]?.text { return Activity(verb: "named", title: name) }
      return Activity(verb: "changed", title: try title(ofPerson: key.id))
    case HouseholdSchema.personMerge:
      let person = assigned[MergeField.person]?.identifier
      let isUndone = (assigned[MergeField.into] ?? .null) == .null
      return Activity(
        verb: isUndone ? "took apart again" : "merged", title: try title(ofPerson: person))
    case HouseholdSchema.close:
      return Activity(verb: "closed", title: assigned[CloseField.period]?.text ?? "a period")
    default:
      return Activity(verb: "wrote", title: "something that this program does not know")
    }
  }

  private static func verb(ofChore assigned: [FieldID: Value]) -> String {
    if assigned[ChoreField.created] != nil { return "added" }
    return assigned[ChoreField.archived]?.bool.map { $0 ? "archived" : "restored" } ?? "changed"
  }

  private func title(ofPerson id: PersonID?) throws -> String {
    let key = id.map { RecordKey(type: HouseholdSchema.person, id: $0) }
    return try key.flatMap { try context.source.record($0)?.shown(PersonField.name)?.text }
      ?? "a person"
  }

  private func title(of id: RecordID?, _ titles: [RecordID: String]) throws -> String {
    guard let id else { return "a chore" }
    let record = try context.source.record(RecordKey(type: HouseholdSchema.chore, id: id))
    return titles[id] ?? record?.shown(ChoreField.title)?.text ?? "a chore that is not here"
  }
}
