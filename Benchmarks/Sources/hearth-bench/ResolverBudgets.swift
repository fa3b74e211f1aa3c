import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership

/// What resolving 10,000 control operations costs, those of attackers included.
struct ResolverBudgets {
  let operations: Int

  func run() {
    let shapes: [(String, (inout ResolverLog) -> Void)] = [
      ("roles by the owner", benign), ("two joinings by each of a reader's invitations", reader),
      ("joinings on one link", flood), ("admins remove each other", removals),
      ("two sides that do not hear of each other", partition),
    ]
    for (name, write) in shapes {
      var log = ResolverLog()
      write(&log)
      var clock = Stopwatch()
      let membership = clock.measure { log.fold() }
      row(
        "resolve \(log.items.count): \(name)", number(clock.wall * 1e3, 1) + " ms",
        budget: "100 ms", isMet: clock.wall < 0.1)
      let last = log.heartbeat()
      var adding = Stopwatch()
      adding.measure { _ = membership.adding([last]) }
      row(
        "one more", number(adding.wall * 1e3, 1) + " ms", budget: "5 ms",
        isMet: adding.wall < 0.005)
    }
  }

  private func benign(_ log: inout ResolverLog) {
    for person in 1...9 { log.bring(person, .member) }
    while log.items.count < operations {
      let turn = log.items.count
      log.setRole(0, turn % 9 + 1, turn / 9 % 2 == 0 ? .admin : .member)
    }
  }

  private func reader(_ log: inout ResolverLog) {
    log.bring(1, .reader)
    var next = 10
    while log.items.count + 3 <= operations {
      let invite = log.invite(1, .reader, for: 1)
      let seen = log.seen
      for device in [next, next + 1] { log.join(device, as: 1, by: invite, seen: seen) }
      log.seen = seen
      next += 2
    }
  }

  private func flood(_ log: inout ResolverLog) {
    let invite = log.invite(0, .member, uses: 3)
    let seen = log.seen
    for device in 1...(operations * 9 / 10) { log.join(device, as: device, by: invite, seen: seen) }
    log.seen = seen
    while log.items.count < operations { log.write(0, .heartbeat([])) }
  }

  private func removals(_ log: inout ResolverLog) {
    for person in 1...40 { log.bring(person, .admin) }
    let seen = log.seen
    while log.items.count < operations {
      let turn = log.items.count
      log.remove(turn % 40 + 1, (turn / 40 + turn + 1) % 40 + 1, seen: seen)
    }
  }

  private func partition(_ log: inout ResolverLog) {
    for person in 1...40 { log.bring(person, person <= 20 ? .admin : .member) }
    var sides = [log.seen, log.seen]
    while log.items.count < operations {
      let turn = log.items.count
      let side = turn % 2
      let hand = 1 + turn * 7 % 20 / 2 * 2 + side
      if turn % 5 == 0 {
        log.setRole(hand, 1 + turn * 13 % 40, .child, seen: sides[side])
      } else {
        log.write(hand, .heartbeat([]), seen: sides[side])
      }
      let author = log.author(hand)
      sides[side].advance(author, to: log.seen[author])
    }
  }
}

/// A control log without keys, whose operations have seen what is said.
struct ResolverLog {
  private(set) var items: [ControlItem] = []
  private let group: GroupID
  private var invitations: UInt64 = 0
  /// What everybody has seen who says nothing else.
  var seen = Frontier()

  init() {
    let genesis = ControlOperation.Genesis(
      nonce: Identifier(high: 1, low: 1), database: .shared,
      controlZone: Identifier(high: 2, low: 2), zones: [], founder: ResolverLog.person(0),
      founderName: "P", device: ResolverLog.card(0), createdMilliseconds: 0)
    group = Membership.groupID(of: genesis)
    write(0, .genesis(genesis))
  }

  private static func person(_ number: Int) -> PersonID {
    Identifier(high: 3, low: UInt64(number))
  }

  private static func card(_ number: Int) -> DeviceCard {
    let key = [UInt8(number & 0xff), UInt8(number >> 8)] + [UInt8](repeating: 7, count: 30)
    return DeviceCard(signKey: key, boxKey: key, name: "D")
  }

  func author(_ device: Int) -> Author {
    Author(device: Membership.cardID(of: ResolverLog.card(device)), incarnation: 1 << 32)
  }

  private func item(_ device: Int, _ operation: ControlOperation, _ cause: Frontier) -> ControlItem
  {
    let author = author(device)
    let dot = Dot(author: author, sequence: seen[author] + 1)
    return ControlItem(
      id: Identifier(high: UInt64(device) + 1, low: dot.sequence),
      version: Version(dot: dot, time: HybridTime(milliseconds: 1)), cause: cause,
      operation: operation)
  }

  mutating func write(
    _ device: Int, _ operation: ControlOperation, seen cause: Frontier? = nil
  ) {
    let item = item(device, operation, cause ?? seen)
    items.append(item)
    seen.advance(item.version.dot.author, to: item.version.dot.sequence)
  }

  /// A heartbeat of the founder that has seen everything.
  func heartbeat() -> ControlItem {
    item(
      0, .heartbeat([]), Frontier(items.map { ($0.version.dot.author, $0.version.dot.sequence) }))
  }

  mutating func invite(_ device: Int, _ role: Role, for person: Int? = nil, uses: Int = 1)
    -> Identifier
  {
    invitations += 1
    let id = Identifier(high: 4, low: invitations)
    let key = [UInt8](repeating: 5, count: 32)
    write(
      device,
      .inviteCreate(
        .init(
          invite: id, signKey: key, boxKey: key, role: role, person: person.map(ResolverLog.person),
          maximumUses: uses, expiresMilliseconds: .max)))
    return id
  }

  mutating func join(
    _ device: Int, as person: Int, by invite: Identifier, seen: Frontier? = nil
  ) {
    write(
      device,
      .join(
        .init(
          invite: invite, person: ResolverLog.person(person), personName: "P",
          device: ResolverLog.card(device), proof: [UInt8](repeating: 1, count: 64))), seen: seen)
  }

  mutating func bring(_ number: Int, _ role: Role) {
    join(number, as: number, by: invite(0, role))
  }

  mutating func setRole(_ device: Int, _ person: Int, _ role: Role, seen: Frontier? = nil) {
    write(
      device,
      .setRole(.init(person: ResolverLog.person(person), role: role, cut: Cut(entries: []))),
      seen: seen)
  }

  mutating func remove(_ device: Int, _ person: Int, seen: Frontier? = nil) {
    write(
      device, .removeMember(.init(person: ResolverLog.person(person), cut: Cut(entries: []))),
      seen: seen)
  }

  func fold() -> Membership {
    Membership(group: group, items: items, proofs: ProofBook(isTrusting: true))
  }
}
