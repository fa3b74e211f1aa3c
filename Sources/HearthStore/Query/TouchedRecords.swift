import HearthCRDT

/// The record types that were written since somebody asked last, by zone.
///
/// It may name types whose write was undone, and never leaves out one that was written.
package struct TouchedRecords: Equatable, Sendable {
  private var types: [ZoneID: Set<TypeID>] = [:]
  private var wholeZones: Set<ZoneID> = []
  /// Whether anything may have been written, such as by another process.
  private var isUnknown: Bool

  /// Begins with nothing, or with everything.
  package init(everything: Bool = false) {
    isUnknown = everything
  }

  /// Whether nothing was written.
  package var isEmpty: Bool { types.isEmpty && wholeZones.isEmpty && !isUnknown }

  /// Whether records of one of the types in a zone may have been written.
  package func concern(_ wanted: Set<TypeID>, in zone: ZoneID) -> Bool {
    isUnknown || wholeZones.contains(zone) || !(types[zone]?.isDisjoint(with: wanted) ?? true)
  }

  mutating func add(_ type: TypeID, in zone: ZoneID) {
    types[zone, default: []].insert(type)
  }

  mutating func addAll(of zone: ZoneID) {
    wholeZones.insert(zone)
  }
}
