import HearthCRDT

/// The concurrent values of a field.
package enum FieldSiblings {
  /// Returns every value of a field that no other one replaces, the shown one first.
  package static func values(
    of field: FieldID, in state: RecordState
  ) -> [(version: Version, value: Value)] {
    switch state[field] {
    case .register(let register):
      register.siblings.map { ($0.version, $0.value ?? .null) }
    case .history(let history):
      history.current.sorted { $0.version > $1.version }.map { ($0.version, $0.value) }
    default: []
    }
  }
}
