import HearthCRDT
import HearthSync

/// Collects the operations of one transaction.
///
/// The caller provides what the pure rules lack: the zone, the author's next dot, and randomness
/// for the ids of new records.
package struct OperationBuilder {
  /// The zone of the transaction.
  package let zone: ZoneID
  /// The dot the change will have.
  package let dot: Dot
  private let random: () -> Identifier
  /// The operations so far, in order.
  package private(set) var operations: [Operation] = []

  /// Starts a transaction.
  ///
  /// - Parameter random: returns a fresh unguessable id at each call.
  package init(zone: ZoneID, dot: Dot, random: @escaping () -> Identifier) {
    self.zone = zone
    self.dot = dot
    self.random = random
  }

  /// A fresh id for a record.
  package mutating func newID() -> RecordID { random() }

  package mutating func append(_ key: RecordKey, _ body: Operation.Body) {
    operations.append(Operation(key, body))
  }

  /// Appends an event with sorted fields; its id follows from zone, dot and place.
  package mutating func event(_ type: TypeID, _ fields: [EventField]) -> RecordID {
    let id = eventID(in: zone, type: type, dot: dot, index: operations.count)
    let ordered = fields.filter { $0.value != .null }.sorted { $0.field < $1.field }
    operations.append(Operation(RecordKey(type: type, id: id), .event(ordered)))
    return id
  }
}

extension Value {
  static func milliseconds(_ milliseconds: UInt64) -> Value {
    .int(Int64(min(milliseconds, HybridTime.maximumMilliseconds)))
  }

  /// A minute of the day.
  static func time(_ time: CivilTime) -> Value { .int(Int64(time.minuteOfDay)) }
}
