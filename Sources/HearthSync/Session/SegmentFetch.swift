import HearthCRDT

/// The step of an exchange that fetches the new segments of a transport.
struct SegmentFetch<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>

  /// Takes every new segment of a listing.
  func takeAll(
    of id: ZoneID, holding listing: TransportListing, _ report: inout TransportReport
  ) async throws {
    let now = ports.nowMilliseconds
    var taking = try ports.turn { try FetchRounds.taking(of: id, from: listing, in: $0.store) }
    var names = try ports.turn { try FetchRounds.goOn(&taking, in: &$0, nowMilliseconds: now) }
    note(&taking, &report)
    while !names.isEmpty {
      try await fetch(names, &taking, &report)
      names = try ports.turn { try FetchRounds.goOn(&taking, in: &$0, nowMilliseconds: now) }
      note(&taking, &report)
    }
  }

  private func fetch(
    _ names: [SegmentName], _ taking: inout Taking, _ report: inout TransportReport
  ) async throws {
    ports.transport.expect(names)
    var batch: [(name: SegmentName, bytes: [UInt8])] = []
    var batchBytes = 0
    for name in names where taking.waste.allows(name) {
      do {
        let bytes = try await ports.transport.fetch(name)
        batch.append((name, bytes))
        batchBytes += bytes.count
        report.receivedBytes += bytes.count
      } catch let error as TransportError {
        Probe.fetchFailed.hit()
        taking.fail(name)
        report.problems.append(error.problem(hidesData: true))
      }
      if batchBytes >= ports.turns.batchBytes {
        try receive(batch, &taking, &report)
        (batch, batchBytes) = ([], 0)
      }
    }
    if !batch.isEmpty { try receive(batch, &taking, &report) }
  }

  private func receive(
    _ batch: [(name: SegmentName, bytes: [UInt8])], _ taking: inout Taking,
    _ report: inout TransportReport
  ) throws {
    let now = ports.nowMilliseconds
    try ports.turns.turn(applying: batch.reduce(0) { $0 + $1.bytes.count }) {
      try FetchRounds.receive(batch, &taking, in: &$0, nowMilliseconds: now)
    }
    note(&taking, &report)
  }

  /// Reports what was received since the last report.
  func note(_ taking: inout Taking, _ report: inout TransportReport) {
    let news = taking.takeNews()
    report.received += news.applied
    if let waiting = news.waiting { report.waiting = waiting }
    for (name, reason) in news.refused {
      let place = name.map { ports.transport.place(of: $0) } ?? "a pending segment"
      report.problems.append(SegmentFetch.problem(with: place, reason))
    }
    report.problems += news.problems
  }

  private static func problem(with place: String, _ reason: String) -> TransportProblem {
    TransportProblem(
      place: place, fault: reason, remedy: "delete the file: its author publishes it again",
      hidesData: true)
  }
}
