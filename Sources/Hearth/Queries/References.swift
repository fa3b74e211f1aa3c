import HearthCRDT
import HearthStore

extension Condition {
  /// The field refers to a record that a query finds.
  ///
  /// ```swift
  /// Item.where(.refers(\.list, to: ShoppingList.where(\.name == "Weekly")))
  /// ```
  ///
  /// It does not hold for an empty reference, nor for one to a record that was deleted.
  public static func refers<Target: Record>(
    _ path: KeyPath<Owner, Key<Target>?>, to query: Query<Target>
  ) -> Condition {
    isAmong(path, \Target.id, of: query)
  }

  /// The field refers to a record that a query finds.
  ///
  /// It does not hold for a reference to a record that was deleted.
  public static func refers<Target: Record>(
    _ path: KeyPath<Owner, Key<Target>>, to query: Query<Target>
  ) -> Condition {
    isAmong(path, \Target.id, of: query)
  }

  /// A record that a query finds refers to this one.
  ///
  /// ```swift
  /// ShoppingList.where(.isReferred(by: \.list, of: Item.where(\.isBought == false)))
  /// ```
  public static func isReferred<Source: Record>(
    by path: KeyPath<Source, Key<Owner>?>, of query: Query<Source>
  ) -> Condition {
    isAmong(\Owner.id, path, of: query)
  }

  /// A record that a query finds refers to this one.
  public static func isReferred<Source: Record>(
    by path: KeyPath<Source, Key<Owner>>, of query: Query<Source>
  ) -> Condition {
    isAmong(\Owner.id, path, of: query)
  }

  /// The column's value is one that a column has in a query's records.
  private static func isAmong<Other: Record>(
    _ path: PartialKeyPath<Owner>, _ other: PartialKeyPath<Other>, of query: Query<Other>
  ) -> Condition {
    if let fault = query.fault { return Condition(.fault(fault)) }
    guard let column = Other.schema.column(other) else {
      return Condition(
        .fault(
          "a query names the property \(other), which is not a field of \(Other.schema.name)"))
    }
    return Condition(path) { .isAmong($0, column, query.content) }
  }
}

/// Records, each with the record that it refers to.
public struct JoinedRecords<Owner: Record, Target: Record>: RandomAccessCollection, Sendable {
  /// A record and the one that it refers to.
  public struct Element: Sendable {
    /// The record.
    public let record: Owner
    /// The record that it refers to.
    ///
    /// Nil if the reference is empty, if that record was deleted or has not arrived yet, or if it
    /// is one of ``JoinedRecords/unreadableTargets``.
    public let target: Target?
  }

  private let elements: [Element]
  /// The records whose stored content does not fit the program's type.
  public let unreadable: [UnreadableRecord]
  /// The records referred to whose stored content does not fit the program's type.
  public let unreadableTargets: [UnreadableRecord]

  init(
    _ records: Records<Owner>, _ targets: Records<Target>,
    by reference: (Owner) -> Key<Target>?
  ) {
    let byKey = Dictionary(targets.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    elements = records.map { record in
      Element(record: record, target: reference(record).flatMap { byKey[$0] })
    }
    unreadable = records.unreadable
    unreadableTargets = targets.unreadable
  }

  /// The first place.
  public var startIndex: Int { 0 }
  /// The place after the last record.
  public var endIndex: Int { elements.count }
  /// The record at a place, with the one that it refers to.
  public subscript(position: Int) -> Element { elements[position] }
}

extension JoinedRecords.Element: Equatable where Owner: Equatable, Target: Equatable {}
