import HearthCRDT
import HearthCrypto
import HearthMembership

/// A control log without keys, whose operations have seen what is said.
struct ResolverLog {
  private(set) var items: [ControlItem] = []
  let group: GroupID
  /// The shown histories of logs that have several, by digest.
  var histories: [Identifier: ShownSegment] = [:]
  private var invitations: UInt64 = 0
  /// The number of each device's present life, where it is not the first.
  private var lives: [Int: UInt64] = [:]
  /// What everybody has seen who says nothing else.
  var seen = Frontier()

  init() {
    let genesis = ControlOperation.Genesis(
      nonce: Identifier(high: 1, low: 1), database: .shared,
      controlZone: Identifier(high: 2, low: 2), zones: [], founder: ResolverLog.person(0),
      founderName: "P", device: ResolverLog.card(0), createdMilliseconds: 0)
    group = ControlIdentity.groupID(of: genesis)
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
    Author(
      device: ControlIdentity.cardID(of: ResolverLog.card(device)),
      incarnation: lives[device, default: 1] << 32)
  }

  /// Lets a device go on in another life.
  mutating func begin(life: Int, of device: Int) { lives[device] = UInt64(life) }

  private func item(
    _ device: Int, _ operation: ControlOperation, _ cause: Frontier, _ citations: [Citation] = []
  ) -> ControlItem {
    let author = author(device)
    let dot = Dot(author: author, sequence: seen[author] + 1)
    return ControlItem(
      id: Identifier(high: UInt64(device) + 1 + author.incarnation, low: dot.sequence),
      version: Version(dot: dot, time: HybridTime(milliseconds: 1)), cause: cause,
      operation: operation, citations: citations)
  }

  mutating func write(
    _ device: Int, _ operation: ControlOperation, seen cause: Frontier? = nil,
    citing citations: [Citation] = []
  ) {
    let item = item(device, operation, cause ?? seen, citations)
    items.append(item)
    seen.advance(item.version.dot.author, to: item.version.dot.sequence)
  }

  /// Heartbeats of the founder, each of which has seen everything before it.
  func heartbeats(_ count: Int) -> [ControlItem] {
    var log = self
    log.seen = Frontier(items.map { ($0.version.dot.author, $0.version.dot.sequence) })
    for _ in 0..<count { log.write(0, .heartbeat([])) }
    return Array(log.items.suffix(count))
  }

  /// Operations of the first member's device, of which any one may follow.
  ///
  /// Each has seen the first half of the log.
  func late() -> [ControlItem] {
    let cause = Frontier(
      items.prefix(items.count / 2).map { ($0.version.dot.author, $0.version.dot.sequence) })
    let other = ResolverLog.person(2)
    let none = Cut(entries: [])
    let key = [UInt8](repeating: 6, count: 32)
    let operations: [ControlOperation] = [
      .heartbeat([]), .leave(none), .inviteClose(invite: Identifier(high: 4, low: 1)),
      .removeMember(person: other, cut: none),
      .setRole(person: other, role: .reader, cut: none),
      .revokeDevice(device: ControlIdentity.cardID(of: ResolverLog.card(2)), cut: none),
      .setRecovery(.init(sign: key, box: key, secrets: [])),
      .confirm(items.suffix(4).map(\.id).sorted()),
    ]
    return operations.map { item(1, $0, cause) }
  }

  mutating func invite(
    _ device: Int, _ role: Role, for person: Int? = nil, uses: Int = 1, seen: Frontier? = nil,
    _ admission: ControlOperation.Admission = .auto
  ) -> Identifier {
    invitations += 1
    let id = Identifier(high: 4, low: invitations)
    let key = [UInt8](repeating: 5, count: 32)
    write(
      device,
      .inviteCreate(
        .init(
          invite: id, signKey: key, boxKey: key, admission: admission, role: role,
          person: person.map(ResolverLog.person), maximumUses: uses, expiresMilliseconds: .max)),
      seen: seen)
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
    write(device, roleChange(person, role), seen: seen)
  }

  mutating func remove(_ device: Int, _ person: Int, seen: Frontier? = nil) {
    write(
      device, .removeMember(person: ResolverLog.person(person), cut: Cut(entries: [])),
      seen: seen)
  }

  mutating func revoke(_ device: Int, _ other: Int, seen: Frontier? = nil) {
    let id = ControlIdentity.cardID(of: ResolverLog.card(other))
    write(device, .revokeDevice(device: id, cut: Cut(entries: [])), seen: seen)
  }

  mutating func setWords(_ device: Int, seen: Frontier? = nil) {
    let key = [UInt8](repeating: 6, count: 32)
    write(device, .setRecovery(.init(sign: key, box: key, secrets: [])), seen: seen)
  }

  mutating func recover(
    _ device: Int, as person: Int, seen: Frontier? = nil, revokesOthers: Bool = true
  ) {
    write(
      device,
      .recover(
        .init(
          person: ResolverLog.person(person), device: ResolverLog.card(device),
          revokesOthers: revokesOthers, cut: Cut(entries: []),
          signature: [UInt8](repeating: 1, count: 64))), seen: seen)
  }

  mutating func rotate(_ device: Int, _ second: Int?, seen: Frontier? = nil) {
    let key = [UInt8](repeating: 6, count: 32)
    let signature = [UInt8](repeating: 1, count: 64)
    let consent: ControlOperation.Consent =
      second.map {
        .device(ControlIdentity.cardID(of: ResolverLog.card($0)), signature: signature)
      } ?? .recovery(signature: signature)
    write(
      device,
      .rotateRecovery(keys: .init(sign: key, box: key, secrets: []), consent: consent),
      seen: seen)
  }

  mutating func admit(
    _ hand: Int, _ device: Int, as person: Int, by invite: Identifier, seen: Frontier? = nil
  ) {
    write(hand, admission(of: device, as: person, by: invite), seen: seen)
  }

  /// The operation by which somebody approves a request.
  func admission(
    of device: Int, as person: Int, by invite: Identifier
  ) -> ControlOperation {
    let proof = [UInt8](repeating: 1, count: 64)
    let join = ControlOperation.Join(
      invite: invite, person: ResolverLog.person(person), personName: "P",
      device: ResolverLog.card(device), proof: proof)
    return .admit(.init(join: join, possession: proof))
  }

  /// The operation by which somebody sets a role.
  func roleChange(_ person: Int, _ role: Role) -> ControlOperation {
    .setRole(person: ResolverLog.person(person), role: role, cut: Cut(entries: []))
  }

  /// Makes a key of a zone and hands it to devices.
  mutating func seal(_ device: Int, _ devices: [Int], seen: Frontier? = nil) {
    let wraps = devices.map {
      ControlOperation.Wrap(
        recipient: ControlIdentity.cardID(of: ResolverLog.card($0)), sealed: [1])
    }
    write(
      device,
      .epoch(
        .init(
          zone: Identifier(high: 3, low: 3), epoch: [UInt8](repeating: 7, count: 32), previous: [],
          wraps: wraps.sorted { $0.recipient < $1.recipient })), seen: seen)
  }

  /// Offers the group; gives the id by which the offer is taken.
  mutating func offer(_ device: Int, to person: Int, seen: Frontier? = nil) -> RecordID {
    write(
      device,
      .transferOwner(to: ResolverLog.person(person), signature: [UInt8](repeating: 1, count: 64)),
      seen: seen)
    return items[items.count - 1].id
  }

  mutating func accept(_ device: Int, _ offer: RecordID, seen: Frontier? = nil) {
    write(device, .acceptOwner(transfer: offer), seen: seen)
  }

  func fold() -> Membership {
    Membership(
      group: group, items: items, forks: ControlForks(histories),
      proofs: ProofBook(isTrusting: true))
  }
}
