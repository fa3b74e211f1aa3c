import HearthCRDT

/// The chore of the shared workload: the ten fields of `gen.py`, all registers.
enum Chore {
  static let type = TypeID.record(1)

  /// The fields in the order of the workload's rows.
  static let fields: [FieldSchema] = [
    ("title", FieldType.text), ("descr", .text), ("assignee", .text), ("due", .int),
    ("points", .int), ("done", .bool), ("created", .int), ("completed", .int), ("rrule", .text),
    ("tags", .text),
  ].enumerated().map { place, field in
    FieldSchema(FieldID(.register, UInt16(place + 1)), field.0, field.1)
  }

  static let schema = RecordSchema(type, "chore", fields)

  /// The record key of a workload's 64-bit id.
  static func key(_ id: UInt64) -> RecordKey {
    RecordKey(type: type, id: Identifier(high: 0, low: id))
  }
}

/// One operation of the workload.
enum Action {
  /// A chore with its ten values.
  case create(id: UInt64, values: [Value])
  /// One field of a chore; `field` counts from 0.
  case set(id: UInt64, field: Int, value: Value)
  /// Points given to a member in a week.
  case award(Award)

  /// The steps of the engine that do it; awards need a dot and are made elsewhere.
  var operations: [Operation] {
    switch self {
    case .create(let id, let values):
      zip(Chore.fields, values).map { Operation(Chore.key(id), .assign($0.id, $1)) }
    case .set(let id, let field, let value):
      [Operation(Chore.key(id), .assign(Chore.fields[field].id, value))]
    case .award: []
    }
  }

  /// How many fields it writes.
  var fieldCount: Int {
    if case .create(_, let values) = self { values.count } else { 1 }
  }
}

/// One award of points.
struct Award {
  let member: String
  let points: Int64
  let milliseconds: Int64
  let week: Int64
}
