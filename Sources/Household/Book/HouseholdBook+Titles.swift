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
  /// The chores' titles, in order of id, without working out when each is due.
  ///
  /// Finding a chore among ten thousand by its name reads these and then one chore.
  package func titles(includingArchived: Bool) throws -> [ChoreTitle] {
    try titles(source.rows(of: HouseholdProjection.chores, where: []), includingArchived)
  }

  /// The chores of exactly this title, in order of id: a look into an index.
  package func titles(equalTo title: String, includingArchived: Bool) throws -> [ChoreTitle] {
    let range = RowRange(["title", "chore"], prefix: [.text(title)])
    return try titles(source.rows(of: HouseholdProjection.chores, in: range), includingArchived)
  }

  private func titles(_ rows: [[Value]], _ includingArchived: Bool) throws -> [ChoreTitle] {
    rows.compactMap { row in
      guard let id = row[0].identifier, let title = row[1].text,
        includingArchived || row[2].bool != true
      else { return nil }
      return ChoreTitle(id: id, title: title)
    }
  }
}
