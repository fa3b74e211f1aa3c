import HearthCRDT
import HearthSync

/// The result of a sync.
public struct SyncResult: Sendable {
  /// The result of each transport, in the order of ``HearthNode/transports()``.
  public let transports: [TransportResult]
  /// The zones to which requests of this node were approved, so that it is in them now.
  public let joined: [HearthZone]

  /// The number of changes that were received.
  public var received: Int { transports.reduce(0) { $0 + $1.received } }
  /// The number of sealed segments that were given to transports.
  public var published: Int { transports.reduce(0) { $0 + $1.published } }
  /// What went wrong with single transports and files, in words.
  public var problems: [String] {
    transports.flatMap { transport in
      (transport.failure.map { [$0.message] } ?? [])
        + transport.problems.map { "\($0.place): \($0.message)" }
    }
  }
  /// Whether there are transports and none of them could be reached.
  public var isOffline: Bool {
    !transports.isEmpty && transports.allSatisfy { $0.failure != nil }
  }
}

/// The result of a sync with one transport.
public struct TransportResult: Sendable {
  /// The folder or relay.
  public let address: NodeTransport.Address
  /// The number of changes that were received.
  public let received: Int
  /// The number of sealed segments that were given to it.
  public let published: Int
  /// Why the exchange failed; nil if it did not.
  ///
  /// What came before the failure still counts.
  public let failure: HearthError?
  /// The files or entries there that could not be used, so that data may be missing.
  public let problems: [SyncProblem]
}

/// Something on a transport that could not be used.
public struct SyncProblem: Hashable, Sendable {
  /// A path below the folder, or the name of a relay's entry.
  public let place: String
  /// What is wrong with it.
  public let message: String
}

extension SyncResult {
  init(_ report: SyncReport, joined: [HearthZone]) {
    transports = report.transports.map(TransportResult.init)
    self.joined = joined
  }
}

extension TransportResult {
  fileprivate init(_ report: TransportReport) {
    address = NodeTransport.Address(place: report.setting)
    received = report.received
    published = report.published
    failure = report.failure.map { HearthError(.offline, ProgramWords.text($0, .offline)) }
    problems = report.problems.filter(\.hidesData).map {
      SyncProblem(place: $0.place, message: ProgramWords.text($0.fault, .corrupt))
    }
  }
}

extension HearthNode {
  /// Syncs with every folder and relay.
  ///
  /// A transport that cannot be reached is in the result, and no error: the others are not held up.
  /// ``startSync()`` does this whenever something changes.
  ///
  /// - Throws: `closed`; `locked` if another process holds the node; `cancelled`; `io`; `corrupt`.
  @discardableResult
  public func sync() async throws(HearthError) -> SyncResult {
    try await reported { try await SyncResult(ofSyncing: node) }
  }
}

extension SyncResult {
  /// Syncs a node.
  init(ofSyncing node: Node) async throws {
    // In one turn: the next sync forgets the zones to which this one admitted the node.
    let (report, admissions) = try await node.alone { core in
      (try await node.sync(), core.lastAdmissions)
    }
    let zones = await node.dataZones()
    self.init(
      report,
      joined: admissions.map { zone in
        HearthZone(node: node, zone: zone, name: zones.first { $0.id == zone }?.name ?? "")
      })
  }
}
