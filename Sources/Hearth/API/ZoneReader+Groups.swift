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
    try reported { try grouped(try values(.count, of: nil, by: group, query), +) }
  }

  /// Returns the sum of a field over the records that a query finds, for each value of another.
  public func sums<Owner: Record, Number: FieldValue & FixedWidthInteger, Field>(
    of path: KeyPath<Owner, Number>, by group: KeyPath<Owner, Field>, _ query: Query<Owner>
  ) throws(HearthError) -> [Field: Int64] where Field: FieldValue & Hashable {
    try reported { try grouped(try values(.sum, of: path, by: group, query), ZoneReader.sum) }
  }

  /// Returns the smallest value of a field over the records that a query finds, for each value of
  /// another.
  public func minima<Owner: Record, Content: FieldValue & Comparable, Field>(
    of path: KeyPath<Owner, Content>, by group: KeyPath<Owner, Field>, _ query: Query<Owner>
  ) throws(HearthError) -> [Field: Content] where Field: FieldValue & Hashable {
    try reported { try grouped(try values(.minimum, of: path, by: group, query), min) }
  }

  /// Returns the greatest value of a field over the records that a query finds, for each value of
  /// another.
  public func maxima<Owner: Record, Content: FieldValue & Comparable, Field>(
    of path: KeyPath<Owner, Content>, by group: KeyPath<Owner, Field>, _ query: Query<Owner>
  ) throws(HearthError) -> [Field: Content] where Field: FieldValue & Hashable {
    try reported { try grouped(try values(.maximum, of: path, by: group, query), max) }
  }

  /// - Parameter joined: the value of two groups that are one in Swift: their texts are written in
  ///   different ways and look alike.
  private func grouped<Field: Hashable, Content: FieldValue>(
    _ found: [(Field, StoredValue)], _ joined: (Content, Content) -> Content
  ) throws -> [Field: Content] {
    var groups: [Field: Content] = [:]
    for (key, value) in found {
      guard let content = Content(stored: value) else { continue }
      groups[key] = groups[key].map { joined($0, content) } ?? content
    }
    return groups
  }

  private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? (left < 0 ? .min : .max) : sum
  }
}
