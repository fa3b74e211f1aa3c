import HearthCRDT
import HearthMembership

/// A derived table that the store updates in the same transaction as the records.
///
/// A projection is a pure function of a zone's records, so it can be dropped and rebuilt at any
/// time, and `doctor` compares it with a rebuild. It writes rows through ``ProjectionWriter``; only
/// the store uses SQL.
package protocol Projection: Sendable {
  /// A name that never changes and that is part of the tables' names.
  var name: String { get }
  /// The version of the rows' meaning; the store rebuilds the rows when it is raised.
  var version: Int { get }
  /// The tables that the projection fills.
  var tables: [ProjectionTable] { get }
  /// The record types whose changes the projection is notified of.
  var types: [TypeID] { get }
  /// The types whose effect depends on the author of a record.
  ///
  /// All their records are judged anew when the membership of the zone's group changes.
  var typesJudgedByAuthor: [TypeID] { get }
  /// The types whose records suffice to fill empty tables from the records that are there.
  ///
  /// They are given to ``fill(_:pass:from:to:)`` type by type, some records at a time.
  var fillingTypes: [TypeID] { get }
  /// How often a filling gives all records.
  var fillingPasses: Int { get }
  /// Updates the rows after these records changed.
  func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws
  /// Writes rows of some records while empty tables are filled, in a pass numbered from 0.
  func fill(
    _ keys: [RecordKey], pass: Int, from source: any ProjectionSource,
    to writer: any ProjectionWriter
  ) throws
  /// Updates the rows after the membership of the zone's group changed.
  ///
  /// It differs from an update in that the records are not new, so others may have seen them.
  func judgeAnew(from source: any ProjectionSource, to writer: any ProjectionWriter) throws
  /// Computes rows that an update has only marked as out of date, before somebody reads them.
  ///
  /// - Parameter group: the first key column of the rows; nil for all rows.
  func computeRows(
    ofGroup group: Value?, from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws
}

extension Projection {
  /// No type, by default.
  package var typesJudgedByAuthor: [TypeID] { [] }

  /// All types, by default.
  package var fillingTypes: [TypeID] { types }

  /// One pass, by default.
  package var fillingPasses: Int { 1 }

  /// Updates the rows, by default, as if the records had changed.
  package func fill(
    _ keys: [RecordKey], pass: Int, from source: any ProjectionSource,
    to writer: any ProjectionWriter
  ) throws {
    try update(keys, from: source, to: writer)
  }

  /// Nothing, by default: an update computes its rows at once.
  package func computeRows(
    ofGroup group: Value?, from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {}

  /// Updates the rows of all records of these types.
  package func judgeAnew(
    from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    let keys = try typesJudgedByAuthor.flatMap { type in
      try source.ids(of: type).map { RecordKey(type: type, id: $0) }
    }
    if !keys.isEmpty { try update(keys, from: source, to: writer) }
  }
}

/// The shape of a projection's table.
///
/// The key of every table also starts with the zone.
package struct ProjectionTable: Sendable {
  /// A column of a projection's table.
  package struct Column: Sendable {
    package let name: String
    package let type: FieldType

    package init(_ name: String, _ type: FieldType) {
      self.name = name
      self.type = type
    }
  }

  package let name: String
  package let key: [Column]
  package let columns: [Column]
  /// The columns of each index; the zone is put in front of each list.
  package let indexes: [[String]]

  package init(
    _ name: String, key: [Column], columns: [Column], indexes: [[String]] = []
  ) {
    self.name = name
    self.key = key
    self.columns = columns
    self.indexes = indexes
  }
}

/// The input of a projection: one zone's records in the current transaction.
package protocol ProjectionSource {
  /// The zone that is projected.
  var zone: ZoneID { get }
  /// A record with all its values; nil if it was never written.
  func record(_ key: RecordKey) throws -> RecordState?
  /// An event with all its fields; nil if it does not exist.
  func event(_ key: RecordKey) throws -> EventState?
  /// The ids of records or events of a type whose indexed field shows a value, in order.
  func ids(of type: TypeID, where field: FieldID, is value: Value) throws -> [RecordID]
  /// All ids of a type, in order.
  func ids(of type: TypeID) throws -> [RecordID]
  /// The shown values of some fields of every living record of a type, in order of id.
  ///
  /// A value is null if the record has none. A source may answer without reading whole records.
  func shown(_ fields: [FieldID], of type: TypeID) throws -> [(id: RecordID, values: [Value])]
  /// The projection's rows whose first key columns equal the values, with key and columns together.
  func rows(of table: String, where key: [Value]) throws -> [[Value]]
  /// A range of the projection's rows in the order of an index; a page costs only its own rows.
  func rows(of table: String, in range: RowRange) throws -> [[Value]]
  /// The number of rows in the range.
  func count(of table: String, in range: RowRange) throws -> Int
  /// The person who uses a device, by the control operations of the zone's group; nil for a
  /// stranger.
  func member(of device: DeviceID) throws -> Member?
}

/// A range of a projection's rows, in the order of one of the table's indexes or of its key.
package struct RowRange: Sendable {
  /// The columns that order the rows: the start of an index or the key, then any key columns.
  package let order: [String]
  /// The values that the first of these columns equal.
  package let prefix: [Value]
  /// The position at which the range begins, in the columns after the prefix; empty for the start.
  ///
  /// A row with a null in one of these columns is never beyond a position.
  package let from: [Value]
  /// Whether the row at that position is excluded.
  package let isExclusive: Bool
  /// Whether the rows come in descending order, downward from the position.
  package let isDescending: Bool
  /// The most rows.
  package let limit: Int?

  package init(
    _ order: [String], prefix: [Value] = [], from: [Value] = [], isExclusive: Bool = false,
    isDescending: Bool = false, limit: Int? = nil
  ) {
    precondition(
      prefix.count + from.count <= order.count, "a place in \(order) has at most so many values")
    self.order = order
    self.prefix = prefix
    self.from = from
    self.isExclusive = isExclusive
    self.isDescending = isDescending
    self.limit = limit
  }
}

extension ProjectionSource {
  package func shown(
    _ fields: [FieldID], of type: TypeID
  ) throws -> [(id: RecordID, values: [Value])] {
    try ids(of: type).compactMap { id in
      guard let state = try record(RecordKey(type: type, id: id)), !state.life.isDeleted else {
        return nil
      }
      return (id, fields.map { state.shown($0) ?? .null })
    }
  }
}

/// The output of a projection: its own rows.
package protocol ProjectionWriter {
  /// Writes a row and replaces a row with the same key.
  func put(_ row: [Value], in table: String) throws
  /// Removes the rows whose first key columns equal the values.
  func remove(from table: String, where key: [Value]) throws
  /// Adds amounts to the int columns of the row with a key.
  ///
  /// A missing row is first created with zeros. A row whose int columns all become zero is removed.
  func add(_ amounts: [Int64], toRow key: [Value], in table: String) throws
}
