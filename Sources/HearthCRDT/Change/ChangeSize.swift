// What decoded changes take in memory. Simulations compare it with the received bytes.

extension Change {
  /// The bytes of the decoded change in memory, without what an allocator adds.
  ///
  /// O(number of operations).
  package var heldBytes: Int {
    var bytes = MemoryLayout<Change>.stride + previousHash.count
    bytes += (seen.heads.count + controlSeen.heads.count) * MemoryLayout<CitedHead>.stride
    for operation in operations { bytes += operation.heldBytes }
    return bytes
  }
}

extension Operation {
  fileprivate var heldBytes: Int {
    let content =
      switch body {
      case .insert, .delete, .count: 0
      case .assign(_, let value), .include(_, let value), .exclude(_, let value): value.textBytes
      case .edit(_, .insert(let text, _)): text.utf8.count
      case .edit(_, .erase): 0
      case .event(let fields):
        fields.reduce(0) { $0 + MemoryLayout<EventField>.stride + $1.value.textBytes }
      }
    return MemoryLayout<Operation>.stride + content
  }
}

extension Value {
  /// The bytes of a text or byte string, which are apart from the value.
  fileprivate var textBytes: Int {
    switch self {
    case .null, .bool, .int: 0
    case .text(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    }
  }
}
