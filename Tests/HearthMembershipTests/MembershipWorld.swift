import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

/// A group without keys, whose devices write operations after seeing what they are told.
struct MembershipWorld {
  /// How somebody came into the group.
  enum Path: String, CaseIterable {
    case founder, auto, approved, recovery
  }

  /// A device with what it has seen.
  struct Hand {
    let number: Int
    let card: DeviceCard
    let id: DeviceID
    let person: PersonID
    var seen = Frontier()
    var life: UInt64 = 1
    var author: Author { Author(device: id, incarnation: life << 32) }
    /// The device that this one is, where it is a copy that writes another history.
    var origin: Int
    /// Which content it has seen of each log.
    var contents: [Author: [UInt8]] = [:]
    /// The first byte of the hashes of what it writes: a copy may have tried until it comes first.
    var grain: UInt8 = 0x80
  }

  /// An operation as its log holds it.
  struct Written {
    let hand: Int
    let item: ControlItem
    let previous: [UInt8]
    let hash: [UInt8]
  }

  private(set) var items: [ControlItem] = []
  private(set) var written: [Written] = []
  private var isForked = false
  var hands: [Hand] = []
  let group: GroupID
  private(set) var invitations = 0
  var clock: UInt64 = 1_000

  /// A group whose founder is person 0 with device 0.
  init() {
    let card = MembershipWorld.card(0)
    let genesis = ControlOperation.Genesis(
      nonce: Identifier(high: 1, low: 1), database: .shared,
      controlZone: Identifier(high: 2, low: 2), zones: [], founder: MembershipWorld.person(0),
      founderName: "P0", device: card, createdMilliseconds: 0)
    group = ControlIdentity.groupID(of: genesis)
    _ = addHand(person: 0)
    write(0, .genesis(genesis))
  }

  static func card(_ number: Int) -> DeviceCard {
    let key = [UInt8](repeating: UInt8(number & 0xff), count: 31) + [UInt8(number >> 8)]
    return DeviceCard(signKey: key, boxKey: key, name: "D\(number)")
  }

  static func person(_ number: Int) -> PersonID { Identifier(high: 0xbeef, low: UInt64(number)) }

  mutating func addHand(person: Int) -> Int { addHand(as: MembershipWorld.person(person)) }

  mutating func addHand(as person: PersonID) -> Int {
    let card = MembershipWorld.card(hands.count)
    hands.append(
      Hand(
        number: hands.count, card: card, id: ControlIdentity.cardID(of: card), person: person,
        origin: hands.count))
    return hands.count - 1
  }

  /// A device that makes the id of its person.
  mutating func addMaker() -> Int {
    addHand(
      as: personID(madeBy: ControlIdentity.cardID(of: MembershipWorld.card(hands.count))))
  }

  /// Writes an operation with a device, after what it has seen.
  @discardableResult
  mutating func write(_ hand: Int, _ operation: ControlOperation) -> RecordID {
    let author = hands[hand].author
    let dot = Dot(author: author, sequence: hands[hand].seen[author] + 1)
    clock += 1
    let id = Identifier(
      high: 0xeeee_0000 + UInt64(hand) + ((hands[hand].life + 15) & 15) << 12, low: dot.sequence)
    let event = Identifier(
      high: 0xeeee_0000 + UInt64(hands[hand].origin) + ((hands[hand].life + 15) & 15) << 12,
      low: dot.sequence)
    let citations = hands[hand].contents.sorted { $0.key < $1.key }
      .filter { $0.key != author && hands[hand].seen[$0.key] > 0 }
      .map { Citation(author: $0.key, chainHash: $0.value) }
    let item = ControlItem(
      id: id, version: Version(dot: dot, time: HybridTime(milliseconds: clock)),
      cause: hands[hand].seen, operation: operation, citations: citations, eventID: event)
    items.append(item)
    let zero = [UInt8](repeating: 0, count: 32)
    let previous = hands[hand].contents[author] ?? zero
    let hash = ([hands[hand].grain] + Array("\(written.count) ".utf8) + zero).prefix(32)
    written.append(Written(hand: hand, item: item, previous: previous, hash: Array(hash)))
    hands[hand].seen.advance(author, to: dot.sequence)
    hands[hand].contents[author] = Array(hash)
    return id
  }

  /// A copy of a device that writes another history from a change of its present life on; gives the
  /// hand that acts for it.
  mutating func fork(_ hand: Int, at sequence: UInt64, isFirst: Bool = false) -> Int {
    let author = hands[hand].author
    let log = written.filter { $0.hand == hand && $0.item.version.dot.author == author }
    var copy = hands[hand]
    copy.seen = Frontier()
    copy.contents = [:]
    copy.grain = isFirst ? 0x01 : 0xff
    for entry in log where entry.item.version.dot.sequence < sequence {
      copy.seen = entry.item.cause
      for citation in entry.item.citations { copy.contents[citation.author] = citation.hash }
      copy.seen.advance(author, to: entry.item.version.dot.sequence)
      copy.contents[author] = entry.hash
    }
    hands.append(copy)
    isForked = true
    return hands.count - 1
  }

  /// The operations with the histories of logs that have several, as replicas have them that were
  /// shown everything.
  func compiled() -> (items: [ControlItem], shown: [ShownSegment]) {
    guard isForked else { return (items, []) }
    var contents: [Dot: Set<[UInt8]>] = [:]
    for entry in written { contents[entry.item.version.dot, default: []].insert(entry.hash) }
    var ends: [Author: UInt64] = [:]
    for (dot, hashes) in contents where hashes.count > 1 {
      ends[dot.author] = min(ends[dot.author] ?? .max, dot.sequence)
    }
    var items: [ControlItem] = []
    var shown: [ShownSegment] = []
    for entry in written {
      let dot = entry.item.version.dot
      guard let end = ends[dot.author], dot.sequence >= end else {
        items.append(entry.item)
        continue
      }
      shown.append(segment(entry))
    }
    return (items, shown)
  }

  private func segment(_ entry: Written) -> ShownSegment {
    let author = entry.item.version.dot.author
    let last = written.first { $0.hash == entry.previous }?.item.cause ?? Frontier()
    func others(_ frontier: Frontier) -> Frontier {
      Frontier(frontier.entries.filter { $0.author != author }.map { ($0.author, $0.sequence) })
    }
    let before = others(last)
    return ShownSegment(
      digest: MembershipWorld.digest(entry.hash), author: entry.item.version.dot.author,
      first: entry.item.version.dot.sequence, chain: [entry.previous, entry.hash],
      changes: [
        ShownChange(
          seen: others(entry.item.cause).joined(with: before).difference(from: before),
          time: entry.item.version.time, citations: entry.item.citations,
          events: [
            .init(
              id: entry.item.id, eventID: entry.item.eventID, operation: entry.item.operation)
          ])
      ])
  }

  static func digest(_ hash: [UInt8]) -> Identifier {
    Identifier(bytes: Array(hash.prefix(16))) ?? .zero
  }

  /// Shows everything that a hand wrote to the others, by another hand.
  mutating func show(_ hand: Int, by other: Int) {
    for entry in written where entry.hand == hand {
      write(
        other,
        .branch(
          author: entry.item.version.dot.author, digest: MembershipWorld.digest(entry.hash),
          part: 0, parts: 1, bytes: []))
    }
  }

  /// Lets a device go on in a new life that has seen something else than the last.
  mutating func beginLife(_ hand: Int, seen: Frontier, number: UInt64? = nil) {
    hands[hand].life = number ?? hands[hand].life + 1
    hands[hand].seen = seen
  }

  /// What a device had seen after a change of its first life.
  func seen(at hand: Int, sequence: UInt64) -> Frontier {
    let dot = Dot(author: Author(device: hands[hand].id, incarnation: 1 << 32), sequence: sequence)
    var seen = items.first { $0.version.dot == dot }?.cause ?? Frontier()
    seen.advance(dot.author, to: sequence)
    return seen
  }

  /// Gives one device all that another has seen.
  mutating func tell(_ taker: Int, _ giver: Int) {
    let author = hands[taker].author
    for entry in hands[giver].seen.entries
    where entry.author != author && entry.sequence > hands[taker].seen[entry.author] {
      hands[taker].seen.advance(entry.author, to: entry.sequence)
      hands[taker].contents[entry.author] = hands[giver].contents[entry.author]
    }
  }

  /// Gives everybody everything.
  mutating func settle() {
    let all = Frontier(items.map { ($0.version.dot.author, $0.version.dot.sequence) })
    for place in hands.indices where hands[place].origin == place { hands[place].seen = all }
    for entry in written where hands[entry.hand].origin == entry.hand {
      for place in hands.indices where hands[place].origin == place {
        hands[place].contents[entry.item.version.dot.author] = entry.hash
      }
    }
  }

  // MARK: Operations

  mutating func invite(
    _ hand: Int, _ role: Role, _ admission: ControlOperation.Admission = .auto, uses: Int = 1,
    person: PersonID? = nil, expires: UInt64 = .max
  ) -> Identifier {
    invitations += 1
    let id = Identifier(high: 0x1111, low: UInt64(invitations))
    let key = [UInt8](repeating: UInt8(invitations & 0xff), count: 32)
    write(
      hand,
      .inviteCreate(
        .init(
          invite: id, signKey: key, boxKey: key, admission: admission, role: role, person: person,
          maximumUses: uses, expiresMilliseconds: expires)))
    return id
  }

  func request(_ hand: Int, _ invite: Identifier) -> ControlOperation.Join {
    ControlOperation.Join(
      invite: invite, person: hands[hand].person, personName: "P\(hands[hand].person.low)",
      device: hands[hand].card, proof: [UInt8](repeating: 1, count: 64))
  }

  @discardableResult
  mutating func join(_ hand: Int, _ invite: Identifier) -> RecordID {
    write(hand, .join(request(hand, invite)))
  }

  @discardableResult
  mutating func remove(_ hand: Int, _ person: PersonID) -> RecordID {
    write(hand, .removeMember(person: person, cut: Cut(entries: [])))
  }

  @discardableResult
  mutating func revoke(_ hand: Int, _ other: Int) -> RecordID {
    write(hand, .revokeDevice(device: hands[other].id, cut: Cut(entries: [])))
  }

  @discardableResult
  mutating func setRole(_ hand: Int, _ person: PersonID, _ role: Role) -> RecordID {
    write(hand, .setRole(person: person, role: role, cut: Cut(entries: [])))
  }

  @discardableResult
  mutating func transfer(_ hand: Int, to person: PersonID) -> RecordID {
    write(hand, .transferOwner(to: person, signature: [1]))
  }

  static let words = ControlOperation.RecoveryKeys(
    sign: [UInt8](repeating: 7, count: 32), box: [UInt8](repeating: 7, count: 32), secrets: [])

  @discardableResult
  mutating func recover(_ hand: Int, revokesOthers: Bool) -> RecordID {
    write(
      hand,
      .recover(
        .init(
          person: hands[hand].person, device: hands[hand].card, revokesOthers: revokesOthers,
          cut: Cut(entries: []), signature: [UInt8](repeating: 1, count: 64))))
  }

  @discardableResult
  mutating func rotate(_ hand: Int, byWords: Bool = true, second: Int = 0) -> RecordID {
    let signature = [UInt8](repeating: 1, count: 64)
    return write(
      hand,
      .rotateRecovery(
        keys: MembershipWorld.words,
        consent: byWords
          ? .recovery(signature: signature)
          : .device(hands[second].id, signature: signature)))
  }

  // MARK: People

  /// Brings a new person of a role into the group, everybody having seen everything; gives the
  /// device that acts for it.
  ///
  /// By the path of the founder, the founder hands the group to the person who is not asked for.
  mutating func member(_ role: Role, by path: Path) -> Int {
    settle()
    let owner = ownerHand()
    if path == .founder { return founder(as: role) }
    let numbered = hands.map(\.person).filter { $0.high == MembershipWorld.person(0).high }
    let person = (numbered.map(\.low).max() ?? 0) + 1
    let hand = addHand(person: Int(person))
    let granted = role == .owner ? Role.admin : role
    if path == .approved {
      let invite = invite(owner, granted, .approve)
      write(
        owner,
        .admit(
          .init(
            join: request(hand, invite), possession: [UInt8](repeating: 1, count: 64))))
    } else {
      let invite = invite(owner, granted)
      settle()
      join(hand, invite)
    }
    settle()
    if role == .owner { handOver(owner, to: hand) }
    guard path == .recovery else { return hand }
    nameWords(hand)
    let second = addHand(person: Int(person))
    settle()
    recover(second, revokesOthers: true)
    settle()
    return second
  }

  private mutating func founder(as role: Role) -> Int {
    guard role != .owner else { return 0 }
    let other = member(.admin, by: .auto)
    handOver(0, to: other)
    setRole(other, hands[0].person, role)
    settle()
    return 0
  }

  private mutating func handOver(_ owner: Int, to: Int) {
    nameWords(owner)
    let offer = transfer(owner, to: hands[to].person)
    settle()
    write(to, .acceptOwner(transfer: offer))
    settle()
  }

  /// Names a person's recovery words, if it has none.
  mutating func nameWords(_ hand: Int) {
    guard fold().recovery.recoveryKeys(of: hands[hand].person) == nil else { return }
    write(hand, .setRecovery(MembershipWorld.words))
    settle()
  }

  /// A device that acts for the present owner.
  func ownerHand() -> Int {
    let membership = fold()
    return hands.first {
      $0.person == membership.owner && membership.isActive($0.id)
    }?.number ?? 0
  }

  /// A further device of a device's person.
  mutating func second(of hand: Int) -> Int {
    let invite = invite(hand, .reader, person: hands[hand].person)
    let added = addHand(as: hands[hand].person)
    settle()
    join(added, invite)
    settle()
    return added
  }

  // MARK: Outcome

  func fold() -> Membership {
    let (items, shown) = compiled()
    return Membership(
      group: group, items: items, forks: MembershipWorld.forks(shown),
      proofs: ProofBook(isTrusting: true))
  }

  static func forks(_ shown: [ShownSegment]) -> ControlForks {
    ControlForks(Dictionary(shown.map { ($0.digest, $0) }, uniquingKeysWith: { one, _ in one }))
  }

  func fold(shuffled random: inout SplitMix64) -> Membership {
    var (shuffled, shown) = compiled()
    shuffled.shuffle(using: &random)
    shown.shuffle(using: &random)
    return Membership(
      group: group, items: shuffled, forks: MembershipWorld.forks(shown),
      proofs: ProofBook(isTrusting: true))
  }

  func reason(_ id: RecordID) -> VoidReason? {
    fold().voided.first { $0.id == id }?.reason
  }

  /// The rule by which an operation was struck.
  func rule(_ id: RecordID) -> VoidReason.Rule? {
    guard case .overruled(_, let rule) = reason(id) else { return nil }
    return rule
  }
}
