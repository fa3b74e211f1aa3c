extension ChangeBatch {
  /// What a change weighs beside what is in it: about the work of eight operations, for its hash
  /// and what its author had seen.
  package static let changeWeight = 8

  /// What an operation weighs: so many bytes of ordinary edits cost as much to read and apply.
  package static let operationWeight = 3

  /// What an operation weighs in a body of a version.
  static func operationWeight(inVersion version: UInt8) -> Int {
    version < 2 ? 1 : operationWeight
  }

  /// The work of reading and applying changes, declared by who seals them: 8 for each change, 3 for
  /// each operation, 1 for each event field and each author whose news a change had seen.
  ///
  /// O(number of operations).
  package static func weight(of changes: [Change]) -> Int {
    changes.reduce(0) { sum, change in
      var weight = changeWeight + operationWeight * change.operations.count
      weight += change.seen.heads.count + change.controlSeen.heads.count
      for case .event(let fields) in change.operations.lazy.map(\.body) { weight += fields.count }
      return sum + weight
    }
  }
}
