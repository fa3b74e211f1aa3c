import HearthCRDT

/// The references of an application whose records change when another one is deleted.
struct DeletionRules: Sendable {
  /// A field by which records refer to records of a type.
  struct ReferringField: Sendable {
    let type: TypeID
    let field: FieldID
    /// Whether the records are deleted too; otherwise their field becomes null.
    let isCascade: Bool
  }

  private var fields: [TypeID: [ReferringField]] = [:]

  /// Adds a field that refers to records of a type.
  mutating func add(_ field: ReferringField, to type: TypeID) {
    fields[type, default: []].append(field)
  }

  /// The fields that refer to records of a type, in the order of declaration.
  func fields(to type: TypeID) -> [ReferringField] { fields[type] ?? [] }
}
