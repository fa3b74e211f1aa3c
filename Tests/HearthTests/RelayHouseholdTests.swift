import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelay
import HearthRelayCore
import HearthSync
import HearthTransport
import Logging
import Testing

@testable import Hearth
@testable import HearthRelayProtocol

/// A relay in this process, with its folder, that can be killed, wiped and set back.
final class RelayShelf {
  let root: URL
  private(set) var server: RelayServer
  private let port: Int
  private var isRunning = true
  /// What the relay allows; counts from the next start on.
  var configuration = RelayConfiguration()

  var address: String { server.address.description }
  private var data: URL { root.appendingPathComponent("data") }

  init(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws {
    // No client is too slow, however busy the machine is.
    configuration.handshakeMilliseconds = 3_600_000
    change(&configuration)
    root = FileManager.default.temporaryDirectory
      .appendingPathComponent("hearth-relay-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: root.appendingPathComponent("data"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    server = try RelayShelf.start(
      root.appendingPathComponent("data").path, port: 0, configuration)
    port = server.address.port
  }

  deinit {
    if isRunning { try? server.kill() }
    try? FileManager.default.removeItem(at: root)
  }

  private static func start(
    _ path: String, port: Int, _ configuration: RelayConfiguration
  ) throws -> RelayServer {
    let identity = try RelayFolder(path: path).identity()
    return try RelayServer.start(
      host: "127.0.0.1", port: port, healthPort: nil, log: SQLiteRelayLog(folder: path),
      identity: identity, configuration: configuration,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  func kill() throws {
    try server.kill()
    isRunning = false
  }

  func start() throws {
    server = try RelayShelf.start(data.path, port: port, configuration)
    isRunning = true
  }

  func restart() throws {
    try kill()
    try start()
  }

  /// All its mailboxes, as its operator sees them.
  func statistics() throws -> [RelayMailboxStatistics] {
    try SQLiteRelayLog(folder: data.path).statistics()
  }

  /// What all its mailboxes hold.
  func usedBytes() throws -> UInt64 { try statistics().reduce(0) { $0 + $1.usedBytes } }

  /// Deletes a mailbox while the relay runs, as its operator may.
  func remove(_ mailbox: Identifier) throws {
    _ = try SQLiteRelayLog(folder: data.path).remove(mailbox)
  }

  /// How often the access key of each mailbox was set that belongs to no other, by name.
  func accessGenerations() throws -> [Identifier: UInt64] {
    let log = try SQLiteRelayLog(folder: data.path)
    var found: [Identifier: UInt64] = [:]
    for name in try log.statistics().filter({ $0.parent == nil }).map(\.name) {
      let find = RelayRead(mailbox: name, authority: nil, question: .find(chainAt: nil))
      guard case .found(let mailbox?, _) = try log.read(find) else {
        throw RelayError(.notFound, "no mailbox \(name)")
      }
      found[name] = mailbox.accessGeneration
    }
    return found
  }

  /// Loses everything but the identity.
  func wipe() throws {
    try kill()
    for name in try FileManager.default.contentsOfDirectory(atPath: data.path)
    where name.hasPrefix(SQLiteRelayLog.fileName) {
      try FileManager.default.removeItem(at: data.appendingPathComponent(name))
    }
    try start()
  }

  /// Keeps a copy of all data, as a backup does.
  func back(up name: String) throws {
    try kill()
    try FileManager.default.copyItem(at: data, to: root.appendingPathComponent(name))
    try start()
  }

  func restore(_ name: String) throws {
    try kill()
    try FileManager.default.removeItem(at: data)
    try FileManager.default.copyItem(at: root.appendingPathComponent(name), to: data)
    try start()
  }
}

extension Family {
  /// Makes a household whose nodes all meet at a relay.
  func grow(
    _ names: [String], over relay: RelayShelf, role: Role = .member,
    now: @escaping @Sendable () -> UInt64 = Node.wallClock
  ) async throws -> (nodes: [Node], zone: ZoneID) {
    var nodes: [Node] = []
    for name in names {
      nodes.append(
        try await Node.create(
          at: home(name), person: name, device: "phone", passphrase: nil, schema: Family.schema,
          now: now))
    }
    let zone = try await nodes[0].createHousehold(named: "Home")
    _ = try await nodes[0].transports.add(relay: relay.address)
    for node in nodes.dropFirst() {
      let link = try await nodes[0].invitations.create(
        to: zone, role: role, maximumUses: 1, expiresInMilliseconds: 3_600_000)
      // The link alone says where to go.
      _ = try await node.invitations.join(try InvitationLink(text: link.text))
    }
    try await Family.settle(nodes)
    return (nodes, zone)
  }
}

@Suite("A household over a relay")
struct RelayHouseholdTests {
  private func problems(_ report: SyncReport) -> [String] {
    report.transports.flatMap { ($0.failure.map { [$0] } ?? []) + $0.problems.map(\.fault) }
  }

  @Test("A link alone leads into the household; what one writes the others read")
  func joining() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Cleo"], over: shelf)
    for (number, node) in nodes.enumerated() {
      try await node.note(
        Note.id(UInt64(number)), [.assign(Note.title, .text("\(number)"))], in: zone)
    }
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
    let report = try await nodes[0].sync()
    #expect(report.received == 0 && report.published == 0 && problems(report).isEmpty)
  }

  @Test("A relay that is killed and comes back loses nothing and needs no help")
  func restart() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    for round in 0..<3 {
      try await nodes[0].note(
        Note.id(UInt64(round)), [.assign(Note.title, .text("\(round)"))], in: zone)
      _ = try await nodes[0].sync()
      try shelf.restart()
      let report = try await nodes[1].sync()
      #expect(report.received > 0 && problems(report).isEmpty, "\(problems(report))")
    }
    #expect(try await Family.digests(nodes, zone).count == 1)
  }

  @Test("A relay that is away is one line in the report, and harms no folder")
  func away() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    for node in nodes { _ = try await node.transports.add(folder: family.folder) }
    try shelf.kill()
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("x"))], in: zone)
    let sent = try await nodes[0].sync()
    #expect(sent.transports.compactMap(\.failure).count == 1)
    #expect(sent.published > 0)
    let got = try await nodes[1].sync()
    #expect(got.received > 0)
    #expect(try await Family.digests(nodes, zone).count == 1)
    try shelf.start()
    try await Family.settle(nodes)
  }

  @Test("A wiped relay is noticed, told, and filled again by whoever comes first")
  func wiped() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    for number in 0..<5 {
      try await nodes[0].note(
        Note.id(UInt64(number)), [.assign(Note.title, .text("\(number)"))], in: zone)
      _ = try await nodes[0].sync()
    }
    try await Family.settle(nodes)
    try shelf.wipe()
    let report = try await nodes[1].sync()
    #expect(report.published > 0)
    #expect(problems(report).contains { $0.contains("lost its data") }, "\(problems(report))")
    // A newcomer needs nothing but the relay.
    let link = try await nodes[1].engineOwnerInvites(nodes[0], zone)
    let guest = try await Node.create(
      at: family.home("Guest"), person: "Guest", device: "phone", passphrase: nil,
      schema: Family.schema)
    _ = try await guest.invitations.join(link)
    try await Family.settle(nodes + [guest])
    #expect(try await Family.digests(nodes + [guest], zone).count == 1)
  }

  @Test("Negative 6: a relay that was set back is noticed, told and filled, and takes nothing back")
  func setBack() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    try shelf.back(up: "old")
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("x"))], in: zone)
    try await Family.settle(nodes)
    let digest = try await Family.digests(nodes, zone)
    try shelf.restore("old")
    // Something else takes the positions of what was lost.
    let report = try await nodes[0].sync()
    #expect(problems(report).contains { $0.contains("rolled back") }, "\(problems(report))")
    #expect(report.published > 0)
    // Neither the state nor the own log goes back, and no number is used again.
    #expect(try await Family.digests(nodes, zone) == digest)
    #expect(await nodes[0].incarnation == 1)
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
    let fresh = try await Node.create(
      at: family.home("New"), person: "New", device: "phone", passphrase: nil,
      schema: Family.schema)
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    _ = try await fresh.invitations.join(try InvitationLink(text: link.text))
    #expect(try await Family.digests([nodes[0], fresh], zone).count == 1)
  }

  @Test("A relay that tells another story at the same positions is noticed")
  func equivocation() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    try shelf.back(up: "fork")
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("x"))], in: zone)
    _ = try await nodes[0].sync()
    // The other member is shown a log that went on differently from the same point.
    try shelf.restore("fork")
    for number in 2..<5 {
      try await nodes[1].note(
        Note.id(UInt64(number)), [.assign(Note.title, .text("y"))], in: zone)
      _ = try await nodes[1].sync()
    }
    let report = try await nodes[0].sync()
    #expect(
      problems(report).contains { $0.contains("not the one that it showed before") },
      "\(problems(report))")
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
  }

  @Test("Folder and relay together, and each alone, give the same state")
  func together() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Cleo"], over: shelf)
    // Anna has both, Ben the relay, Cleo from now on the folder only.
    _ = try await nodes[0].transports.add(folder: family.folder)
    _ = try await nodes[2].transports.add(folder: family.folder)
    try await nodes[2].transports.remove(shelf.address)
    for (number, node) in nodes.enumerated() {
      try await node.note(
        Note.id(UInt64(number)), [.assign(Note.title, .text("\(number)"))], in: zone)
    }
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
  }

  @Test("Who is removed is out at once, learns by whom, and who was away finds the way in")
  func removal() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Cleo"], over: shelf)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    let ben = await nodes[1].person
    try await nodes[0].people.remove(ben, from: group)
    #expect(problems(try await nodes[0].sync()).isEmpty)
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("secret"))], in: zone)
    #expect(problems(try await nodes[0].sync()).isEmpty)
    // Ben's node still believes to be in, and is told.
    try await nodes[1].note(Note.id(2), [.assign(Note.title, .text("late"))], in: zone)
    let report = try await nodes[1].sync()
    #expect(report.published == 0)
    #expect(try await nodes[1].ending(in: group)?.kind == .removed)
    #expect(try await nodes[1].ending(in: group)?.personName == "Anna")
    #expect(try await nodes[1].state(Note.id(1), in: zone) == nil)
    #expect(try await nodes[1].isShutOut(of: zone, at: shelf.address))
    #expect(try await !nodes[0].isShutOut(of: zone, at: shelf.address))
    // Cleo was away and has the old keys only.
    let found = try await nodes[2].sync()
    #expect(problems(found).isEmpty, "\(problems(found))")
    #expect(try await nodes[2].state(Note.id(1), in: zone) != nil)
    try await nodes[2].note(Note.id(3), [.assign(Note.title, .text("hello"))], in: zone)
    try await Family.settle([nodes[0], nodes[2]])
    #expect(try await Family.digests([nodes[0], nodes[2]], zone).count == 1)
    #expect(try await nodes[1].sync().received == 0)
  }

  @Test("Who was away finds the way in also after the relay lost everything")
  func wipedHandoffs() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Cleo"], over: shelf)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    try await nodes[0].people.remove(await nodes[1].person, from: group)
    _ = try await nodes[0].sync()
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("x"))], in: zone)
    _ = try await nodes[0].sync()
    try shelf.wipe()
    _ = try await nodes[0].sync()
    let report = try await nodes[2].sync()
    #expect(report.transports.allSatisfy { $0.failure == nil })
    #expect(try await nodes[2].state(Note.id(1), in: zone) != nil, "\(problems(report))")
  }

  @Test("Somebody who was away through several changes of keys finds the way in")
  func severalHandoffs() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben", "Cleo", "Dan", "Eve"], over: shelf)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    for leaver in nodes[1...3] {
      try await nodes[0].people.remove(await leaver.person, from: group)
      _ = try await nodes[0].sync()
      _ = try await nodes[0].sync()
    }
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("x"))], in: zone)
    _ = try await nodes[0].sync()
    let report = try await nodes[4].sync()
    #expect(problems(report).isEmpty, "\(problems(report))")
    #expect(try await nodes[4].state(Note.id(1), in: zone) != nil)
  }

  @Test("An invitation from before a change of keys still lets in")
  func oldInvitation() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    try await nodes[0].people.remove(await nodes[1].person, from: group)
    _ = try await nodes[0].sync()
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("new"))], in: zone)
    _ = try await nodes[0].sync()
    let guest = try await Node.create(
      at: family.home("Guest"), person: "Guest", device: "phone", passphrase: nil,
      schema: Family.schema)
    _ = try await guest.invitations.join(try InvitationLink(text: link.text))
    try await Family.settle([nodes[0], guest])
    #expect(try await guest.state(Note.id(1), in: zone) != nil)
    #expect(try await Family.digests([nodes[0], guest], zone).count == 1)
  }

  @Test(
    "Whoever has not heard of somebody changes no access key, and shuts nobody out for a moment",
    arguments: [Role.member, .admin])
  func passedBy(_ role: Role) async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    let guests = [
      try await Node.create(
        at: family.home("Kim"), person: "Kim", device: "phone", passphrase: nil,
        schema: Family.schema),
      try await Node.create(
        at: family.home("Cleo"), person: "Cleo", device: "phone", passphrase: nil,
        schema: Family.schema),
    ]
    let early = try await nodes[0].invitations.create(
      to: zone, role: role, maximumUses: 2, expiresInMilliseconds: 3_600_000)
    _ = try await nodes[0].sync()
    try await nodes[0].people.remove(await nodes[1].person, from: group)
    _ = try await nodes[0].sync()
    let late = try await nodes[0].invitations.create(
      to: zone, role: .child, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    _ = try await nodes[0].sync()
    _ = try await guests[0].invitations.join(try InvitationLink(text: late.text))
    _ = try await guests[0].sync()
    // By a link from before the removal one cannot read what was written after it, and so knows
    // nothing of Kim, yet has to make a new key. The relay's it changes not before a manager has
    // listed it, which is when it has heard of all.
    let before = try shelf.accessGenerations()
    _ = try await guests[1].invitations.join(try InvitationLink(text: early.text))
    _ = try await guests[1].sync()
    #expect(try shelf.accessGenerations().filter { before[$0.key] != nil } == before)
    #expect(problems(try await guests[0].sync()).isEmpty)
    #expect(try await !guests[0].isShutOut(of: zone, at: shelf.address))
    for _ in 0..<2 {
      for node in [nodes[0]] + guests { _ = try await node.sync() }
    }
    let everybody = [nodes[0]] + guests
    for node in everybody { #expect(problems(try await node.sync()).isEmpty) }
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("all"))], in: zone)
    try await Family.settle(everybody)
    #expect(try await Family.digests(everybody, zone).count == 1)
  }

  @Test("Asking and approving go over a relay")
  func approving() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    let guest = try await Node.create(
      at: family.home("Guest"), person: "Guest", device: "phone", passphrase: nil,
      schema: Family.schema)
    let link = try await nodes[0].invitations.create(
      to: zone,
      InvitationTerms(
        role: .member, needsApproval: true, maximumUses: 1, expiresInMilliseconds: 3_600_000))
    guard case .asked(let pending) = try await guest.invitations.follow(link) else {
      Issue.record("let in at once")
      return
    }
    #expect(try await guest.sync().received == 0)
    let waiting = try await nodes[0].admissions.waiting(of: group)
    #expect(waiting.map(\.number) == [pending.number])
    _ = try await nodes[0].admissions.approve(try #require(waiting.first), named: "Home")
    _ = try await guest.sync()
    #expect(await guest.lastAdmissions == [zone])
    try await Family.settle(nodes + [guest])
    #expect(try await Family.digests(nodes + [guest], zone).count == 1)
  }

  @Test("Recovery words bring a household back from a relay alone")
  func recovery() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    let words = try PersonWords.drawn()
    #expect(problems(try await nodes[0].recovery.activate(words)).isEmpty)
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("x"))], in: zone)
    _ = try await nodes[0].sync()
    _ = try await nodes[1].sync()
    let (again, recovered) = try await Node.recover(
      at: family.home("Again"), words: words, folders: [shelf.address], deviceName: "new",
      revokingOthers: true, passphrase: nil, schema: Family.schema)
    #expect(recovered.households.map(\.zone) == [zone])
    #expect(try await again.state(Note.id(1), in: zone) != nil)
    try await Family.settle([again, nodes[1]])
    #expect(try await Family.digests([again, nodes[1]], zone).count == 1)
    // The lost device reads on no more.
    try await again.note(Note.id(2), [.assign(Note.title, .text("y"))], in: zone)
    _ = try await again.sync()
    #expect(try await nodes[0].sync().received >= 0)
    #expect(try await nodes[0].state(Note.id(2), in: zone) == nil)
  }

  @Test("Whoever leaves gives what it had, and is out when the others have new keys")
  func leaving() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    try await nodes[1].note(Note.id(1), [.assign(Note.title, .text("last"))], in: zone)
    #expect(problems(try await nodes[1].people.leave(group)).isEmpty)
    _ = try await nodes[0].sync()
    #expect(try await nodes[0].state(Note.id(1), in: zone) != nil)
    try await nodes[0].note(Note.id(2), [.assign(Note.title, .text("y"))], in: zone)
    _ = try await nodes[0].sync()
    #expect(problems(try await nodes[1].sync()).isEmpty)
    #expect(try await nodes[1].state(Note.id(2), in: zone) == nil)
  }

  @Test("A push ends the wait for news; a relay that is killed is listened to again")
  func watching() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    let watch = try NewsWatch(try await nodes[0].newsSource())
    _ = try await nodes[0].sync()
    watch.noteDatabase()
    #expect(await watch.wait(), "the first look")
    _ = try await nodes[0].sync()
    watch.noteDatabase()
    var latencies: [Duration] = []
    for round in 0..<5 {
      try await nodes[1].note(
        Note.id(UInt64(round)), [.assign(Note.title, .text("\(round)"))], in: zone)
      let clock = ContinuousClock()
      let began = clock.now
      async let isNews = watch.wait()
      _ = try await nodes[1].sync()
      #expect(await isNews)
      #expect(try await nodes[0].sync().received > 0)
      latencies.append(clock.now - began)
      watch.noteDatabase()
    }
    print("relay: written by one, read by the other: \(latencies)")
    try shelf.restart()
    try await nodes[1].note(Note.id(9), [.assign(Note.title, .text("z"))], in: zone)
    // Also with no news there: what was written here meanwhile may have to go out.
    #expect(await watch.wait())
    _ = try await nodes[1].sync()
    while try await nodes[0].sync().received == 0 { #expect(await watch.wait()) }
    watch.stop()
  }

  @Test("An address that is none, of nobody or of another relay is refused with a reason")
  func addresses() async throws {
    let shelf = try RelayShelf()
    let other = try RelayShelf()
    let family = try Family()
    let node = try await Node.create(
      at: family.home("Anna"), person: "Anna", device: "phone", passphrase: nil,
      schema: Family.schema)
    await #expect(throws: HearthError(.invalid, "")) {
      try await node.transports.add(relay: "relay.example")
    }
    let good = try RelayAddress(shelf.address)
    let wrongPin = try RelayAddress(
      host: good.host, port: good.port, pin: try RelayAddress(other.address).pin)
    do {
      _ = try await node.transports.add(relay: wrongPin.description)
      Issue.record("took another relay for the one of the address")
    } catch let error as HearthError {
      #expect(error.code == .offline && error.message.contains("certificate"), "\(error)")
    }
    try other.kill()
    await #expect(throws: HearthError(.offline, "")) {
      try await node.transports.add(relay: other.address)
    }
    #expect(try await node.transports.list().isEmpty)
    let setting = try await node.transports.add(relay: shelf.address)
    #expect(try await node.transports.add(relay: shelf.address) == setting)
    let link = InvitationLink(secret: try .random(), folder: nil, relay: good)
    #expect(try InvitationLink(text: link.text).relay == good)
  }
}

extension Node {
  /// Whether a relay gives this node's keys neither the household's log nor its records.
  func isShutOut(of zone: ZoneID, at address: String) async throws -> Bool {
    let relay = try relay(address)
    let group = allZones().first { $0.id == zone }?.group
    for zone in allZones() where zone.group == group {
      do {
        _ = try await relay.list(zoneTag: zone.tag)
        return false
      } catch let error as TransportError where error.code == .relayRefused {
        continue
      }
    }
    return true
  }

  /// An invitation by the owner.
  fileprivate func engineOwnerInvites(_ owner: Node, _ zone: ZoneID) async throws -> InvitationLink
  {
    let link = try await owner.invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    return try InvitationLink(text: link.text)
  }
}
