import HearthCRDT
import HearthMembership

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
        "put more into one record than one device may: what is beyond the limit counts for nothing",
        nowMilliseconds: nowMilliseconds)
    }
  }

  /// Tells once of each device that passed a limit, and what can be done about it.
  func noteLimit(
    of device: DeviceID, in zone: ZoneState, as limit: String, _ what: String,
    nowMilliseconds: UInt64
  ) throws {
    let fact = "limit.\(limit).\(device.hex)"
    guard device != self.device, try store.fact(fact) == nil else { return }
    try store.setFact(fact, Engine.bytes(of: nowMilliseconds))
    let name = deviceName(device, in: zone)
    try store.add(
      Notice(
        kind: .limit, zone: zone.id, device: device,
        text: "\(name) \(what); no honest program does that: ask whose device it is, and remove it "
          + "with `hearth device revoke` if nobody knows why",
        milliseconds: nowMilliseconds))
  }
}
