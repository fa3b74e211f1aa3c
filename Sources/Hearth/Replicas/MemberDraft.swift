import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport

/// A group's control log as a transport shows it to a node that is about to join.
///
/// A node takes a group whole or not at all, and nothing waits for a transport in a transaction. So
/// the node first reads the log into separate replicas, and then takes the result in one
/// transaction with everything else that joining requires.
struct MemberDraft {
  /// The control zone.
  fileprivate let zone: ZoneID
  /// Its segments that count.
  fileprivate let applied: [[UInt8]]
  /// Its segments that wait for others.
  fileprivate let waiting: [[UInt8]]
  /// The keys that were handed to this device at a relay.
  fileprivate let grants: [[UInt8]]?
  /// Whether another copy of this node has written there under its present incarnation.
  fileprivate let isLifeUsed: Bool
  fileprivate let group: GroupID
  /// What could not be used.
  let report: TransportReport
}

/// Notes nothing: replicas that are looked at once have no past.
private struct NoAnchorFile: AnchorFile {
  func read(atMost limit: Int) -> [UInt8]? { nil }
  func replace(_ bytes: [UInt8]) {}
  func identity() -> [UInt8] { [] }
}

extension NodeReplicas {
  /// Fetches a group's control log into replicas of its own.
  ///
  /// - Parameters:
  ///   - recipients: the identities under which this device finds its rekey handoffs at a relay.
  ///   - policy: the rights of each role.
  ///   - begin: gives empty replicas what opens the log.
  func draftMembers(
    of group: GroupID, over transport: any Transport, named name: String,
    as recipients: [(id: Identifier, pair: BoxKeyPair)], under policy: RolePolicy,
    beginning begin: (inout Engine<ReplicaStore>) throws -> Void
  ) async throws -> MemberDraft {
    let draft = try empty(under: policy)
    defer { try? draft.close() }
    try begin(&draft.engine)
    let zone = try draft.engine.controlZone(of: group).id
    var view = transport
    if let relay = transport as? RelayTransport {
      let own = relay.view(RelayDirectory())
      try await RelayReadmission(to: RelayMailboxes(at: own, with: draft)).admit(
        to: group, as: recipients, anchorFile: draft.anchorFile, nowMilliseconds: now())
      view = own
    }
    let report = try await draft.pull([zone], from: view, named: name)
    let store = draft.store
    let applied = try store.log.segments(of: zone).compactMap {
      try store.log.bytes(of: $0.digest, in: zone)
    }
    let waiting = try store.pending.entries(in: zone).compactMap {
      try store.pending.bytes(of: $0.digest, in: zone)
    }
    return MemberDraft(
      zone: zone, applied: applied, waiting: waiting,
      grants: try store.facts.value(of: RelayGrants.fact(of: group)),
      isLifeUsed: draft.engine.incarnation != engine.incarnation, group: group,
      report: report)
  }

  /// Empty replicas of this device, in memory.
  private func empty(under policy: RolePolicy) throws -> NodeReplicas {
    let (own, moment) = (engine, now())
    return try NodeReplicas(
      lock: nil, isShared: false, anchorFile: NoAnchorFile(), now: now
    ) { _ in
      let store = try ReplicaStore(path: ReplicaStore.inMemoryPath, schema: [])
      return NodeReplicas.Content(
        engine: try Engine(
          store: store, identity: own.identity, incarnation: own.incarnation,
          policy: policy, application: own.application, nowMilliseconds: moment),
        profile: self.profile)
    }
  }

  /// Takes a drafted control log into a group's zone that is here already; called in a transaction.
  func take(_ draft: MemberDraft) throws {
    if draft.isLifeUsed {
      try NewIncarnation.begin(
        reason: "another copy of this node has published changes that this one does not have",
        in: &engine, nowMilliseconds: now())
      try Anchor.drop(anchorFile, for: engine)
    }
    if let grants = draft.grants {
      try store.facts.set(RelayGrants.fact(of: draft.group), to: grants)
    }
    // Strangers can make very many of those that wait. Until the log is here everybody is a
    // stranger, and those would take its room.
    for segments in [draft.applied, draft.waiting] {
      _ = try engine.receive(segments, in: draft.zone, nowMilliseconds: now())
    }
  }
}
