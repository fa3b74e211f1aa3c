extension ZoneTransaction {
  /// Writes the new fields of a type's records that an earlier version wrote last, so that queries
  /// find them.
  ///
  /// A ``Lens`` shows these fields from the old ones without it. Call it after the program was
  /// updated, or after a sync, as often as you like: what is written already costs a reading. O(n).
  ///
  /// - Returns: how many records it wrote.
  @discardableResult
  public func adopt<Owner: Record>(
    _ type: Owner.Type
  ) throws(HearthError) -> Int where Owner.Mutability == ChangingRecord {
    guard !Owner.schema.lenses.isEmpty else { return 0 }
    return try reported {
      let codec = self.codec(of: Owner.self)
      var count = 0
      for row in try rows(Owner.all) {
        let operations = try codec.adoption(of: row)
        guard !operations.isEmpty else { continue }
        try append(operations)
        count += 1
      }
      return count
    }
  }
}
