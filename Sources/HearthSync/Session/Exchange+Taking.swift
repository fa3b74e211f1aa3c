import HearthCRDT

// What is new on a transport comes here.
extension Exchange {
  /// Takes every segment of a listing that is new here.
  mutating func takeAll(of id: ZoneID, holding listing: TransportListing) async throws {
    let now = nowMilliseconds
    var taking = try turn { try $0.taking(of: id, from: listing) }
    var names = try turn { try $0.goOn(&taking, nowMilliseconds: now) }
    note(&taking)
    while !names.isEmpty {
      try await fetch(names, &taking)
      names = try turn { try $0.goOn(&taking, nowMilliseconds: now) }
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
      try $0.receive(batch, &taking, nowMilliseconds: now)
    }
    note(&taking)
  }

  /// Reports what came since the last time.
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
