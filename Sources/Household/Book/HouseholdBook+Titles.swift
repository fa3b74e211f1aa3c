import HearthCRDT
import HearthSync

/// A chore as far as its name goes.
package struct ChoreTitle: Sendable {
  /// The chore.
  package let id: RecordID
  /// What is to be done.
  package let title: String
}

extension HouseholdBook {
  /// The chores' titles, by title, then by id, without working out when each is due.
  ///
  /// Finding a chore among ten thousand by its name reads these and then one chore.
  package func titles(includingArchived: Bool) throws -> [ChoreTitle] {
    try source.shown([ChoreField.title, ChoreField.archived], of: HouseholdSchema.chore)
      .compactMap { id, values in
        guard includingArchived || values[1].bool != true else { return nil }
        return ChoreTitle(id: id, title: values[0].text ?? "")
      }
      .sorted { ($0.title, $0.id) < ($1.title, $1.id) }
  }
}
