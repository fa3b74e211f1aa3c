import HearthCRDT
import HearthSync

/// A chore's id and title.
package struct ChoreTitle: Sendable {
  package let id: RecordID
  package let title: String
}

extension HouseholdBook {
  /// Returns the chores' titles, in order of id, without computing when each is due.
  ///
  /// A search by name among ten thousand chores reads these titles and then one chore.
  package func titles(includingArchived: Bool) throws -> [ChoreTitle] {
    try titles(source.rows(of: HouseholdProjection.chores, where: []), includingArchived)
  }

  /// Returns the chores of exactly this title, in order of id, from an index.
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
