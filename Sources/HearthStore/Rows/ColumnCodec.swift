import HearthCRDT

/// The mapping between a field's value and its typed column, which loses nothing.
///
/// A value of the declared type is stored as SQLite users expect. A value of another type, which
/// only a newer or faulty program writes, is stored as its canonical bytes in a storage class that
/// the declared type never uses. So nothing is lost or confused.
enum ColumnCodec {
  static func bind(_ value: Value, as type: FieldType, to statement: Statement) throws {
    switch (value, type) {
    case (.null, _): try statement.bindNull()
    case (.bool(let truth), .bool): try statement.bind(truth ? 1 : 0)
    case (.int(let number), .int): try statement.bind(number)
    case (.text(let text), .text): try statement.bind(text)
    case (.bytes(let bytes), .bytes): try statement.bind(bytes)
    case (_, .bytes): try statement.bind(hex(canonical(value)))
    default: try statement.bind(canonical(value))
    }
  }

  static func value(
    in column: Int32, as type: FieldType, of statement: Statement
  ) throws -> Value {
    switch (statement.storage(column), type) {
    case (.null, _): return .null
    case (.integer, .bool): return .bool(statement.int(column) != 0)
    case (.integer, .int): return .int(statement.int(column))
    case (.text, .text): return .text(statement.text(column))
    case (.blob, .bytes): return .bytes(statement.blob(column))
    case (.text, .bytes): return try decode(unhex(statement.text(column)))
    case (.blob, _): return try decode(statement.blob(column))
    default:
      throw StoreError(.corrupt, "a column of the node's database has a value of another type")
    }
  }

  /// SQLite's name for the storage class of a declared type's values.
  static func storage(of type: FieldType) -> String {
    switch type {
    case .bool, .int: "integer"
    case .text: "text"
    case .bytes: "blob"
    }
  }

  /// Whether a column has nothing, or a value of its declared type.
  static func fits(_ column: Int32, _ type: FieldType, of statement: Statement) -> Bool {
    switch (statement.storage(column), type) {
    case (.null, _), (.integer, .bool), (.integer, .int), (.text, .text), (.blob, .bytes): true
    default: false
    }
  }

  /// Reads all rows of a statement whose columns have these types.
  static func rows(
    of statement: Statement, as types: some Collection<FieldType>
  ) throws -> [[Value]] {
    var rows: [[Value]] = []
    while try statement.step() { rows.append(try row(of: statement, as: types)) }
    return rows
  }

  /// Reads the row that a statement is at, whose columns have these types.
  static func row(
    of statement: Statement, as types: some Collection<FieldType>
  ) throws -> [Value] {
    try types.enumerated().map { place, type in
      try value(in: Int32(place), as: type, of: statement)
    }
  }

  /// Returns the elements of a set as a JSON array, so that `json_each` works on it.
  static func json(_ values: [Value]) -> String {
    var text = "["
    for (index, value) in values.enumerated() {
      if index > 0 { text += "," }
      text += json(value)
    }
    return text + "]"
  }

  private static func json(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .bool(let truth): truth ? "true" : "false"
    case .int(let number): String(number)
    case .text(let text): quoted(text)
    case .bytes(let bytes): quoted(hex(bytes))
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case _ where scalar.value < 0x20:
        result += "\\u00" + hex([UInt8(scalar.value)])
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  private static func canonical(_ value: Value) -> [UInt8] {
    var writer = ByteWriter(capacity: 32)
    writer.value(value)
    return writer.bytes
  }

  private static func decode(_ bytes: [UInt8]) throws -> Value {
    var reader = ByteReader(bytes)
    let value = try reader.value("column")
    try reader.finish()
    return value
  }

  static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Reads hexadecimal digits; nil for anything else.
  static func bytes(hex text: String) -> [UInt8]? {
    text.utf8.count.isMultiple(of: 2) ? try? unhex(text) : nil
  }

  private static func unhex(_ text: String) throws -> [UInt8] {
    let digits = Array(text.utf8)
    var bytes: [UInt8] = []
    for place in stride(from: 0, to: digits.count - 1, by: 2) {
      guard
        let byte = UInt8(String(decoding: digits[place...place + 1], as: UTF8.self), radix: 16)
      else { throw StoreError(.corrupt, "a column of the node's database is not hexadecimal") }
      bytes.append(byte)
    }
    return bytes
  }
}
