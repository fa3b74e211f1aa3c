import HearthCRDT
import HearthCrypto
import HearthMembership

extension Engine {
  /// Opens a node's engine over its store.
  ///
  /// - Parameters:
  ///   - incarnation: The current incarnation; the caller has decided whether a new one starts.
  ///   - policy: The permissions of each role; the same on every replica.
  ///   - application: The application of the node; the same at each opening.
  ///   - isFolded: Whether to resolve the memberships now; otherwise ``fold(knowing:)`` does it
  ///     later. A program that only reads records needs no control log, however long it is.
  ///   - nowMilliseconds: The wall clock.
  package init(
    store: S, identity: DeviceIdentity, incarnation: UInt64, schemaVersion: UInt32 = 1,
    policy: RolePolicy = RolePolicy(), application: ApplicationIdentifier = .household,
    isFolded: Bool = true, nowMilliseconds: UInt64
  ) throws {
    self.store = store
    self.identity = identity
    device = try deviceID(of: identity)
    self.incarnation = incarnation
    self.schemaVersion = schemaVersion
    self.policy = policy
    self.application = application
    zones = []
    memberships = [:]
    clock = HybridClock()
    try load(nowMilliseconds: nowMilliseconds)
    if isFolded { try fold() }
  }

  /// Opens the epoch keys and resolves the memberships of an engine that was opened without them;
  /// else does nothing.
  ///
  /// - Parameter known: Earlier folds of the control logs, which are extended.
  /// - Throws: The store's errors; the engine is then as before. O(n log n) for n operations.
  package mutating func fold(knowing known: [GroupID: Membership] = [:]) throws {
    guard !isFolded else { return }
    var folded = self
    folded.isFolded = true
    folded.memberships = known
    for stored in try store.zones.all() {
      let epochs = try EpochKey.recovered(
        stored.wrappedEpochs, by: identity, groupID: stored.group.bytes, zoneID: stored.id.bytes)
      folded.zones[try place(of: stored.id)].hold(epochs)
    }
    for zone in zones where zone.kind == .control {
      try MembershipRefresh.refresh(of: zone.group, isLoading: true, in: &folded)
    }
    self = folded
  }

  /// Reads zones, their secrets and heads from the store.
  private mutating func load(nowMilliseconds: UInt64) throws {
    zones = try store.zones.all().map { stored in
      let secret = try ZoneSecret.recovered(
        stored.wrappedSecret, by: identity, zoneID: stored.id.bytes)
      return ZoneState(
        stored, secret: secret, epochs: [], heads: try store.zones.heads(of: stored.id))
    }
    zones.sort { $0.id < $1.id }
    privateGroup = try PrivateGroupChoice.stored(in: self)
    for place in zones.indices {
      try OwnTail.catchUpOwnHead(at: place, in: &self)
      for head in zones[place].heads {
        if head.author.device == device {
          clock.resume(after: head.time, nowMilliseconds: nowMilliseconds)
        } else {
          _ = clock.receive(head.time, nowMilliseconds: nowMilliseconds)
        }
      }
    }
  }
}
