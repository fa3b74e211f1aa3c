import HearthCRDT
import HearthCrypto

/// Who belongs to a group, and with what: a pure function of the group's control operations.
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

  /// A device of the group.
  package struct Device: Equatable, Sendable {
    package let id: DeviceID
    package let person: PersonID
    package let card: DeviceCard
    package let since: HybridTime
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

  /// The operation that began the group; nil while it has not arrived.
  package private(set) var genesis: ControlOperation.Genesis?
  /// The people in order of id.
  package private(set) var people: [Person] = []
  /// The devices in order of id.
  package private(set) var devices: [Device] = []
  /// The invitations in order of time.
  package private(set) var invites: [Invite] = []
  /// How many operations have a kind this version does not know.
  package private(set) var unknownOperations = 0
  private var closes: [Close] = []

  /// The end of an invitation.
  private struct Close: Sendable {
    let invite: Identifier
    let closer: DeviceID
    let cause: Frontier
  }

  /// A group of which nothing is known.
  package init() {}

  /// The device, if it belongs to the group.
  package func device(_ id: DeviceID) -> Device? {
    devices.first { $0.id == id }
  }

  /// The person, if it belongs to the group.
  package func person(_ id: PersonID) -> Person? {
    people.first { $0.id == id }
  }

  /// The person whose device it is.
  package func person(of device: DeviceID) -> Person? {
    self.device(device).flatMap { person($0.person) }
  }

  /// The role of the person whose device it is.
  package func role(of device: DeviceID) -> Role? {
    person(of: device)?.role
  }
}

// MARK: - Folding

extension Membership {
  /// One control operation with its place in the causal order.
  private struct Item {
    let version: Version
    let cause: Frontier
    let operation: ControlOperation
  }

  /// Folds the control operations of a group, whatever order they come in.
  ///
  /// Operations are taken causes first and, where concurrent, in order of version. One that its
  /// author had no right to, judged by what it had seen, has no effect. O(n²) in the number of
  /// operations at worst, since each waits for its causes.
  package init(group: GroupID, events: [(RecordID, EventState)]) {
    var waiting: [Item] = []
    for (_, event) in events {
      guard let operation = ControlOperation(event) else { continue }
      waiting.append(
        Item(version: event.version, cause: event.cause ?? Frontier(), operation: operation))
    }
    waiting.sort { $0.version < $1.version }
    closes = waiting.compactMap { item in
      guard case .inviteClose(let invite) = item.operation else { return nil }
      return Close(
        invite: invite, closer: item.version.dot.author.device, cause: item.cause)
    }
    for item in Membership.causalOrder(waiting) {
      take(item, group: group)
    }
    for place in invites.indices {
      invites[place].isClosed = closes.contains { isEffective($0, on: invites[place]) }
    }
    people.sort { $0.id < $1.id }
    devices.sort { $0.id < $1.id }
  }

  /// Causes first; among the ready ones the least version.
  private static func causalOrder(_ items: [Item]) -> [Item] {
    var waiting = items
    var ordered: [Item] = []
    while !waiting.isEmpty {
      let ready = waiting.firstIndex { candidate in
        !waiting.contains {
          $0.version.dot != candidate.version.dot && candidate.cause.covers($0.version.dot)
        }
      }
      ordered.append(waiting.remove(at: ready ?? 0))
    }
    return ordered
  }

  private mutating func take(_ item: Item, group: GroupID) {
    let author = item.version.dot.author.device
    switch item.operation {
    case .genesis(let genesis):
      guard self.genesis == nil, Membership.groupID(of: genesis) == group,
        Membership.deviceID(of: genesis.device) == author
      else { return }
      self.genesis = genesis
      people = [
        Person(
          id: genesis.founder, name: genesis.founderName, role: .owner, since: item.version.time)
      ]
      devices = [
        Device(
          id: author, person: genesis.founder, card: genesis.device, since: item.version.time)
      ]
    case .inviteCreate(let invite):
      guard let role = role(of: author), role.rank >= Role.admin.rank,
        invite.role.rank < role.rank, invite.maximumUses > 0,
        !invites.contains(where: { $0.operation.invite == invite.invite })
      else { return }
      invites.append(
        Invite(
          operation: invite, creator: author, version: item.version, isClosed: false, joins: []))
    case .join(let join): take(join, item, group: group)
    case .unknown: unknownOperations += 1
    case .epoch, .inviteClose, .incarnate: break
    }
  }

  private mutating func take(_ join: ControlOperation.Join, _ item: Item, group: GroupID) {
    let author = item.version.dot.author.device
    guard Membership.deviceID(of: join.device) == author, device(author) == nil,
      let place = invites.firstIndex(where: { $0.operation.invite == join.invite }),
      item.cause.covers(invites[place].version.dot),
      item.version.time.milliseconds <= invites[place].operation.expiresMilliseconds,
      invites[place].usesLeft > 0,
      !closes.contains(where: {
        isEffective($0, on: invites[place]) && !$0.cause.covers(item.version.dot)
      }),
      Membership.isProven(join, by: invites[place].operation, group: group)
    else { return }
    // A second device of one person joins through an invitation to oneself; taking another
    // member's id is refused.
    if let present = person(join.person) {
      guard person(of: invites[place].creator)?.id == present.id else { return }
    } else {
      people.append(
        Person(
          id: join.person, name: join.personName, role: invites[place].operation.role,
          since: item.version.time))
    }
    invites[place].joins.append(join.person)
    devices.append(
      Device(id: author, person: join.person, card: join.device, since: item.version.time))
  }

  /// Whether somebody who may has closed the invitation without having seen the join.
  ///
  /// A closing ends joins that are concurrent with it too: whoever closes an invitation wants
  /// nobody in whom it has not seen come in.
  private func isEffective(_ close: Close, on invite: Invite) -> Bool {
    close.invite == invite.operation.invite
      && (close.closer == invite.creator
        || (role(of: close.closer)?.rank ?? 0) >= Role.admin.rank)
  }

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

  private static func isProven(
    _ join: ControlOperation.Join, by invite: ControlOperation.InviteCreate, group: GroupID
  ) -> Bool {
    guard let keys = try? InvitePublicKeys(validating: invite.signKey, box: invite.boxKey) else {
      return false
    }
    return (try? keys.verifyJoin(join.proof, joinHash(of: join, group: group))) != nil
  }

  /// What an invitation's key signs: the group and the whole request, its keys included.
  static func joinHash(of join: ControlOperation.Join, group: GroupID) -> [UInt8] {
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
