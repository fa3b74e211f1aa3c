import HearthCRDT
import HearthStore
import HearthSync

/// A row that is computed from records: a balance, a total, a streak.
///
/// A derived row is never written and never synced. Every device computes it from its own records,
/// when somebody reads the rows of its group for the first time since one of them has changed. A
/// reader never sees a row that does not fit the records.
///
/// ```swift
/// struct Balance: DerivedRow {
///   var person = ""
///   var cents: Int64 = 0
///
///   static let derivation = Derivation<Balance>(
///     "balance", version: 1, of: Expense.self, by: \.trip
///   ) {
///     DerivedColumn(\.person)
///     DerivedColumn(\.cents)
///   } rows: { trip, expenses in
///     balances(of: expenses)
///   }
/// }
/// let app = AppSchema("org.example.trips", [Trip.self, Expense.self], derived: [Balance.self])
/// let rows = try await zone.read { try $0.rows(of: Balance.self, in: trip) }
/// ```
public protocol DerivedRow: Equatable, Sendable {
  /// Makes a row with the defaults of its columns.
  init()
  /// How the rows are computed.
  static var derivation: Derivation<Self> { get }
}

/// The declaration of a derived table: its columns, and how its rows are computed.
public struct Derivation<Row: DerivedRow>: Sendable {
  let columns: [ColumnDescription<Row>]
  let description: DerivationDescription

  /// Declares a derived table.
  ///
  /// The records of a type form groups by the value of a field. When a record of a group was
  /// written, deleted, or moved to another group, the rows of its groups are computed anew from all
  /// their living records before somebody reads them. So a reading may cost what its group costs,
  /// and a change does not. A record belongs to no group if the field shows nothing, or if it does
  /// not fit the program's type.
  ///
  /// - Parameters:
  ///   - name: the table's name in SQL: lower-case letters, digits and underscores.
  ///   - version: to be raised when the computation changes, so that all rows are computed anew.
  ///     Changed columns are noticed without it.
  ///   - source: the record type.
  ///   - path: the field that groups the records.
  ///   - columns: the columns, with at least one.
  ///   - rows: computes the rows of one group, from its records in the order of their keys. It
  ///     depends on nothing else: not on the time, not on chance, not on other records.
  public init<Source: Record, Group: FieldValue>(
    _ name: String, version: Int, of source: Source.Type,
    by path: any WritableKeyPath<Source, Group> & Sendable,
    @DerivedColumnBuilder<Row> columns: () -> [DerivedColumn<Row>],
    rows: @escaping @Sendable (_ group: Group, _ records: [Source]) -> [Row]
  ) {
    let columns = columns().map(\.description)
    self.columns = columns
    let schema = source.schema
    let field = schema.field(path)
    description = DerivationDescription(
      name: name, version: version, type: schema.type, typeName: schema.name,
      fields: schema.columns, groupType: Group.storedKind,
      groupField: field.flatMap { [.register, .history].contains($0.kind) ? $0.id : nil },
      columns: columns.map { ($0.name, $0.type) },
      group: { id, stored in
        guard let record = StateReader<Source>().record(id, stored) else { return nil }
        let value = record[keyPath: path].stored.value
        return value == .null ? nil : value
      },
      rows: { group, states in
        guard let group = Group(stored: StoredValue(group)) else { return [] }
        let records = states.compactMap { StateReader<Source>().record($0.id, $0.record) }
        return rows(group, records).map { row in columns.map { $0.read(row) } }
      })
  }
}

/// A column of a derived table.
public struct DerivedColumn<Row: DerivedRow>: Sendable {
  let description: ColumnDescription<Row>

  /// Declares a column.
  ///
  /// - Parameters:
  ///   - path: the property.
  ///   - name: the column's name in SQL; by default that of the property.
  public init<Value: FieldValue>(
    _ path: any WritableKeyPath<Row, Value> & Sendable, named name: String? = nil
  ) {
    description = ColumnDescription(
      name: name ?? ColumnName.derived(fromPath: "\(path)", number: 0), type: Value.storedKind,
      read: { $0[keyPath: path].stored.value },
      write: { row, stored in
        guard let value = Value(stored: StoredValue(stored)) else { return false }
        row[keyPath: path] = value
        return true
      })
  }
}

/// Collects the columns of a derived table.
@resultBuilder
public enum DerivedColumnBuilder<Row: DerivedRow> {
  /// Takes a column.
  public static func buildExpression(_ column: DerivedColumn<Row>) -> DerivedColumn<Row> { column }

  /// Joins the columns.
  public static func buildBlock(_ columns: DerivedColumn<Row>...) -> [DerivedColumn<Row>] {
    columns
  }
}

/// What a derived table's declaration says about one column.
struct ColumnDescription<Row>: Sendable {
  let name: String
  let type: StoredValue.Kind
  let read: @Sendable (Row) -> Value
  /// Sets the property; false if the value does not fit.
  let write: @Sendable (inout Row, Value) -> Bool
}

extension DerivedRow {
  static var derivationDescription: DerivationDescription { derivation.description }

  /// Makes a row of its stored values.
  ///
  /// - Throws: `unreadable` if a value does not fit.
  init(_ values: [Value]) throws {
    self.init()
    for (column, value) in zip(Self.derivation.columns, values) where !column.write(&self, value) {
      throw HearthError(
        .unreadable,
        "the column \(column.name) of the derived table \(Self.derivation.description.name) does "
          + "not fit: raise the table's version")
    }
  }
}

/// Reads whole records as values of their type.
private struct StateReader<Owner: Record> {
  /// The record; nil if it was deleted or does not fit the program's type.
  func record(_ id: RecordID, _ stored: StoredRecord) -> Owner? {
    let fields: [ColumnContent]
    switch stored {
    case .event(let event): fields = Owner.schema.columns.map { .value(event[$0]) }
    case .record(let state):
      guard !state.life.isDeleted else { return nil }
      fields = Owner.schema.columns.map { field in
        field.kind == .set ? .elements(state.elements(field)) : .value(state.shown(field) ?? .null)
      }
    }
    let row = RecordRow(id: id, isAlive: true, fields: fields)
    guard case .record(let record) = RecordCodec<Owner>().read(row, into: Owner()) else {
      return nil
    }
    return record
  }
}
