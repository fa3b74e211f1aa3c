import HearthCRDT
import HearthCrypto
import HearthMembership

/// Checks of local operations before they are written.
enum WriteCheck {
  /// Rejects operations that no replica would apply.
  static func validate(_ operations: [Operation], in zone: ZoneState, by engine: Engine<some Store>)
    throws
  {
    guard !operations.isEmpty else {
      throw SyncError(.invalidOperation, "a transaction without operations changes nothing")
    }
    guard operations.count <= Limits.maximumOperations else {
      throw SyncError(
        .tooLarge,
        "this transaction has \(operations.count) operations, but at most "
          + "\(Limits.maximumOperations) are allowed: split it")
    }
    if zone.head(of: engine.author).sequence == 0 { try requirePlace(in: zone, by: engine) }
    let next = try engine.nextDot(in: zone.id)
    var deleted: Set<RecordKey> = []
    for (index, operation) in operations.enumerated() {
      try validate(operation, at: index, dot: next, in: zone.id)
      if case .edit(_, let edit) = operation.body, let named = edit.named, named.dot != next,
        !zone.frontier.covers(named.dot), !zone.head(of: engine.author).past.covers(named.dot)
      {
        throw SyncError(
          .invalidOperation, "operation \(index) names a character that is not in the text")
      }
      if case .delete = operation.body {
        deleted.insert(operation.key)
      } else if !deleted.isEmpty, deleted.contains(operation.key) {
        throw SyncError(
          .invalidOperation, "a record cannot be written after its deletion in one transaction")
      }
    }
  }

  /// Requires that the zone admits this incarnation.
  private static func requirePlace(in zone: ZoneState, by engine: Engine<some Store>) throws {
    let room = try Introductions.room(of: zone, in: engine)
    guard !room.admits(engine.author, in: zone) else { return }
    throw SyncError(
      .tooLarge,
      "your devices have started \(room.lives(of: engine.device, in: zone)) incarnations in "
        + "\(zone.name), or the zone has too many authors: ask to be removed, make a new node "
        + "with `hearth init` and join again")
  }

  private static func validate(
    _ operation: Operation, at index: Int, dot: Dot, in zone: ZoneID
  ) throws {
    guard operation.isWellFormed else {
      throw SyncError(
        .invalidOperation, "operation \(index) does not fit its record type or its field's kind")
    }
    switch operation.body {
    case .event(let fields):
      guard operation.key.id == eventID(in: zone, type: operation.key.type, dot: dot, index: index)
      else {
        throw SyncError(.invalidOperation, "operation \(index): an event has the wrong id")
      }
      guard fields.count <= Limits.maximumEventFields else {
        throw SyncError(.tooLarge, "operation \(index): an event has too many fields")
      }
      guard zip(fields, fields.dropFirst()).allSatisfy({ $0.field < $1.field }) else {
        throw SyncError(
          .invalidOperation, "operation \(index): the fields of an event are not in order of number"
        )
      }
      for field in fields { try validate(field.value) }
    case .assign(_, let value), .include(_, let value), .exclude(_, let value):
      try validate(value)
    case .edit(_, let edit): try validate(edit)
    case .insert, .count, .delete: break
    }
  }

  private static func validate(_ edit: TextEdit) throws {
    if case .insert(let text, _) = edit { try validate(.text(text)) }
    let numbers = [edit.named?.offset, edit.erased].compactMap { $0 }
    guard numbers.allSatisfy({ (0...Limits.maximumTextCharacters).contains($0) }) else {
      throw SyncError(
        .invalidOperation,
        "an edit counts beyond \(Limits.maximumTextCharacters), the most characters of a text")
    }
  }

  private static func validate(_ value: Value) throws {
    let count =
      switch value {
      case .text(let text): text.utf8.count
      case .bytes(let bytes): bytes.count
      case .null, .bool, .int: 0
      }
    guard count <= Limits.maximumValueBytes else {
      throw SyncError(
        .tooLarge,
        "a value has \(count) bytes, but at most \(Limits.maximumValueBytes) are allowed")
    }
  }
}
