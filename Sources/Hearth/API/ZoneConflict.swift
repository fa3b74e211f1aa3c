import Foundation
import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// A field to which several people wrote at the same time: all values are kept, and one is shown.
public struct ZoneConflict: Hashable, Sendable {
  /// One of the concurrent values.
  public struct Value: Hashable, Sendable {
    /// The value as it is stored.
    public let stored: StoredValue
    /// The person who wrote it; nil if the device never belonged to the zone.
    public let author: Key<ZoneMember>?
    /// The name of that person, who may have left; empty if it is not known.
    public let authorName: String
    /// The device that wrote it.
    public let device: Key<ZoneDevice>
    /// When it was written, by that device's clock.
    public let time: Date
    let dot: Dot
  }

  /// The name of the record's type in its schema.
  public let type: String
  /// The name of the field in the schema.
  public let field: String
  /// The values, the shown one first and the others from the latest to the earliest.
  public let values: [Value]
  let record: RecordKey
  let fieldID: FieldID

  /// Returns the record's key; nil if the record is of another type.
  public func key<Owner: Record>(of type: Owner.Type) -> Key<Owner>? {
    record.type == type.schema.type ? Key(record.id) : nil
  }
}

extension HearthError.Code {
  /// What the call is about has changed since it was read: read it again.
  public static let changed = HearthError.Code(rawValue: "changed")
}

/// Finds and resolves the conflicts of a zone.
struct ZoneConflicts: NodeWork {
  let core: NodeCore
  let zone: ZoneID

  /// The conflicts in order of type, record and field.
  ///
  /// - Parameter type: the only type to look at; nil for all.
  func all(of type: TypeID?) throws -> [ZoneConflict] {
    let membership = membership(of: try engine.zone(zone).group)
    return try FieldSiblings.all(
      among: schema.records.filter { type ?? $0.id == $0.id },
      in: store.projections.source(of: zone)
    ).map { conflict($0, membership) }
  }

  private func conflict(_ siblings: FieldSiblings, _ membership: Membership) -> ZoneConflict {
    let rest = siblings.values.dropFirst().sorted { $0.version > $1.version }
    return ZoneConflict(
      type: siblings.schema.name, field: siblings.field.name,
      values: (siblings.values.prefix(1) + rest).map { sibling in
        let device = sibling.version.dot.author.device
        let person = membership.person(of: device)
        return ZoneConflict.Value(
          stored: StoredValue(sibling.value), author: person.map { Key($0.id) },
          authorName: person?.name ?? "", device: Key(device),
          time: Date(milliseconds: sibling.version.time.milliseconds), dot: sibling.version.dot)
      }, record: siblings.key, fieldID: siblings.field.id)
  }

  /// Requires that a conflict still is what somebody has seen of it.
  ///
  /// A value that came since would be replaced unseen.
  func requirePresent(_ conflict: ZoneConflict) throws {
    let state = try store.projections.source(of: zone).record(conflict.record)
    let present =
      state.map { FieldSiblings.values(of: conflict.fieldID, in: $0).map(\.version.dot) } ?? []
    guard state?.life.isDeleted == false, Set(present) == Set(conflict.values.map(\.dot)) else {
      throw HearthError(
        .changed, "\(conflict.field) of \(conflict.type) has changed since the conflict was read")
    }
  }
}

extension HearthZone {
  /// Returns the fields with several concurrent values, in order of type, record and field.
  ///
  /// Nothing is lost without it: queries show the latest value, and the others wait here. It reads
  /// every record of the zone, or of one type with ``conflicts(of:)``.
  public func conflicts() async throws(HearthError) -> [ZoneConflict] {
    try await conflicts(in: nil)
  }

  /// Returns the fields with several concurrent values in records of one type.
  public func conflicts<Owner: Record>(
    of type: Owner.Type
  ) async throws(HearthError) -> [ZoneConflict] {
    try await conflicts(in: type.schema.type)
  }

  private func conflicts(in type: TypeID?) async throws(HearthError) -> [ZoneConflict] {
    try await Hearth.reported {
      try await node.working { core in
        try core.store.readOneState {
          try ZoneConflicts(core: core, zone: zone).all(of: type)
        }
      }
    }
  }

  /// Keeps one of a conflict's values and drops the others, on every device.
  ///
  /// To keep a value that is none of them, update the record.
  ///
  /// - Throws: `changed` if the field has other values by now: read the conflicts again;
  ///   `notAllowed`; `invalid` if the value belongs to another conflict.
  public func resolve(
    _ conflict: ZoneConflict, with value: ZoneConflict.Value
  ) async throws(HearthError) {
    try await Hearth.reported {
      guard conflict.values.contains(value) else {
        throw HearthError(.invalid, "the conflict does not contain this value")
      }
      let choice = HearthCRDT.Operation(
        conflict.record, .assign(conflict.fieldID, value.stored.value))
      try await ZoneWork.reported {
        try await node.working { core in
          try ZoneWork(core: core, zone: zone).write { transaction in
            try ZoneConflicts(core: core, zone: zone).requirePresent(conflict)
            try transaction.append([choice])
          }
        }
      }
    }
  }
}
