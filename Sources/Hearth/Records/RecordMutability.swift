/// Whether records of a type may change after they are written.
///
/// The two types that conform are ``ChangingRecord`` and ``LastingRecord``; an application needs no
/// other.
public protocol RecordMutability {
  /// Whether a record is written once and never changes.
  static var isEvent: Bool { get }
}

/// The mutability of a ``Record``: it may be changed, deleted and restored.
public enum ChangingRecord: RecordMutability {
  /// False: the record may change.
  public static var isEvent: Bool { false }
}

/// The mutability of an ``Event``: it is written once.
public enum LastingRecord: RecordMutability {
  /// True: the record never changes.
  public static var isEvent: Bool { true }
}
