import HearthCRDT
import HearthStore

/// The direction of an order.
public enum SortDirection: Sendable {
  /// The smallest first.
  case ascending
  /// The greatest first.
  case descending
}

/// A query for the records of one type in a zone.
///
/// SQLite answers it, on an index if there is one that fits. Deleted records are never in the
/// answer.
public struct Query<Owner: Record>: Sendable {
  private(set) var content = RecordQuery(Owner.schema.type)
  /// Why the query cannot be answered.
  private(set) var fault: String?

  init() {}

  /// Adds a condition to those that must hold.
  public func `where`(_ condition: Condition<Owner>) -> Query {
    var query = self
    switch condition.content {
    case .fault(let fault): query.fault = query.fault ?? fault
    case .condition(let added):
      query.content.condition = content.condition.map { $0.and(added) } ?? added
    }
    return query
  }

  /// Orders by a field; a second call decides between records that are equal in the first.
  ///
  /// The keys decide between records that are equal in all fields of the order.
  public func order(
    _ path: PartialKeyPath<Owner>, _ direction: SortDirection = .ascending
  ) -> Query {
    var query = self
    guard let column = Owner.schema.column(path) else {
      query.fault =
        query.fault
        ?? "a query orders by the property \(path), which is not a field of \(Owner.schema.name)"
      return query
    }
    query.content.order.append(
      RecordQuery.Order(column, isDescending: direction == .descending))
    return query
  }

  /// Returns at most some records, after leaving out others at the beginning.
  public func limit(_ count: Int, offset: Int = 0) -> Query {
    var query = self
    if count < 0 || offset < 0 { query.fault = query.fault ?? "a limit or offset is negative" }
    query.content.limit = count
    query.content.offset = offset
    return query
  }

  /// All records that meet the conditions, in order of key.
  func unordered() -> Query {
    var query = self
    query.content.order = []
    query.content.limit = nil
    query.content.offset = 0
    return query
  }

  /// The query for the store.
  ///
  /// - Throws: `invalid`, with what is wrong.
  func checked() throws -> RecordQuery {
    if let fault { throw HearthError(.invalid, fault) }
    return content
  }
}

extension Record {
  /// Every record of the type, in order of key.
  public static var all: Query<Self> { Query() }

  /// The records that meet a condition.
  public static func `where`(_ condition: Condition<Self>) -> Query<Self> {
    Query().where(condition)
  }

  /// The records whose fields with a text index contain every word of a text.
  public static func matching(_ text: String) -> Query<Self> { Query().where(.matches(text)) }
}

/// The records that a query found, in its order; and beside them those that could not be read.
public struct Records<Owner: Record>: RandomAccessCollection, Sendable {
  private let records: [Owner]
  /// The records whose stored content does not fit the program's type.
  public let unreadable: [UnreadableRecord]

  init(_ rows: [RecordRow]) {
    let (codec, prototype) = (RecordCodec<Owner>(), Owner())
    var records: [Owner] = []
    records.reserveCapacity(rows.count)
    var unreadable: [UnreadableRecord] = []
    for row in rows {
      switch codec.read(row, into: prototype) {
      case .record(let record): records.append(record)
      case .unreadable(let record): unreadable.append(record)
      }
    }
    self.records = records
    self.unreadable = unreadable
  }

  /// The first place.
  public var startIndex: Int { 0 }
  /// The place after the last record.
  public var endIndex: Int { records.count }
  /// The record at a place.
  public subscript(position: Int) -> Owner { records[position] }
}
