import HearthCRDT
import HearthStore
import HearthSync

/// Reads one state of a zone.
///
/// It is valid only in the body that gets it.
public class ZoneReader {
  /// Computes rows of a derived table: of one group, or of all.
  typealias RowComputing = (_ table: DerivedTable, _ group: Value?) throws -> Void

  let queries: SQLiteQueries
  let zone: ZoneID
  /// Computes derived rows that are out of date; nil on a connection that cannot write.
  private let computeRows: RowComputing?
  /// The rows for want of which readings failed.
  private(set) var neededRows: [StaleRows.Need] = []
  /// The fields of each type that were read, of which an observation wants to know.
  private(set) var readFields: [TypeID: Set<FieldID>] = [:]

  init(_ queries: SQLiteQueries, of zone: ZoneID, computing computeRows: RowComputing? = nil) {
    self.queries = queries
    self.zone = zone
    self.computeRows = computeRows
  }

  /// Prepares for reading fields of a type; a transaction makes its own writes visible.
  func prepare(toRead fields: some Sequence<FieldID>, of type: TypeID) throws {
    readFields[type, default: []].formUnion(fields)
  }

  /// Prepares for reading one record; a transaction makes its own writes visible.
  func prepare(toRead fields: [FieldID], of key: RecordKey) throws {
    readFields[key.type, default: []].formUnion(fields)
  }

  /// Prepares for reading a derived table: rows that are out of date are computed.
  func prepare(toReadRowsOf table: DerivedTable, inGroup group: Value?) throws {
    guard try queries.isStale(table, inGroup: group, in: zone) else { return }
    guard let computeRows else {
      let need = StaleRows.Need(table, inGroup: group)
      neededRows.append(need)
      throw StaleRows([need])
    }
    try computeRows(table, group)
  }

  func rows<Owner: Record>(
    _ query: Query<Owner>, showing columns: [FieldID] = Owner.schema.columns
  ) throws -> [RecordRow] {
    let checked = try query.checked()
    try prepare(toRead: fields(of: checked, []).union(columns), of: checked.type)
    try prepare(toReadOthersOf: checked)
    return try queries.rows(checked, showing: columns, in: zone)
  }

  /// Returns the records that a query finds.
  public func fetch<Owner: Record>(_ query: Query<Owner>) throws(HearthError) -> Records<Owner> {
    try reported { Records(try rows(query)) }
  }

  /// Returns the first record that a query finds; nil if there is none.
  ///
  /// - Throws: `unreadable` if the first record does not fit the program's type.
  public func first<Owner: Record>(_ query: Query<Owner>) throws(HearthError) -> Owner? {
    try reported {
      let found = Records<Owner>(try rows(query.limited(to: 1)))
      if let fault = found.unreadable.first { throw HearthError(unreadable: fault) }
      return found.first
    }
  }

  /// Returns the record with a key; nil if there is none, or if it was deleted.
  ///
  /// - Throws: `unreadable` if the record does not fit the program's type.
  public func get<Owner: Record>(_ key: Key<Owner>) throws(HearthError) -> Owner? {
    try reported {
      guard let row = try row(key), row.isAlive else { return nil }
      return try record(row)
    }
  }

  func row<Owner: Record>(_ key: Key<Owner>) throws -> RecordRow? {
    let schema = Owner.schema
    let place = RecordKey(type: schema.type, id: key.identifier)
    try prepare(toRead: schema.columns, of: place)
    return try queries.row(of: place, showing: schema.columns, in: zone)
  }

  func record<Owner: Record>(_ row: RecordRow) throws -> Owner {
    switch RecordCodec<Owner>().read(row, into: Owner()) {
    case .record(let record): return record
    case .unreadable(let fault): throw HearthError(unreadable: fault)
    }
  }

  /// Returns the number of records that a query finds.
  public func count<Owner: Record>(_ query: Query<Owner>) throws(HearthError) -> Int {
    try reported {
      guard case .int(let count) = try value(.count, of: nil, query) else { return 0 }
      return Int(count)
    }
  }

  /// Returns the sum of a field over the records that a query finds.
  public func sum<Owner: Record, Number: FieldValue & FixedWidthInteger>(
    of path: KeyPath<Owner, Number>, _ query: Query<Owner>
  ) throws(HearthError) -> Int64 {
    try reported {
      guard case .int(let sum) = try value(.sum, of: path, query) else { return 0 }
      return sum
    }
  }

  /// Returns the smallest value of a field over the records that a query finds; nil if there is
  /// none.
  public func minimum<Owner: Record, Field: FieldValue & Comparable>(
    of path: KeyPath<Owner, Field>, _ query: Query<Owner>
  ) throws(HearthError) -> Field? {
    try reported {
      try value(.minimum, of: path, query).flatMap { Field(stored: StoredValue($0)) }
    }
  }

  /// Returns the greatest value of a field over the records that a query finds; nil if there is
  /// none.
  public func maximum<Owner: Record, Field: FieldValue & Comparable>(
    of path: KeyPath<Owner, Field>, _ query: Query<Owner>
  ) throws(HearthError) -> Field? {
    try reported {
      try value(.maximum, of: path, query).flatMap { Field(stored: StoredValue($0)) }
    }
  }

  private func value<Owner: Record>(
    _ function: QueryAggregate, of path: PartialKeyPath<Owner>?, _ query: Query<Owner>
  ) throws -> Value? {
    let checked = try query.checked()
    let column = try path.map { try self.column($0) }
    try prepare(toRead: fields(of: checked, [column]), of: checked.type)
    try prepare(toReadOthersOf: checked)
    return try queries.value(function, of: column, checked, in: zone)
  }

  /// The values of a function over the records of each value of a field.
  func values<Owner: Record, Field: FieldValue & Hashable>(
    _ function: QueryAggregate, of path: PartialKeyPath<Owner>?, by group: KeyPath<Owner, Field>,
    _ query: Query<Owner>
  ) throws -> [(Field, StoredValue)] {
    let checked = try query.checked()
    let (column, key) = (try path.map { try self.column($0) }, try self.column(group))
    try prepare(toRead: fields(of: checked, [column, key]), of: checked.type)
    try prepare(toReadOthersOf: checked)
    return try queries.values(function, of: column, by: key, checked, in: zone)
      .compactMap { found in
        Field(stored: StoredValue(found.group)).map { ($0, StoredValue(found.value)) }
      }
  }

  /// Prepares for reading the records of other types on which a query's condition depends.
  private func prepare(toReadOthersOf query: RecordQuery) throws {
    for other in query.condition?.others ?? [] {
      try prepare(toRead: fields(of: other.query, [other.column]), of: other.query.type)
    }
  }

  private func column<Owner: Record>(_ path: PartialKeyPath<Owner>) throws -> QueryColumn {
    guard let column = Owner.schema.column(path) else {
      throw HearthError(.invalid, "the property \(path) is not a field of \(Owner.schema.name)")
    }
    return column
  }

  /// The fields on which one value over a query's records depends.
  private func fields(of query: RecordQuery, _ columns: [QueryColumn?]) -> Set<FieldID> {
    var fields = query.condition?.fields(texts: queries.texts(of: query.type)) ?? []
    for column in query.order.map(\.column) + columns.compactMap({ $0 }) {
      if case .field(let field) = column { fields.insert(field) }
    }
    return fields
  }

  /// Returns the key that every device derives for a name.
  ///
  /// Records that several devices may make as the same thing, such as settings, get their keys from
  /// it: they merge, where random keys would give several records.
  public func key<Owner: Record>(of type: Owner.Type, named name: String) -> Key<Owner> {
    Key(naturalID(in: zone, type: type.schema.type, key: Array(name.utf8)))
  }
}

extension Query {
  /// The query with a smaller limit.
  func limited(to count: Int) -> Query {
    guard let present = content.limit, present < count else {
      return limit(count, offset: content.offset)
    }
    return self
  }
}

extension HearthError {
  init(unreadable record: UnreadableRecord) {
    self.init(
      .unreadable,
      "field \(record.field) of \(record.type) \(record.id) does not fit the program's type; a "
        + "newer program may have written it")
  }
}
