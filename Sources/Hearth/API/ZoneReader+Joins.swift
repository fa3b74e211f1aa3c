import HearthCRDT
import HearthStore

extension ZoneReader {
  /// Returns the records that a query finds, each with the record that it refers to.
  ///
  /// ```swift
  /// for item in try reader.fetch(Item.where(\.isBought == false), with: \.list) {
  ///   print(item.record.name, item.target?.name ?? "no list")
  /// }
  /// ```
  ///
  /// Each record that is referred to is read once, however many refer to it.
  public func fetch<Owner: Record, Target: Record>(
    _ query: Query<Owner>, with path: KeyPath<Owner, Key<Target>?>
  ) throws(HearthError) -> JoinedRecords<Owner, Target> {
    try joined(query, Target.where(.isReferred(by: path, of: query))) { $0[keyPath: path] }
  }

  /// Returns the records that a query finds, each with the record that it refers to.
  ///
  /// Each record that is referred to is read once, however many refer to it.
  public func fetch<Owner: Record, Target: Record>(
    _ query: Query<Owner>, with path: KeyPath<Owner, Key<Target>>
  ) throws(HearthError) -> JoinedRecords<Owner, Target> {
    try joined(query, Target.where(.isReferred(by: path, of: query))) { $0[keyPath: path] }
  }

  /// Two queries' records, joined by a reference.
  private func joined<Owner: Record, Target: Record>(
    _ query: Query<Owner>, _ targets: Query<Target>, by reference: (Owner) -> Key<Target>?
  ) throws(HearthError) -> JoinedRecords<Owner, Target> {
    try reported {
      JoinedRecords(Records(try rows(query)), Records(try rows(targets)), by: reference)
    }
  }
}
