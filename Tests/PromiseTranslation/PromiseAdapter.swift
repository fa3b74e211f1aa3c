import HearthCRDT
import HearthMembership
import MembershipPromises
import Synchronization

/// Translates histories of the oracle into operations of the product, and the product's answer
/// back.
package enum PromiseAdapter {
  private static let zero = [UInt8](repeating: 0, count: 32)

  /// The keys of a device, chosen so that the ids of devices sort like their numbers: an attacker
  /// may try keys until the id is low.
  static func card(_ number: Int) -> DeviceCard {
    let fill = [UInt8](repeating: UInt8(number & 0xff), count: 28)
    for tries in 0..<100_000 {
      let key = fill + [UInt8(number >> 8), UInt8(tries & 0xff), UInt8(tries >> 8 & 0xff), 1]
      let card = DeviceCard(signKey: key, boxKey: key, name: "D\(number)")
      if ControlIdentity.cardID(of: card).high >> 56 == UInt64(number & 0xff) { return card }
    }
    preconditionFailure("no card for device \(number)")
  }

  private static let cards = Mutex<[Int: (DeviceCard, DeviceID)]>([:])

  static func device(_ number: Int) -> (DeviceCard, DeviceID) {
    cards.withLock { cards in
      if let known = cards[number] { return known }
      let card = card(number)
      let made = (card, ControlIdentity.cardID(of: card))
      cards[number] = made
      return made
    }
  }

  static func person(_ number: Int) -> PersonID {
    Maker.device(of: number).map { personID(madeBy: device($0).1) }
      ?? Identifier(high: 0xbeef, low: UInt64(number))
  }

  /// The numbers of all who founded or joined.
  private static func people(_ acts: [Act]) -> [PersonID: Int] {
    var numbers = [person(0): 0]
    for act in acts {
      switch act.deed {
      case .join(_, let number), .admit(_, _, let number): numbers[person(number)] = number
      default: continue
      }
    }
    return numbers
  }
  static func invite(_ number: Int) -> Identifier { Identifier(high: 0x1111, low: UInt64(number)) }
  static func words(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(number & 0xff) | 0x40, count: 32)
  }
  static func author(_ number: Int) -> Author {
    Author(device: device(number).1, incarnation: 1 << 32)
  }
  static func id(_ act: Act) -> RecordID {
    Identifier(high: 0xeeee_0000 + UInt64(act.device), low: UInt64(act.sequence) + 1)
  }
  static let zone = Identifier(high: 3, low: 3)
  static let genesis = ControlOperation.Genesis(
    nonce: Identifier(high: 1, low: 1), database: .shared, controlZone: Identifier(high: 2, low: 2),
    zones: [.init(id: zone, name: "home")], founder: person(0), founderName: "P0",
    device: device(0).0, createdMilliseconds: 0)
  package static let group = ControlIdentity.groupID(of: genesis)

  package static func resolve(_ said: [Act]) -> Outcome {
    let acts = arrived(said)
    let membership = fold(acts)
    var devices: [DeviceID: Int] = [:]
    for act in acts {
      devices[device(act.device).1] = act.device
      if case .admit(_, let newcomer, _) = act.deed { devices[device(newcomer).1] = newcomer }
    }
    let people = people(acts)
    var roles: [Int: MembershipPromises.Role] = [:]
    for person in membership.people {
      guard let number = people[person.id] else { continue }
      roles[number] = MembershipPromises.Role(rawValue: Int(person.role.rawValue))
    }
    return Outcome(
      owner: membership.owner.flatMap { people[$0] } ?? -1, roles: roles,
      devices: Set(membership.devices.compactMap { devices[$0.id] }),
      readers: readers(membership, acts))
  }

  /// The devices to which the key is sealed that somebody with all keys would use.
  private static func readers(_ membership: Membership, _ acts: [Act]) -> Set<Int>? {
    var keys: [[UInt8]: Set<Int>] = [:]
    for act in acts {
      if case .seal(let number, let devices) = act.deed { keys[key(number)] = Set(devices) }
    }
    guard !keys.isEmpty else { return nil }
    return membership.keys.writableEpoch(of: zone, .data, held: Set(keys.keys))
      .flatMap { keys[$0.grant.epoch] }
  }

  private static func key(_ number: Int) -> [UInt8] {
    [UInt8](repeating: 7, count: 28) + (0..<4).map { UInt8(number >> (8 * $0) & 0xff) }
  }

  /// A key follows those that its author had seen and nobody had followed there.
  private static func grant(
    _ number: Int, _ devices: [Int], _ acts: [Int: Act], _ isSeen: (Act) -> Bool,
    _ sees: (Act, Act) -> Bool
  ) -> ControlOperation {
    var seen: [(act: Act, key: Int)] = []
    for act in acts.values.sorted(by: { $0.id < $1.id }) where isSeen(act) {
      if case .seal(let earlier, _) = act.deed { seen.append((act, earlier)) }
    }
    let newest = seen.filter { one in !seen.contains { sees($0.act, one.act) } }
    let wraps = devices.map { ControlOperation.Wrap(recipient: device($0).1, sealed: [1]) }
    return .epoch(
      .init(
        zone: zone, epoch: key(number),
        previous: newest.prefix(ControlLimits.maximumPrevious).map { key($0.key) },
        wraps: wraps.sorted { $0.recipient < $1.recipient }))
  }

  /// Everything that is decided about a history, in words.
  package static func decisions(_ said: [Act]) -> String {
    let membership = fold(arrived(said))
    let void = membership.voided.map { "\($0.id) \($0.reason)" }
    let people = membership.people.map { "\($0.id) \($0.role)" }
    let invites = membership.invites.map { "\($0.operation.invite) \($0.isClosed) \($0.joins)" }
    return "\(void) \(people) \(membership.devices.map(\.id)) \(invites) \(membership.offers)"
  }

  static func fold(_ acts: [Act]) -> Membership {
    Membership(
      group: group, items: items(acts), forks: ControlForks(), proofs: ProofBook(isTrusting: true))
  }

  /// What a replica applies: each act once, after everything that it cites.
  ///
  /// The order of arrival stays as far as the causes allow, so that the order can be tested.
  package static func arrived(_ said: [Act]) -> [Act] {
    var waiting: [Act] = []
    var known: Set<Int> = []
    for act in said where known.insert(act.id).inserted { waiting.append(act) }
    var reach: [Int: Int] = [:]
    var result: [Act] = []
    var isMoving = true
    while isMoving {
      isMoving = false
      waiting.removeAll { act in
        guard reach[act.device, default: 0] == act.sequence,
          act.claims.allSatisfy({ $0.value <= reach[$0.key, default: 0] })
        else { return false }
        reach[act.device] = act.sequence + 1
        result.append(act)
        isMoving = true
        return true
      }
    }
    return result
  }

  package static func items(_ acts: [Act]) -> [ControlItem] {
    var byID: [Int: Act] = [:]
    for act in acts { byID[act.id] = act }
    var entries: [Int: [Act]] = [:]
    for act in acts {
      switch act.deed {
      case .join, .recover: entries[act.device, default: []].append(act)
      case .admit(_, let newcomer, _): entries[newcomer, default: []].append(act)
      default: break
      }
    }
    var causes: [Int: Frontier] = [:]
    var lies = OpenPasts()
    let items = acts.compactMap { act -> ControlItem? in
      var cause = causes[act.device] ?? Frontier()
      // The change format states what was newly seen, so nobody can go back in it.
      let goesBack = cause.entries.contains { entry in
        !act.claims.contains {
          author($0.key) == entry.author && UInt64($0.value) >= entry.sequence
        }
      }
      for (device, count) in act.claims { cause.advance(author(device), to: UInt64(count)) }
      causes[act.device] = cause
      cause.advance(author(act.device), to: UInt64(act.sequence))
      func isSeen(_ other: Act) -> Bool {
        cause[author(other.device)] > UInt64(other.sequence)
      }
      guard
        let operation = PromiseAdapter.operation(
          act, byID, confirmed: { device in (entries[device] ?? []).filter(isSeen).map(id) },
          isSeen: isSeen)
      else { return nil }
      let dot = Dot(author: author(act.device), sequence: UInt64(act.sequence) + 1)
      return ControlItem(
        id: id(act), version: Version(dot: dot, time: HybridTime(milliseconds: clock(act))),
        cause: lies.stated(cause, by: dot, isOpen: goesBack || act.isMeaningless),
        operation: operation)
    }
    return lies.isEmpty ? items : items + lies.items
  }

  /// How many milliseconds the oracle's unit of time has.
  private static let moment: UInt64 = 10_000

  /// The claimed moment, with a part of it that tells nothing: each author writes what it likes, so
  /// any will do.
  private static func clock(_ act: Act) -> UInt64 {
    UInt64(max(0, act.time)) * moment
      + 1 + UInt64(act.device * 7_919 + act.sequence * 104_729) % 1_009
  }

  /// The end of the last moment at which a link is good.
  private static func expiry(_ time: Int) -> UInt64 {
    time == .max ? .max : UInt64(max(0, time)) * moment + moment - 1
  }

  private static func operation(
    _ act: Act, _ acts: [Int: Act], confirmed: (Int) -> [RecordID], isSeen: (Act) -> Bool
  ) -> ControlOperation? {
    let none = Cut(entries: [])
    let proof = [UInt8](repeating: 1, count: 64)
    switch act.deed {
    case .found: return act.device == 0 ? .genesis(genesis) : .heartbeat([])
    case .invite(let id, let role, let forPerson, let uses, let needsApproval, let expires):
      return .inviteCreate(
        .init(
          invite: invite(id), signKey: zero, boxKey: zero,
          admission: needsApproval ? .approve : .auto,
          role: forPerson == nil
            ? HearthMembership.Role(rawValue: UInt8(role.rawValue)) ?? .reader : .reader,
          person: forPerson.map(person), maximumUses: uses,
          expiresMilliseconds: expiry(expires)))
    case .close(let id): return .inviteClose(invite: invite(id))
    case .join(let id, let person):
      return .join(
        .init(
          invite: invite(id), person: PromiseAdapter.person(person), personName: "P\(person)",
          device: device(act.device).0, proof: proof))
    case .admit(let id, let newcomer, let person):
      return .admit(
        .init(
          join: .init(
            invite: invite(id), person: PromiseAdapter.person(person), personName: "P\(person)",
            device: device(newcomer).0, proof: proof), possession: proof))
    case .confirm(let device): return .confirm(confirmed(device).sorted())
    case .confirmHandover(let accept):
      guard let act = acts[accept] else { return .heartbeat([]) }
      return .confirm([id(act)])
    case .remove(let person):
      return .removeMember(person: PromiseAdapter.person(person), cut: none)
    case .revoke(let other): return .revokeDevice(device: device(other).1, cut: none)
    case .setRole(let person, let role):
      return .setRole(
        person: PromiseAdapter.person(person),
        role: HearthMembership.Role(rawValue: UInt8(role.rawValue)) ?? .reader, cut: none)
    case .leave: return .leave(none)
    case .seal(let number, let devices):
      return grant(number, devices, acts, isSeen) { one, other in
        one.device == other.device
          ? one.sequence > other.sequence : one.claims[other.device, default: 0] > other.sequence
      }
    default: return ownership(act, acts)
    }
  }

  /// Words, recoveries and hand-overs.
  private static func ownership(_ act: Act, _ acts: [Int: Act]) -> ControlOperation? {
    let none = Cut(entries: [])
    let proof = [UInt8](repeating: 1, count: 64)
    switch act.deed {
    case .setWords(let number, let consent):
      let keys = ControlOperation.RecoveryKeys(
        sign: words(number), box: words(number), secrets: [])
      guard let consent else { return .setRecovery(keys) }
      return .rotateRecovery(keys: keys, consent: .recovery(signature: words(consent)))
    case .recover(let person, let number, let revokingOthers):
      return .recover(
        .init(
          person: PromiseAdapter.person(person), device: device(act.device).0,
          revokesOthers: revokingOthers, cut: none, signature: words(number)))
    case .offer(let person, let number):
      return .transferOwner(to: PromiseAdapter.person(person), signature: words(number))
    case .withdraw:
      return .transferOwner(to: personOfWithdrawal(act, acts), signature: proof)
    case .accept(let offer):
      guard let made = acts[offer] else { return .heartbeat([]) }
      return .acceptOwner(transfer: id(made))
    default: return .heartbeat([])
    }
  }

  /// Offers are withdrawn by an offer to oneself.
  private static func personOfWithdrawal(_ act: Act, _ acts: [Int: Act]) -> PersonID {
    for other in acts.values where other.device == act.device {
      switch other.deed {
      case .join(_, let person), .recover(let person, _, _):
        return person == 0 ? self.person(0) : self.person(person)
      default: continue
      }
    }
    return person(0)
  }
}
