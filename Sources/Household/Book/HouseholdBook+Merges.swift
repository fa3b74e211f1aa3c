import HearthCRDT
import HearthSync

extension HouseholdBook {
  /// Returns every statement about who counts as whom, oldest first, including superseded ones.
  package func personMerges() throws -> [PersonMerge] { try PersonMerge.all(in: source) }

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
    guard merges.one(other) != person else {
      throw HouseholdError(
        .badMerge,
        "\(try name(of: other)) already counts as \(try name(of: person)); undo that first")
    }
    guard merges.one(person) == person else {
      throw HouseholdError(
        .badMerge,
        "\(try name(of: person)) already counts as \(try name(of: merges.one(person))); undo that "
          + "first if it is wrong")
    }
    say(person, .id(other), &builder)
  }

  /// Undoes the merge of a person.
  ///
  /// - Throws: `badMerge` if the person is not merged.
  package func undoMerge(of person: PersonID, in builder: inout OperationBuilder) throws {
    guard merges.one(person) != person else {
      throw HouseholdError(
        .badMerge, "\(try name(of: person)) is not merged into anybody; there is nothing to undo")
    }
    say(person, .null, &builder)
  }

  private func say(_ person: PersonID, _ into: Value, _ builder: inout OperationBuilder) {
    _ = builder.event(
      HouseholdSchema.personMerge,
      [EventField(MergeField.person, .id(person)), EventField(MergeField.into, into)])
  }

  /// A person's own name with digits of the id, since two merged people mostly share a name.
  private func name(of person: PersonID) throws -> String {
    let record = try source.record(RecordKey(type: HouseholdSchema.person, id: person))
    return "\(quoted(record?.shown(PersonField.name)?.text ?? "")) (\(person.hex.prefix(8)))"
  }
}
