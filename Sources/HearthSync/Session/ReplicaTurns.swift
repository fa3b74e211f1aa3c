/// Gives an exchange turns with the replicas.
///
/// Between two turns an exchange waits for its transport, and whatever else works on the replicas
/// goes on: a person's command, another exchange. So an exchange carries from one turn to the next
/// only what stays true: ids, tags, names of files, sealed bytes.
package protocol ReplicaTurns {
  associatedtype Replicas: Store

  /// Runs a body that has the replicas to itself until it returns.
  func turn<Result>(_ body: (inout Engine<Replicas>) throws -> Result) throws -> Result
}

/// Turns for a caller that has the replicas to itself anyway.
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

extension Engine {
  /// Runs exchanges with this engine alone.
  package mutating func withTurns<Result>(
    _ body: (OwnTurns<S>) throws -> Result
  ) throws -> Result {
    let turns = OwnTurns(self)
    defer { self = turns.engine }
    return try body(turns)
  }
}
