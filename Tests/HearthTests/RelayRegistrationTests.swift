import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelay
import HearthRelayCore
import HearthSync
import HearthTransport
import Testing

@testable import Hearth
@testable import HearthRelayProtocol

@Suite("A household at a relay where nobody may register any more")
struct RelayRegistrationTests {
  private func problems(_ report: SyncReport) -> [String] {
    report.transports.flatMap { ($0.failure.map { [$0] } ?? []) + $0.problems.map(\.fault) }
  }

  /// A family whose relay lets nobody register since it is there.
  private func settled(
    _ names: [String], _ policy: RelayRegistration = .token
  ) async throws -> (shelf: RelayShelf, family: Family, nodes: [Node], zone: ZoneID) {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(names, over: shelf)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    try await nodes[0].people.setRole(of: await nodes[1].person, to: .admin, in: group)
    try await Family.settle(nodes)
    shelf.configuration.registration = policy
    try shelf.restart()
    return (shelf, family, nodes, zone)
  }

  @Test(
    "Who is removed is out at once, and who was away comes in, though nobody may register",
    arguments: [RelayRegistration.token, .allowList])
  func removal(_ policy: RelayRegistration) async throws {
    let (shelf, family, nodes, zone) = try await settled(["Anna", "Ben", "Cleo", "Dan"], policy)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    // Ben made no mailbox, and is a manager of none.
    try await nodes[1].people.remove(await nodes[3].person, from: group)
    #expect(problems(try await nodes[1].sync()).isEmpty)
    #expect(try await nodes[3].isShutOut(of: zone, at: shelf.address))
    try await nodes[1].note(Note.id(1), [.assign(Note.title, .text("secret"))], in: zone)
    #expect(problems(try await nodes[1].sync()).isEmpty)
    let found = try await nodes[2].sync()
    #expect(problems(found).isEmpty, "\(problems(found))")
    #expect(try await nodes[2].state(Note.id(1), in: zone) != nil)
    // The removed device finds the note in the handoff, and makes no mailbox.
    _ = try await nodes[3].sync()
    #expect(try await nodes[3].ending(in: group)?.personName == "Ben")
    // Its own log says why it is shut out, and no policy of the relay is blamed.
    let refusal = try await nodes[3].refusal(of: zone, at: shelf.address)
    #expect(refusal?.contains("it no longer belongs to the household") == true, "\(refusal ?? "")")
    try await Family.settle([nodes[0], nodes[1], nodes[2]])
    #expect(try await Family.digests([nodes[0], nodes[1], nodes[2]], zone).count == 1)
    withExtendedLifetime((shelf, family)) {}
  }

  @Test("A member invites and lets in after asking, though nobody may register")
  func inviting() async throws {
    let (shelf, family, nodes, zone) = try await settled(["Anna", "Ben"])
    _ = try await nodes[1].sync()
    let link = try await nodes[1].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    let guest = try await Node.create(
      at: family.home("Guest"), person: "Guest", device: "phone", passphrase: nil,
      schema: Family.schema)
    _ = try await guest.invitations.join(try InvitationLink(text: link.text))
    try await Family.settle(nodes + [guest])
    #expect(try await Family.digests(nodes + [guest], zone).count == 1)
    withExtendedLifetime((shelf, family)) {}
  }

  @Test("A member who is no admin lays no handoff, and keeps nobody out by one")
  func spoiltHandoff() async throws {
    let (shelf, family, nodes, zone) = try await settled(["Anna", "Ben", "Cleo"])
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    // Cleo expects to be removed, and wants to set a key of its own for the handoff that will be.
    let spoiling = await #expect(throws: TransportError.self) {
      try await nodes[2].spoilHandoff(of: group, at: shelf.address)
    }
    #expect(spoiling?.code == .relayFault)
    try await nodes[0].people.remove(await nodes[2].person, from: group)
    #expect(problems(try await nodes[0].sync()).isEmpty)
    #expect(try await nodes[2].isShutOut(of: zone, at: shelf.address))
    #expect(try await !nodes[1].isShutOut(of: zone, at: shelf.address))
    #expect(problems(try await nodes[1].sync()).isEmpty)
    withExtendedLifetime(family) {}
  }

  @Test("A relay that is full keeps the keys of before, and sync and status say so until it is not")
  func full() async throws {
    let (shelf, family, nodes, zone) = try await settled(["Anna", "Ben", "Cleo"])
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    try await nodes[0].people.remove(await nodes[2].person, from: group)
    // A little more room each time, until what was written fits and the handoff does not.
    let used = try shelf.usedBytes()
    let control = try await nodes[0].controlTag(of: group)
    let before = try #require(try shelf.accessGenerations()[control])
    var report = SyncReport()
    for step in 0..<64 {
      shelf.configuration.quota.total = used + UInt64(step) * 64
      try shelf.restart()
      report = try await nodes[0].sync()
      if report.transports.allSatisfy({ $0.failure == nil }) { break }
      #expect(problems(report).contains { $0.contains("all mailboxes together") })
      #expect(try await nodes[0].transports.statuses().allSatisfy { $0.oldKeys == nil })
    }
    #expect(problems(report).contains { $0.contains("keys from before") }, "\(problems(report))")
    #expect(report.transports.contains { $0.isPartial })
    #expect(try await nodes[0].transports.statuses().contains { $0.oldKeys != nil })
    // Striking its device off takes no room, so that one is out; but whoever has the access key
    // of before and shows no device's key comes in as before.
    #expect(try await nodes[2].isShutOut(of: zone, at: shelf.address))
    #expect(try shelf.accessGenerations()[control] == before)
    shelf.configuration.quota.total = nil
    try shelf.restart()
    #expect(problems(try await nodes[0].sync()).isEmpty)
    #expect(try await nodes[0].transports.statuses().allSatisfy { $0.oldKeys == nil })
    #expect(try shelf.accessGenerations()[control] == before + 1)
    #expect(try await nodes[2].isShutOut(of: zone, at: shelf.address))
    #expect(problems(try await nodes[1].sync()).isEmpty)
    withExtendedLifetime(family) {}
  }
}

extension Node {
  /// The mailbox of a group's control zone, which nobody has made anew.
  fileprivate func controlTag(of group: GroupID) throws -> Identifier {
    try engine.controlZone(of: group).tag
  }

  /// Why a relay does not let this node into a zone's mailbox, in words; nil if it does.
  fileprivate func refusal(of zone: ZoneID, at address: String) async throws -> String? {
    let relay = try relay(address)
    let tag = try engine.zone(zone).tag
    do {
      _ = try await relay.list(zoneTag: tag)
      return nil
    } catch let error as TransportError where error.code == .relayRefused {
      return "\(error)"
    }
  }

  /// Makes the handoff behind the present key before it is needed, and locks others out of it.
  fileprivate func spoilHandoff(of group: GroupID, at address: String) async throws {
    let relay = try relay(address)
    let control = try engine.controlZone(of: group)
    let key = try #require(relay.client.directory.zones[control.tag]?.keys.first)
    _ = try await relay.client.open(zoneTag: control.tag)
    let handoff = MailboxAccess.handoff(of: control.tag, behind: key, mayCreate: true)
    _ = try await relay.client.open(handoff)
    let junk = MailboxKey(
      id: [UInt8](repeating: 7, count: 32),
      root: try .ofJoinRequests(
        sign: [UInt8](repeating: 1, count: 32), box: [UInt8](repeating: 2, count: 32)))
    var directory = RelayDirectory()
    directory.zones[control.tag] = MailboxAccess(
      mailbox: handoff.mailbox, keys: [junk, key], mayCreate: false)
    try await relay.view(directory).client.rotate(zoneTag: control.tag)
  }
}
