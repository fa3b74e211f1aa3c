import HearthCRDT
import HearthMembership

/// A derived table that the store keeps in step with the records, in the same transaction.
///
/// A projection is a pure function of a zone's records, so it can be dropped and rebuilt at any
/// time, and `doctor` compares it with a rebuild. It writes rows through ``ProjectionWriter`` and
/// never SQL, which only the store speaks.
package protocol Projection: Sendable {
  /// A name that never changes; part of the tables' names.
  var name: String { get }
  /// Raised when the meaning of the rows changes; the store then rebuilds them.
  var version: Int { get }
  /// The tables the projection fills.
  var tables: [ProjectionTable] { get }
  /// The record types whose changes it wants to hear of.
  var types: [TypeID] { get }
  /// Those of its types whose effect depends on who wrote a record: all of them are taken as
  /// changed when the membership of the zone's group changes.
  var typesJudgedByAuthor: [TypeID] { get }
  /// Brings the rows up to date after these records changed.
  func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws
}

extension Projection {
  /// None, where a projection does not say.
  package var typesJudgedByAuthor: [TypeID] { [] }
}

/// The shape of a projection's table.
///
/// Every table also has the zone in front of its key.
package struct ProjectionTable: Sendable {
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
  /// Column names by which rows are looked up, each list one index (the zone is put in front).
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

/// What a projection reads: one zone's records as they stand in the transaction.
package protocol ProjectionSource {
  /// The zone being projected.
  var zone: ZoneID { get }
  /// A record with all its values; nil if it was never written.
  func record(_ key: RecordKey) throws -> RecordState?
  /// An event with all its fields; nil if there is none.
  func event(_ key: RecordKey) throws -> EventState?
  /// The ids of records or events of a type whose indexed field shows a value, in order.
  func ids(of type: TypeID, where field: FieldID, is value: Value) throws -> [RecordID]
  /// All ids of a type, in order.
  func ids(of type: TypeID) throws -> [RecordID]
  /// The shown values of some fields of every living record of a type, in order of id; null where
  /// a record has none. A source may answer it without reading whole records.
  func shown(_ fields: [FieldID], of type: TypeID) throws -> [(id: RecordID, values: [Value])]
  /// The projection's rows whose first key columns equal the values; key and columns together.
  func rows(of table: String, where key: [Value]) throws -> [[Value]]
  /// A stretch of the projection's rows in the order of an index: a page costs what it holds.
  func rows(of table: String, in range: RowRange) throws -> [[Value]]
  /// How many rows the stretch holds.
  func count(of table: String, in range: RowRange) throws -> Int
  /// Who uses a device, by the control operations of the zone's group; nil for a stranger.
  func member(of device: DeviceID) throws -> Membership.Person?
}

/// A stretch of a projection's rows, in the order of one of the table's indexes or of its key.
package struct RowRange: Sendable {
  /// Columns that begin an index or the key, then any of the key: rows come in their order.
  package let order: [String]
  /// What the first of these columns equal.
  package let prefix: [Value]
  /// The place where the stretch begins, in the columns after the prefix; empty for the very start.
  ///
  /// A row in which one of them is null is beyond no place.
  package let from: [Value]
  /// Whether the row at that place is left out.
  package let isExclusive: Bool
  /// Whether rows come last first; the stretch then goes down from the place.
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

/// What a projection writes: its own rows.
package protocol ProjectionWriter {
  /// Writes a row, replacing the one of the same key.
  func put(_ row: [Value], in table: String) throws
  /// Removes the rows whose first key columns equal the values.
  func remove(from table: String, where key: [Value]) throws
  /// Adds to an int column of the row of a key, making it with zeros first if it is not there; a
  /// row whose int columns all become zero is removed.
  func add(_ amounts: [Int64], toRow key: [Value], in table: String) throws
}
