/// What every step of an exchange works with: its transport, and turns with the replicas.
struct ExchangePorts<Turns: ReplicaTurns, Link: Transport> {
  let transport: Link
  let turns: Turns
  /// The file in which the node notes how far its logs are sealed.
  let anchorFile: any AnchorFile
  let nowMilliseconds: UInt64

  /// Runs a body that has the replicas to itself.
  func turn<Result>(_ body: (inout Engine<Turns.Replicas>) throws -> Result) throws -> Result {
    try turns.turn(body)
  }
}
