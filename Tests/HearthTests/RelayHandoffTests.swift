import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelay
import HearthRelayCore
import HearthSync
import Synchronization
import Testing

@testable import Hearth
@testable import HearthRelayProtocol
@testable import HearthTransport

/// What becomes of rekey handoffs that a relay has no longer, while their mailbox goes on.
@Suite("Rekey handoffs that a relay loses")
struct RelayHandoffTests {
  private static let day: UInt64 = 24 * 60 * 60 * 1_000

  /// A clock that all nodes of a test share.
  private final class Clock: Sendable {
    private let milliseconds = Mutex(Node.wallClock())
    func now() -> UInt64 { milliseconds.withLock { $0 } }
    func passDay() { milliseconds.withLock { $0 += RelayHandoffTests.day } }
  }

  /// How a handoff gets lost.
  enum Loss: CaseIterable, Sendable {
    /// The relay's operator deletes it.
    case deleted
    /// A manager makes as many others as the relay keeps.
    case displaced
    /// A manager removes everything from it.
    case emptied
    /// A manager lets it begin anew.
    case reset
  }

  /// Anna, who owns the household, Ben, an admin, and Cleo.
  ///
  /// Dan was removed, so keys were changed.
  private struct Home {
    let shelf: RelayShelf
    let family: Family
    let clock: Clock
    let nodes: [Node]
    let zone: ZoneID
    let group: GroupID
    /// An invitation that knows the keys of before the change only.
    let link: InvitationLink

    var address: String { shelf.address }
  }

  private func problems(_ report: SyncReport) -> [String] {
    report.transports.flatMap { ($0.failure.map { [$0] } ?? []) + $0.problems.map(\.fault) }
  }

  private func home() async throws -> Home {
    let shelf = try RelayShelf()
    let family = try Family()
    let clock = Clock()
    let (nodes, zone) = try await family.grow(
      ["Anna", "Ben", "Cleo", "Dan"], over: shelf, now: { clock.now() })
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    try await nodes[0].people.setRole(of: await nodes[1].person, to: .admin, in: group)
    try await Family.settle(nodes)
    for node in nodes { #expect(problems(try await node.sync()).isEmpty) }
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1,
      expiresInMilliseconds: 7 * RelayHandoffTests.day)
    _ = try await nodes[0].sync()
    try await nodes[0].people.remove(await nodes[3].person, from: group)
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("x"))], in: zone)
    let members = Array(nodes[..<3])
    try await Family.settle(members)
    for node in members { #expect(problems(try await node.sync()).isEmpty) }
    return Home(
      shelf: shelf, family: family, clock: clock, nodes: members, zone: zone, group: group,
      link: link)
  }

  private func lose(_ loss: Loss, in home: Home) async throws {
    let ben = home.nodes[1]
    switch loss {
    case .deleted:
      try home.shelf.remove(await ben.handoffName(of: home.group, at: home.address))
    case .displaced: try await ben.displaceHandoffs(of: home.group, at: home.address)
    case .emptied: try await ben.emptyHandoff(of: home.group, at: home.address)
    case .reset: try await ben.resetHandoff(of: home.group, at: home.address)
    }
  }

  @Test(
    "A lost handoff is laid again within a day, and leads in whoever was away",
    arguments: Loss.allCases)
  func laidAgain(_ loss: Loss) async throws {
    let home = try await home()
    let (anna, cleo, clock) = (home.nodes[0], home.nodes[2], home.clock)
    #expect(try await cleo.opensHandoff(of: home.group, at: home.address))
    try await lose(loss, in: home)
    #expect(try await !cleo.opensHandoff(of: home.group, at: home.address))
    // It is not asked for in every round.
    #expect(problems(try await anna.sync()).isEmpty)
    #expect(try await !cleo.opensHandoff(of: home.group, at: home.address))
    clock.passDay()
    #expect(problems(try await anna.sync()).isEmpty)
    #expect(try await cleo.opensHandoff(of: home.group, at: home.address))
    let guest = try await Node.create(
      at: home.family.home("Guest"), person: "Guest", device: "phone", passphrase: nil,
      schema: Family.schema, now: { clock.now() })
    _ = try await guest.invitations.join(try InvitationLink(text: home.link.text))
    try await Family.settle([anna, guest])
    #expect(try await guest.state(Note.id(1), in: home.zone) != nil)
    withExtendedLifetime(home) {}
  }

  @Test("A check that finds the handoffs stores nothing in them")
  func present() async throws {
    let home = try await home()
    let handoff = try await home.nodes[0].handoffName(of: home.group, at: home.address)
    let before = try #require(try home.shelf.head(of: handoff))
    for _ in 0..<2 {
      home.clock.passDay()
      for node in home.nodes { #expect(problems(try await node.sync()).isEmpty) }
    }
    #expect(try home.shelf.head(of: handoff) == before)
    withExtendedLifetime(home) {}
  }

  @Test("A relay that loses handoffs again and again gets no more of them, and is reported")
  func bounded() async throws {
    let home = try await home()
    let (anna, cleo) = (home.nodes[0], home.nodes[2])
    home.clock.passDay()
    #expect(problems(try await anna.sync()).isEmpty)
    try await anna.useUpHandoffs(leaving: 1, of: home.group, at: home.address)
    try await lose(.deleted, in: home)
    home.clock.passDay()
    #expect(problems(try await anna.sync()).isEmpty)
    #expect(try await cleo.opensHandoff(of: home.group, at: home.address))
    try await lose(.deleted, in: home)
    home.clock.passDay()
    for _ in 0..<2 {
      let told = problems(try await anna.sync())
      #expect(told.contains { $0.contains("does not keep the handoffs") }, "\(told)")
      #expect(try await !cleo.opensHandoff(of: home.group, at: home.address))
    }
    // A person lets the count begin anew.
    _ = try await anna.transports.repair(relay: home.address)
    #expect(try await cleo.opensHandoff(of: home.group, at: home.address))
    #expect(problems(try await anna.sync()).isEmpty)
    withExtendedLifetime(home) {}
  }
}

extension RelayShelf {
  /// Where the log of a mailbox ends; nil if there is no such mailbox.
  fileprivate func head(of mailbox: Identifier) throws -> UInt64? {
    try statistics().first { $0.name == mailbox }?.head
  }
}

extension Node {
  /// The handoff behind the key before the present one, and that key.
  private func lastHandoff(
    of group: GroupID, at relay: RelayTransport
  ) throws -> (key: MailboxKey, access: MailboxAccess) {
    let control = try engine.controlZone(of: group)
    let access = try #require(relay.client.directory.zones[control.tag])
    let key = try #require(access.keys.dropFirst().first)
    return (key, MailboxAccess.handoff(of: access.mailbox, behind: key, mayCreate: false))
  }

  fileprivate func handoffName(of group: GroupID, at address: String) throws -> Identifier {
    try lastHandoff(of: group, at: relay(address)).access.mailbox
  }

  /// Whether this device finds the newest key in that handoff.
  fileprivate func opensHandoff(of group: GroupID, at address: String) async throws -> Bool {
    let relay = try relay(address)
    let (key, handoff) = try lastHandoff(of: group, at: relay)
    let control = try engine.controlZone(of: group)
    do {
      guard let sealed = try await relay.grant(.grant(to: device, behind: key), in: handoff) else {
        return false
      }
      let (_, epoch) = try RelayAccessRoot.open(sealed, with: engine.identity.boxPair)
      return relay.client.directory.zones[control.tag]?.keys.first?.id == epoch
    } catch let error as TransportError where error.code == .relayRefused {
      return false
    }
  }

  fileprivate func emptyHandoff(of group: GroupID, at address: String) async throws {
    let relay = try relay(address)
    let handoff = try lastHandoff(of: group, at: relay).access
    #expect(try await relay.client.open(handoff).opened.rank == .manager)
    let question = RelayQuestion.list(after: 0, limit: RelayLimits.maximumListItems)
    guard case .listing(let page) = try await relay.client.reply(handoff.mailbox, question) else {
      Issue.record("the relay answers something else than a listing")
      return
    }
    let names = page.headers.filter(\.isLive).map(\.name)
    #expect(!names.isEmpty)
    try await relay.remove(names, in: handoff)
  }

  fileprivate func resetHandoff(of group: GroupID, at address: String) async throws {
    let relay = try relay(address)
    try await relay.client.reset(lastHandoff(of: group, at: relay).access)
  }

  /// Makes as many handoffs behind keys of its own as the relay keeps.
  fileprivate func displaceHandoffs(of group: GroupID, at address: String) async throws {
    let relay = try relay(address)
    let control = try engine.controlZone(of: group)
    let access = try #require(relay.client.directory.zones[control.tag])
    _ = try await relay.client.open(access)
    for _ in 0..<RelayLimits.maximumHandoffs {
      let epoch = try EpochKey.random(groupID: group.bytes, zoneID: control.id.bytes)
      let key = MailboxKey(id: epoch.id, root: try epoch.relayAccessRoot())
      _ = try await relay.client.open(.handoff(of: access.mailbox, behind: key, mayCreate: true))
    }
  }

  /// Leaves this device a number of handoffs that it may lay again.
  fileprivate func useUpHandoffs(
    leaving rest: Int, of group: GroupID, at address: String
  ) async throws {
    let relay = try relay(address)
    let control = try engine.controlZone(of: group)
    let access = try #require(relay.client.directory.zones[control.tag])
    let opening = try await relay.client.open(access)
    var watch = HandoffWatch(log: opening.opened.head.generation, at: nowMilliseconds())
    _ = watch.charge(HandoffWatch.maximumRepeats - rest)
    try relay.notes.keep(watch, of: access.mailbox)
  }
}
