extension ChangeBatch {
  /// The base weight of a change: about the work of eight operations, for its hash and its causes.
  package static let changeWeight = 8

  /// The weight of an operation.
  ///
  /// Three bytes of ordinary edits cost as much to read and apply.
  package static let operationWeight = 3

  /// The weight of an operation in a body of a given version.
  static func operationWeight(inVersion version: UInt8) -> Int {
    version < 2 ? 1 : operationWeight
  }

  /// The work of reading and applying changes, which the sealing author declares.
  ///
  /// It is 8 for each change, 3 for each operation, and 1 for each event field and each author
  /// whose news a change had seen.
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
