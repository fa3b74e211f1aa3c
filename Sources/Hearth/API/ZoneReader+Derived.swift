import HearthStore

extension ZoneReader {
  /// Returns all rows of a derived table, group by group.
  ///
  /// - Throws: `schema` if the application does not declare the table.
  public func rows<Row: DerivedRow>(of type: Row.Type) throws(HearthError) -> [Row] {
    try reported { try derived(type, in: nil) }
  }

  /// Returns the rows of one group of a derived table, in the order in which they were computed.
  ///
  /// - Throws: `schema` if the application does not declare the table; `invalid` if the group's
  ///   value is not of the kind by which the table groups records.
  public func rows<Row: DerivedRow, Group: FieldValue>(
    of type: Row.Type, in group: Group
  ) throws(HearthError) -> [Row] {
    try reported {
      guard Group.storedKind == type.derivation.description.groupType else {
        throw HearthError(
          .invalid,
          "the groups of the derived table \(type.derivation.description.name) are no \(Group.self)"
        )
      }
      return try derived(type, in: group.stored)
    }
  }

  private func derived<Row: DerivedRow>(_ type: Row.Type, in group: StoredValue?) throws -> [Row] {
    let description = type.derivation.description
    guard group != .null, let table = description.table else { return [] }
    try prepare(toRead: description.fields, of: description.type)
    try prepare(toReadRowsOf: table, inGroup: group?.value)
    return try queries.rows(of: table, inGroup: group?.value, in: zone).map { try Row($0) }
  }
}
