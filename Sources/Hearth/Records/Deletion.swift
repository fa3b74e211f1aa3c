import HearthCRDT

/// What one deletion does: the records that it deletes, and the references that it empties.
struct Deletion {
  /// The deleted record, and those that go with it.
  private(set) var records: [RecordKey]
  private var emptied: [(key: RecordKey, field: FieldID)] = []

  /// Finds what a deletion does.
  ///
  /// - Parameter find: returns the records that refer to a record by a reference.
  init(
    of key: RecordKey, by rules: DeletionRules,
    finding find: (DeletionRules.ReferringField, RecordKey) throws -> [RecordID]
  ) throws {
    records = [key]
    var known: Set = [key]
    var next = 0
    while next < records.count {
      let place = records[next]
      next += 1
      for reference in rules.fields(to: place.type) {
        for id in try find(reference, place) {
          let holder = RecordKey(type: reference.type, id: id)
          if !reference.isCascade {
            emptied.append((holder, reference.field))
          } else if known.insert(holder).inserted {
            records.append(holder)
          }
        }
      }
    }
    emptied.removeAll { known.contains($0.key) }
  }

  /// The operations: first the references, then the records, each after those that it takes along.
  ///
  /// So a beginning of them leaves no record without the one that it refers to, except in a circle.
  var operations: [Operation] {
    emptied.map { Operation($0.key, .assign($0.field, .null)) }
      + records.reversed().map { Operation($0, .delete) }
  }
}
