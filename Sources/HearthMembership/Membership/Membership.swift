import HearthCRDT
import HearthCrypto

/// The members, devices, roles and invitations of a group, now and at any earlier causal point: a
/// pure function of the control operations that is cheap to copy.
package struct Membership: Sendable {
  /// The operation that created the group; nil before it has arrived.
  package var genesis: ControlOperation.Genesis? { resolved.genesis }
  /// The owner; nil only before the genesis has arrived.
  package var owner: PersonID? { LogView.all.owner(in: findings) }
  /// The current members, in order of id.
  package var people: [Member] { resolved.outcome.people }
  /// Former members who were removed or left, in order of id, each with their last role.
  package var formerPeople: [Member] { resolved.outcome.formerPeople }
  /// The devices that currently belong to the group, in order of id.
  package var devices: [MemberDevice] { resolved.outcome.devices }
  /// All current and former devices, in order of id.
  package var allDevices: [MemberDevice] { resolved.outcome.allDevices }
  /// The invitations in order of time.
  package var invites: [InvitationRecord] { resolved.outcome.invites }
  /// The ownership offers that can be accepted now.
  package var offers: [OwnershipOffer] { resolved.outcome.offers }
  /// The operations that have no effect, in log order.
  package var voided: [VoidedOperation] { resolved.outcome.voided }
  /// The number of operations whose kind this version does not know.
  package var unknownOperations: Int { resolved.outcome.unknownOperations }
  /// The lowest accepted cipher suite for segments.
  package var minimumSuite: UInt8 { resolved.outcome.minimumSuite }
  /// The group's minimum suite, capped at the newest suite that this program knows, so that a
  /// policy that names an unknown suite locks nobody out.
  package var acceptedSuite: UInt8 { Swift.max(1, Swift.min(minimumSuite, EnvelopeFormat.suite)) }
  /// The current rule for what newcomers may read.
  package var newcomers: ControlOperation.Newcomers {
    resolved.outcome.newcomers.rule(.all, in: findings)
  }
  /// The keys of every device that introduced itself, effective or not, by the id they hash to.
  package var cards: [DeviceID: DeviceCard] { resolved.outcome.cards }
  /// The forked logs of the control zone.
  package let forks: ControlForks
  let resolved: ResolvedControl
  var resolver: ControlResolver { resolved.resolver }
  private var findings: Findings { resolved.findings }

  private static let unknown = Membership(group: .zero, items: [], proofs: ProofBook())

  /// Makes the membership of an unknown group.
  package init() { self = Membership.unknown }

  /// Folds the operations in a control zone's events, in any order; signatures that `known`
  /// verified are not verified again.
  package init(group: GroupID, events: [(RecordID, EventState)], known: Membership? = nil) {
    self.init(group: group, items: Membership.items(of: events), known: known)
  }

  /// Folds operations, or extends the earlier fold `known` if they only add to it; signatures that
  /// it verified are not verified again.
  ///
  /// - Parameter proofs: Results of earlier verifications, for a first fold.
  package init(
    group: GroupID, items: [ControlItem], forks: ControlForks = ControlForks(),
    known: Membership?, proofs: ProofBook = ProofBook()
  ) {
    if let known, known.resolver.group == group, forks.ends.isEmpty,
      let more = known.findings.log.news(in: items)
    {
      self = known.adding(more)
    } else {
      self.init(group: group, items: items, forks: forks, proofs: known?.proofs ?? proofs)
    }
  }

  /// The most changes that are added one by one; more of them cost less in a whole fold.
  static let maximumAdded = 16

  /// Returns this membership with further operations, equal to a fold of all operations.
  ///
  /// A few changes whose authors had seen everything before them are added one by one. Any other
  /// operations cost one whole fold, however many they are. A group with a forked log is not
  /// extended here; it needs a whole fold.
  package func adding(_ items: [ControlItem]) -> Membership {
    let known = resolver
    guard known.findings.log.forked.isEmpty, !items.isEmpty else { return self }
    var resolver = known
    let changes = Dictionary(grouping: items, by: \.position).values.sorted {
      let counts = ($0[0].cause.total, $1[0].cause.total)
      return counts.0 != counts.1 ? counts.0 < counts.1 : $0[0].position < $1[0].position
    }
    guard changes.count <= Membership.maximumAdded, changes.allSatisfy({ resolver.add($0) }) else {
      return Membership(
        group: known.group, items: known.findings.log.items + items,
        proofs: resolver.proofs)
    }
    return Membership(resolved.grown(to: resolver))
  }

  /// An operation, the person whose device wrote it, and whether it has effect.
  package typealias Said = (item: ControlItem, person: PersonID?, counts: Bool)

  /// All operations of a kind, in causal order.
  package func said(_ kind: ControlOperation.Kind) -> [Said] {
    findings.index[kind].map { place in
      (findings.log.items[place], findings.person(place), findings.isLive[place])
    }
  }

  /// All operations, in causal order.
  package var items: [ControlItem] { findings.log.items }

  /// The signatures that this fold verified, for reuse by the next fold.
  package var proofs: ProofBook { resolver.proofs }

  /// The operations that events contain.
  package static func items(of events: [(RecordID, EventState)]) -> [ControlItem] {
    events.compactMap { id, event in
      ControlOperation(event).map {
        ControlItem(
          id: id, version: event.version, cause: event.cause ?? Frontier(), operation: $0,
          citations: Citation.of(event.fields))
      }
    }
  }

  /// Folds operations together with the forked logs.
  package init(
    group: GroupID, items: [ControlItem], forks: ControlForks = ControlForks(), proofs: ProofBook
  ) {
    self.init(
      ResolvedControl(ControlResolver(group: group, items: items, forks: forks, proofs: proofs)),
      forks: forks)
  }

  private init(_ resolved: ResolvedControl, forks: ControlForks = ControlForks()) {
    self.resolved = resolved
    self.forks = forks
  }

  /// The device, if it belongs or belonged to the group.
  package func device(_ id: DeviceID) -> MemberDevice? { resolved.outcome.device(id) }

  /// The keys that a device published, whether the group admitted it or not.
  package func card(of device: DeviceID) -> DeviceCard? { cards[device] }

  /// The validated public keys of a device; the fold has validated those that were ever admitted.
  ///
  /// - Throws: `CryptoError` `badKey` if the card's keys are invalid.
  package func keys(of device: DeviceID, showing card: DeviceCard) throws -> DevicePublicKeys {
    if let known = resolver.proofs.keys[device] { return known }
    return try DevicePublicKeys(validating: card.signKey, box: card.boxKey)
  }

  /// The number of passes until the result was stable.
  package var passes: Int { resolver.passes }

  /// Whether a device currently belongs to the group.
  package func isActive(_ id: DeviceID) -> Bool { resolved.outcome.isActive(id) }

  /// The person, if they belong or belonged to the group.
  package func person(_ id: PersonID) -> Member? {
    people.first { $0.id == id } ?? formerPeople.first { $0.id == id }
  }

  /// The person who owns or owned a device.
  package func person(of device: DeviceID) -> Member? {
    self.device(device).flatMap { person($0.person) }
  }

  /// The current role of a device's person; nil if the device does not belong to the group now.
  package func role(of device: DeviceID) -> Role? {
    isActive(device) ? person(of: device)?.role : nil
  }

  /// Whether a device itself was revoked, or replaced through recovery words.
  ///
  /// The end of its person's membership does not count: they may have returned with another device.
  package func isRevoked(_ id: DeviceID) -> Bool {
    guard let person = device(id)?.person else { return false }
    let number = findings.log.people[person]
    return !findings.live.revocations[findings.log.deviceNames[id]].isEmpty
      || findings.live.recoveries[number].contains { findings.log.devices[$0] != id }
  }

  /// The last frontiers that a device reported, with the time; nil if it never reported any.
  package func lastHeard(of device: DeviceID) -> (
    time: HybridTime, frontiers: [ControlOperation.ZoneFrontier]
  )? {
    for place in findings.index.writings[findings.log.deviceNames[device]].reversed()
    where findings.isLive[place] {
      if case .heartbeat(let frontiers) = findings.log.operation(place) {
        return (findings.log.items[place].version.time, frontiers)
      }
    }
    return nil
  }

  // MARK: Parts

  /// The epochs of a zone, and which of them new writes may use.
  package var keys: ZoneKeys { ZoneKeys(resolved: resolved) }
  /// The devices that hold the keys of a zone's epochs.
  package var keyHolders: KeyHolders { KeyHolders(resolved: resolved) }
  /// The earlier history that newcomers may read.
  package var history: HistoryAccess { HistoryAccess(resolved: resolved) }
  /// The effect of changes of records.
  package var changes: ChangeRules { ChangeRules(resolved: resolved) }
  /// The joins of the group.
  package var entries: EntryRecords { EntryRecords(resolved: resolved) }
  /// The devices that may begin logs in the control zone.
  package var introductions: Introductions { Introductions(resolved: resolved) }
  /// The recovery words of the group's people and their uses.
  package var recovery: RecoveryRecords { RecoveryRecords(resolved: resolved) }
  /// The recipients of rekey handoffs.
  package var handoffs: Handoffs { Handoffs(resolved: resolved) }
  /// The invitations that still admit somebody automatically.
  package var openInvites: [InvitationRecord] { resolved.outcome.openInvites }

  /// Every operation of the control log in causal order, with author, time and device.
  package func audit() -> [AuditEntry] { AuditTrail(resolved: resolved, forks: forks).entries() }
}
