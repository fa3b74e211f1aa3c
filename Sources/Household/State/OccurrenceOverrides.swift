import HearthCRDT
import HearthSync

/// The occurrences that differ from their rule: they were moved or assigned on their own.
package struct OccurrenceOverrides {
  let context: DayContext
  let occurrences: OccurrenceList

  /// Assigns one occurrence to a person, or returns it to the chore's own assignment.
  package func assign(
    _ id: RecordID, occurrence: OccurrenceKey? = nil, to person: PersonID?,
    in builder: inout OperationBuilder
  ) throws {
    try override(id, occurrence, [(OccurrenceField.assignee, person.map(Value.id))], &builder)
  }

  /// Assigns one occurrence to nobody, whatever the chore's own assignment says.
  package func release(
    _ id: RecordID, occurrence: OccurrenceKey? = nil, in builder: inout OperationBuilder
  ) throws {
    try override(
      id, occurrence, [(OccurrenceField.assignee, OccurrenceOverride.nobody)], &builder)
  }

  /// Moves one occurrence to another day and time, or back to its own.
  ///
  /// The occurrence keeps its key, which is its original date. Moves to the same day on two devices
  /// are one move, and of two different moves the later one is shown (R6).
  ///
  /// - Throws: `badDay` for a day more than a year from today, and what adding a completion throws.
  package func move(
    _ id: RecordID, occurrence: OccurrenceKey? = nil, to day: CivilDate?, at time: CivilTime? = nil,
    in builder: inout OperationBuilder
  ) throws {
    if let day, abs(context.today.days(until: day)) > Validation.maximumDaysAhead {
      throw HouseholdError(
        .badDay, "\(day) is more than a year from today (\(context.today)); move it to a nearer day"
      )
    }
    try override(
      id, occurrence,
      [
        (OccurrenceField.due, day.map(Value.day)),
        (OccurrenceField.time, time.map(Value.time)),
      ], &builder)
  }

  private func override(
    _ id: RecordID, _ occurrence: OccurrenceKey?, _ fields: [(FieldID, Value?)],
    _ builder: inout OperationBuilder
  ) throws {
    let (_, key) = try occurrences.target(id, occurrence)
    var name = ByteWriter(capacity: 32)
    name.identifier(id)
    name.signed(key.rawValue)
    let type = HouseholdSchema.occurrence
    let record = RecordKey(
      type: type, id: naturalID(in: context.source.zone, type: type, key: name.bytes))
    builder.append(record, .assign(OccurrenceField.chore, .id(id)))
    builder.append(record, .assign(OccurrenceField.key, .int(key.rawValue)))
    for (field, value) in fields { builder.append(record, .assign(field, value ?? .null)) }
  }
}
