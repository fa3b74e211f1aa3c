import HearthCRDT
import HearthMembership

/// Decides which authors a group's zones admit.
///
/// Incarnations enter through the control log: an author of records must have written there first.
/// Each person has a quota of incarnations for all their devices, and of devices. A device that
/// introduces itself uses the quota of the person whose words or link it shows, with effect or
/// without. An incarnation beyond a quota is admitted only if another person's device cites it, so
/// that all nodes converge on the same logs whatever arrived first. Such incarnations have a quota
/// of their own (decision 0061). Only cited incarnations use it: those that nobody else has seen
/// differ from node to node, and would leave a new node less room than the others had.
struct AuthorRoom: Sendable {
  /// Who shares a quota.
  private enum Account: Hashable {
    /// A person's devices, and those that came at the person's expense.
    case person(PersonID)
    /// The other devices without effect.
    case strangers
    /// The devices that introduce themselves in one batch by links for newcomers.
    case newcomers
    /// A device that the log does not name.
    case unknown(DeviceID)
  }

  /// A device that introduces itself in a batch.
  private struct Arrival {
    /// The most other devices of its account.
    let devices: Int
    /// The most incarnations of its account before it.
    let lives: Int
    /// Whether an operation of another person has seen it.
    let isCited: Bool
  }

  /// The incarnations of a zone that others have seen, and how many are beyond their quotas.
  private struct CitedLives {
    private(set) var overflow = 0
    private var authors: Set<Author> = []
    private var counts: [Account: Int] = [:]

    mutating func add(_ author: Author, of account: Account) {
      guard account != .newcomers, authors.insert(author).inserted else { return }
      counts[account, default: 0] += 1
      if counts[account, default: 0] > Limits.maximumLives { overflow += 1 }
    }
  }

  private var accounts: [DeviceID: Account] = [:]
  /// The devices of each account.
  private var members: [Account: [DeviceID]] = [:]
  private var arrivals: [DeviceID: Arrival] = [:]
  /// The control zone, if the zone holds records; nil if the zone itself is the control zone.
  private let control: ZoneState?
  /// What others have seen of the control zone, if it may have used up the places for that.
  private var cited: CitedLives?

  /// - Parameter sponsors: at whose expense devices began their logs in the control zone.
  init(_ membership: Membership, sponsors: [DeviceID: PersonID], control: ZoneState?) {
    self.control = control
    for device in membership.cards.keys {
      let person = sponsors[device] ?? membership.device(device)?.person
      add(device, to: person.map(Account.person) ?? .strangers)
    }
    if let control { count(in: control) }
  }

  private mutating func add(_ device: DeviceID, to account: Account) {
    accounts[device] = account
    members[account, default: []].append(device)
  }

  // MARK: Arrivals

  /// Notes a device that introduces itself in the batch at hand.
  ///
  /// - Parameters:
  ///   - hasRight: whether its introduction alone gives it a place.
  ///   - isCited: whether an operation of another person has seen it.
  mutating func introduce(
    _ device: DeviceID, _ introduction: Introduction, hasRight: Bool, isCited: Bool
  ) {
    let isKnown = accounts[device] != nil
    guard let person = introduction.sponsor else {
      if !isKnown { add(device, to: hasRight ? .newcomers : .strangers) }
      let lives = hasRight ? Limits.maximumNewcomerLives : 0
      arrivals[device] = Arrival(devices: .max, lives: lives, isCited: isCited)
      return
    }
    if !isKnown { add(device, to: .person(person)) }
    // Whoever has words or a link that do not count any more leaves room for their person.
    let part = introduction.isStranger ? 2 : 1
    let spare = introduction.endsOthers ? Limits.maximumSpareDevices : 0
    arrivals[device] = Arrival(
      devices: Limits.maximumDevices / part + spare, lives: Limits.maximumLives / part + spare,
      isCited: isCited)
  }

  /// The person whose quota a device uses; nil for a newcomer and for a stranger.
  func sponsor(of device: DeviceID) -> PersonID? {
    guard case .person(let person) = account(of: device) else { return nil }
    return person
  }

  /// The devices that began their logs in this batch at a person's expense.
  func begun(in zone: ZoneState) -> [DeviceID: PersonID] {
    var begun: [DeviceID: PersonID] = [:]
    for device in arrivals.keys where zone.lives(of: device) > 0 {
      begun[device] = sponsor(of: device)
    }
    return begun
  }

  // MARK: Places

  /// Whether an author's changes may be applied to a zone.
  func admits(_ author: Author, in zone: ZoneState) -> Bool {
    if zone.head(of: author).sequence > 0 || zone.hadPlace(author) { return true }
    if let control {
      return control.head(of: author).sequence > 0 || !isCrowded(author.device, in: control)
    }
    guard zone.heads.count < Limits.maximumAuthors else { return false }
    return !isCrowded(author.device, in: zone)
      || isCitedByOthers(author, in: zone) && hasCitedPlace(in: zone)
  }

  /// Whether an author without changes in a zone may still be admitted to it later.
  ///
  /// An incarnation beyond its person's quota is admitted once others cite it. A change that cites
  /// such an incarnation therefore waits for it. The exceptions are the control log, where the
  /// citation itself admits the incarnation, and a quota that is exhausted, because it stays
  /// exhausted. Whether a device that the log does not name has a place is told by its introduction
  /// alone, so it is awaited until that quota is exhausted.
  func isAwaited(_ author: Author, in zone: ZoneState) -> Bool {
    if zone.head(of: author).sequence > 0 { return true }
    guard let control else {
      return admits(author, in: zone)
        && (accounts[author.device] != nil || hasCitedPlace(in: zone))
    }
    return isAwaitedInControl(author) || control.head(of: author).sequence > 0
  }

  /// Whether the control log, which must admit an author of records first, may still admit the
  /// author.
  func isAwaitedInControl(_ author: Author) -> Bool {
    guard let control, control.head(of: author).sequence == 0 else { return true }
    let hasPlace = accounts[author.device] != nil && !isCrowded(author.device, in: control)
    return control.heads.count < Limits.maximumAuthors
      && (hasPlace || hasCitedPlace(in: control))
  }

  /// Whether the quota that a device uses is exhausted.
  ///
  /// Of the devices that introduce themselves, those that others have seen come first, so that a
  /// new node begins with the logs that the others have.
  private func isCrowded(_ device: DeviceID, in zone: ZoneState) -> Bool {
    guard let arrival = arrivals[device] else {
      return lives(of: device, in: zone) >= Limits.maximumLives
    }
    let before = members(of: device).filter { other in
      other != device && (zone.lives(of: other) > 0 || arrivals[other]?.isCited ?? false)
    }
    let lives = before.reduce(zone.lives(of: device)) { $0 + max(1, zone.lives(of: $1)) }
    return before.count >= arrival.devices || lives >= arrival.lives
  }

  /// Whether the quota of a person was exhausted for someone who had seen this much of the control
  /// log.
  ///
  /// The answer depends only on `controlSeen`, because the local state would give another answer
  /// later.
  func hadNoPlace(for author: Author, knowing controlSeen: Frontier) -> Bool {
    guard control != nil, controlSeen[author] == 0 else { return false }
    let own = account(of: author.device)
    let logs = controlSeen.entries.map(\.author).filter { account(of: $0.device) == own }
    if logs.count >= Limits.maximumLives { return true }
    let devices = Set(logs.map(\.device))
    return !devices.contains(author.device) && devices.count >= Limits.maximumDevices / 2
  }

  /// The number of incarnations with changes in a zone that share a quota with a device.
  func lives(of device: DeviceID, in zone: ZoneState) -> Int {
    members(of: device).reduce(0) { $0 + zone.lives(of: $1) }
  }

  private func account(of device: DeviceID) -> Account { accounts[device] ?? .unknown(device) }

  private func members(of device: DeviceID) -> [DeviceID] {
    members[account(of: device)] ?? [device]
  }

  private func isCitedByOthers(_ author: Author, in zone: ZoneState) -> Bool {
    if arrivals[author.device]?.isCited ?? false { return true }
    let own = account(of: author.device)
    return zone.heads.contains { head in
      guard head.seen[author] > 0, case .person = account(of: head.author.device) else {
        return false
      }
      return account(of: head.author.device) != own
    }
  }

  // MARK: Places for what others have seen

  /// Whether a cited incarnation beyond its quota finds a place.
  private func hasCitedPlace(in zone: ZoneState) -> Bool {
    guard AuthorRoom.mayBeFull(zone) else { return true }
    return (cited ?? citedLives(of: zone)).overflow < Limits.maximumCitedLives
  }

  /// Whether a zone has so many authors that cited incarnations may have used up their places.
  private static func mayBeFull(_ zone: ZoneState) -> Bool {
    zone.heads.count >= Limits.maximumLives + Limits.maximumCitedLives
  }

  /// Counts the cited incarnations of a control zone.
  mutating func count(in zone: ZoneState) {
    cited = AuthorRoom.mayBeFull(zone) ? citedLives(of: zone) : nil
  }

  /// Notes changes that were applied to a control zone, of one author and in order.
  mutating func note(_ changes: some Collection<Change>, in zone: ZoneState) {
    guard control == nil, let first = changes.first, AuthorRoom.mayBeFull(zone) else { return }
    guard cited != nil else { return count(in: zone) }
    let author = first.dot.author
    let own = account(of: author.device)
    if first.dot.sequence == 1, isCitedByOthers(author, in: zone) { cited?.add(author, of: own) }
    guard case .person = own else { return }
    for change in changes {
      for seen in change.seen.heads where zone.head(of: seen.author).sequence > 0 {
        let other = account(of: seen.author.device)
        if other != own { cited?.add(seen.author, of: other) }
      }
    }
  }

  /// Compares each log only with those that no log before it has seen.
  private func citedLives(of zone: ZoneState) -> CitedLives {
    var lives = CitedLives()
    var others = zone.heads.map { (author: $0.author, account: account(of: $0.author.device)) }
    for witness in zone.heads {
      let own = account(of: witness.author.device)
      guard case .person = own else { continue }
      others.removeAll { other in
        guard other.account != own, witness.seen[other.author] > 0 else { return false }
        lives.add(other.author, of: other.account)
        return true
      }
    }
    return lives
  }
}
