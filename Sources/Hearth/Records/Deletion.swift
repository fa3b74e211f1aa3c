import HearthCRDT

/// What one deletion does: the records that it deletes, and the references that it empties.
struct Deletion {
  /// A record, and those among its referrers that are still to be looked at.
  private struct Step {
    let record: RecordKey
    var waiting: [RecordKey]
  }

  /// The records in the order of their deletion: the requested one last, each one after all those
  /// that refer to it.
  ///
  /// A record may refer to several others, so the order is not that in which they are found. In a
  /// circle of references there is none, and one of its records goes before its referrer.
  private(set) var records: [RecordKey] = []
  private var emptied: [(key: RecordKey, field: FieldID)] = []

  /// Finds what a deletion does.
  ///
  /// It goes depth first, with a list of steps in place of recursion, as chains of references may
  /// be long.
  ///
  /// - Parameter find: returns the records that refer to a record by a reference.
  init(
    of key: RecordKey, by rules: DeletionRules,
    finding find: (DeletionRules.ReferringField, RecordKey) throws -> [RecordID]
  ) throws {
    var known: Set = [key]
    var steps = [Step(record: key, waiting: try referrers(of: key, by: rules, finding: find))]
    while let last = steps.indices.last {
      guard let next = steps[last].waiting.popLast() else {
        records.append(steps.removeLast().record)
        continue
      }
      guard known.insert(next).inserted else { continue }
      steps.append(Step(record: next, waiting: try referrers(of: next, by: rules, finding: find)))
    }
    emptied.removeAll { known.contains($0.key) }
  }

  /// Returns the records that go with a record, and notes those whose reference becomes empty.
  private mutating func referrers(
    of record: RecordKey, by rules: DeletionRules,
    finding find: (DeletionRules.ReferringField, RecordKey) throws -> [RecordID]
  ) throws -> [RecordKey] {
    var companions: [RecordKey] = []
    for reference in rules.fields(to: record.type) {
      let found = try find(reference, record).map { RecordKey(type: reference.type, id: $0) }
      if reference.isCascade {
        companions += found
      } else {
        emptied += found.map { (key: $0, field: reference.field) }
      }
    }
    return companions
  }

  /// The operations: first the references, then the records.
  ///
  /// So a beginning of them leaves no record without the one that it refers to, except in a circle.
  var operations: [Operation] {
    emptied.map { Operation($0.key, .assign($0.field, .null)) }
      + records.map { Operation($0, .delete) }
  }
}
