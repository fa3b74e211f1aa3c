import HearthCRDT
import HearthStore

/// A field with one value: concurrent values are kept, and the latest is shown.
public struct Field<Owner: Record>: Sendable {
  let description: FieldDescription<Owner>

  /// Declares a field.
  ///
  /// - Parameters:
  ///   - number: from 1 to 8191; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - options: what queries can do with it.
  ///   - name: the column's name in SQL; by default that of the property.
  public init<Value: FieldValue>(
    _ number: Int, _ path: any WritableKeyPath<Owner, Value> & Sendable, _ options: FieldOption...,
    named name: String? = nil
  ) {
    description = FieldDescription(number, .register, path, Set(options), name: name)
  }
}

/// A field with one value that also keeps the values it had before.
///
/// ``ZoneReader/versions(of:in:)`` lists them with their devices and times, and
/// ``ZoneReader/value(of:in:seenBy:)`` says which one the author of an event had seen: what a chore
/// paid when somebody did it, what an item cost when somebody ordered it.
public struct History<Owner: Record>: Sendable {
  let description: FieldDescription<Owner>

  /// Declares a field with its history.
  ///
  /// Every replica keeps every value for good, so it suits what changes now and then. A device may
  /// write 1,024 values to the history of one record, and 64 after it was restored from a copy; a
  /// further one is refused with `tooLarge`.
  ///
  /// - Parameters:
  ///   - number: from 1 to 8191; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - options: what queries can do with it.
  ///   - name: the column's name in SQL; by default that of the property.
  public init<Value: FieldValue>(
    _ number: Int, _ path: any WritableKeyPath<Owner, Value> & Sendable, _ options: FieldOption...,
    named name: String? = nil
  ) {
    description = FieldDescription(number, .history, path, Set(options), name: name)
  }
}

extension FieldDescription {
  /// A field with one value.
  fileprivate init<Value: FieldValue>(
    _ number: Int, _ kind: FieldKind, _ path: any WritableKeyPath<Owner, Value> & Sendable,
    _ options: Set<FieldOption>, name: String?
  ) {
    self.init(
      number, kind, path, Value.self, options, name: name,
      read: { .value($0[keyPath: path].stored.value) },
      write: { record, content in
        guard case .value(let stored) = content, let value = Value(stored: StoredValue(stored))
        else { return false }
        record[keyPath: path] = value
        return true
      })
  }
}

extension Field {
  /// Declares a field whose value is stored as a text of at most 64 KB.
  ///
  /// A value that cannot be read makes its record one of ``Records/unreadable``.
  ///
  /// - Parameters:
  ///   - number: from 1 to 8191; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - coding: how the value is stored.
  ///   - name: the column's name in SQL; by default that of the property.
  public init<Coded: Codable & Equatable & Sendable>(
    _ number: Int, _ path: any WritableKeyPath<Owner, Coded> & Sendable, _ coding: FieldCoding,
    named name: String? = nil
  ) {
    description = FieldDescription(
      number, .register, path, String.self, [], name: name,
      read: { .value(.text(try JSONCoding.text(of: $0[keyPath: path]))) },
      write: { record, content in
        guard case .value(.text(let text)) = content,
          let value: Coded = JSONCoding.value(of: text)
        else { return false }
        record[keyPath: path] = value
        return true
      })
  }
}

/// A field with the key of another record of the same zone; it is indexed.
public struct Reference<Owner: Record>: Sendable {
  let description: FieldDescription<Owner>

  /// Declares a reference that may be empty.
  ///
  /// - Parameters:
  ///   - number: from 1 to 8191; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - rule: what happens to the record when the one that it refers to is deleted.
  ///   - name: the column's name in SQL; by default that of the property.
  public init<Target: Record>(
    _ number: Int, _ path: any WritableKeyPath<Owner, Key<Target>?> & Sendable,
    onDelete rule: DeleteRule<Key<Target>?> = .noAction, named name: String? = nil
  ) {
    description = Field(number, path, .indexed, named: name).description
      .referring { ReferenceTarget(to: Target.self, rule.effect) }
  }

  /// Declares a reference.
  ///
  /// - Parameters:
  ///   - number: from 1 to 8191; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - rule: what happens to the record when the one that it refers to is deleted.
  ///   - name: the column's name in SQL; by default that of the property.
  public init<Target: Record>(
    _ number: Int, _ path: any WritableKeyPath<Owner, Key<Target>> & Sendable,
    onDelete rule: DeleteRule<Key<Target>> = .noAction, named name: String? = nil
  ) {
    description = Field(number, path, .indexed, named: name).description
      .referring { ReferenceTarget(to: Target.self, rule.effect) }
  }
}

extension ReferenceTarget {
  init<Target: Record>(to target: Target.Type, _ effect: DeletionEffect) {
    self.init(type: target.schema.type, typeName: target.schema.name, effect: effect)
  }
}

/// A number that changes by addition: what several people add at the same time all counts.
public struct Counter<Owner: Record>: Sendable {
  let description: FieldDescription<Owner>

  /// Declares a counter; its default is 0.
  ///
  /// - Parameters:
  ///   - number: from 1 to 8191; it never changes, and no other field of the type ever has it.
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
///
/// An element that does not fit the program's type is left out. It stays in the record for programs
/// that know it, whatever this one adds or removes.
public struct SetOf<Owner: Record>: Sendable {
  let description: FieldDescription<Owner>

  /// Declares a set; its default is empty.
  ///
  /// - Parameters:
  ///   - number: from 1 to 8191; it never changes, and no other field of the type ever has it.
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
        record[keyPath: path] = Set(stored.compactMap { Element(stored: StoredValue($0)) })
        return true
      })
  }
}

/// A text that several people edit at the same time: what each of them wrote and erased counts.
///
/// A change of the property is written as the characters that differ. What two people type at one
/// place does not mix, and what one erases another may still lengthen.
public struct Text<Owner: Record>: Sendable {
  let description: FieldDescription<Owner>

  /// Declares a text; its default is empty.
  ///
  /// - Parameters:
  ///   - number: from 1 to 8191; it never changes, and no other field of the type ever has it.
  ///   - path: the property.
  ///   - options: what queries can do with it.
  ///   - name: the column's name in SQL; by default that of the property.
  public init(
    _ number: Int, _ path: any WritableKeyPath<Owner, String> & Sendable, _ options: FieldOption...,
    named name: String? = nil
  ) {
    description = FieldDescription(
      number, .text, path, String.self, Set(options), name: name,
      read: { .value(.text($0[keyPath: path])) },
      write: { record, content in
        guard case .value(.text(let text)) = content else { return false }
        record[keyPath: path] = text
        return true
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
