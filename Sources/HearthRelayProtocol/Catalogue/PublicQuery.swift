import HearthCRDT
import HearthSync

/// A condition on the fields of a record.
package struct PublicCondition: Hashable, Sendable {
  /// The test of a field's value.
  ///
  /// If there are several values, one match is enough.
  package enum Test: Hashable, Sendable {
    /// The field has this value.
    case equals(PublicValue)
    /// The field is a number in a range, both ends included; nil means no bound.
    case range(least: Int64?, most: Int64?)
  }

  /// The field's name.
  package let field: String
  /// The test of the field's value.
  package let test: Test

  package init(_ field: String, _ test: Test) {
    self.field = field
    self.test = test
  }

  /// Whether a record meets the condition.
  package func accepts(_ record: PublicRecord) -> Bool {
    record.fields.contains { $0.name == field && accepts($0.value) }
  }

  private func accepts(_ value: PublicValue) -> Bool {
    switch (test, value) {
    case (.equals(let wanted), _): value == wanted
    case (.range(let least, let most), .int(let number)):
      number >= least ?? .min && number <= most ?? .max
    default: false
    }
  }

  func encode(into writer: inout ByteWriter) {
    writer.text(field)
    switch test {
    case .equals(let value):
      writer.byte(0)
      value.encode(into: &writer)
    case .range(let least, let most):
      writer.byte((least == nil ? 0 : 1) | (most == nil ? 0 : 2))
      if let least { writer.signed(least) }
      if let most { writer.signed(most) }
    }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    field = try PublicName.decode(
      from: &reader, "field name", atMost: PublicLimits.maximumFieldNameBytes, PublicName.isField)
    let start = reader.offset
    let kind = try reader.byte("condition")
    guard kind < 4 else { throw CodecError(.unknown, "condition", offset: start) }
    if kind == 0 {
      test = .equals(try PublicValue(from: &reader))
    } else {
      let least = kind & 1 != 0 ? try reader.signed("least") : nil
      let most = kind & 2 != 0 ? try reader.signed("most") : nil
      guard least ?? .min <= most ?? .max else {
        throw CodecError(.notCanonical, "range", offset: start)
      }
      test = .range(least: least, most: most)
    }
  }
}

/// A query to a catalogue: records of a type that meet every condition, in order of id.
package struct PublicQuery: Hashable, Sendable {
  /// The type of the records.
  package let type: String
  /// The conditions on the records.
  package let conditions: [PublicCondition]
  /// Only ids after this one are returned; empty for all.
  package let after: String
  /// The maximum number of records.
  package let limit: Int

  /// - Throws: `SyncError.malformed`, saying what is out of bounds.
  package init(
    type: String, conditions: [PublicCondition] = [], after: String = "",
    limit: Int = PublicLimits.maximumAnswerRecords
  ) throws {
    guard PublicName.isWord(type) else {
      throw SyncError(
        .malformed, "a type is 1 to \(PublicLimits.maximumNameBytes) of a-z, 0-9 and hyphens")
    }
    guard conditions.count <= PublicLimits.maximumConditions else {
      throw SyncError(
        .malformed, "a query has at most \(PublicLimits.maximumConditions) conditions")
    }
    for condition in conditions {
      guard PublicName.isField(condition.field) else {
        throw SyncError(.malformed, "\(condition.field) is not a field name")
      }
      switch condition.test {
      case .equals(.text(let text)) where text.utf8.count > PublicLimits.maximumFieldTextBytes:
        throw SyncError(
          .malformed,
          "\(condition.field) has at most \(PublicLimits.maximumFieldTextBytes) bytes")
      case .range(let least, let most) where least ?? .min > most ?? .max:
        throw SyncError(.malformed, "the range of \(condition.field) is empty")
      default: break
      }
    }
    guard after.isEmpty || PublicName.isID(after),
      (1...PublicLimits.maximumAnswerRecords).contains(limit)
    else { throw SyncError(.malformed, "a query begins after an id and asks for 1 to 100 records") }
    self.type = type
    self.conditions = conditions
    self.after = after
    self.limit = limit
  }

  /// Whether a record matches, regardless of its position.
  package func accepts(_ record: PublicRecord) -> Bool {
    record.path.type == type && conditions.allSatisfy { $0.accepts(record) }
  }

  /// Returns the same query, starting after the id at which an answer ended.
  package func continued(after id: String) throws -> PublicQuery {
    try PublicQuery(type: type, conditions: conditions, after: id, limit: limit)
  }

  func encode(into writer: inout ByteWriter) {
    writer.text(type)
    writer.text(after)
    writer.varint(limit)
    writer.varint(conditions.count)
    for condition in conditions { condition.encode(into: &writer) }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    type = try PublicName.word(from: &reader, "type")
    after = try PublicName.decode(from: &reader, "after", atMost: PublicLimits.maximumIDBytes) {
      $0.isEmpty || PublicName.isID($0)
    }
    limit = try RelayFields.limit(from: &reader, atMost: PublicLimits.maximumAnswerRecords)
    let number = try reader.count(
      "conditions", itemBytes: 4, atMost: PublicLimits.maximumConditions)
    var conditions: [PublicCondition] = []
    for _ in 0..<number { conditions.append(try PublicCondition(from: &reader)) }
    self.conditions = conditions
  }
}
