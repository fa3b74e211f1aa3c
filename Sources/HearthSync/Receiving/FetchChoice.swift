import HearthCRDT
import HearthCrypto
import HearthMembership

/// Which files of a zone are worth fetching.
struct FetchChoice<S: Store> {
  let engine: Engine<S>

  /// Leaves out the names of a removed device's segments that can never count; a notice names that
  /// device.
  func worthFetching(
    _ names: [SegmentName], in zone: ZoneState, nowMilliseconds: UInt64
  ) throws -> [SegmentName] {
    let vain = PendingStorage(engine: engine).beyondCuts(names, in: zone)
    let devices = Set(vain.compactMap { zone.deviceByTag[$0.authorTag] }).sorted()
    if !devices.isEmpty {
      try engine.store.transaction {
        for device in devices {
          try LimitNotices.noteLimit(
            of: device, in: zone, as: "removed",
            "no longer belongs to the household and has published files that can never have "
              + "an effect",
            advice: "they are not fetched, and the keeper of a shared folder may delete them",
            by: engine, nowMilliseconds: nowMilliseconds)
        }
      }
    }
    return names.filter { !vain.contains($0) }
  }

  /// What is remembered of a zone's files that were examined and not kept.
  func examined(in zone: ZoneState) throws -> ExaminedFiles {
    let crowded = try RoomRefusals(of: zone.id, in: engine.store)
    let refusals = try Refusals(of: zone.id, in: engine.store)
    return ExaminedFiles(
      of: zone, refusals, crowded,
      pending: crowded.isEmpty ? [] : try engine.store.pending.entries(in: zone.id),
      knowing: refusals.isEmpty ? [] : try PendingKnowledge.knowledge(of: zone, in: engine))
  }
}
