import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport
import InlineExecution

/// What came of one round over all of a device's ways.
struct Round {
  private(set) var received = 0
  private(set) var published = 0
  private(set) var begunFromSnapshots = 0
  private(set) var problems: [TransportProblem] = []
  /// The first way's failure.
  var failure: String?
  /// Whether a relay refused a mailbox, and the others went on.
  private(set) var isRefused = false

  mutating func add(_ report: TransportReport) {
    received += report.received
    published += report.published
    begunFromSnapshots += report.begunFromSnapshots
    problems += report.problems
    failure = failure ?? report.failure
    if !report.refusals.isEmpty { isRefused = true }
  }
}

/// A way to the others, with the little that relays need beside the port.
struct Way {
  let transport: any Transport
  /// Nil for a folder.
  let relay: SimRelayWay?

  /// Says in which mailbox of a relay a capsule lies; nothing for a folder.
  func lay(_ scope: Identifier, in access: MailboxAccess) {
    relay?.relay.client.directory.capsules[scope] = access
  }

  func fetch(_ name: BlobName, in access: MailboxAccess) throws -> [UInt8]? {
    lay(name.scope, in: access)
    return try runInline { try await transport.fetch(name) }
  }
}

/// The relay as a device's program sees it: the production transport, and what a thief's program
/// shuts its eyes to.
final class SimRelayWay: Transport {
  let relay: RelayTransport
  let link: SimLink
  private unowned let device: SimDevice
  private var last: [Identifier: TransportListing] = [:]

  init(_ relay: RelayTransport, _ link: SimLink, of device: SimDevice) {
    self.relay = relay
    self.link = link
    self.device = device
  }

  func place(of name: SegmentName) -> String { relay.place(of: name) }

  func list(zoneTag: Identifier) async throws -> TransportListing {
    if let frozen = device.frozenAtRelay[zoneTag] { return frozen }
    let listing = try await relay.list(zoneTag: zoneTag)
    last[zoneTag] = listing
    return listing
  }

  func freeze(_ zoneTag: Identifier) {
    device.frozenAtRelay[zoneTag] = last[zoneTag] ?? TransportListing()
  }

  func fetch(_ name: SegmentName) async throws -> [UInt8] {
    let bytes = try await relay.fetch(name)
    device.fetchedAtRelay += bytes.count
    return bytes
  }
  func publish(_ name: SegmentName, _ bytes: [UInt8]) async throws {
    try await relay.publish(name, bytes)
  }
  func remove(_ name: SegmentName) async throws { try await relay.remove(name) }
  func fetch(_ name: BlobName) async throws -> [UInt8]? {
    let bytes = try await relay.fetch(name)
    device.fetchedAtRelay += bytes?.count ?? 0
    return bytes
  }
  func publish(_ name: BlobName, _ bytes: [UInt8]) async throws {
    try await relay.publish(name, bytes)
  }
  func remove(_ name: BlobName) async throws { try await relay.remove(name) }
  func expect(_ names: [SegmentName]) { relay.expect(names) }
  func publish(_ segments: [(name: SegmentName, bytes: [UInt8])]) async throws {
    try await relay.publish(segments)
  }
}

/// The production memory, overheard: what the program has kept of a relay's logs it must hold the
/// relay to.
private struct OverheardMemory: RelayMemory {
  let kept: FactMemory<ReplicaStore>
  unowned let device: SimDevice

  func load(_ name: String) throws -> [UInt8]? {
    let bytes = try kept.load(name)
    hear(bytes)
    return bytes
  }

  func save(_ name: String, _ bytes: [UInt8]) throws {
    try kept.save(name, bytes)
    hear(bytes)
  }

  private func hear(_ bytes: [UInt8]?) {
    guard let index = bytes.flatMap({ try? RelayMailboxIndex(decoding: $0) }) else { return }
    device.knownLogs[index.mailbox] = index
  }
}

extension SimDevice {
  var usesFolder: Bool { way != .relay }
  /// Whether its copy of the folder is there even if the device is gone.
  var leavesFolder: Bool { usesFolder && !isDestroyed }
  var usesRelay: Bool { way != .folder && net != nil }

  /// Every way to the others, the folder first.
  func ways() throws -> [Way] {
    var ways: [Way] = []
    if usesFolder { ways.append(Way(transport: folder, relay: nil)) }
    if usesRelay {
      let relay = try relayWay()
      ways.append(Way(transport: relay, relay: relay))
    }
    return ways
  }

  /// The relay as this program sees it; it stays until the program ends.
  func relayWay() throws -> SimRelayWay {
    if let relay { return relay }
    guard let net, let store = running?.store else { throw StepFailure("\(name) is off") }
    net.elapse()
    let link = SimLink(net, device: index, identity: identity, life: net.nextLife())
    net.add(link)
    knownLogs = [:]
    let made = SimRelayWay(
      RelayTransport(
        over: link, memory: OverheardMemory(kept: FactMemory(store: store), device: self),
        digest: { segmentDigest($0) }), link, of: self)
    relay = made
    return made
  }

  /// The program ends, and its connection with it.
  func hangUp(tellsRelay: Bool) {
    guard let relay else { return }
    net?.remove(relay.link, tellsRelay: tellsRelay)
    self.relay = nil
  }

  /// Gets in, exchanges, and sets the newest access keys, in the order of the product.
  func exchangeOverRelay(at now: UInt64, _ round: inout Round) throws {
    let way = try relayWay()
    guard let net else { return }
    net.elapse()
    way.link.begin()
    let (anchor, name) = (anchor, name)
    var report = TransportReport(setting: way.relay.place)
    let before = net.relay.starts
    do {
      try withEngine { engine in
        let groups = Set(engine.zones.filter { $0.database == .shared }.map(\.group)).sorted()
        pardonMembers(of: engine, groups)
        try getIn(to: groups, over: way, with: &engine, at: now)
        let owed = try net.owedNews(to: self, engine.zones.map(\.tag))
        report = try engine.exchange(
          over: way, named: name, anchorFile: anchor, nowMilliseconds: now)
        // Whom the relay does not let in any more it tells nothing.
        let isMember = groups.allSatisfy { engine.membership(of: $0).isActive(engine.device) }
        // For a minute after the relay was asked, a live line's word is taken for the log.
        let looked = owed.subtracting(way.link.unasked)
        if isMember, let words = net.unpaid(looked, report, since: before, of: self) {
          throw net.world.fail(.relay, self, words)
        }
        leftOut = Set(
          groups.flatMap { group in
            let membership = engine.membership(of: group)
            return membership.allDevices.map(\.id).filter { !membership.isActive($0) }
          })
        if report.failure == nil {
          try giveCapsule(to: Way(transport: way, relay: way), from: engine)
        }
        if report.failure == nil, frozenAtRelay.isEmpty {
          _ = try engine.withTurns { turns in
            try await RelayKeyRenewal(of: RelayMailboxes(at: way.relay, with: turns)).renewAccess(
              nowMilliseconds: now)
          }
        }
      }
      round.add(report)
      relayNotices += report.problems.count { net.tells($0) }
      isShutOut = report.problems.contains { SimNet.isRefusal($0) }
    } catch let error as TransportError {
      round.add(report)
      round.failure = round.failure ?? "\(error)"
    }
    net.ended(way, of: self)
  }

  /// Gets in for the groups that the device belongs to or means to join.
  ///
  /// A device that sees no more than there was does not ask the relay again.
  private func getIn(
    to groups: [GroupID], over way: SimRelayWay, with engine: inout Engine<ReplicaStore>,
    at now: UInt64
  ) throws {
    guard frozenAtRelay.isEmpty else {
      way.relay.client.directory.zones = try engine.mailboxes(at: way.relay)
      return
    }
    let open = groups.filter {
      engine.membership(of: $0).isActive(engine.device)
        || engine.membership(of: $0).device(engine.device) == nil
    }
    let anchor = anchor
    try engine.withTurns { turns in
      try await RelayReadmission(to: RelayMailboxes(at: way.relay, with: turns)).admit(
        to: open, anchorFile: anchor, nowMilliseconds: now)
    }
  }

  private func pardonMembers(of engine: Engine<ReplicaStore>, _ groups: [GroupID]) {
    for group in groups {
      let membership = engine.membership(of: group)
      guard membership.isActive(engine.device) else { continue }
      net?.relay.rules.pardon(membership.devices.map(\.id))
    }
  }

  // MARK: Capsules

  func fetch(_ name: BlobName, in access: MailboxAccess) throws -> [UInt8]? {
    for way in try ways() {
      if let bytes = try way.fetch(name, in: access) { return bytes }
    }
    return nil
  }

  func publish(_ blob: NamedBlob, in access: MailboxAccess) throws {
    for way in try ways() {
      way.lay(blob.name.scope, in: access)
      try runInline { try await way.transport.publish(blob.name, blob.bytes) }
    }
  }

  static func requestAccess(of secret: InviteSecret) throws -> MailboxAccess {
    let keys = secret.publicKeys
    return try .joinRequests(
      by: Identifier(bytes: keys.inviteID) ?? .zero, sign: keys.signingKey.bytes,
      box: keys.boxKey.bytes)
  }

  static func requestAccess(of invite: ControlOperation.InviteCreate) throws -> MailboxAccess {
    try .joinRequests(by: invite.invite, sign: invite.signKey, box: invite.boxKey)
  }
}

extension SimNet {
  /// What a device has kept of logs that the relay does not go on with: it must be told.
  func owedNews(to device: SimDevice, _ tags: [Identifier]) throws -> Set<Identifier> {
    var owed: Set<Identifier> = []
    for tag in tags {
      guard let index = device.knownLogs[tag], let cursor = index.cursor, cursor.position > 0,
        let (found, chain) = relay.shown(tag, to: device.index, at: cursor.position),
        found.generation != cursor.generation || chain != index.chain
      else { continue }
      owed.insert(tag)
    }
    return owed
  }

  /// What is wrong where a device was owed news and exchanged without telling its person any; nil
  /// where it told, or could not look.
  func unpaid(
    _ owed: Set<Identifier>, _ report: TransportReport, since starts: Int, of device: SimDevice
  ) -> String? {
    guard !owed.isEmpty, report.failure == nil, starts == relay.starts,
      device.frozenAtRelay.isEmpty
    else { return nil }
    // Of a mailbox that does not let it in it has nothing to tell.
    if report.problems.contains(where: { SimNet.isRefusal($0) }) { return nil }
    if report.problems.contains(where: { tells($0) }) {
      SimProbe.relayNoticed.hit()
      return nil
    }
    return "exchanges with a relay that shows another log than before, and does not say so"
  }

  /// Whether a problem says that a relay does not let the device in.
  static func isRefusal(_ problem: TransportProblem) -> Bool {
    problem.fault.contains("does not admit this device")
  }

  /// Whether a problem says that a relay shows another log than before.
  func tells(_ problem: TransportProblem) -> Bool {
    problem.place == "\(relay.address.host):\(relay.address.port)"
      && (problem.fault.contains("log") || problem.fault.contains("lost its data"))
  }

  /// A round is over: the program ends, as a command's does, or stays and listens.
  func ended(_ way: SimRelayWay, of device: SimDevice) {
    var chance = Chance(seed, domain: "keeps", UInt64(device.index), now)
    guard chance.happens(perMille: rules.keepsPerMille), way.link.line != nil else {
      device.hangUp(tellsRelay: true)
      return
    }
    for tag in way.relay.client.directory.zones.keys.sorted() {
      way.link.session.listen(to: tag, true, now: now)
    }
    perform(way.link)
  }
}

extension SimRelay {
  /// What a device would see of a mailbox's log at a position; nil while nobody sees anything.
  func shown(
    _ mailbox: Identifier, to device: Int, at position: UInt64
  ) -> (head: RelayCursor, chain: Bytes32?)? {
    let isBehind = face?.devices.contains(device) ?? false
    guard let source = isBehind ? face?.log : log else { return nil }
    return answer(of: source, mailbox, position)
  }
}

extension Engine<ReplicaStore> {
  /// The mailboxes at a relay, with the keys of this moment.
  func mailboxes(at relay: RelayTransport) throws -> [Identifier: MailboxAccess] {
    try RelayMailboxes(at: relay, with: OwnTurns(self)).accesses()
  }

  /// Gets in at a relay where this device was away.
  mutating func admit(
    to group: GroupID, over relay: RelayTransport,
    as recipients: [(id: Identifier, pair: BoxKeyPair)], anchorFile: some AnchorFile,
    nowMilliseconds: UInt64
  ) throws {
    try withTurns { turns in
      try await RelayReadmission(to: RelayMailboxes(at: relay, with: turns)).admit(
        to: group, as: recipients, anchorFile: anchorFile, nowMilliseconds: nowMilliseconds)
    }
  }
}
