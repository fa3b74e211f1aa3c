/// What happens to a record when the record that it refers to is deleted.
///
/// The rule applies where a program deletes, in the same transaction, to the records that the
/// program sees. A record that somebody else adds or changes at the same time stays, and its
/// reference leads to no record: ``ZoneReader/get(_:)`` returns nil for it.
public struct DeleteRule<Value: FieldValue>: Sendable {
  let effect: DeletionEffect

  /// The record stays as it is, and its reference leads to no record.
  public static var noAction: DeleteRule { DeleteRule(effect: .nothing) }
  /// The record is deleted too, and the same rules apply to what refers to it.
  public static var cascade: DeleteRule { DeleteRule(effect: .deletion) }
}

extension DeleteRule where Value: ExpressibleByNilLiteral {
  /// The reference becomes nil.
  public static var nullify: DeleteRule { DeleteRule(effect: .emptying) }
}

/// What is written to a record when the record that it refers to is deleted.
enum DeletionEffect: Sendable {
  case nothing, emptying, deletion
}
