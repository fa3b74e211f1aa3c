import HearthStore

/// Values over the records of each value of a field.
///
/// ```swift
/// let pieces = try reader.sums(of: \.quantity, by: \.list, Item.where(\.isBought == false))
/// let forTheWeek = pieces[week.id] ?? 0
/// ```
///
/// Records whose value of that field does not fit the program's type are left out.
extension ZoneReader {
  /// Returns how many records a query finds for each value of a field.
  public func counts<Owner: Record, Field: FieldValue & Hashable>(
    by group: KeyPath<Owner, Field>, _ query: Query<Owner>
  ) throws(HearthError) -> [Field: Int] {
    try reported { try grouped(try values(.count, of: nil, by: group, query)) }
  }

  /// Returns the sum of a field over the records that a query finds, for each value of another.
  public func sums<Owner: Record, Number: FieldValue & FixedWidthInteger, Field>(
    of path: KeyPath<Owner, Number>, by group: KeyPath<Owner, Field>, _ query: Query<Owner>
  ) throws(HearthError) -> [Field: Int64] where Field: FieldValue & Hashable {
    try reported { try grouped(try values(.sum, of: path, by: group, query)) }
  }

  /// Returns the smallest value of a field over the records that a query finds, for each value of
  /// another.
  public func minima<Owner: Record, Content: FieldValue & Comparable, Field>(
    of path: KeyPath<Owner, Content>, by group: KeyPath<Owner, Field>, _ query: Query<Owner>
  ) throws(HearthError) -> [Field: Content] where Field: FieldValue & Hashable {
    try reported { try grouped(try values(.minimum, of: path, by: group, query)) }
  }

  /// Returns the greatest value of a field over the records that a query finds, for each value of
  /// another.
  public func maxima<Owner: Record, Content: FieldValue & Comparable, Field>(
    of path: KeyPath<Owner, Content>, by group: KeyPath<Owner, Field>, _ query: Query<Owner>
  ) throws(HearthError) -> [Field: Content] where Field: FieldValue & Hashable {
    try reported { try grouped(try values(.maximum, of: path, by: group, query)) }
  }

  private func grouped<Field: Hashable, Content: FieldValue>(
    _ found: [(Field, StoredValue)]
  ) throws -> [Field: Content] {
    var groups: [Field: Content] = [:]
    for (key, value) in found { groups[key] = Content(stored: value) }
    return groups
  }
}
