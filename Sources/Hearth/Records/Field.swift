import HearthCRDT
import HearthStore

/// A service that a field offers to queries.
public enum FieldOption: Hashable, Sendable {
  /// Queries by the field, and in its order, read only their own records.
  case indexed
  /// The words of the text can be searched with ``Condition/matches(_:)``.
  case fullText
}

/// A field with one value: concurrent values are kept, and the latest is shown.
public struct Field<Owner: Record>: Sendable {
  let description: FieldDescription<Owner>

  /// Declares a field.
  ///
  /// - Parameters:
  ///   - number: from 1 to 16383; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - options: what queries can do with it.
  ///   - name: the column's name in SQL; by default that of the property.
  public init<Value: FieldValue>(
    _ number: Int, _ path: any WritableKeyPath<Owner, Value> & Sendable, _ options: FieldOption...,
    named name: String? = nil
  ) {
    description = FieldDescription(
      number, .register, path, Value.self, Set(options), name: name,
      read: { .value($0[keyPath: path].stored.value) },
      write: { record, content in
        guard case .value(let stored) = content, let value = Value(stored: StoredValue(stored))
        else { return false }
        record[keyPath: path] = value
        return true
      })
  }
}

/// A field with the key of another record; it is indexed.
public struct Reference<Owner: Record>: Sendable {
  let description: FieldDescription<Owner>

  /// Declares a reference that may be empty.
  ///
  /// - Parameters:
  ///   - number: from 1 to 16383; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - name: the column's name in SQL; by default that of the property.
  public init<Target: Record>(
    _ number: Int, _ path: any WritableKeyPath<Owner, Key<Target>?> & Sendable,
    named name: String? = nil
  ) {
    description = Field(number, path, .indexed, named: name).description
  }

  /// Declares a reference.
  ///
  /// - Parameters:
  ///   - number: from 1 to 16383; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - name: the column's name in SQL; by default that of the property.
  public init<Target: Record>(
    _ number: Int, _ path: any WritableKeyPath<Owner, Key<Target>> & Sendable,
    named name: String? = nil
  ) {
    description = Field(number, path, .indexed, named: name).description
  }
}

/// A number that changes by addition: what several people add at the same time all counts.
public struct Counter<Owner: Record>: Sendable {
  let description: FieldDescription<Owner>

  /// Declares a counter; its default is 0.
  ///
  /// - Parameters:
  ///   - number: from 1 to 16383; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - options: what queries can do with it.
  ///   - name: the column's name in SQL; by default that of the property.
  public init(
    _ number: Int, _ path: any WritableKeyPath<Owner, Int64> & Sendable, _ options: FieldOption...,
    named name: String? = nil
  ) {
    description = FieldDescription(
      number, .counter, path, Int64.self, Set(options), name: name,
      read: { .value(.int($0[keyPath: path])) },
      write: { record, content in
        guard case .value(.int(let number)) = content else { return false }
        record[keyPath: path] = number
        return true
      })
  }
}

/// A set: of an addition and a removal at the same time, the addition wins.
public struct SetOf<Owner: Record>: Sendable {
  let description: FieldDescription<Owner>

  /// Declares a set; its default is empty.
  ///
  /// - Parameters:
  ///   - number: from 1 to 16383; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - name: the column's name in SQL; by default that of the property.
  public init<Element: FieldValue & Hashable>(
    _ number: Int, _ path: any WritableKeyPath<Owner, Set<Element>> & Sendable,
    named name: String? = nil
  ) {
    description = FieldDescription(
      number, .set, path, Element.self, [], name: name,
      read: { .elements($0[keyPath: path].map(\.stored.value)) },
      write: { record, content in
        guard case .elements(let stored) = content else { return false }
        let elements = stored.compactMap { Element(stored: StoredValue($0)) }
        record[keyPath: path] = Set(elements)
        return elements.count == stored.count
      })
  }
}

/// An index over several fields: for queries that fix the first ones and order by the next.
public struct Index<Owner: Record>: Sendable {
  let paths: [any PartialKeyPath<Owner> & Sendable]

  /// Declares an index.
  public init(_ paths: (any PartialKeyPath<Owner> & Sendable)...) {
    self.paths = paths
  }
}

/// What a type's schema says about one field.
struct FieldDescription<Owner: Record>: Sendable {
  let number: Int
  let kind: FieldKind
  let path: any PartialKeyPath<Owner> & Sendable
  let name: String
  let type: StoredValue.Kind
  let hasNothing: Bool
  let options: Set<FieldOption>
  let read: @Sendable (Owner) -> ColumnContent
  /// Sets the property; false if the content does not fit.
  let write: @Sendable (inout Owner, ColumnContent) -> Bool

  init<Value: FieldValue>(
    _ number: Int, _ kind: FieldKind, _ path: any PartialKeyPath<Owner> & Sendable,
    _ type: Value.Type, _ options: Set<FieldOption>, name: String?,
    read: @escaping @Sendable (Owner) -> ColumnContent,
    write: @escaping @Sendable (inout Owner, ColumnContent) -> Bool
  ) {
    self.number = number
    self.kind = kind
    self.path = path
    self.type = type.storedKind
    hasNothing = type.hasNothing
    self.options = options
    self.name = name ?? ColumnName.derived(fromPath: "\(path)", number: number)
    self.read = read
    self.write = write
  }

  /// The number with its kind; a number out of range is refused when the schema is used.
  var id: FieldID {
    FieldID(rawValue: kind.rawValue << 14 | UInt16(truncatingIfNeeded: number) & 0x3fff)
  }
}

/// The name of a property's column.
enum ColumnName {
  /// Derives a name from the text of a key path, such as `\Item.dueDate`.
  static func derived(fromPath path: String, number: Int) -> String {
    let property = path.split(separator: ".").last.map(String.init) ?? ""
    let isPlain = property.utf8.allSatisfy {
      ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7a) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x5f
    }
    guard isPlain, property.first?.isLetter ?? false else { return "field_\(number)" }
    var name = ""
    for character in property {
      if character.isUppercase, !name.isEmpty { name += "_" }
      name += character.lowercased()
    }
    return ["zone", "id", "alive", "meta"].contains(name) ? name + "_" : name
  }
}
