import HearthCRDT

// Fetching what is new on a transport.
extension Exchange {
  /// Takes every new segment of a listing.
  mutating func takeAll(of id: ZoneID, holding listing: TransportListing) async throws {
    let now = nowMilliseconds
    var taking = try turn { try FetchRounds.taking(of: id, from: listing, in: $0.store) }
    var names = try turn { try FetchRounds.goOn(&taking, in: &$0, nowMilliseconds: now) }
    note(&taking)
    while !names.isEmpty {
      try await fetch(names, &taking)
      names = try turn { try FetchRounds.goOn(&taking, in: &$0, nowMilliseconds: now) }
      note(&taking)
    }
  }

  private mutating func fetch(_ names: [SegmentName], _ taking: inout Taking) async throws {
    transport.expect(names)
    var batch: [(name: SegmentName, bytes: [UInt8])] = []
    var batchBytes = 0
    for name in names where taking.waste.allows(name) {
      do {
        let bytes = try await transport.fetch(name)
        batch.append((name, bytes))
        batchBytes += bytes.count
        report.receivedBytes += bytes.count
      } catch let error as TransportError {
        Probe.fetchFailed.hit()
        taking.fail(name)
        report.problems.append(error.problem(hidesData: true))
      }
      if batchBytes >= turns.batchBytes {
        try receive(batch, &taking)
        (batch, batchBytes) = ([], 0)
      }
    }
    if !batch.isEmpty { try receive(batch, &taking) }
  }

  private mutating func receive(
    _ batch: [(name: SegmentName, bytes: [UInt8])], _ taking: inout Taking
  ) throws {
    let now = nowMilliseconds
    try turns.turn(applying: batch.reduce(0) { $0 + $1.bytes.count }) {
      try FetchRounds.receive(batch, &taking, in: &$0, nowMilliseconds: now)
    }
    note(&taking)
  }

  /// Reports what was received since the last report.
  mutating func note(_ taking: inout Taking) {
    let news = taking.takeNews()
    report.received += news.applied
    if let waiting = news.waiting { report.waiting = waiting }
    for (name, reason) in news.refused {
      let place = name.map { transport.place(of: $0) } ?? "a pending segment"
      report.problems.append(Exchange.problem(with: place, reason))
    }
    report.problems += news.problems
  }

  private static func problem(with place: String, _ reason: String) -> TransportProblem {
    TransportProblem(
      place: place, fault: reason, remedy: "delete the file: its author publishes it again",
      hidesData: true)
  }
}
