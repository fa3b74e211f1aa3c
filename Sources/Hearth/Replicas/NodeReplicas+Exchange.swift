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

  /// The most times that the files which were refused are examined again; each must bring news.
  private static var maximumTurns: Int { 256 }

  /// Takes what a transport has of some zones, one after the other.
  ///
  /// A file that was refused may be usable once a later one vouches for its author. A sync examines
  /// it again in its next round; whoever joins or recovers has no next round, and does so at once.
  ///
  /// - Returns: the report of the last turn, with what could not be used in the end.
  func pull(
    _ zones: [ZoneID], from transport: some Transport, named name: String
  ) async throws -> TransportReport {
    for _ in 1..<NodeReplicas.maximumTurns {
      let before = try zones.map { try engine.zone($0).frontier }
      let report = try await pullOnce(zones, from: transport, named: name)
      let hasNews = try zones.map { try engine.zone($0).frontier } != before
      if report.problems.isEmpty || !hasNews { return report }
    }
    return try await pullOnce(zones, from: transport, named: name)
  }

  private func pullOnce(
    _ zones: [ZoneID], from transport: some Transport, named name: String
  ) async throws -> TransportReport {
    var exchange = Exchange(
      over: transport, named: name, with: self, anchorFile: anchorFile,
      nowMilliseconds: now())
    for zone in zones { try await exchange.pull(zone) }
    return exchange.report
  }
}
