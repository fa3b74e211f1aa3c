import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// The record that says to which application a shared zone belongs.
///
/// Its type is Hearth's own and has no table. Only admins can write it.
struct ZoneIdentity: NodeWork {
  let core: NodeCore
  let zone: ZoneID

  static let type = TypeID.record(16_382)
  private static let application = FieldID(.register, 1)

  private var key: RecordKey {
    RecordKey(
      type: ZoneIdentity.type,
      id: naturalID(in: zone, type: ZoneIdentity.type, key: Array("application".utf8)))
  }

  /// The operations that claim a new zone for this node's application.
  func claim() -> [Operation] {
    guard let application = schema.application else { return [] }
    return [
      Operation(key, .insert),
      Operation(key, .assign(ZoneIdentity.application, .text(application))),
    ]
  }

  /// Requires that the zone belongs to this node's application.
  ///
  /// The private database needs no mark: the home's own mark and the links of further devices keep
  /// other applications away.
  ///
  /// - Throws: `otherApplication`; `notFound` before the zone's first records have arrived.
  func require() throws {
    guard let application = schema.application, !core.ownZones.contains(zone),
      try engine.zone(zone).database == .shared
    else { return }
    guard case .record(let state) = try store.records.record(key, in: zone) else {
      throw HearthError(
        .notFound, "the zone's records have not arrived yet: sync first")
    }
    guard state.shown(ZoneIdentity.application) == .text(application) else {
      throw HearthError(
        .otherApplication, "the zone belongs to another application than \(application)")
    }
    core.ownZones.insert(zone)
  }
}
