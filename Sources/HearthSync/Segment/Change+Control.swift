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
}
