import HearthCRDT
import HearthMembership

/// A record that accepts no further content of one author.
package struct OverfullRecord: Equatable, Sendable {
  package let zone: ZoneID
  package let author: Author
  package let key: RecordKey
  /// The number of the author's changes that are void because they would exceed the limit.
  package internal(set) var changes: Int
}

/// Limits per device for a record's content.
package enum OverfullRecords {
  /// Rejects an own change of which a part would be void.
  static func checkRoom<S: Store>(
    in applier: Applier<S>, of writer: ChangeAuthor?, by engine: Engine<S>
  ) throws {
    guard let key = applier.overfull[engine.author] else { return }
    let room = RecordLimits.standard.room(of: engine.author, isFurther: writer?.isFurther ?? false)
    throw SyncError(
      .tooLarge,
      "this device has reached its limit in one record (\(key.type)): "
        + "\(room.historyValues) values of one history, \(room.units) elements of sets or "
        + "\((Int(room.units) * Limits.recordUnitBytes) >> 10) KiB of long values"
        + (engine.author.isFirst ? "" : " since it was restored or copied") + ": use another record"
    )
  }

  /// Adds one notice per device that wrote more into a record than it may.
  static func noteOverfull(
    _ overfull: [Author: RecordKey], in zone: ZoneState, by engine: Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    for author in overfull.keys.sorted() {
      try LimitNotices.noteLimit(
        of: author.device, in: zone, as: "record",
        "put more into one record than one device may: each change beyond the limit, as a whole, "
          + "has no effect (`hearth doctor` names the record, `hearth quarantine` the changes)",
        by: engine, nowMilliseconds: nowMilliseconds)
    }
  }

  /// The records of a zone that accept no further content of an author, with the number of void
  /// changes.
  ///
  /// The order is by author and then by the first such change.
  package static func overfullRecords(in zone: ZoneID, with store: some Store) throws
    -> [OverfullRecord]
  {
    var found: [OverfullRecord] = []
    for (author, stretch) in try StoredVoids.roleVoids(of: zone, in: store).all {
      guard let key = stretch.overfull else { continue }
      let place = found.firstIndex { $0.author == author && $0.key == key }
      let count = stretch.changes.count
      if let place {
        found[place].changes += count
      } else {
        found.append(OverfullRecord(zone: zone, author: author, key: key, changes: count))
      }
    }
    return found
  }
}
