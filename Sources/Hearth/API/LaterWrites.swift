import HearthCRDT

/// What follows from a transaction's requests, and may come in further changes of its author.
///
/// These are the records that go with a deleted one, the references that become nil, and the
/// positions that make room in a list. Other members decide how many they are, so one change may be
/// too small for them. They come after what the transaction writes itself, in their order: whoever
/// has received only some of the changes has a beginning of them.
struct LaterWrites {
  private struct Place: Hashable {
    let key: RecordKey
    let field: FieldID
  }

  private var operations: [Operation] = []
  /// The index of the last operation that assigns a field.
  private var assignments: [Place: Int] = [:]
  /// The indices of operations whose value was replaced.
  private var replaced: Set<Int> = []

  /// The most of these operations in one change, if they need several: fewer than a change can
  /// hold, so that no device takes long to apply one.
  private static let partSize = 2_500

  var count: Int { operations.count }

  /// Adds operations.
  mutating func append(_ added: [Operation]) {
    for operation in added {
      drop(whatIsReplacedBy: operation)
      if case .assign(let field, _) = operation.body {
        assignments[Place(key: operation.key, field: field)] = operations.count
      }
      operations.append(operation)
    }
  }

  /// Drops the value of a field to which the transaction itself assigns another one afterwards.
  mutating func drop(whatIsReplacedBy operation: Operation) {
    guard !assignments.isEmpty, case .assign(let field, _) = operation.body,
      let index = assignments.removeValue(forKey: Place(key: operation.key, field: field))
    else { return }
    replaced.insert(index)
  }

  /// The operations that are still to be written, without some at the beginning.
  func remaining(from start: Int = 0) -> [Operation] {
    operations.indices.dropFirst(start).filter { !replaced.contains($0) }.map { operations[$0] }
  }

  /// The operations of each change, if all of them are too many for one.
  ///
  /// - Parameters:
  ///   - own: what the transaction writes itself.
  ///   - later: what may follow.
  static func changes(_ own: [Operation], _ later: [Operation]) -> [[Operation]] {
    let parts = stride(from: 0, to: later.count, by: partSize).map {
      Array(later[$0..<min($0 + partSize, later.count)])
    }
    return own.isEmpty ? parts : [own] + parts
  }
}
