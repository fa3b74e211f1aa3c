import HearthCRDT
import HearthSync

/// A parameter of a query.
enum QueryParameter {
  case number(Int64)
  case identifier(Identifier)
  case value(Value, FieldType)
}

/// Turns a query into SQL over one type's table; every value is a parameter.
struct QueryCompiler {
  private let source: QueryTable
  private let query: RecordQuery
  /// The tables of all types, for conditions on other records.
  private let sources: [TypeID: QueryTable]
  /// How many conditions are around the query.
  private let depth: Int
  private(set) var parameters: [QueryParameter] = []

  /// The most values of one list, and the most conditions beside each other.
  static let maximumItems = 1_000
  /// The most conditions inside each other: SQLite's parser has a bounded stack.
  static let maximumDepth = 16

  /// - Throws: `schema` if the query's type has no table.
  init(_ query: RecordQuery, in sources: [TypeID: QueryTable], depth: Int = 0) throws {
    self.query = query
    self.sources = sources
    self.depth = depth
    source = try QueryTable.table(of: query.type, in: sources)
  }

  /// Returns the statement that reads columns of the records.
  mutating func select(_ columns: String, zone: Int64) throws -> String {
    let sql = "SELECT \(columns) " + (try from(zone))
    // The order of a set means nothing.
    if depth > 0, query.limit == nil, query.offset == 0 { return sql }
    let order =
      try query.order.map { try source.expression($0.column) + ($0.isDescending ? " DESC" : "") }
      + ["id" + (query.order.last?.isDescending == true ? " DESC" : "")]
    return sql + " ORDER BY " + order.joined(separator: ", ") + limit()
  }

  /// Returns the statement that computes one value over the records.
  ///
  /// - Parameter isCareful: Whether values of another type than the column's are left out, and a
  ///   sum comes as those of the upper and the lower halves of its numbers, which cannot overflow.
  mutating func aggregate(
    _ function: QueryAggregate, of column: QueryColumn?, zone: Int64, isCareful: Bool = false
  ) throws -> String {
    let content = try content(of: column, isCareful: isCareful)
    guard query.limit != nil || query.offset > 0 else {
      return "SELECT \(function.sql(of: content, isCareful: isCareful)) " + (try from(zone))
    }
    return "SELECT \(function.sql(of: "content", isCareful: isCareful)) FROM ("
      + (try select("\(content) AS content", zone: zone)) + ")"
  }

  private func content(of column: QueryColumn?, isCareful: Bool) throws -> String {
    guard let column else { return "1" }
    let content = try source.expression(column)
    guard isCareful, let type = try source.type(of: column) else { return content }
    return "CASE WHEN typeof(\(content)) = '\(ColumnCodec.storage(of: type))' THEN \(content) END"
  }

  /// Returns the statement that computes one value over the records of each value of a column.
  mutating func aggregates(
    _ function: QueryAggregate, of column: QueryColumn?, by group: QueryColumn, zone: Int64,
    isCareful: Bool = false
  ) throws -> String {
    let content = try content(of: column, isCareful: isCareful)
    let key = try source.expression(group)
    guard query.limit != nil || query.offset > 0 else {
      return "SELECT \(key), \(function.sql(of: content, isCareful: isCareful)) " + (try from(zone))
        + " GROUP BY 1"
    }
    return "SELECT key, \(function.sql(of: "content", isCareful: isCareful)) FROM ("
      + (try select("\(key) AS key, \(content) AS content", zone: zone)) + ") GROUP BY key"
  }

  private mutating func from(_ zone: Int64) throws -> String {
    var sql = "FROM \(TypeTable.quoted(source.table.schema.name))"
    if let index = IndexChoice(query, of: source.lookups).best {
      sql += " INDEXED BY \(TypeTable.quoted(source.indexName(index)))"
    }
    parameters.append(.number(zone))
    sql += " WHERE zone = ? AND alive = 1"
    if let condition = query.condition {
      sql += " AND " + (try compile(condition, zone: zone, depth: depth))
    }
    return sql
  }

  private mutating func limit() -> String {
    guard query.limit != nil || query.offset > 0 else { return "" }
    parameters.append(.number(Int64(query.limit ?? -1)))
    guard query.offset > 0 else { return " LIMIT ?" }
    parameters.append(.number(Int64(query.offset)))
    return " LIMIT ? OFFSET ?"
  }

  // MARK: Conditions

  private mutating func compile(
    _ condition: QueryCondition, zone: Int64, depth: Int
  ) throws -> String {
    guard depth < QueryCompiler.maximumDepth else {
      throw StoreError(
        .tooLarge, "the query has more than \(QueryCompiler.maximumDepth) nested conditions")
    }
    switch condition {
    case .compare(let column, let comparison, let value):
      try append(value, for: column)
      let isPlain = comparison == .equal && value != .null
      return "\(try source.expression(column)) \(isPlain ? "=" : comparison.rawValue) ?"
    case .isOneOf(let column, let values):
      return try compile(column, isOneOf: values)
    case .hasPrefix(let column, let prefix):
      return try compile(column, hasPrefix: prefix)
    case .contains(let field, let element):
      return try compile(field, contains: element)
    case .matches(let text):
      return try compile(matching: text, zone: zone)
    case .isAmong(let column, let other, let query):
      return try compile(column, isAmong: other, of: query, zone: zone, depth: depth)
    case .all(let parts):
      return try join(parts, with: " AND ", ifEmpty: "1", zone: zone, depth: depth)
    case .any(let parts):
      return try join(parts, with: " OR ", ifEmpty: "0", zone: zone, depth: depth)
    case .not(let part):
      // A comparison with nothing is neither true nor false; here it does not hold.
      return "ifnull(\(try compile(part, zone: zone, depth: depth + 1)), 0) = 0"
    }
  }

  private mutating func join(
    _ parts: [QueryCondition], with word: String, ifEmpty: String, zone: Int64, depth: Int
  ) throws -> String {
    try bound(parts.count, "conditions")
    guard !parts.isEmpty else { return ifEmpty }
    return "("
      + (try parts.map { try compile($0, zone: zone, depth: depth + 1) })
      .joined(separator: word) + ")"
  }

  private mutating func compile(
    _ column: QueryColumn, isOneOf values: [Value]
  ) throws -> String {
    try bound(values.count, "values")
    let expression = try source.expression(column)
    let present = values.filter { $0 != .null }
    for value in present { try append(value, for: column) }
    let marks = repeatElement("?", count: present.count).joined(separator: ", ")
    let list = "\(expression) IN (\(marks))"
    return present.count == values.count ? list : "(\(list) OR \(expression) IS NULL)"
  }

  private mutating func compile(
    _ column: QueryColumn, hasPrefix prefix: String
  ) throws -> String {
    let expression = try source.expression(column)
    parameters.append(.value(.text(prefix), .text))
    guard let end = QueryCompiler.end(ofPrefix: prefix) else { return "\(expression) >= ?" }
    parameters.append(.value(.text(end), .text))
    return "(\(expression) >= ? AND \(expression) < ?)"
  }

  /// The first text after every text with a prefix, in the order of bytes; nil if there is none.
  static func end(ofPrefix prefix: String) -> String? {
    var scalars = Array(prefix.unicodeScalars)
    while let last = scalars.popLast() {
      // The scalars before the surrogates are followed by the one after them.
      let next = last.value == 0xd7ff ? 0xe000 : last.value + 1
      guard let scalar = Unicode.Scalar(next) else { continue }
      var end = String.UnicodeScalarView(scalars)
      end.append(scalar)
      return String(end)
    }
    return nil
  }

  private mutating func compile(
    _ field: FieldID, contains element: Value
  ) throws -> String {
    let column = try source.declared(field)
    // The column shows bytes in hexadecimal.
    switch element {
    case .bytes(let bytes): parameters.append(.value(.text(ColumnCodec.hex(bytes)), .text))
    default: parameters.append(.value(element, column.type))
    }
    return "EXISTS (SELECT 1 FROM json_each(\(TypeTable.quoted(column.name))) "
      + "WHERE json_each.value IS ?)"
  }

  private mutating func compile(matching text: String, zone: Int64) throws -> String {
    guard !source.lookups.texts.isEmpty else {
      throw StoreError(
        .schema, "no field of \(source.table.schema.name) has a text index: declare one")
    }
    let (sql, first, rest) = try TextIndex(source).search(text)
    parameters.append(.value(.text(first), .text))
    parameters.append(.number(zone))
    parameters += rest.map { .value(.text($0), .text) }
    return "id IN (\(sql))"
  }

  private mutating func compile(
    _ column: QueryColumn, isAmong other: QueryColumn, of query: RecordQuery, zone: Int64,
    depth: Int
  ) throws -> String {
    var compiler = try QueryCompiler(query, in: sources, depth: depth + 1)
    let values = try compiler.select(compiler.source.expression(other), zone: zone)
    parameters += compiler.parameters
    return "\(try source.expression(column)) IN (\(values))"
  }

  private mutating func append(_ value: Value, for column: QueryColumn) throws {
    guard let type = try source.type(of: column) else {
      guard case .bytes(let bytes) = value, let id = Identifier(bytes: bytes) else {
        throw StoreError(.schema, "an id is compared with a value of another kind")
      }
      parameters.append(.identifier(id))
      return
    }
    parameters.append(.value(value, type))
  }

  private func bound(_ count: Int, _ what: String) throws {
    guard count <= QueryCompiler.maximumItems else {
      throw StoreError(
        .tooLarge,
        "the query has \(count) \(what) beside each other, but at most "
          + "\(QueryCompiler.maximumItems) are allowed")
    }
  }
}

/// The index that answers a query with the fewest rows to read and to sort.
///
/// SQLite has no statistics of these tables. Without a hint it follows the primary key for its
/// order, and reads the whole zone.
struct IndexChoice {
  /// The fields of the index; nil if no index helps.
  let best: [FieldID]?

  init(_ query: RecordQuery, of lookups: TypeLookups) {
    var equal: Set<FieldID> = []
    var bounded: Set<FieldID> = []
    var mayUse = true
    IndexChoice.read(query.condition, &equal, &bounded, &mayUse)
    let order = query.order.compactMap { order -> FieldID? in
      guard case .field(let field) = order.column else { return nil }
      return field
    }
    let isUniform = Set(query.order.map(\.isDescending)).count == 1
    var best: (fields: [FieldID], score: Int)?
    for fields in lookups.indexes where mayUse {
      let prefix = fields.prefix { equal.contains($0) }
      let rest = fields.dropFirst(prefix.count)
      var score = prefix.count * 4
      if isUniform, order.count == query.order.count, rest.starts(with: order) { score += 3 }
      if let next = rest.first, bounded.contains(next) { score += 2 }
      if score > (best?.score ?? 0) { best = (fields, score) }
    }
    self.best = best?.fields
  }

  /// Notes the fields that one value, or a range, restricts wherever the condition holds.
  private static func read(
    _ condition: QueryCondition?, _ equal: inout Set<FieldID>, _ bounded: inout Set<FieldID>,
    _ mayUse: inout Bool
  ) {
    switch condition {
    case .all(let parts): for part in parts { read(part, &equal, &bounded, &mayUse) }
    case .compare(.field(let field), .equal, _): equal.insert(field)
    case .compare(.field(let field), .less, _), .compare(.field(let field), .lessOrEqual, _),
      .compare(.field(let field), .greater, _), .compare(.field(let field), .greaterOrEqual, _),
      .hasPrefix(.field(let field), _), .isOneOf(.field(let field), _):
      bounded.insert(field)
    case .isAmong(.field(let field), _, _): bounded.insert(field)
    case .compare(.id, .equal, _), .isOneOf(.id, _), .isAmong(.id, _, _), .matches: mayUse = false
    default: break
    }
  }
}

extension QueryAggregate {
  /// The function of a content; a careful sum is two columns.
  fileprivate func sql(of content: String, isCareful: Bool) -> String {
    guard self == .sum, isCareful else { return "\(rawValue)(\(content))" }
    return "sum((\(content)) >> 32), sum((\(content)) & 4294967295)"
  }
}
