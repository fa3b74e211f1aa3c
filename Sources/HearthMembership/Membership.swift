import HearthCRDT
import HearthCrypto

/// The members, devices, roles and invitations of a group, now and at any earlier causal point: a
/// pure function of the control operations that is cheap to copy.
package struct Membership: Sendable {
  /// A person of the group.
  package struct Person: Equatable, Sendable {
    package let id: PersonID
    package let name: String
    package let role: Role
    /// When the person joined, by the clock of the device that wrote it.
    package let since: HybridTime

    package init(id: PersonID, name: String, role: Role, since: HybridTime) {
      self.id = id
      self.name = name
      self.role = role
      self.since = since
    }
  }

  /// A device that belongs or belonged to the group.
  package struct Device: Equatable, Sendable {
    package let id: DeviceID
    package let person: PersonID
    package let card: DeviceCard
    package let since: HybridTime
    /// Whether it belongs to the group now.
    package let isActive: Bool
  }

  /// An invitation with its uses.
  package struct Invite: Equatable, Sendable {
    package let operation: ControlOperation.InviteCreate
    package let creator: DeviceID
    package let version: Version
    package internal(set) var isClosed: Bool
    /// Whether it was closed by its maker's person, or by somebody above the rank that it gives, so
    /// that every join unknown at that time waits; by approval, whether it was closed.
    package internal(set) var isEnded: Bool
    /// The rank of those who join by it, at least a child's.
    package let rank: Int
    /// Whether somebody who joined by it was removed since.
    package let hasRemovedUser: Bool
    package internal(set) var joins: [PersonID]

    /// The number of people who may still join with it.
    package var usesLeft: Int { max(0, operation.maximumUses - joins.count) }
  }

  /// An ownership offer that its addressee may accept.
  package struct Offer: Equatable, Sendable {
    /// The id that an acceptance names.
    package let id: RecordID
    package let from: PersonID
    package let to: PersonID
    package let since: HybridTime
  }

  /// The operation that created the group; nil before it has arrived.
  package var genesis: ControlOperation.Genesis? { resolver.genesis }
  /// The owner; nil only before the genesis has arrived.
  package var owner: PersonID? { resolver.owner(.all) }
  /// The current members, in order of id.
  package var people: [Person] { resolved.outcome.people }
  /// Former members who were removed or left, in order of id, each with their last role.
  package var formerPeople: [Person] { resolved.outcome.formerPeople }
  /// The devices that currently belong to the group, in order of id.
  package var devices: [Device] { resolved.outcome.devices }
  /// All current and former devices, in order of id.
  package var allDevices: [Device] { resolved.outcome.allDevices }
  /// The invitations in order of time.
  package var invites: [Invite] { resolved.outcome.invites }
  /// The ownership offers that can be accepted now.
  package var offers: [Offer] { resolved.outcome.offers }
  /// The operations that have no effect, in log order.
  package var voided: [VoidedOperation] { resolved.outcome.voided }
  /// The number of operations whose kind this version does not know.
  package var unknownOperations: Int { resolved.outcome.unknownOperations }
  /// The lowest accepted cipher suite for segments.
  package var minimumSuite: UInt8 { resolved.outcome.minimumSuite }
  /// The group's minimum suite, capped at the newest suite that this program knows, so that a
  /// policy that names an unknown suite locks nobody out.
  package var acceptedSuite: UInt8 { Swift.max(1, Swift.min(minimumSuite, Envelope.suite)) }
  /// The current rule for what newcomers may read.
  package var newcomers: ControlOperation.Newcomers { resolved.rule(.all) }
  /// The keys of every device that introduced itself, effective or not, by the id they hash to.
  package var cards: [DeviceID: DeviceCard] { resolved.outcome.cards }
  /// The forked logs of the control zone.
  package let forks: ControlForks
  let resolved: ResolvedControl
  var resolver: ControlResolver { resolved.resolver }

  private static let unknown = Membership(group: .zero, items: [], proofs: ProofBook())

  /// Makes the membership of an unknown group.
  package init() {
    self = Membership.unknown
  }

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
      let more = known.resolver.log.news(in: items)
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
    guard known.log.forked.isEmpty, !items.isEmpty else { return self }
    var resolver = known
    let changes = Dictionary(grouping: items, by: \.position).values.sorted {
      let counts = ($0[0].cause.total, $1[0].cause.total)
      return counts.0 != counts.1 ? counts.0 < counts.1 : $0[0].position < $1[0].position
    }
    guard changes.count <= Membership.maximumAdded, changes.allSatisfy({ resolver.add($0) }) else {
      return Membership(
        group: known.group, items: known.log.items + items, proofs: resolver.proofs)
    }
    return Membership(resolved.grown(to: resolver))
  }

  /// An operation, the person whose device wrote it, and whether it has effect.
  package typealias Said = (item: ControlItem, person: PersonID?, counts: Bool)

  /// All operations of a kind, in causal order.
  package func said(_ kind: ControlOperation.Kind) -> [Said] {
    (resolver.index.kinds[kind.rawValue] ?? []).map { place in
      (resolver.log.items[place], resolver.person(place), resolver.isLive[place])
    }
  }

  /// All operations, in causal order.
  package var items: [ControlItem] { resolver.log.items }

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
      ResolvedControl(
        ControlResolver(group: group, items: items, forks: forks, proofs: proofs)),
      forks: forks)
  }

  private init(_ resolved: ResolvedControl, forks: ControlForks = ControlForks()) {
    self.resolved = resolved
    self.forks = forks
  }

  /// The device, if it belongs or belonged to the group.
  package func device(_ id: DeviceID) -> Device? {
    let place = allDevices.partitionPoint { $0.id >= id }
    return place < allDevices.count && allDevices[place].id == id ? allDevices[place] : nil
  }

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
  package func isActive(_ id: DeviceID) -> Bool { device(id)?.isActive ?? false }

  /// The person, if they belong or belonged to the group.
  package func person(_ id: PersonID) -> Person? {
    people.first { $0.id == id } ?? formerPeople.first { $0.id == id }
  }

  /// The person who owns or owned a device.
  package func person(of device: DeviceID) -> Person? {
    self.device(device).flatMap { person($0.person) }
  }

  /// The current role of a device's person; nil if the device does not belong to the group now.
  package func role(of device: DeviceID) -> Role? {
    isActive(device) ? person(of: device)?.role : nil
  }
}

// MARK: - Ids and hashes

extension Membership {
  /// The id of the group that a genesis creates.
  package static func groupID(of genesis: ControlOperation.Genesis) -> GroupID {
    derivedIdentifier("HRTH/group/v1", ControlOperation.genesis(genesis).encoded)
  }

  /// The id of the device with these keys; nil if the keys are invalid.
  package static func deviceID(of card: DeviceCard) -> DeviceID? {
    guard let keys = try? DevicePublicKeys(validating: card.signKey, box: card.boxKey) else {
      return nil
    }
    return Identifier(bytes: keys.deviceID)
  }

  /// The hash that an invitation's key signs, over the group and the whole request with its keys.
  package static func joinHash(of join: ControlOperation.Join, group: GroupID) -> [UInt8] {
    Blake2b.hash(group.bytes + join.request, count: 64)
  }
}

/// Makes the id of the person of a device that is nobody's yet.
///
/// No other device leads to this id, so the id shows which device made it.
package func personID(madeBy device: DeviceID) -> PersonID {
  derivedIdentifier("HRTH/person/v1", device.bytes)
}

/// Derives an identifier from public parts: BLAKE2b-128 over a domain and the parts.
package func derivedIdentifier(_ domain: Domain, _ parts: [UInt8]...) -> Identifier {
  guard let identifier = Identifier(bytes: DerivedID.make(domain: domain, parts: parts)) else {
    preconditionFailure("a derived id has 16 bytes")
  }
  return identifier
}
