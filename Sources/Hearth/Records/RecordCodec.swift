import HearthCRDT
import HearthStore

/// A record whose stored content does not fit the program's type.
///
/// A newer or faulty program wrote it. It takes part in sync as any other, and can be deleted.
public struct UnreadableRecord: Hashable, Sendable {
  /// The record's key, as text.
  public let id: String
  /// The name of the record's type.
  public let type: String
  /// The name of the first field that does not fit.
  public let field: String
}

/// Turns rows into values of a record type, and changed values into operations.
struct RecordCodec<Owner: Record> {
  private let schema = Owner.schema
  /// The edits that turn one version of a text into another.
  private let editing: TextEditing

  typealias TextEditing = (
    _ field: FieldID, _ of: RecordKey, _ from: String, _ to: String
  ) throws -> [TextEdit]

  /// - Parameter editing: What a transaction writes for a changed text; a reader writes none.
  init(editing: @escaping TextEditing = { _, _, _, _ in [] }) {
    self.editing = editing
  }

  /// The outcome of reading a row.
  enum Reading {
    case record(Owner)
    case unreadable(UnreadableRecord)
  }

  /// Reads a row into a record with the defaults of its fields.
  func read(_ row: RecordRow, into prototype: Owner) -> Reading {
    let reading = readStored(row, into: prototype)
    guard !schema.lenses.isEmpty, case .record(let record) = reading else { return reading }
    return .record(schema.adopted(record, from: row))
  }

  /// Reads a row without its lenses.
  private func readStored(_ row: RecordRow, into prototype: Owner) -> Reading {
    var record = prototype
    record.id = Key(row.id)
    for (field, content) in zip(schema.fields, row.fields) {
      if content == .value(.null), !field.hasNothing { continue }
      guard field.write(&record, content) else {
        return .unreadable(
          UnreadableRecord(id: row.id.hex, type: schema.name, field: field.name))
      }
    }
    return .record(record)
  }

  /// The operations that make a record from nothing.
  ///
  /// - Throws: `invalid` or `tooLarge` for a value that cannot be coded.
  func creation(of record: Owner) throws -> [Operation] {
    let key = RecordKey(type: schema.type, id: record.id.identifier)
    if Owner.Mutability.isEvent { return [Operation(key, .event(try fields(of: record)))] }
    var bodies: [Operation.Body] = [.insert]
    for field in schema.fields {
      switch try field.read(record) {
      case .value(.null): continue
      case .value(.int(let number)) where field.kind == .counter:
        if number != 0 { bodies.append(.count(field.id, number)) }
      case .value(.text(let text)) where field.kind == .text:
        bodies += try editing(field.id, key, "", text).map { .edit(field.id, $0) }
      case .value(let value): bodies.append(.assign(field.id, value))
      case .elements(let elements):
        bodies += RecordCodec.sorted(elements).map { .include(field.id, $0) }
      }
    }
    return bodies.map { Operation(key, $0) }
  }

  /// The fields of an event in order of number.
  private func fields(of record: Owner) throws -> [EventField] {
    var fields: [EventField] = []
    for field in schema.fields {
      if case .value(let value) = try field.read(record), value != .null {
        fields.append(EventField(field.id, value))
      }
    }
    return fields.sorted { $0.field < $1.field }
  }

  /// The operations that turn one value of a record into another: only what differs.
  ///
  /// With the first difference in a record that an earlier version wrote last, all fields of its
  /// lenses are written.
  ///
  /// - Parameter row: The record's stored fields.
  /// - Throws: `invalid` or `tooLarge` for a value that cannot be coded.
  func difference(
    from old: Owner, to new: Owner, in row: RecordRow
  ) throws -> [Operation] {
    guard !schema.lenses.isEmpty, case .record(let stored) = readStored(row, into: Owner()) else {
      return try difference(from: old, to: new) { _ in nil }
    }
    guard try !difference(from: old, to: new, stored: { _ in nil }).isEmpty else { return [] }
    let shown = schema.adopted(stored, from: row)
    return try difference(from: old, to: schema.kept(new)) { field in
      let content = try field.read(stored)
      return try field.read(shown) == content ? nil : content
    }
  }

  /// The operations that write what lenses show of a record; none if it is stored already.
  func adoption(of row: RecordRow) throws -> [Operation] {
    guard case .record(let stored) = readStored(row, into: Owner()) else { return [] }
    let shown = schema.adopted(stored, from: row)
    guard try !difference(from: stored, to: shown, stored: { _ in nil }).isEmpty else { return [] }
    return try difference(from: stored, to: schema.kept(shown)) { _ in nil }
  }

  /// - Parameter stored: What is stored of a field that is shown by a lens; nil for all others.
  private func difference(
    from old: Owner, to new: Owner,
    stored: (FieldDescription<Owner>) throws -> ColumnContent?
  ) throws -> [Operation] {
    let key = RecordKey(type: schema.type, id: new.id.identifier)
    var bodies: [Operation.Body] = []
    for field in schema.fields {
      switch (try stored(field) ?? field.read(old), try field.read(new)) {
      case (let before, let after) where before == after: continue
      case (.value(.int(let before)), .value(.int(let after))) where field.kind == .counter:
        bodies.append(.count(field.id, after &- before))
      case (.value(.text(let before)), .value(.text(let after))) where field.kind == .text:
        bodies += try editing(field.id, key, before, after).map { .edit(field.id, $0) }
      case (_, .value(let after)): bodies.append(.assign(field.id, after))
      case (.elements(let before), .elements(let after)):
        let (gone, added) = RecordCodec.changes(from: before, to: after)
        bodies += RecordCodec.sorted(gone).map { .exclude(field.id, $0) }
        bodies += RecordCodec.sorted(added).map { .include(field.id, $0) }
      case (.value, .elements(let after)):
        bodies += RecordCodec.sorted(after).map { .include(field.id, $0) }
      }
    }
    return bodies.map { Operation(key, $0) }
  }

  private static func changes(
    from before: [Value], to after: [Value]
  ) -> (gone: [Value], added: [Value]) {
    let (old, new) = (Set(before.map(StoredValue.init)), Set(after.map(StoredValue.init)))
    return (old.subtracting(new).map(\.value), new.subtracting(old).map(\.value))
  }

  /// Elements in a fixed order: a Swift set has none.
  private static func sorted(_ elements: [Value]) -> [Value] {
    elements.map { (ElementOrder($0), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
  }
}

/// A place for each element of a set, by its kind and content.
private struct ElementOrder: Comparable {
  private let rank: Int
  private let number: Int64
  private let bytes: [UInt8]

  init(_ value: Value) {
    switch value {
    case .null: (rank, number, bytes) = (0, 0, [])
    case .bool(let truth): (rank, number, bytes) = (1, truth ? 1 : 0, [])
    case .int(let content): (rank, number, bytes) = (2, content, [])
    case .text(let text): (rank, number, bytes) = (3, 0, Array(text.utf8))
    case .bytes(let content): (rank, number, bytes) = (4, 0, content)
    }
  }

  static func < (left: ElementOrder, right: ElementOrder) -> Bool {
    if left.rank != right.rank { return left.rank < right.rank }
    if left.number != right.number { return left.number < right.number }
    return left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}
