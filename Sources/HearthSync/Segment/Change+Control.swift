import HearthCRDT
import HearthMembership

extension Change {
  /// The change's membership operations.
  var controlOperations: [ControlOperation] {
    operations.compactMap { operation in
      guard operation.key.type == ControlOperation.type, case .event(let fields) = operation.body,
        let body = fields.first(where: { $0.field == ControlOperation.bodyField })?.value.bytes
      else { return nil }
      return try? ControlOperation(decoding: body)
    }
  }

  /// The sign key of the recovery words that a recovery in the change says it shows.
  var namedWords: [UInt8]? {
    for operation in operations where operation.key.type == ControlOperation.type {
      guard case .event(let fields) = operation.body,
        let named = fields.first(where: { $0.field == ControlOperation.wordsField })
      else { continue }
      return named.value.bytes
    }
    return nil
  }
}
