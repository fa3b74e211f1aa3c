/// The number of a record type; it never changes and is never reused.
///
/// Two bits of the number describe the type's behaviour. A node that does not know the type can
/// therefore merge its records correctly:
///
/// - bit 15: an *event* type. Its records are created once and never change.
/// - bit 14: events that keep their *cause*, the author's frontier, because a rule queries the
///   author's past.
public struct TypeID: RawRepresentable, Hashable, Comparable, Sendable {
  /// The number as encoded.
  public let rawValue: UInt16

  /// Takes the number unchanged.
  @inlinable
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// A type of mutable records; numbers from 1 to 16383.
  public static func record(_ number: UInt16) -> TypeID {
    precondition((1..<1 << 14).contains(number), "type number \(number) is not in 1...16383")
    return TypeID(rawValue: number)
  }

  /// A type of immutable events; numbers from 1 to 16383.
  public static func event(_ number: UInt16, keepsCause: Bool = false) -> TypeID {
    precondition((1..<1 << 14).contains(number), "type number \(number) is not in 1...16383")
    return TypeID(rawValue: number | 1 << 15 | (keepsCause ? 1 << 14 : 0))
  }

  /// Whether a type can have this number.
  var isValid: Bool { rawValue & (1 << 14 - 1) != 0 }

  /// Whether records of the type are created once and never change.
  @inlinable
  public var isEvent: Bool { rawValue & 1 << 15 != 0 }

  /// Whether events of the type keep their author's frontier.
  @inlinable
  public var keepsCause: Bool { rawValue & 1 << 14 != 0 }

  /// The order of the encoded numbers.
  @inlinable
  public static func < (left: TypeID, right: TypeID) -> Bool { left.rawValue < right.rawValue }
}

/// The rule by which concurrent writes of a field merge.
public enum FieldKind: UInt16, Sendable, CaseIterable {
  /// One value; concurrent values stay as siblings until a later write has seen them.
  case register = 0
  /// A register that also keeps every value it ever had, for rules that query an author's past.
  case history = 1
  /// A number that changes by addition; every addition counts once.
  case counter = 2
  /// A set in which an addition wins over a concurrent removal.
  case set = 3
  /// A text that several people edit at the same time, character by character.
  case text = 4

  /// The upper bits of the fields of this kind: texts share the first two with sets.
  package var mark: UInt16 { self == .text ? 7 << 13 : rawValue << 14 }
}

/// The number of a field within its type; its upper bits are the ``FieldKind``.
public struct FieldID: RawRepresentable, Hashable, Comparable, Sendable {
  /// The number as encoded.
  public let rawValue: UInt16

  /// Takes the number unchanged.
  @inlinable
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// Makes a field of a kind; numbers from 1 to 16383, of sets and texts from 1 to 8191, unique
  /// within the type across all kinds.
  public init(_ kind: FieldKind, _ number: UInt16) {
    let greatest = FieldID.numberMask(of: kind.mark)
    precondition(
      (1...greatest).contains(number), "field number \(number) is not in 1...\(greatest)")
    self.init(rawValue: kind.mark | number)
  }

  /// Whether a field can have this number.
  var isValid: Bool { number != 0 }

  /// The number within the type, without the bits of the kind.
  package var number: UInt16 { rawValue & FieldID.numberMask(of: rawValue) }

  /// The bits of the number: sets and texts have one bit less than the other kinds.
  private static func numberMask(of rawValue: UInt16) -> UInt16 {
    rawValue >= FieldKind.set.mark ? 1 << 13 - 1 : 1 << 14 - 1
  }

  /// The rule by which concurrent writes of the field merge.
  @inlinable
  public var kind: FieldKind {
    switch rawValue >> 13 {
    case 0, 1: .register
    case 2, 3: .history
    case 4, 5: .counter
    case 6: .set
    default: .text
    }
  }

  /// The order of the encoded numbers: registers, histories, counters, sets, texts.
  @inlinable
  public static func < (left: FieldID, right: FieldID) -> Bool { left.rawValue < right.rawValue }
}

/// The type of a field's content, for the typed column that displays it.
public enum FieldType: String, Sendable {
  /// A truth value.
  case bool
  /// A whole number.
  case int
  /// UTF-8 text.
  case text
  /// Bytes.
  case bytes
}

/// The declaration of one field.
public struct FieldSchema: Hashable, Sendable {
  /// Its number and kind.
  public let id: FieldID
  /// The column's name: lower-case letters, digits and underscores.
  public let name: String
  /// The type of the content; the elements' type for a set, always `int` for a counter.
  public let type: FieldType
  /// Whether the field has an index for queries.
  public let isIndexed: Bool

  /// Declares a field.
  public init(_ id: FieldID, _ name: String, _ type: FieldType, indexed: Bool = false) {
    self.id = id
    self.name = name
    self.type = type
    self.isIndexed = indexed
  }
}

/// The declaration of one record type.
///
/// A later addition of fields or types writes nothing.
public struct RecordSchema: Hashable, Sendable {
  /// Its number.
  public let id: TypeID
  /// The table's name: lower-case letters, digits and underscores.
  public let name: String
  /// Its fields, in display order; only the ids have meaning elsewhere.
  public let fields: [FieldSchema]

  /// Declares a type.
  public init(_ id: TypeID, _ name: String, _ fields: [FieldSchema]) {
    self.id = id
    self.name = name
    self.fields = fields
  }

  /// The declaration of a field by its name.
  public func field(named name: String) -> FieldSchema? {
    fields.first { $0.name == name }
  }

  /// The declaration of a field by its number.
  public func field(_ id: FieldID) -> FieldSchema? {
    fields.first { $0.id == id }
  }
}

/// A record's place in a zone: its type and its id.
public struct RecordKey: Hashable, Comparable, Sendable {
  /// The record's type.
  public let type: TypeID
  /// The record's id within the type.
  public let id: RecordID

  /// Names a record.
  @inlinable
  public init(type: TypeID, id: RecordID) {
    self.type = type
    self.id = id
  }

  /// The order of type, then of id.
  @inlinable
  public static func < (left: RecordKey, right: RecordKey) -> Bool {
    left.type != right.type ? left.type < right.type : left.id < right.id
  }
}
