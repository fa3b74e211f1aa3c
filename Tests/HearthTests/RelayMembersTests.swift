import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelay
import HearthRelayCore
import HearthStore
import InlineExecution
import Testing

@testable import Hearth
@testable import HearthRelayProtocol
@testable import HearthSync
@testable import HearthTransport

/// Members with a changed program against the others, at the lists of a relay's mailboxes.
@Suite("Lists of a relay's mailboxes among members who lie")
struct RelayMembersTests {
  private func problems(_ report: SyncReport) -> [String] {
    report.transports.flatMap { ($0.failure.map { [$0] } ?? []) + $0.problems.map(\.fault) }
  }

  private struct Home {
    let shelf: RelayShelf
    let family: Family
    let nodes: [Node]
    let zone: ZoneID
    let group: GroupID
  }

  /// Anna owns the household, Ben is an admin; all are listed.
  private func home(_ names: [String]) async throws -> Home {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(names, over: shelf)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    try await nodes[0].people.setRole(of: await nodes[1].person, to: .admin, in: group)
    try await Family.settle(nodes)
    for node in nodes { #expect(problems(try await node.sync()).isEmpty) }
    return Home(shelf: shelf, family: family, nodes: nodes, zone: zone, group: group)
  }

  private func write(_ number: UInt64, by node: Node, in home: Home) async throws {
    try await node.note(Note.id(number), [.assign(Note.title, .text("\(number)"))], in: home.zone)
  }

  // MARK: Led away

  @Test(
    "Whoever an admin leads into mailboxes of its own is told, and comes back when listed again")
  func ledAway() async throws {
    let home = try await home(["Anna", "Ben", "Cleo"])
    let (anna, ben, cleo) = (home.nodes[0], home.nodes[1], home.nodes[2])
    let key = try await cleo.ownKey(of: home.group, at: home.shelf.address)
    try await ben.strike(key, of: home.group, at: home.shelf.address)
    try await ben.makeMoved(1, of: home.group, at: home.shelf.address)
    try await write(1, by: cleo, in: home)
    let report = try await cleo.sync()
    #expect(problems(report).contains { $0.contains("number 1") }, "\(problems(report))")
    #expect(report.transports.contains { $0.isPartial })
    #expect(try await cleo.place(of: home.group, at: home.shelf.address) == 1)
    // Anna has seen nothing of it, and lists Cleo as the log has it.
    #expect(problems(try await anna.sync()).isEmpty)
    #expect(try await anna.state(Note.id(1), in: home.zone) == nil)
    let back = try await cleo.sync()
    #expect(problems(back).contains { $0.contains("number 0") }, "\(problems(back))")
    #expect(try await cleo.place(of: home.group, at: home.shelf.address) == 0)
    #expect(problems(try await cleo.sync()).isEmpty)
    _ = try await anna.sync()
    #expect(try await anna.state(Note.id(1), in: home.zone) != nil)
  }

  @Test("Nobody goes into mailboxes that are managed by none who may")
  func strangersPlace() async throws {
    let home = try await home(["Anna", "Ben", "Cleo", "Dan"])
    let (cleo, dan) = (home.nodes[2], home.nodes[3])
    let key = try await cleo.ownKey(of: home.group, at: home.shelf.address)
    try await home.nodes[1].strike(key, of: home.group, at: home.shelf.address)
    try await dan.makeMoved(1, of: home.group, at: home.shelf.address)
    let report = try await cleo.sync()
    #expect(problems(report).contains { $0.contains("a manager of the mailbox") })
    #expect(try await cleo.place(of: home.group, at: home.shelf.address) == 0)
    withExtendedLifetime(home.family) {}
  }

  @Test("All follow a repair though who was removed keeps the mailbox open and took the next name")
  func takenAndOpen() async throws {
    let home = try await home(["Anna", "Ben", "Cleo"])
    let (anna, ben, cleo) = (home.nodes[0], home.nodes[1], home.nodes[2])
    let address = home.shelf.address
    // Ben stays the only manager, lets all others in, and takes the next name.
    let key = try await anna.ownKey(of: home.group, at: address)
    try await ben.setRank(.author, of: key, in: home.group, at: address)
    try await ben.makeMoved(1, of: home.group, at: address)
    try await anna.people.remove(await ben.person, from: home.group)
    for node in [anna, cleo] { _ = try await node.sync() }
    let told = problems(try await cleo.sync())
    #expect(told.contains { $0.contains("mailbox there have no right to it") }, "\(told)")
    let repaired = try await anna.transports.repair(relay: address)
    #expect(repaired.repairs.contains { $0.group == home.group && $0.repair == .moved })
    #expect(try await anna.place(of: home.group, at: address) == 2)
    _ = try await cleo.sync()
    #expect(try await cleo.place(of: home.group, at: address) == 2)
    try await write(1, by: cleo, in: home)
    try await write(2, by: anna, in: home)
    try await Family.settle([anna, cleo])
    #expect(try await Family.digests([anna, cleo], home.zone).count == 1)
    for node in [anna, cleo] { #expect(problems(try await node.sync()).isEmpty) }
  }

  // MARK: Full lists

  @Test("An admin who fills the list with keys of its own is taken down all the same")
  func fullList() async throws {
    let home = try await home(["Anna", "Ben", "Cleo", "Dan"])
    let (anna, ben) = (home.nodes[0], home.nodes[1])
    let address = home.shelf.address
    let own = try await ben.ownKey(of: home.group, at: address)
    try await ben.fillList(of: home.group, at: address)
    try await anna.people.setRole(of: await ben.person, to: .member, in: home.group)
    try await anna.people.remove(await home.nodes[3].person, from: home.group)
    #expect(problems(try await anna.sync()).isEmpty)
    let seats = try await anna.seats(of: home.group, at: address).filter { $0.rank.isListed }
    #expect(seats.count == 3 && seats.first { $0.key == own }?.rank == .author, "\(seats)")
    // Dan's keys are out, and Ben changes nothing any more.
    #expect(try await home.nodes[3].isShutOut(of: home.zone, at: address))
    await #expect(throws: TransportError.self) {
      try await ben.setRank(.manager, of: own, in: home.group, at: address)
    }
    for node in [ben, home.nodes[2]] { #expect(problems(try await node.sync()).isEmpty) }
  }

  // MARK: Keys

  @Test("A handoff under a foreign key is put right by the manager who needs it")
  func foreignHandoff() async throws {
    let home = try await home(["Anna", "Ben", "Cleo"])
    let (anna, ben, cleo) = (home.nodes[0], home.nodes[1], home.nodes[2])
    try await ben.spoilHandoff(of: home.group, at: home.shelf.address)
    try await anna.people.remove(await ben.person, from: home.group)
    #expect(problems(try await anna.sync()).isEmpty)
    try await write(1, by: anna, in: home)
    _ = try await anna.sync()
    #expect(try await cleo.opensHandoff(of: home.group, at: home.shelf.address))
    _ = try await cleo.sync()
    #expect(try await cleo.state(Note.id(1), in: home.zone) != nil)
    withExtendedLifetime(home.family) {}
  }

  @Test("An admin's device that lacks the newest epoch does not turn the keys back")
  func oldEpoch() async throws {
    let home = try await home(["Anna", "Ben", "Cleo"])
    let (anna, ben) = (home.nodes[0], home.nodes[1])
    try await anna.people.remove(await home.nodes[2].person, from: home.group)
    for node in [anna, ben] { #expect(problems(try await node.sync()).isEmpty) }
    let before = try home.shelf.accessGenerations()
    try await ben.renewWithoutNewestEpoch(of: home.group, at: home.shelf.address)
    #expect(try home.shelf.accessGenerations() == before)
    #expect(try await home.nodes[2].isShutOut(of: home.zone, at: home.shelf.address))
    withExtendedLifetime(home.family) {}
  }

  @Test("Whom somebody lists while a manager has the mailbox open is struck off at its next sync")
  func listedMeanwhile() async throws {
    let home = try await home(["Anna", "Ben", "Cleo"])
    let (anna, ben) = (home.nodes[0], home.nodes[1])
    let address = home.shelf.address
    // Anna has had the mailbox open since before, and the members' log says nothing new.
    let second = try SigningKeyPair(seed: SecretKey.random()).publicKey.bytes
    try await ben.setRank(.manager, of: second, in: home.group, at: address)
    #expect(problems(try await anna.sync()).isEmpty)
    let managers = try await anna.seats(of: home.group, at: address).filter { $0.rank == .manager }
    var owners: Set<[UInt8]> = []
    for node in [anna, ben] { owners.insert(try await node.ownKey(of: home.group, at: address)) }
    #expect(Set(managers.map(\.key)) == owners && managers.count == 2)
    let known = try await anna.knownList(of: home.group, at: address)
    #expect(known == (try await anna.listDigest(of: home.group, at: address)))
    withExtendedLifetime(home.family) {}
  }

  // MARK: Clearing

  @Test("What was not read, and what began from before a snapshot, is not cleared")
  func useless() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"])
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("x"))], in: zone)
    try await Family.settle(nodes)
    for isBegun in [false, true] {
      let judged = try await nodes[1].judgeSegments(
        of: await nodes[0].device, in: zone, asBegunFromSnapshot: isBegun)
      #expect(judged.held == [], "what is here is in use")
      #expect(judged.beyond == [], "what may wait for room is in use")
      #expect(judged.unknown == 1, "of a device that nobody knows nobody needs anything")
      #expect(judged.other == (isBegun ? 0 : 1), "other bytes of what is here")
    }
  }

  @Test("A repair clears what a member stored and nobody can use, once, and nothing else")
  func cleared() async throws {
    let home = try await home(["Anna", "Ben", "Cleo"])
    let (anna, cleo) = (home.nodes[0], home.nodes[2])
    let address = home.shelf.address
    try await write(1, by: cleo, in: home)
    _ = try await cleo.sync()
    let before = try await anna.listed(in: home.zone, at: address)
    let junk = try await cleo.storeJunk(in: home.zone, at: address)
    #expect(try await anna.listed(in: home.zone, at: address) == before.union(junk))
    for round in 0..<2 {
      let repaired = try await anna.transports.repair(relay: address)
      let lines = repaired.repairs.flatMap { report -> [String] in
        guard case .cleared(let lines) = report.repair else { return [] }
        return lines.filter { $0.contains("Cleo") }
      }
      #expect(lines.count == (round == 0 ? 1 : 0), "\(lines)")
      #expect(lines.allSatisfy { $0.hasPrefix("\(junk.count) files") }, "\(lines)")
    }
    #expect(try await anna.listed(in: home.zone, at: address) == before)
    withExtendedLifetime(home.family) {}
  }

  @Test("A mailbox without room for so many removals begins anew, and holds what is of use")
  func begunAnew() async throws {
    let home = try await home(["Anna", "Ben", "Cleo"])
    let (anna, cleo) = (home.nodes[0], home.nodes[2])
    let address = home.shelf.address
    try await write(1, by: cleo, in: home)
    _ = try await cleo.sync()
    let junk = try await cleo.storeJunk(in: home.zone, at: address)
    _ = try await anna.sync()
    let lines = try await anna.repairMailboxes(of: home.group, at: address, maximumEntries: 1)
    #expect(lines.count == 2 && lines.allSatisfy { $0.hasSuffix("starts again") }, "\(lines)")
    for node in home.nodes + [anna] { _ = try await node.sync() }
    let listed = try await anna.listed(in: home.zone, at: address)
    #expect(!listed.isEmpty && listed.isDisjoint(with: junk))
    #expect(try await Family.digests(home.nodes, home.zone).count == 1)
    withExtendedLifetime(home.family) {}
  }
}

extension Node {
  private func control(
    of group: GroupID, at address: String
  ) async throws -> (relay: RelayTransport, access: MailboxAccess, opening: RelayOpening) {
    let relay = try relay(address)
    let control = try engine.controlZone(of: group)
    let access = try #require(relay.client.directory.zones[control.tag])
    return (relay, access, try await relay.client.open(access))
  }

  /// The mailboxes of a group, that of its control zone first.
  private func accesses(of group: GroupID, at relay: RelayTransport) throws -> [MailboxAccess] {
    let control = try engine.controlZone(of: group)
    return ([control] + engine.zones.filter { $0.group == group && $0.kind == .data })
      .compactMap { relay.client.directory.zones[$0.tag] }
  }

  fileprivate func ownKey(of group: GroupID, at address: String) async throws -> [UInt8] {
    let (relay, _, opening) = try await control(of: group, at: address)
    return try relay.rosters.pseudonym(
      of: engine.identity.publicKeys.sign, relayID: opening.relayID)
  }

  fileprivate func place(of group: GroupID, at address: String) throws -> UInt64 {
    try relay(address).notes.moves(of: group).current
  }

  fileprivate func seats(of group: GroupID, at address: String) async throws -> [RelaySeat] {
    let (relay, access, _) = try await control(of: group, at: address)
    return try await relay.rosters.roster(of: access).seats
  }

  /// Strikes a key off at all mailboxes of a group.
  fileprivate func strike(_ key: [UInt8], of group: GroupID, at address: String) async throws {
    try await setRank(.struck, of: key, in: group, at: address)
  }

  fileprivate func setRank(
    _ rank: RelayRank, of key: [UInt8], in group: GroupID, at address: String
  ) async throws {
    let relay = try relay(address)
    for access in try accesses(of: group, at: relay) {
      try await relay.rosters.setRank(rank, of: key, in: access)
    }
  }

  /// Makes the mailboxes of a group that others look for as those with a number.
  fileprivate func makeMoved(
    _ number: UInt64, of group: GroupID, at address: String
  ) async throws {
    let relay = try relay(address)
    for access in try accesses(of: group, at: relay) {
      #expect(try await relay.client.open(access.moved(number)).opened.rank == .manager)
    }
  }

  /// Lists keys of its own until the relay takes no more.
  fileprivate func fillList(of group: GroupID, at address: String) async throws {
    let relay = try relay(address)
    for access in try accesses(of: group, at: relay) {
      var count = 0
      while try await relay.rosters.trySetting(
        .author, of: SigningKeyPair(seed: SecretKey.random()).publicKey.bytes, in: access)
      {
        count += 1
      }
      #expect(count > 200)
    }
  }

  /// Makes the handoff behind the present key and sets another key for it.
  fileprivate func spoilHandoff(of group: GroupID, at address: String) async throws {
    let (relay, access, _) = try await control(of: group, at: address)
    let key = try #require(access.keys.first)
    let handoff = MailboxAccess.handoff(of: access.mailbox, behind: key, mayCreate: true)
    _ = try await relay.client.open(handoff)
    let foreign = MailboxKey(
      id: [UInt8](repeating: 7, count: 32),
      root: try .ofJoinRequests(
        sign: [UInt8](repeating: 1, count: 32), box: [UInt8](repeating: 2, count: 32)))
    let control = try engine.controlZone(of: group)
    var directory = RelayDirectory()
    directory.zones[control.tag] = MailboxAccess(
      mailbox: handoff.mailbox, keys: [foreign, key], mayCreate: false)
    try await relay.view(directory).client.rotate(zoneTag: control.tag)
  }

  /// Whether the key before the present one opens the handoff behind it.
  fileprivate func opensHandoff(of group: GroupID, at address: String) async throws -> Bool {
    let relay = try relay(address)
    let control = try engine.controlZone(of: group)
    let access = try #require(relay.client.directory.zones[control.tag])
    let key = try #require(access.keys.first)
    var handoff = MailboxAccess.handoff(of: access.mailbox, behind: key, mayCreate: false)
    handoff.parents = []
    guard let opening = try? await relay.client.open(handoff) else { return false }
    if case .access = opening.key { return true }
    return false
  }

  /// Looks after the keys at a relay as a device that others passed by when they made an epoch.
  fileprivate func renewWithoutNewestEpoch(of group: GroupID, at address: String) async throws {
    let relay = try relay(address)
    let place = try #require(engine.zones.firstIndex { $0.group == group && $0.kind == .control })
    let whole = engine.zones[place]
    let newest = try #require(whole.currentEpoch)
    let stored = StoredZone(
      id: whole.id, group: whole.group, kind: whole.kind, database: whole.database,
      name: whole.name, wrappedSecret: [], wrappedEpochs: [])
    var poorer = ZoneState(
      stored, secret: whole.secret, epochs: whole.epochs.filter { $0.id != newest.id },
      heads: whole.heads)
    poorer.recognise(engine.membership(of: group).allDevices.map(\.id))
    #expect(poorer.currentEpoch != nil && poorer.currentEpoch?.id != newest.id)
    engine.zones[place] = poorer
    _ = try await RelayKeyRenewal(of: RelayMailboxes(at: relay, with: core.replicas)).renewAccess(
      nowMilliseconds: nowMilliseconds())
    engine.zones[place] = whole
  }

  fileprivate func knownList(of group: GroupID, at address: String) async throws -> Bytes16 {
    let (relay, access, opening) = try await control(of: group, at: address)
    return relay.rosters.digest(of: access.mailbox, opening)
  }

  fileprivate func listDigest(of group: GroupID, at address: String) async throws -> Bytes16 {
    let (relay, access, _) = try await control(of: group, at: address)
    return try await relay.rosters.roster(of: access).digest
  }

  /// The names of a zone's segments at a relay.
  fileprivate func listed(in id: ZoneID, at address: String) async throws -> Set<SegmentName> {
    Set(try await relay(address).list(zoneTag: engine.zone(id).tag).segments)
  }

  /// Stores files in a zone's mailbox that nobody can use: one of a device that nobody knows, and
  /// one by this device's name that is no segment.
  fileprivate func storeJunk(
    in id: ZoneID, at address: String
  ) async throws -> [SegmentName] {
    let relay = try relay(address)
    let zone = try engine.zone(id)
    let next = zone.head(of: engine.author).sequence + 1
    var names: [SegmentName] = []
    for tag in [Identifier(high: 9, low: 9), zone.authorTag(of: device)] {
      let noise = [UInt8](repeating: UInt8(names.count + 1), count: 300)
      let name = SegmentName(
        zoneTag: zone.tag, authorTag: tag, incarnation: engine.incarnation, first: next,
        last: next, digest: segmentDigest(noise))
      try await relay.publish(name, noise)
      names.append(name)
    }
    return names
  }

  /// Repairs a group's mailboxes that have little room, and returns what was cleared.
  fileprivate func repairMailboxes(
    of group: GroupID, at address: String, maximumEntries: UInt64
  ) async throws -> [String] {
    let repair = RelayMailboxRepair(
      of: RelayMailboxes(at: try relay(address), with: core.replicas),
      maximumEntries: maximumEntries)
    guard case .cleared(let lines) = try await repair.repair(group, mayClear: true) else {
      return []
    }
    return lines
  }

  /// How many names of segments of a device nobody needs: those that are here, one far beyond its
  /// log, one of a device that nobody knows, and one of other bytes.
  fileprivate func judgeSegments(
    of device: DeviceID, in id: ZoneID, asBegunFromSnapshot isBegun: Bool
  ) throws -> (held: Set<SegmentName>, beyond: Set<SegmentName>, unknown: Int, other: Int) {
    if isBegun { try store.transaction { try store.snapshots.saveBase([1], of: id) } }
    let zone = try engine.zone(id)
    let held = try engine.store.log.segments(of: id).map { $0.name(in: zone) }
    let own = try #require(
      held.filter { $0.authorTag == zone.authorTag(of: device) }.max { $0.last < $1.last })
    func name(_ tag: Identifier, _ first: UInt64, _ last: UInt64) -> SegmentName {
      SegmentName(
        zoneTag: zone.tag, authorTag: tag, incarnation: own.incarnation, first: first, last: last,
        digest: Identifier(high: 1, low: last))
    }
    let beyond = name(own.authorTag, own.last + 5_000, own.last + 5_001)
    let unknown = name(Identifier(high: 9, low: 9), 1, 2)
    let other = name(own.authorTag, 1, own.last)
    let found = try UselessFiles(engine: engine).useless(held + [beyond, unknown, other], in: id)
    return (
      found.intersection(held), found.intersection([beyond]), found.contains(unknown) ? 1 : 0,
      found.contains(other) ? 1 : 0
    )
  }
}
