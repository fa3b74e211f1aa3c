import HearthCRDT

// Exchanges of callers that have the engine to themselves.
extension Engine {
  /// Exchanges what is new with one transport: ``Exchange/run(carrying:checking:isComplete:)``.
  package mutating func exchange(
    over transport: some Transport, named name: String,
    carrying carried: CarriedGroups = .everything, anchorFile: some AnchorFile,
    checking check: FileCheck = .some, isComplete: Bool = true, nowMilliseconds: UInt64
  ) throws -> TransportReport {
    try withTurns { turns in
      var exchange = Exchange(
        over: transport, named: name, with: turns, anchorFile: anchorFile,
        nowMilliseconds: nowMilliseconds)
      try exchange.run(carrying: carried, checking: check, isComplete: isComplete)
      return exchange.report
    }
  }

  /// Takes what is new on one transport and gives nothing: ``Exchange/take(carrying:)``.
  package mutating func take(
    from transport: some Transport, named name: String,
    carrying carried: CarriedGroups = .everything, anchorFile: some AnchorFile,
    nowMilliseconds: UInt64
  ) throws -> TransportReport {
    try withTurns { turns in
      var exchange = Exchange(
        over: transport, named: name, with: turns, anchorFile: anchorFile,
        nowMilliseconds: nowMilliseconds)
      try exchange.take(carrying: carried)
      return exchange.report
    }
  }

  /// Takes what a transport has of one zone: ``Exchange/pull(_:)``.
  package mutating func pull(
    _ id: ZoneID, from transport: some Transport, anchorFile: some AnchorFile,
    nowMilliseconds: UInt64, _ report: inout TransportReport
  ) throws {
    try withTurns { turns in
      var exchange = Exchange(
        over: transport, named: report.setting, with: turns, anchorFile: anchorFile,
        nowMilliseconds: nowMilliseconds)
      exchange.report = report
      defer { report = exchange.report }
      try exchange.pull(id)
    }
  }
}
