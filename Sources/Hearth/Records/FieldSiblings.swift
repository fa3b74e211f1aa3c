import HearthCRDT
import HearthSync

/// A field of a record with several concurrent values.
package struct FieldSiblings {
  /// A value, and the write that made it.
  package typealias Sibling = (version: Version, value: Value)

  /// The record.
  package let key: RecordKey
  /// The record's fields.
  package let state: RecordState
  /// The schema of the record's type.
  package let schema: RecordSchema
  /// The field.
  package let field: FieldSchema
  /// Its values, the shown one first; at least two are different.
  package let values: [Sibling]

  /// Finds the fields with several different values, in order of type, record and field.
  ///
  /// Where several people wrote one value, there is nothing to decide.
  package static func all(
    among schemas: [RecordSchema], in source: any ProjectionSource
  ) throws -> [FieldSiblings] {
    var found: [FieldSiblings] = []
    for schema in schemas where !schema.id.isEvent {
      for id in try source.ids(of: schema.id) {
        let key = RecordKey(type: schema.id, id: id)
        guard let state = try source.record(key), !state.life.isDeleted else { continue }
        for field in schema.fields {
          let values = values(of: field.id, in: state)
          guard values.dropFirst().contains(where: { $0.value != values[0].value }) else {
            continue
          }
          found.append(
            FieldSiblings(key: key, state: state, schema: schema, field: field, values: values))
        }
      }
    }
    return found
  }

  /// Returns every value of a field that no other one replaces, the shown one first.
  package static func values(of field: FieldID, in state: RecordState) -> [Sibling] {
    switch state[field] {
    case .register(let register):
      register.siblings.map { ($0.version, $0.value ?? .null) }
    case .history(let history):
      history.current.sorted { $0.version > $1.version }.map { ($0.version, $0.value) }
    default: []
    }
  }
}
