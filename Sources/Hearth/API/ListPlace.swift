/// Where a record goes in an ordered list.
public enum ListPlace<Owner: Record>: Sendable {
  /// Before all others.
  case first
  /// After all others.
  case last
  /// Just before another record of the list.
  case before(Key<Owner>)
  /// Just after another record of the list.
  case after(Key<Owner>)
}
