import HearthCRDT
import Synchronization

/// The table of one record type, with its SQL.
///
/// A row has (zone, id), whether the record exists, a typed column for each field with the shown
/// value, and `meta`: everything that merging needs and no column shows. It is a class because it
/// is passed around for each record, and copying its texts cost more than reading them.
final class TypeTable: Sendable {
  let schema: RecordSchema
  /// The columns' fields in order of number.
  let columns: [FieldSchema]
  /// The numbers of the columns' fields: a search in them is faster than a hash of one.
  private let fields: [FieldID]

  let selectMeta: String
  let selectRow: String
  let selectRows: String
  let insert: String
  let exists: String
  let selectIDs: String
  /// Selects some ids after one.
  let selectNextIDs: String
  /// At a column's index: selects the ids whose column has a value.
  let selectIDsByColumn: [String]

  init(_ schema: RecordSchema) {
    self.schema = schema
    columns = schema.fields.sorted { $0.id < $1.id }
    fields = columns.map(\.id)
    let table = TypeTable.quoted(schema.name)
    let names = columns.map { ", " + TypeTable.quoted($0.name) }.joined()
    selectMeta = "SELECT meta FROM \(table) WHERE zone = ? AND id = ?"
    selectRow = "SELECT id, meta\(names) FROM \(table) WHERE zone = ? AND id = ?"
    selectRows = "SELECT id, meta\(names) FROM \(table) WHERE zone = ? ORDER BY id"
    exists = "SELECT 1 FROM \(table) WHERE zone = ? AND id = ?"
    selectIDs = "SELECT id FROM \(table) WHERE zone = ? ORDER BY id"
    selectNextIDs = "SELECT id FROM \(table) WHERE zone = ? AND id > ? ORDER BY id LIMIT ?"
    selectIDsByColumn = columns.map { column in
      // Without a hint, the planner follows the primary key for its order and reads the whole zone.
      let index =
        column.isIndexed ? " INDEXED BY \(TypeTable.indexName(of: column, in: schema))" : ""
      return "SELECT id FROM \(table)\(index) WHERE zone = ? AND alive = 1 AND "
        + "\(TypeTable.quoted(column.name)) = ? ORDER BY id"
    }
    let marks = columns.map { _ in ", ?" }.joined()
    insert = "INSERT INTO \(table)(zone, id, alive, meta\(names)) VALUES(?, ?, ?, ?\(marks))"
  }

  /// The texts of ``update(_:)`` requested last, one per combination of columns.
  private let updates = Mutex<[UInt64: String]>([:])

  private static let maximumUpdates = 128

  /// Returns the statement that writes the columns whose bits are set, the incarnation and `meta`.
  func update(_ mask: UInt64) -> String {
    updates.withLock { updates in
      if let present = updates[mask] { return present }
      let text = makeUpdate(mask)
      // Whoever changes records chooses the columns.
      if updates.count >= TypeTable.maximumUpdates { updates.removeAll() }
      updates[mask] = text
      return text
    }
  }

  private func makeUpdate(_ mask: UInt64) -> String {
    var sql = "UPDATE \(TypeTable.quoted(schema.name)) SET alive = ?, meta = ?"
    for (place, column) in columns.enumerated() where mask & 1 << UInt64(place) != 0 {
      sql += ", \(TypeTable.quoted(column.name)) = ?"
    }
    return sql + " WHERE zone = ? AND id = ?"
  }

  /// Returns the statement that reads the shown values of columns of every living record.
  func selectShown(_ places: [Int]) -> String {
    let names = places.map { ", " + TypeTable.quoted(columns[$0].name) }.joined()
    return "SELECT id\(names) FROM \(TypeTable.quoted(schema.name)) "
      + "WHERE zone = ? AND alive = 1 ORDER BY id"
  }

  /// Returns the index of a field's column; nil if it has none.
  func place(of field: FieldID) -> Int? {
    let place = fields.partitionPoint { $0 >= field }
    return place < fields.count && fields[place] == field ? place : nil
  }

  /// Whether a field's shown value has a column.
  func isColumn(_ field: FieldID) -> Bool { place(of: field) != nil }

  /// The statement that creates the table.
  var create: String {
    let names = columns.map { ", \(TypeTable.quoted($0.name)) \(TypeTable.storage(of: $0))" }
    return """
      CREATE TABLE \(TypeTable.quoted(schema.name))(
        zone INTEGER NOT NULL, id BLOB NOT NULL, alive INTEGER NOT NULL, meta BLOB NOT NULL\
      \(names.joined()), PRIMARY KEY(zone, id)) WITHOUT ROWID
      """
  }

  /// Returns the statement that creates the index of a field.
  func createIndex(on field: FieldSchema) -> String {
    let table = TypeTable.quoted(schema.name)
    return "CREATE INDEX IF NOT EXISTS \(TypeTable.indexName(of: field, in: schema)) ON \(table)"
      + "(zone, \(TypeTable.quoted(field.name)))"
  }

  private static func indexName(of field: FieldSchema, in schema: RecordSchema) -> String {
    quoted("\(schema.name)_by_\(field.name)")
  }

  static func storage(of field: FieldSchema) -> String {
    switch field.id.kind {
    case .counter: "INTEGER"
    case .set, .text: "TEXT"
    case .register, .history:
      switch field.type {
      case .bool, .int: "INTEGER"
      case .text: "TEXT"
      case .bytes: "BLOB"
      }
    }
  }

  /// Returns a quoted name.
  ///
  /// A schema's registration checks its names; the quotes are a second safeguard.
  static func quoted(_ name: String) -> String {
    "\"" + name.filter { $0 != "\"" } + "\""
  }
}
