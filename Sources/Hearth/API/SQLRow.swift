import HearthCRDT
import HearthStore

/// A value in a row that SQL returns.
public enum SQLValue: Hashable, Sendable {
  /// No value.
  case null
  /// A whole number; 0 or 1 for a truth value.
  case int(Int64)
  /// A floating-point number, such as an average.
  case real(Double)
  /// Text; a JSON array for a set.
  case text(String)
  /// Bytes; sixteen for a key.
  case bytes([UInt8])

  init(_ content: SQLContent) {
    self =
      switch content {
      case .null: .null
      case .int(let number): .int(number)
      case .real(let number): .real(number)
      case .text(let text): .text(text)
      case .bytes(let bytes): .bytes(bytes)
      }
  }

  /// The value as a field of a kind would store it; nil if it does not fit.
  func stored(as kind: StoredValue.Kind) -> StoredValue? {
    switch (self, kind) {
    case (.null, _): .null
    case (.int(let number), .bool): .bool(number != 0)
    case (.int(let number), .int): .int(number)
    case (.text(let text), .text): .text(text)
    case (.bytes(let bytes), .bytes): .bytes(bytes)
    default: nil
    }
  }
}

/// A row that SQL returns: a value for each column.
public struct SQLRow: Hashable, Sendable {
  /// The names of the columns, in the order of the statement.
  public let columns: [String]
  /// The values, in the same order.
  public let values: [SQLValue]

  /// The value of the first column with a name; nil if there is no such column.
  public subscript(column: String) -> SQLValue? {
    columns.firstIndex(of: column).map { values[$0] }
  }

  /// Returns the value of a column as a type that fields can have, such as a key.
  ///
  /// - Throws: `notFound` if there is no such column; `unreadable` if the value does not fit.
  public func value<Value: FieldValue>(
    _ column: String, as type: Value.Type = Value.self
  ) throws(HearthError) -> Value {
    guard let content = self[column] else {
      throw HearthError(.notFound, "the row has no column \(printable(column))")
    }
    guard let stored = content.stored(as: type.storedKind), let value = type.init(stored: stored)
    else {
      throw HearthError(.unreadable, "the column \(printable(column)) does not fit \(type)")
    }
    return value
  }
}

extension HearthZone {
  /// Runs a statement of SQL that reads the zone's records.
  ///
  /// Each record type is a view of its name, with the column `id` and one for each field. Deleted
  /// records and those of other zones are not in it. A key is sixteen bytes, so that joins find
  /// records at once; `lower(hex(id))` prints it as its description does. A set is a JSON array.
  /// Conditions on other columns read every record of the type: a ``Query`` uses its indexes. Each
  /// derived table is a view too, of its columns. Everything that does not read the views is
  /// refused. Like other reads, it waits for no write, unless rows of a derived table that it reads
  /// must be computed.
  ///
  /// ```swift
  /// let text = "SELECT sum(quantity) AS pieces FROM item WHERE list = ?"
  /// let rows = try await zone.sql(text, weekly)
  /// ```
  ///
  /// - Parameters:
  ///   - statement: the text; `?` stands for an argument.
  ///   - arguments: the values of the parameters, in order.
  ///   - limit: the most rows.
  /// - Throws: `invalid` if the statement is wrong or refused; `tooLarge` if the answer has more
  ///   rows than the limit or more than 16 MB, or takes too long.
  public func sql(
    _ statement: String, _ arguments: any FieldValue..., limit: Int = 10_000
  ) async throws(HearthError) -> [SQLRow] {
    let values = arguments.map { $0.stored.value }
    return try await Hearth.reported {
      let reading = ZoneReading(node: node, zone: zone)
      let (columns, rows) = try await reading.rows(statement, values, limit: limit)
      return rows.map { SQLRow(columns: columns, values: $0.map { SQLValue($0) }) }
    }
  }
}
