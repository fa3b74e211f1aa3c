import HearthCRDT
import HearthSync

/// The people of a household, and who counts as whom.
package struct PeopleDirectory {
  let context: DayContext

  /// The merged people; every lookup of a person is resolved through them.
  package var merges: PersonMerges { context.merges }

  /// Returns everybody in the household by name, then by id, without merged people.
  package func all() throws -> [PersonView] {
    // Whole records may be large: their fields are not all this version's.
    let fields = [PersonField.name, PersonField.email, PersonField.created]
    return try context.source.shown(fields, of: HouseholdSchema.person).compactMap { id, values in
      guard context.merges.one(id) == id else { return nil }
      return PersonView(
        id: id, name: values[0].text ?? "", email: values[1].text,
        createdMilliseconds: UInt64(max(0, values[2].int ?? 0)))
    }
    .sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  /// People whose record was deleted; a rotation passes over them (R18).
  func inactive() throws -> [PersonID] {
    let living = Set(try context.source.shown([], of: HouseholdSchema.person).map(\.id))
    return try context.source.ids(of: HouseholdSchema.person).filter { !living.contains($0) }
  }

  /// Records a person of the household.
  ///
  /// - Throws: `badName`, `badEmail`.
  package func create(
    _ id: PersonID, name: String, email: String? = nil, milliseconds: UInt64,
    in builder: inout OperationBuilder
  ) throws {
    try Validation.name(name)
    let key = RecordKey(type: HouseholdSchema.person, id: id)
    if let email {
      guard email.utf8.count <= Validation.maximumEmailBytes, email.contains("@") else {
        throw HouseholdError(
          .badEmail, "\(quoted(email)) is not an e-mail address; write it like eva@example.org")
      }
    }
    builder.append(key, .assign(PersonField.name, .text(name)))
    if let email { builder.append(key, .assign(PersonField.email, .text(email))) }
    builder.append(key, .assign(PersonField.created, .milliseconds(milliseconds)))
  }

  /// Returns every statement about who counts as whom, oldest first, including superseded ones.
  package func allMerges() throws -> [PersonMerge] { try PersonMerge.all(in: context.source) }

  /// Merges a person into another one, with everything credited, assigned and written.
  ///
  /// The merge counts if its author is an admin or the owner. No record is rewritten, and no right,
  /// role or device moves from one person to the other.
  ///
  /// - Throws: `badMerge` if they are merged already, or the person is merged into a third one.
  package func merge(
    _ person: PersonID, into other: PersonID, in builder: inout OperationBuilder
  ) throws {
    guard person != other else {
      throw HouseholdError(
        .badMerge, "a person cannot be merged into themselves; name two people")
    }
    guard context.merges.one(other) != person else {
      throw HouseholdError(
        .badMerge,
        "\(try name(of: other)) already counts as \(try name(of: person)); undo that first")
    }
    guard context.merges.one(person) == person else {
      throw HouseholdError(
        .badMerge,
        "\(try name(of: person)) already counts as \(try name(of: merges.one(person))); undo that "
          + "first if it is wrong")
    }
    append(person, .id(other), &builder)
  }

  /// Undoes the merge of a person.
  ///
  /// - Throws: `badMerge` if the person is not merged.
  package func undoMerge(of person: PersonID, in builder: inout OperationBuilder) throws {
    guard context.merges.one(person) != person else {
      throw HouseholdError(
        .badMerge, "\(try name(of: person)) is not merged into anybody; there is nothing to undo")
    }
    append(person, .null, &builder)
  }

  private func append(_ person: PersonID, _ into: Value, _ builder: inout OperationBuilder) {
    _ = builder.event(
      HouseholdSchema.personMerge,
      [EventField(MergeField.person, .id(person)), EventField(MergeField.into, into)])
  }

  /// A person's own name with digits of the id, since two merged people mostly share a name.
  private func name(of person: PersonID) throws -> String {
    let record = try context.source.record(RecordKey(type: HouseholdSchema.person, id: person))
    return "\(quoted(record?.shown(PersonField.name)?.text ?? "")) (\(person.hex.prefix(8)))"
  }
}
