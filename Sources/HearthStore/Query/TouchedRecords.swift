import HearthCRDT

/// The record types and fields that were written since somebody asked last, by zone.
///
/// It may name what was not written, or whose write was undone. It never leaves out what was.
package struct TouchedRecords: Equatable, Sendable {
  /// What was written of one type.
  private struct Part: Equatable, Sendable {
    /// Whether records were made, deleted or restored.
    var isWhole = false
    var fields: Set<FieldID> = []
  }

  private var types: [ZoneID: [TypeID: Part]] = [:]
  private var wholeZones: Set<ZoneID> = []
  /// Whether anything may have been written, such as by another process.
  private var isUnknown: Bool

  /// Begins with nothing, or with everything.
  package init(everything: Bool = false) {
    isUnknown = everything
  }

  /// Whether something of what was read in a zone may have changed: the fields of a type, or which
  /// records there are.
  package func concern(_ read: [TypeID: Set<FieldID>], in zone: ZoneID) -> Bool {
    if isUnknown || wholeZones.contains(zone) { return true }
    guard let parts = types[zone] else { return false }
    return read.contains { type, fields in
      guard let part = parts[type] else { return false }
      return part.isWhole || !part.fields.isDisjoint(with: fields)
    }
  }

  /// Adds what others name.
  package mutating func add(_ other: TouchedRecords) {
    isUnknown = isUnknown || other.isUnknown
    wholeZones.formUnion(other.wholeZones)
    for (zone, parts) in other.types {
      for (type, part) in parts {
        types[zone, default: [:]][type, default: Part()].isWhole =
          part.isWhole || types[zone]?[type]?.isWhole ?? false
        types[zone]?[type]?.fields.formUnion(part.fields)
      }
    }
  }

  mutating func add(_ type: TypeID, in zone: ZoneID) {
    types[zone, default: [:]][type, default: Part()].isWhole = true
  }

  mutating func add(_ change: RecordState, of type: TypeID, in zone: ZoneID) {
    // Which records there are changes only if the record was deleted at some time.
    guard change.life.deletes.isEmpty else { return add(type, in: zone) }
    let fields = change.entries.lazy.filter { entry in
      // The value of a register that was not written is still in its column.
      if case .register(let register) = entry.field { !register.isPartial } else { true }
    }.map(\.id)
    types[zone, default: [:]][type, default: Part()].fields.formUnion(fields)
  }

  mutating func addAll(of zone: ZoneID) {
    wholeZones.insert(zone)
  }
}
