/// Gives an exchange turns with the replicas.
///
/// Between two turns an exchange waits for its transport, and whatever else works on the replicas
/// goes on: a person's command, another exchange. So an exchange carries from one turn to the next
/// only what stays true: ids, tags, names of files, sealed bytes.
package protocol ReplicaTurns {
  associatedtype Replicas: Store

  /// Runs a body that has the replicas to itself until it returns.
  func turn<Result>(_ body: (inout Engine<Replicas>) throws -> Result) throws -> Result

  /// How many bytes of segments one turn applies: bounds memory, what a cut loses, and how long
  /// other work waits.
  var batchBytes: Int { get }

  /// Runs a body that applies so many bytes of segments.
  func turn<Result>(
    applying byteCount: Int, _ body: (inout Engine<Replicas>) throws -> Result
  ) throws -> Result

  /// Does work that needs no replicas; whatever else works on them goes on meanwhile.
  func aside<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result

  /// Runs a body that no other exchange of this process loads a snapshot beside.
  func loading<Result>(_ body: () async throws -> Result) async throws -> Result
}

// Where nobody waits for a turn, batches are large.
extension ReplicaTurns {
  package var batchBytes: Int { 8 * 1024 * 1024 }

  package func turn<Result>(
    applying byteCount: Int, _ body: (inout Engine<Replicas>) throws -> Result
  ) throws -> Result {
    try turn(body)
  }

  package func aside<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try work()
  }

  package func loading<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await body()
  }
}
