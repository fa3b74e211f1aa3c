import HearthCRDT
import HearthMembership
import HearthSync

/// Turns for a caller that has the replicas to itself.
package final class OwnTurns<Replicas: Store>: ReplicaTurns {
  /// The engine as the last turn left it.
  package private(set) var engine: Engine<Replicas>

  package init(_ engine: Engine<Replicas>) {
    self.engine = engine
  }

  package func turn<Result>(
    _ body: (inout Engine<Replicas>) throws -> Result
  ) throws -> Result {
    try body(&engine)
  }
}

// Exchanges of an engine over transports that never wait.
extension Engine {
  /// Runs exchanges with this engine alone.
  package mutating func withTurns<Result>(
    _ body: (OwnTurns<S>) async throws -> Result
  ) throws -> Result {
    let turns = OwnTurns(self)
    defer { self = turns.engine }
    return try runInline { try await body(turns) }
  }

  /// Exchanges what is new with one transport.
  package mutating func exchange(
    over transport: some Transport, named name: String,
    carrying carried: CarriedGroups = .everything, anchorFile: some AnchorFile,
    checking check: FileCheck = .some, isComplete: Bool = true, unread: Set<GroupID> = [],
    holdsBack: Bool = true, nowMilliseconds: UInt64
  ) throws -> TransportReport {
    try withTurns { turns in
      var exchange = Exchange(
        over: transport, named: name, with: turns, anchorFile: anchorFile,
        nowMilliseconds: nowMilliseconds)
      try await exchange.run(
        carrying: carried, checking: check, isComplete: isComplete, unread: unread,
        holdsBack: holdsBack)
      return exchange.report
    }
  }

  /// Takes what is new on one transport and gives nothing.
  package mutating func take(
    from transport: some Transport, named name: String,
    carrying carried: CarriedGroups = .everything, anchorFile: some AnchorFile,
    nowMilliseconds: UInt64
  ) throws -> TransportReport {
    try withTurns { turns in
      var exchange = Exchange(
        over: transport, named: name, with: turns, anchorFile: anchorFile,
        nowMilliseconds: nowMilliseconds)
      try await exchange.take(carrying: carried)
      return exchange.report
    }
  }

  /// Takes what a transport has of one zone.
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
      try await exchange.pull(id)
    }
  }
}
