import HearthCRDT

/// A column of a record type's table, as a query names it.
package enum QueryColumn: Hashable, Sendable {
  /// The record's id.
  case id
  /// The shown value of a field.
  case field(FieldID)
}

/// The comparison of a column with a value.
package enum QueryComparison: String, Sendable {
  case equal = "IS"
  case unequal = "IS NOT"
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="
}

/// A condition on the shown values of a record.
package indirect enum QueryCondition: Equatable, Sendable {
  /// Compares a column with a value; with null, only equality and inequality can hold.
  case compare(QueryColumn, QueryComparison, Value)
  /// The column has one of the values.
  case isOneOf(QueryColumn, [Value])
  /// The text column begins with a text.
  case hasPrefix(QueryColumn, String)
  /// The set contains an element.
  case contains(FieldID, Value)
  /// The fields with a text index contain words that begin with each word of a text.
  case matches(String)
  /// The column has a value that a column of some records of the zone has.
  case isAmong(QueryColumn, QueryColumn, RecordQuery)
  /// All conditions hold.
  case all([QueryCondition])
  /// At least one condition holds.
  case any([QueryCondition])
  /// The condition does not hold.
  case not(QueryCondition)
}

extension QueryCondition {
  /// The fields on which the condition depends.
  ///
  /// - Parameter texts: the fields with a text index.
  package func fields(texts: [FieldID]) -> Set<FieldID> {
    switch self {
    case .compare(.field(let field), _, _), .isOneOf(.field(let field), _),
      .hasPrefix(.field(let field), _), .contains(let field, _),
      .isAmong(.field(let field), _, _):
      [field]
    case .compare(.id, _, _), .isOneOf(.id, _), .hasPrefix(.id, _), .isAmong(.id, _, _): []
    case .matches: Set(texts)
    case .all(let parts), .any(let parts):
      parts.reduce(into: []) { $0.formUnion($1.fields(texts: texts)) }
    case .not(let part): part.fields(texts: texts)
    }
  }

  /// The columns of other records on which the condition depends, with the queries for these
  /// records.
  package var others: [(column: QueryColumn, query: RecordQuery)] {
    switch self {
    case .isAmong(_, let column, let query): [(column, query)] + (query.condition?.others ?? [])
    case .all(let parts), .any(let parts): parts.flatMap(\.others)
    case .not(let part): part.others
    case .compare, .isOneOf, .hasPrefix, .contains, .matches: []
    }
  }

  /// Both conditions, without nesting a chain of them.
  package func and(_ other: QueryCondition) -> QueryCondition {
    guard case .all(let parts) = self else { return .all([self, other]) }
    return .all(parts + [other])
  }

  /// One of both conditions, without nesting a chain of them.
  package func or(_ other: QueryCondition) -> QueryCondition {
    guard case .any(let parts) = self else { return .any([self, other]) }
    return .any(parts + [other])
  }
}

/// A query for living records of one type in one zone.
package struct RecordQuery: Equatable, Sendable {
  /// A column that orders the records.
  package struct Order: Equatable, Sendable {
    package let column: QueryColumn
    package let isDescending: Bool

    package init(_ column: QueryColumn, isDescending: Bool) {
      self.column = column
      self.isDescending = isDescending
    }
  }

  package let type: TypeID
  /// The condition; nil if every record is wanted.
  package var condition: QueryCondition?
  /// The order; the id decides between records that are equal in it.
  package var order: [Order] = []
  /// The most records.
  package var limit: Int?
  /// The number of records that are left out at the beginning.
  package var offset = 0

  package init(_ type: TypeID) {
    self.type = type
  }
}

/// The computation of one number or value over the records of a query.
package enum QueryAggregate: String, Sendable {
  case count
  case sum
  case minimum = "min"
  case maximum = "max"
}

/// What queries of one record type can rely on, beside its declared fields.
package struct TypeLookups: Sendable {
  package let type: TypeID
  /// The values that a record shows for fields that were never written.
  package let defaults: [FieldID: Value]
  /// The fields of each index.
  package let indexes: [[FieldID]]
  /// The text fields whose words are indexed.
  package let texts: [FieldID]

  package init(
    _ type: TypeID, defaults: [FieldID: Value], indexes: [[FieldID]], texts: [FieldID]
  ) {
    self.type = type
    self.defaults = defaults
    self.indexes = indexes
    self.texts = texts
  }
}

/// The shown content of one field of a row.
package enum ColumnContent: Equatable, Sendable {
  /// The value of a register, history or counter.
  case value(Value)
  /// The elements of a set.
  case elements([Value])
}

/// The shown fields of one record, in the order in which a query requested them.
package struct RecordRow: Equatable, Sendable {
  package let id: RecordID
  package let isAlive: Bool
  package let fields: [ColumnContent]

  package init(id: RecordID, isAlive: Bool, fields: [ColumnContent]) {
    self.id = id
    self.isAlive = isAlive
    self.fields = fields
  }
}
