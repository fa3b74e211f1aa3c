/// One step of a change: its effect on one record.
package struct Operation: Equatable, Sendable {
  /// The record's type and id.
  package var key: RecordKey
  /// The action on the record.
  package var body: Body

  /// The action of an operation.
  package enum Body: Equatable, Sendable {
    /// Marks the record as written, without setting a field.
    case insert
    /// Sets a register or history field.
    ///
    /// The new value replaces every value that the author has seen.
    case assign(FieldID, Value)
    /// Adds to a counter.
    case count(FieldID, Int64)
    /// Adds an element to a set.
    case include(FieldID, Value)
    /// Removes from a set the additions of an element that the author has seen.
    case exclude(FieldID, Value)
    /// Edits a text.
    case edit(FieldID, TextEdit)
    /// Deletes the record, as far as the author has seen its writes.
    case delete
    /// Creates an event with all its fields, in order of field.
    case event([EventField])
  }

  package init(_ key: RecordKey, _ body: Body) {
    self.key = key
    self.body = body
  }

  /// Whether the operation fits the record's type and the field's kind.
  ///
  /// An operation that does not fit is void on every node: it is decoded, hashed and kept, but
  /// changes nothing.
  package var isWellFormed: Bool {
    guard key.type.isValid else { return false }
    if case .event(let fields) = body {
      return key.type.isEvent
        && fields.allSatisfy { $0.field.isValid && $0.field.kind == .register }
    }
    guard !key.type.isEvent else { return false }
    return switch body {
    case .event: false
    case .insert, .delete: true
    case .assign(let field, _):
      field.isValid && (field.kind == .register || field.kind == .history)
    case .count(let field, _): field.isValid && field.kind == .counter
    case .include(let field, _), .exclude(let field, _): field.isValid && field.kind == .set
    case .edit(let field, let edit):
      field.isValid && field.kind == .text && !edit.isEmpty
    }
  }
}

/// One field of an event.
package struct EventField: Equatable, Sendable {
  package let field: FieldID
  package let value: Value

  package init(_ field: FieldID, _ value: Value) {
    self.field = field
    self.value = value
  }
}
