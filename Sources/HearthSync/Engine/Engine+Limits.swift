import HearthCRDT
import HearthMembership

/// A record that takes no more of one author.
package struct OverfullRecord: Equatable, Sendable {
  package let zone: ZoneID
  package let author: Author
  package let key: RecordKey
  /// How many of the author's changes count for nothing, as they would put more into it.
  package internal(set) var changes: Int
}

// What one device may put into a record and keep waiting here, and how it is told where one tries
// more.
extension Engine {
  /// Refuses an own change of which a part would count for nothing.
  func checkRoom(in applier: Applier<S>) throws {
    guard let key = applier.overfull[author] else { return }
    throw SyncError(
      .tooLarge,
      "this device has put as much into one record (\(key.type)) as it may: "
        + "\(Limits.maximumHistoryValues) values of one history, "
        + "\(Limits.maximumRecordUnits) elements of sets or "
        + "\(Int(Limits.maximumRecordUnits) * Limits.recordUnitBytes >> 10) KiB of long values: "
        + "use another record")
  }

  /// Tells once of each device that wrote more into a record than it may.
  func noteOverfull(
    _ overfull: [Author: RecordKey], in zone: ZoneState, nowMilliseconds: UInt64
  ) throws {
    for author in overfull.keys.sorted() {
      try noteLimit(
        of: author.device, in: zone, as: "record",
        "put more into one record than one device may: each change that would pass the limit "
          + "counts for nothing, as a whole (`hearth doctor` names the record, `hearth quarantine` "
          + "the changes)",
        nowMilliseconds: nowMilliseconds)
    }
  }

  /// The records of a zone that take no more of an author, with how many changes count for nothing
  /// for that, in order of author and of the first such change.
  package func overfullRecords(in zone: ZoneID) throws -> [OverfullRecord] {
    var found: [OverfullRecord] = []
    for (author, stretch) in try roleVoids(of: zone).all {
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

  /// Tells once of each device that passed a limit, and what can be done about it.
  ///
  /// - Parameter advice: what can be done; nil where an honest program never does that.
  func noteLimit(
    of device: DeviceID, in zone: ZoneState, as limit: String, _ what: String,
    advice: String? = nil, nowMilliseconds: UInt64
  ) throws {
    let fact = "limit.\(limit).\(device.hex)"
    guard device != self.device, try store.fact(fact) == nil else { return }
    try store.setFact(fact, Engine.bytes(of: nowMilliseconds))
    let name = deviceName(device, in: zone)
    try store.add(
      Notice(
        kind: .limit, zone: zone.id, device: device,
        text: "\(name) \(what); "
          + (advice
            ?? "no honest program does that: ask whose device it is, and remove it with "
            + "`hearth device revoke` if nobody knows why"),
        milliseconds: nowMilliseconds))
  }
}
