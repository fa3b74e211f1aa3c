import HearthCRDT
import HearthMembership

/// Reception of segments of one zone: verification, order, application and storing.
///
/// What a changed membership calls for is left to the caller.
enum ZoneIntake {
  /// Retries pending segments of a control zone as long as they admit somebody.
  ///
  /// A newly admitted author may have written pending segments, which may admit the next author.
  static func receiveAdmitted(
    in zone: ZoneID, by engine: inout Engine<some Store>, nowMilliseconds: UInt64,
    _ report: inout ReceiveReport
  ) throws {
    var applied = report.applied
    while applied > 0, report.waiting[.author] != nil || report.waiting[.epoch] != nil {
      let more = try receive([], in: zone, ends: [], by: &engine, nowMilliseconds: nowMilliseconds)
      applied = more.applied
      report.add(more)
    }
  }

  /// Receives segments, also during a rebuild, in which held-back logs end where they ended before.
  ///
  /// - Parameter opened: What a check has just opened of the segments.
  static func receive(
    _ blobs: [[UInt8]], in zone: ZoneID, ends: [LogHead], isRebuilding: Bool = false,
    opened: OpenedMemory? = nil, by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> ReceiveReport {
    let place = try engine.place(of: zone)
    let group = engine.zones[place].group
    var received: (zone: ZoneState, clock: HybridClock, report: ReceiveReport)?
    try engine.store.transaction {
      var batch = try ReceivedBatch(
        blobs, in: engine.zones[place], ends: ends, isRebuilding: isRebuilding, opened: opened,
        by: engine, nowMilliseconds: nowMilliseconds)
      while let slice = try batch.nextSlice() { try batch.receive(slice) }
      try batch.finish()
      received = (batch.zone, batch.clock, batch.report)
    }
    guard let received else { return ReceiveReport() }
    engine.zones[place] = received.zone
    engine.clock = received.clock
    try KeySearch.learnKeys(ofIntroduced: received.report.introduced, of: group, by: &engine)
    if received.zone.kind == .control, received.report.applied > 0 {
      try MembershipRefresh.refresh(of: group, in: &engine)
    }
    return received.report
  }
}
