import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync
import Synchronization
import Testing

@testable import Hearth

/// What upkeep does with invitations that are over.
@Suite("Invitations that are over")
struct InvitationClosingTests {
  private static let hour: UInt64 = 3_600_000

  /// A clock that all nodes of a test share.
  private final class Clock: Sendable {
    private let milliseconds = Mutex(Node.wallClock())
    func now() -> UInt64 { milliseconds.withLock { $0 } }
    func advance(_ span: UInt64) { milliseconds.withLock { $0 += span } }
  }

  /// Anna's household over a folder.
  private struct Home {
    let family: Family
    let clock: Clock
    let anna: Node
    let zone: ZoneID
    let group: GroupID

    init() async throws {
      let (family, clock) = (try Family(), Clock())
      let anna = try await Home.node("Anna", in: family, clock)
      let zone = try await anna.createHousehold(named: "Home")
      _ = try await anna.transports.add(folder: family.folder)
      group = try #require(await anna.dataZones().first { $0.id == zone }).group
      (self.family, self.clock, self.anna, self.zone) = (family, clock, anna, zone)
    }

    static func node(_ name: String, in family: Family, _ clock: Clock) async throws -> Node {
      try await Node.create(
        at: family.home(name), person: name, device: "phone", passphrase: nil,
        schema: Family.schema, now: { clock.now() })
    }

    func node(_ name: String) async throws -> Node {
      try await Home.node(name, in: family, clock)
    }

    func link(needsApproval: Bool = false, uses: Int = 1) async throws -> InvitationLink {
      try await anna.invitations.create(
        to: zone,
        InvitationTerms(
          role: .member, needsApproval: needsApproval, maximumUses: uses,
          expiresInMilliseconds: InvitationClosingTests.hour))
    }

    /// Somebody who was let in by a link and has written something.
    func letIn(_ name: String, by link: InvitationLink) async throws -> Node {
      let guest = try await node(name)
      _ = try await guest.invitations.follow(link)
      let waiting = try #require(try await anna.admissions.waiting(of: group).first)
      _ = try await anna.admissions.approve(waiting, named: "Home")
      _ = try await anna.sync()
      #expect(try await !isClosed(link), "\(name) has not come yet")
      _ = try await guest.sync()
      try await guest.note(Note.id(1), [.assign(Note.title, .text(name))], in: zone)
      _ = try await guest.sync()
      return guest
    }

    func isClosed(_ link: InvitationLink, for node: Node? = nil) async throws -> Bool {
      let id = link.secret.publicKeys.inviteID
      return try await (node ?? anna).membership(of: group).invites.contains {
        $0.operation.invite.bytes == id && $0.isClosed
      }
    }

    /// Why the audit says that a link ended.
    func ends(_ link: InvitationLink) async throws -> [AuditEntry.InvitationEnd?] {
      let id = link.secret.publicKeys.inviteID
      return try await anna.membership(of: group).audit().filter {
        guard case .inviteClose(let invite) = $0.operation else { return false }
        return invite.bytes == id
      }.map(\.end)
    }
  }

  @Test(
    "One by approval that is used up closes when nobody waits, and in any case at its expiry",
    arguments: [false, true])
  func usedUp(isAskedAgain: Bool) async throws {
    let home = try await Home()
    let link = try await home.link(needsApproval: true)
    if isAskedAgain {
      _ = try await home.node("Carla").invitations.follow(link)
    }
    _ = try await home.letIn("Ben", by: link)
    _ = try await home.anna.sync()
    #expect(try await home.isClosed(link) == !isAskedAgain)
    home.clock.advance(InvitationClosingTests.hour + 1)
    _ = try await home.anna.sync()
    #expect(try await home.ends(link) == [.usedUp])
  }

  @Test(
    "One by approval closes when somebody who used it is removed, unless somebody waits",
    arguments: [false, true])
  func userRemoved(isAskedAgain: Bool) async throws {
    let home = try await Home()
    let link = try await home.link(needsApproval: true, uses: 3)
    if isAskedAgain {
      _ = try await home.node("Carla").invitations.follow(link)
    }
    let ben = try await home.letIn("Ben", by: link)
    _ = try await home.anna.sync()
    #expect(try await !home.isClosed(link))
    try await home.anna.people.remove(await ben.person, from: home.group)
    _ = try await home.anna.sync()
    let ends: [AuditEntry.InvitationEnd?] = isAskedAgain ? [] : [.userRemoved]
    #expect(try await home.ends(link) == ends)
    home.clock.advance(InvitationClosingTests.hour + 1)
    _ = try await home.anna.sync()
    #expect(try await home.isClosed(link))
  }

  @Test("A folder that is gone holds a closing back for seven days, and no longer")
  func goneForGood() async throws {
    let home = try await Home()
    let second = home.family.root.appendingPathComponent("second").path
    try FileManager.default.createDirectory(atPath: second, withIntermediateDirectories: true)
    _ = try await home.anna.transports.add(folder: second)
    let link = try await home.link(needsApproval: true)
    _ = try await home.anna.sync()
    try FileManager.default.removeItem(atPath: second)
    let week = 7 * 24 * InvitationClosingTests.hour
    for (span, isClosed) in [
      (InvitationClosingTests.hour + 1, false), (week - 1, false), (1, true),
    ] {
      home.clock.advance(span)
      _ = try await home.anna.sync()
      #expect(try await home.isClosed(link) == isClosed, "\(span) ms later")
    }
  }

  /// The file of a link's bundle.
  private func bundle(_ link: InvitationLink) throws -> String {
    try #require(Identifier(bytes: link.secret.rendezvousID)).hex + ".cap"
  }

  private func bundles(_ home: Home) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: home.family.folder + "/i"))
  }

  /// Another admin of the household.
  private func admin(_ home: Home) async throws -> Node {
    let admin = try await home.node("Max")
    let link = try await home.anna.invitations.create(
      to: home.zone, role: .admin, maximumUses: 1,
      expiresInMilliseconds: InvitationClosingTests.hour)
    try await admin.invitations.join(link)
    try await Family.settle([home.anna, admin])
    #expect(try !bundles(home).contains(bundle(link)), "it was used up")
    return admin
  }

  @Test("The bundle of a link that expires goes though its maker is lost, and no other file does")
  func lostMaker() async throws {
    let home = try await Home()
    let max = try await admin(home)
    _ = try await home.anna.recovery.activate(try PersonWords.drawn())
    _ = try await max.sync()
    let lost = try await max.invitations.create(
      to: home.zone, role: .member, maximumUses: 2,
      expiresInMilliseconds: InvitationClosingTests.hour)
    let open = try await home.anna.invitations.create(
      to: home.zone, role: .member, maximumUses: 2,
      expiresInMilliseconds: 2 * InvitationClosingTests.hour)
    let asked = try await home.link(needsApproval: true, uses: 3)
    _ = try await home.node("Carla").invitations.follow(asked)
    let before = try bundles(home)
    #expect(before.count == 5, "recovery words, three links, a request")
    #expect(try before.contains(bundle(open)))
    home.clock.advance(InvitationClosingTests.hour + 1)
    _ = try await home.anna.sync()
    #expect(try await home.isClosed(lost))
    #expect(try before.subtracting(bundles(home)) == [bundle(lost), bundle(asked)])
  }

  @Test("The bundle of a link that another admin closes goes without its maker")
  func closedByAnother() async throws {
    let home = try await Home()
    let max = try await admin(home)
    let link = try await home.link(uses: 2)
    #expect(try bundles(home).contains(bundle(link)))
    _ = try await max.sync()
    let id = try #require(Identifier(bytes: link.secret.publicKeys.inviteID))
    try await max.invitations.close(id, of: home.group)
    _ = try await max.sync()
    #expect(try !bundles(home).contains(bundle(link)))
  }

  @Test("At a relay the admin's own key is enough for that")
  func closedAtRelay() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Max"], over: shelf, role: .admin)
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 2,
      expiresInMilliseconds: InvitationClosingTests.hour)
    _ = try await nodes[1].sync()
    let id = try #require(Identifier(bytes: link.secret.publicKeys.inviteID))
    try await nodes[1].invitations.close(id, of: group)
    _ = try await nodes[1].sync()
    let guest = try await Node.create(
      at: family.home("Guest"), person: "Guest", device: "phone", passphrase: nil,
      schema: Family.schema)
    // A bundle that is still there would tell that the link was closed.
    await #expect(throws: HearthError(.notFound, "")) {
      _ = try await guest.invitations.join(link)
    }
  }
}
