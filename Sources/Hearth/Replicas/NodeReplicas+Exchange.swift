import HearthCRDT
import HearthSync

// Exchanges of a node's replicas with one transport.
extension NodeReplicas {
  /// Takes what is new on a transport, then gives what it lacks.
  ///
  /// - Parameters:
  ///   - name: what the report calls the transport.
  ///   - carried: which groups go over it.
  ///   - isComplete: whether every other transport was read without failure before.
  ///   - unread: groups of which another transport refused a zone.
  ///   - holdsBack: whether a group of which it refuses a zone counts as one of them.
  func exchange(
    over transport: some Transport, named name: String, _ carried: CarriedGroups,
    checking check: FileCheck = .some, isComplete: Bool = true, unread: Set<GroupID> = [],
    holdsBack: Bool = true
  ) async throws -> TransportReport {
    var exchange = Exchange(
      over: transport, named: name, with: self, anchorFile: anchorFile,
      nowMilliseconds: now())
    try await exchange.run(
      carrying: carried, checking: check, isComplete: isComplete, unread: unread,
      holdsBack: holdsBack)
    return exchange.report
  }

  /// Takes what is new on a transport and gives nothing.
  func take(
    from transport: some Transport, named name: String, _ carried: CarriedGroups
  ) async throws -> TransportReport {
    var exchange = Exchange(
      over: transport, named: name, with: self, anchorFile: anchorFile,
      nowMilliseconds: now())
    try await exchange.take(carrying: carried)
    return exchange.report
  }

  /// Takes what a transport has of some zones, one after the other.
  func pull(
    _ zones: [ZoneID], from transport: some Transport, named name: String
  ) async throws -> TransportReport {
    var exchange = Exchange(
      over: transport, named: name, with: self, anchorFile: anchorFile,
      nowMilliseconds: now())
    for zone in zones { try await exchange.pull(zone) }
    return exchange.report
  }
}
