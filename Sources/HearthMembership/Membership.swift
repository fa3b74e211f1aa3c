import HearthCRDT
import HearthCrypto

/// Who belongs to a group, and with what: a pure function of the group's control operations.
///
/// Cheap to copy. Answers what holds now, and what held for somebody who had seen only a part.
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

  /// A device that belongs to the group, or did.
  package struct Device: Equatable, Sendable {
    package let id: DeviceID
    package let person: PersonID
    package let card: DeviceCard
    package let since: HybridTime
    /// Whether it belongs to the group now.
    package let isActive: Bool
  }

  /// An invitation and what became of it.
  package struct Invite: Equatable, Sendable {
    package let operation: ControlOperation.InviteCreate
    package let creator: DeviceID
    package let version: Version
    package internal(set) var isClosed: Bool
    package internal(set) var joins: [PersonID]

    /// How many may still join.
    package var usesLeft: Int { max(0, operation.maximumUses - joins.count) }
  }

  /// An offer of the group that its addressee may take.
  package struct Offer: Equatable, Sendable {
    /// The id by which it is taken.
    package let id: RecordID
    package let from: PersonID
    package let to: PersonID
    package let since: HybridTime
  }

  /// The operation that began the group; nil while it has not arrived.
  package var genesis: ControlOperation.Genesis? { resolver.genesis }
  /// The owner; nil only while the genesis has not arrived.
  package var owner: PersonID? { resolver.owner(.all) }
  /// The people in order of id.
  package var people: [Person] { resolved.outcome.people }
  /// Those who were removed or have left, in order of id, with their last role.
  package var formerPeople: [Person] { resolved.outcome.formerPeople }
  /// The devices that belong to the group, in order of id.
  package var devices: [Device] { resolved.outcome.devices }
  /// The same with those that belonged to it once.
  package var allDevices: [Device] { resolved.outcome.allDevices }
  /// The invitations in order of time.
  package var invites: [Invite] { resolved.outcome.invites }
  /// The offers of the group that may be taken now.
  package var offers: [Offer] { resolved.outcome.offers }
  /// The operations that have no effect, in the log's order.
  package var voided: [VoidedOperation] { resolved.outcome.voided }
  /// How many operations have a kind this version does not know.
  package var unknownOperations: Int { resolved.outcome.unknownOperations }
  /// The least suite of segments that is accepted.
  package var minimumSuite: UInt8 { resolved.outcome.minimumSuite }
  /// The least suite that this program refuses to go below: what was asked for, as far as it knows
  /// it, so that nobody locks everybody out by asking for one that does not exist.
  package var acceptedSuite: UInt8 { Swift.max(1, Swift.min(minimumSuite, Envelope.suite)) }
  /// What newcomers may read.
  package var newcomers: ControlOperation.Newcomers { resolved.rule(.all) }
  /// The keys of every device that introduced itself, to effect or not: each hashes to its id.
  package var cards: [DeviceID: DeviceCard] { resolved.outcome.cards }
  /// The logs of the control zone that have more than one history.
  package let forks: ControlForks
  /// How everything was decided.
  let resolved: ResolvedControl
  var resolver: ControlResolver { resolved.resolver }

  private static let unknown = Membership(group: .zero, items: [], proofs: ProofBook())

  /// A group of which nothing is known.
  package init() {
    self = Membership.unknown
  }

  /// Folds the control operations of a group, whatever order they come in.
  ///
  /// - Parameters:
  ///   - events: the events of the control zone that carry operations.
  ///   - known: an earlier fold, whose checks of signatures are not made again.
  package init(group: GroupID, events: [(RecordID, EventState)], known: Membership? = nil) {
    self.init(group: group, items: Membership.items(of: events), known: known)
  }

  /// Folds operations, on top of an earlier fold where they only add to it.
  ///
  /// - Parameter known: an earlier fold, whose checks of signatures are not made again.
  package init(
    group: GroupID, items: [ControlItem], forks: ControlForks = ControlForks(), known: Membership?
  ) {
    if let known, known.resolver.group == group, forks.ends.isEmpty,
      let more = known.resolver.log.news(in: items)
    {
      self = known.adding(more)
    } else {
      self.init(group: group, items: items, forks: forks, proofs: known?.proofs ?? ProofBook())
    }
  }

  /// The same with further operations: what folding all of them anew gives.
  ///
  /// A change whose author had seen all others costs as much as it says, any other a whole fold. In
  /// a group of which a log has two histories, nothing is added but by folding all of it.
  package func adding(_ items: [ControlItem]) -> Membership {
    let known = resolver
    guard known.log.forked.isEmpty, !items.isEmpty else { return self }
    var resolver = known
    let changes = Dictionary(grouping: items, by: \.position).values.sorted {
      let counts = ($0[0].cause.total, $1[0].cause.total)
      return counts.0 != counts.1 ? counts.0 < counts.1 : $0[0].position < $1[0].position
    }
    for change in changes {
      guard let more = resolver.adding(change) else {
        return Membership(
          group: known.group, items: known.log.items + items, proofs: resolver.proofs)
      }
      resolver = more
    }
    return Membership(resolved.grown(to: resolver))
  }

  /// An operation, with the person whose device wrote it and whether it has effect.
  package typealias Said = (item: ControlItem, person: PersonID?, counts: Bool)

  /// All operations of a kind, causes first.
  package func said(_ kind: ControlOperation.Kind) -> [Said] {
    (resolver.index.kinds[kind.rawValue] ?? []).map { place in
      (resolver.log.items[place], resolver.person(place), resolver.isLive[place])
    }
  }

  /// All operations, causes first.
  package var items: [ControlItem] { resolver.log.items }

  /// What its fold has checked, for the next one.
  package var proofs: ProofBook { resolver.proofs }

  /// The operations that events carry.
  package static func items(of events: [(RecordID, EventState)]) -> [ControlItem] {
    events.compactMap { id, event in
      ControlOperation(event).map {
        ControlItem(
          id: id, version: event.version, cause: event.cause ?? Frontier(), operation: $0,
          citations: Citation.of(event.fields))
      }
    }
  }

  /// Folds operations with the logs that have more than one history.
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

  /// The device, if it belongs to the group or did.
  package func device(_ id: DeviceID) -> Device? {
    let place = allDevices.partitionPoint { $0.id >= id }
    return place < allDevices.count && allDevices[place].id == id ? allDevices[place] : nil
  }

  /// The keys that a device showed, whether the group admitted it or not.
  package func card(of device: DeviceID) -> DeviceCard? { cards[device] }

  /// The checked keys of a device, to verify with.
  ///
  /// - Throws: `CryptoError` `badKey` for a card whose keys are none; no check is made again for
  ///   cards that the fold looked at, which are those of all devices that were ever admitted.
  package func keys(of device: DeviceID, showing card: DeviceCard) throws -> DevicePublicKeys {
    if let known = resolver.proofs.keys[device] { return known }
    return try DevicePublicKeys(validating: card.signKey, box: card.boxKey)
  }

  /// How often everything was judged until it was settled.
  package var passes: Int { resolver.passes }

  /// Whether a device belongs to the group now.
  package func isActive(_ id: DeviceID) -> Bool { device(id)?.isActive ?? false }

  /// The person, if it belongs to the group or did.
  package func person(_ id: PersonID) -> Person? {
    people.first { $0.id == id } ?? formerPeople.first { $0.id == id }
  }

  /// The person whose device it is or was.
  package func person(of device: DeviceID) -> Person? {
    self.device(device).flatMap { person($0.person) }
  }

  /// The role of the person whose device it is; nil for one that does not belong to the group now.
  package func role(of device: DeviceID) -> Role? {
    isActive(device) ? person(of: device)?.role : nil
  }
}

// MARK: - Ids and hashes

extension Membership {
  /// The id of the group that a genesis begins.
  package static func groupID(of genesis: ControlOperation.Genesis) -> GroupID {
    derivedIdentifier("HRTH/group/v1", ControlOperation.genesis(genesis).encoded)
  }

  /// The id of the device that shows these keys; nil if they are no keys.
  package static func deviceID(of card: DeviceCard) -> DeviceID? {
    guard let keys = try? DevicePublicKeys(validating: card.signKey, box: card.boxKey) else {
      return nil
    }
    return Identifier(bytes: keys.deviceID)
  }

  /// What an invitation's key signs: the group and the whole request, its keys included.
  package static func joinHash(of join: ControlOperation.Join, group: GroupID) -> [UInt8] {
    Blake2b.hash(group.bytes + join.request, count: 64)
  }
}

/// An identifier derived from public parts: BLAKE2b-128 over a domain and the parts.
package func derivedIdentifier(_ domain: Domain, _ parts: [UInt8]...) -> Identifier {
  guard let identifier = Identifier(bytes: DerivedID.make(domain: domain, parts: parts)) else {
    preconditionFailure("a derived id has 16 bytes")
  }
  return identifier
}
