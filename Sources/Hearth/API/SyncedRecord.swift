import HearthCRDT
import HearthSync

/// A type whose values are records that sync.
///
/// ```swift
/// struct Note: SyncedRecord {
///   static let title = FieldID(.register, 1)
///   static let schema = RecordSchema(.record(1), "note", [FieldSchema(title, "title", .text)])
///   var id = Note.newID()
///   var title = ""
/// }
/// ```
///
/// Numbers of types and fields never change and are never reused; names may change. Adding a field
/// or a type writes nothing, and programs that lack it keep and forward its values.
public protocol SyncedRecord: Sendable {
  /// The type's number, name and fields.
  static var schema: RecordSchema { get }
  /// The record's id.
  var id: Identifier { get }
  /// Makes a value from a record's fields.
  init(id: Identifier, fields: RecordFields) throws
  /// The register and history fields with their values; omitted fields are not written.
  var values: [(FieldID, Value)] { get }
}

extension SyncedRecord {
  /// A random id for a new record.
  public static func newID() -> Identifier { Node.randomIdentifier() }
}

/// The displayed fields of one record.
public struct RecordFields: Sendable {
  private let state: RecordState

  init(_ state: RecordState) {
    self.state = state
  }

  /// The displayed value of a field; null if it was never written.
  public subscript(field: FieldID) -> Value { state.shown(field) ?? .null }

  /// A text field's value; empty if it was never written.
  public func text(_ field: FieldID) -> String { self[field].text ?? "" }

  /// A number field's or counter's value; zero if it was never written.
  public func int(_ field: FieldID) -> Int64 { self[field].int ?? 0 }

  /// A boolean field's value; false if it was never written.
  public func bool(_ field: FieldID) -> Bool { self[field].bool ?? false }

  /// The elements of a set.
  public func elements(_ field: FieldID) -> [Value] { state.elements(field) }

  /// The concurrent values of a register that are not displayed: they lost a tie and are kept.
  public func others(_ field: FieldID) -> [Value] {
    guard case .register(let register) = state[field] else { return [] }
    return register.others.map { $0.value ?? .null }
  }
}
