import Foundation
import HearthCRDT
import HearthMembership
import HearthSync
import Synchronization
import Testing

@testable import Hearth

@Suite("People over a folder")
struct PeopleTests {
  private static let day: UInt64 = 24 * 60 * 60 * 1_000

  /// A clock that all nodes of a test share.
  private final class Clock: Sendable {
    private let milliseconds = Mutex(Node.wallClock())
    func now() -> UInt64 { milliseconds.withLock { $0 } }
    func advance(_ span: UInt64) { milliseconds.withLock { $0 += span } }
  }

  private func node(
    _ name: String, in family: Family, _ clock: Clock = Clock()
  ) async throws -> Node {
    try await Node.create(
      at: family.home(name), person: name, device: "\(name)'s phone", passphrase: nil,
      schema: Family.schema, now: { clock.now() })
  }

  /// A household of the first of several nodes, which the others join.
  private func household(
    _ names: [String], in family: Family, _ clock: Clock = Clock()
  ) async throws -> (nodes: [Node], zone: ZoneID, group: GroupID) {
    var nodes: [Node] = []
    for name in names { nodes.append(try await node(name, in: family, clock)) }
    let zone = try await nodes[0].createHousehold(named: "Home")
    _ = try await nodes[0].transports.add(folder: family.folder)
    for node in nodes.dropFirst() {
      let link = try await nodes[0].invitations.create(
        to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
      try await node.invitations.join(link)
    }
    try await Family.settle(nodes)
    let group = try #require(await nodes[0].dataZones().first { $0.id == zone }).group
    return (nodes, zone, group)
  }

  private func approvedLink(
    _ node: Node, _ zone: ZoneID, uses: Int = 1
  ) async throws -> InvitationLink {
    try await node.invitations.create(
      to: zone,
      InvitationTerms(
        role: .member, needsApproval: true, maximumUses: uses, expiresInMilliseconds: 3_600_000))
  }

  /// Asks by a link, and gives the number that was shown.
  private func ask(_ node: Node, _ link: InvitationLink) async throws -> String {
    guard case .asked(let pending) = try await node.invitations.follow(link) else {
      Issue.record("the link let in at once")
      return ""
    }
    return pending.number
  }

  /// The files of the folder that were not there before.
  private func files(_ family: Family) throws -> Set<String> {
    Set(
      try FileManager.default.subpathsOfDirectory(atPath: family.folder)
        .filter { $0.contains(".") })
  }

  private func remove(_ paths: Set<String>, in family: Family) throws {
    for path in paths { try FileManager.default.removeItem(atPath: family.folder + "/" + path) }
  }

  @Test("A request that vanished, and one in whose place another was put, are asked once more")
  func requests() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna"], in: family)
    let link = try await approvedLink(nodes[0], zone, uses: 2)
    let before = try files(family)
    let ben = try await node("Ben", in: family)
    let number = try await ask(ben, link)
    #expect(try await ask(ben, link) == number)
    try remove(try files(family).subtracting(before), in: family)
    #expect(try await nodes[0].admissions.waiting(of: group).isEmpty)
    let carla = try await node("Carla", in: family)
    _ = try await ask(carla, link)
    _ = try await ben.sync()
    let waiting = try await nodes[0].admissions.waiting(of: group)
    #expect(waiting.map(\.request.personName) == ["Ben", "Carla"])
    #expect(waiting.first?.number == number && waiting.last?.number != number)
    #expect(try await ben.admissions.requested().count == 1)
  }

  @Test("An answer lies in the folder until the newcomer has it, and one use admits one")
  func answers() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna"], in: family)
    let link = try await approvedLink(nodes[0], zone)
    let ben = try await node("Ben", in: family)
    let carla = try await node("Carla", in: family)
    _ = try await ask(ben, link)
    _ = try await ask(carla, link)
    _ = try await ben.sync()
    #expect(await ben.allZones().allSatisfy { $0.database == .personal })
    let waiting = try await nodes[0].admissions.waiting(of: group)
    let before = try files(family)
    _ = try await nodes[0].admissions.approve(waiting[0], named: "Home")
    let answer = try files(family).subtracting(before).filter { $0.hasSuffix(".cap") }
    #expect(answer.count == 1)
    try remove(answer, in: family)
    _ = try await ben.sync()
    #expect(try await ben.admissions.requested().count == 1)
    _ = try await nodes[0].sync()
    _ = try await ben.sync()
    #expect(try await ben.admissions.requested().isEmpty)
    #expect(await ben.lastAdmissions == [zone])
    #expect(try await ben.membership(of: group).role(of: ben.device) == .member)
    let late = try #require(try await nodes[0].admissions.waiting(of: group).first)
    #expect(late.usedBy == ["Ben"])
    await #expect(throws: HearthError(.notAllowed, "")) {
      _ = try await nodes[0].admissions.approve(late, named: "Home")
    }
  }

  @Test("Who asked by an invitation that was closed is told, and so is who asks later")
  func closedWhileWaiting() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna", "Ben"], in: family)
    let link = try await approvedLink(nodes[0], zone, uses: 2)
    let cleo = try await node("Cleo", in: family)
    _ = try await ask(cleo, link)
    let ben = try #require(
      try await nodes[0].membership(of: group).people.first { $0.name == "Ben" })
    try await nodes[0].people.remove(ben.id, from: group)
    let invite = try #require(
      try await nodes[0].membership(of: group).invites.last { !$0.isClosed })
    try await nodes[0].invitations.close(invite.operation.invite, of: group)
    _ = try await cleo.sync()
    #expect(try await cleo.admissions.requested().first?.closedBy == nil)
    _ = try await nodes[0].sync()
    _ = try await cleo.sync()
    #expect(try await cleo.admissions.requested().first?.closedBy == "Anna")
    let dora = try await node("Dora", in: family)
    await #expect(throws: SyncError(.used, "")) {
      _ = try await dora.invitations.follow(link)
    }
    #expect(try await dora.transports.list().isEmpty)
    #expect(try await dora.admissions.requested().isEmpty)
  }

  @Test("Whoever is approved again after a removal opens what came meanwhile")
  func again() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna", "Ben"], in: family)
    let ben = nodes[1]
    try await nodes[0].people.remove(await ben.person, from: group)
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("without Ben"))], in: zone)
    try await Family.settle(nodes)
    #expect(try await ben.ending(in: group)?.kind == .removed)
    #expect(try await ben.ending(in: group)?.personName == "Anna")
    #expect(try await ben.state(Note.id(1), in: zone) == nil)
    let link = try await approvedLink(nodes[0], zone)
    _ = try await ask(ben, link)
    let waiting = try #require(try await nodes[0].admissions.waiting(of: group).first)
    _ = try await nodes[0].admissions.approve(waiting, named: "Home")
    try await Family.settle(nodes)
    #expect(try await ben.ending(in: group) == nil)
    #expect(try await ben.state(Note.id(1), in: zone)?.shown(Note.title)?.text == "without Ben")
  }

  @Test("An answer that comes before the news of a removal is taken once the removal is known")
  func answerBeforeRemoval() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna", "Ben"], in: family)
    let ben = nodes[1]
    try await nodes[0].people.remove(await ben.person, from: group)
    try await Family.settle(nodes)
    // Ben asks, and comes in by another link before anybody answers.
    _ = try await ask(ben, try await approvedLink(nodes[0], zone))
    let other = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    try await ben.invitations.join(other)
    try await Family.settle(nodes)
    #expect(try await ben.ending(in: group) == nil)
    // Anna removes him and lets him in again; her answer is faster than the rest.
    let before = try files(family)
    try await nodes[0].people.remove(await ben.person, from: group)
    let waiting = try #require(try await nodes[0].admissions.waiting(of: group).first)
    _ = try await nodes[0].admissions.approve(waiting, named: "Home")
    _ = try await nodes[0].sync()
    let slow = try files(family).subtracting(before).filter { !$0.hasSuffix(".cap") }
    #expect(!slow.isEmpty)
    let kept = family.home("slow")
    try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: true)
    for (number, path) in slow.sorted().enumerated() {
      try FileManager.default.moveItem(
        atPath: family.folder + "/" + path, toPath: kept + "/\(number)")
    }
    _ = try await ben.sync()
    #expect(try await ben.admissions.requested().count == 1)
    for (number, path) in slow.sorted().enumerated() {
      try FileManager.default.moveItem(
        atPath: kept + "/\(number)", toPath: family.folder + "/" + path)
    }
    try await Family.settle(nodes)
    #expect(try await ben.ending(in: group) == nil)
    #expect(try await ben.admissions.requested().isEmpty)
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("with Ben"))], in: zone)
    try await Family.settle(nodes)
    #expect(try await ben.state(Note.id(1), in: zone)?.shown(Note.title)?.text == "with Ben")
  }

  @Test("Whoever was overruled does not put an old answer in the place of the one that leads in")
  func overruledAnswer() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna", "Ben", "Clara"], in: family)
    let (anna, ben, clara) = (nodes[0], nodes[1], nodes[2])
    try await anna.people.setRole(of: await clara.person, to: .admin, in: group)
    try await anna.people.remove(await ben.person, from: group)
    try await Family.settle(nodes)
    _ = try await ask(ben, try await approvedLink(anna, zone, uses: 2))
    let first = try #require(try await anna.admissions.waiting(of: group).first)
    _ = try await anna.admissions.approve(first, named: "Home")
    // Before Ben looks, Clara removes him, and then lets him in by the same request.
    _ = try await clara.sync()
    try await clara.people.remove(await ben.person, from: group)
    let second = try #require(try await clara.admissions.waiting(of: group).first)
    _ = try await clara.admissions.approve(second, named: "Home")
    for _ in 0..<2 {
      _ = try await anna.sync()
      _ = try await clara.sync()
    }
    _ = try await anna.sync()
    try await Family.settle([ben])
    #expect(try await ben.ending(in: group) == nil)
    #expect(try await ben.admissions.requested().isEmpty)
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
  }

  @Test("Whoever is let in a second time by the same request learns it, unless it had left")
  func answeredTwice() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna"], in: family)
    let anna = nodes[0]
    let link = try await approvedLink(anna, zone, uses: 3)
    let ben = try await node("Ben", in: family)
    _ = try await ask(ben, link)
    // Ben's removal closes the link only once nobody else waits for an answer.
    _ = try await ask(try await node("Carla", in: family), link)
    let first = try #require(try await anna.admissions.waiting(of: group).first)
    _ = try await anna.admissions.approve(first, named: "Home")
    try await Family.settle([anna, ben])
    #expect(try await ben.admissions.requested().isEmpty)
    try await anna.people.remove(await ben.person, from: group)
    try await Family.settle([anna, ben])
    #expect(try await ben.ending(in: group)?.kind == .removed)
    #expect(try await ben.admissions.requested().isEmpty)
    // The request lies there still.
    let second = try #require(try await anna.admissions.waiting(of: group).first)
    _ = try await anna.admissions.approve(second, named: "Home")
    try await Family.settle([anna, ben])
    #expect(try await ben.ending(in: group) == nil)
    #expect(try await Family.digests([anna, ben], zone).count == 1)
    _ = try await ben.people.leave(group)
    try await Family.settle([anna, ben])
    let third = try #require(try await anna.admissions.waiting(of: group).first)
    _ = try await anna.admissions.approve(third, named: "Home")
    try await Family.settle([anna, ben])
    #expect(try await ben.ending(in: group)?.kind == .left)
  }

  @Test("A join that is refused leaves no zone, key or transport behind")
  func refusedJoin() async throws {
    let family = try Family()
    let (nodes, zone, _) = try await household(["Anna"], in: family)
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    let ben = try await node("Ben", in: family)
    try await ben.invitations.join(link)
    let carla = try await node("Carla", in: family)
    await #expect(throws: SyncError(.used, "")) {
      try await carla.invitations.join(link)
    }
    #expect(await carla.allZones().allSatisfy { $0.database == .personal })
    #expect(try await carla.transports.list().isEmpty)
    let further = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    #expect(try await carla.invitations.join(further) == zone)
  }

  @Test("A link to oneself makes a further device the same person's, unless it is another's")
  func ownDevice() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna", "Ben"], in: family)
    let terms = InvitationTerms(
      role: .member, isToOneself: true, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    let link = try await nodes[1].invitations.create(to: zone, terms)
    let stranger = try await node("Sam", in: family)
    _ = try await stranger.createHousehold(named: "Elsewhere")
    await #expect(throws: HearthError(.notAllowed, "")) {
      try await stranger.invitations.join(link)
    }
    #expect(await stranger.profile.personName == "Sam")
    let tablet = try await node("tablet", in: family)
    try await tablet.invitations.join(link)
    #expect(await tablet.person == nodes[1].person)
    #expect(await tablet.profile.personName == "Ben")
    let membership = try await tablet.membership(of: group)
    #expect(membership.people.count == 2 && membership.devices.count == 3)
  }

  @Test("Whoever leaves gives the others what they lack first; without the folder nobody leaves")
  func leaving() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna", "Ben"], in: family)
    try await nodes[1].note(Note.id(1), [.assign(Note.title, .text("last words"))], in: zone)
    try FileManager.default.moveItem(atPath: family.folder, toPath: family.folder + "-away")
    await #expect(throws: HearthError(.offline, "")) { _ = try await nodes[1].people.leave(group) }
    #expect(try await nodes[1].ending(in: group) == nil)
    try FileManager.default.moveItem(atPath: family.folder + "-away", toPath: family.folder)
    _ = try await nodes[1].people.leave(group)
    #expect(try await nodes[1].ending(in: group)?.kind == .left)
    _ = try await nodes[0].sync()
    #expect(
      try await nodes[0].state(Note.id(1), in: zone)?.shown(Note.title)?.text == "last words")
    #expect(try await nodes[0].membership(of: group).people.map(\.name) == ["Anna"])
  }

  @Test("A device that only reads tells once a day how far it has got, and then is silent")
  func progress() async throws {
    let family = try Family()
    let clock = Clock()
    let (nodes, zone, group) = try await household(["Anna", "Ben"], in: family, clock)
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("news"))], in: zone)
    try await Family.settle(nodes)
    let ben = await nodes[1].device
    func missing() async throws -> UInt64? {
      try await nodes[0].diagnostics.progress(in: group).first { $0.device == ben }?.missing
    }
    #expect(try await missing() == 1)
    clock.advance(PeopleTests.day - 1)
    try await Family.settle(nodes)
    #expect(try await missing() == 1)
    clock.advance(1)
    try await Family.settle(nodes)
    #expect(try await missing() == 0)
    clock.advance(2 * PeopleTests.day)
    #expect(try await nodes[1].sync().published == 0)
  }

  @Test("Negative 5: what another device says to have and a folder hides is told, with the witness")
  func withheld() async throws {
    let family = try Family()
    let clock = Clock()
    let (nodes, zone, group) = try await household(["Anna", "Ben", "Carla"], in: family, clock)
    let before = try files(family)
    try await nodes[2].note(Note.id(1), [.assign(Note.title, .text("kept back"))], in: zone)
    _ = try await nodes[2].sync()
    let kept = try files(family).subtracting(before)
    _ = try await nodes[1].sync()
    clock.advance(PeopleTests.day)
    _ = try await nodes[1].sync()
    try remove(kept, in: family)
    _ = try await nodes[0].sync()
    let found = try await nodes[0].diagnostics.withheldChanges(in: group)
    #expect(found.map(\.count) == [1])
    #expect(found.first?.authorName == "Carla's phone" && found.first?.witnessName == "Ben's phone")
    #expect(found.first?.personName == "Carla")
    try await Family.settle(nodes)
    #expect(try await nodes[0].diagnostics.withheldChanges(in: group).isEmpty)
  }

  @Test("What waits here proves what its author had seen, and is itself not said to be withheld")
  func withheldByWaiting() async throws {
    let family = try Family()
    let clock = Clock()
    let (nodes, zone, group) = try await household(["Anna", "Ben", "Carla"], in: family, clock)
    let before = try files(family)
    for number in UInt64(1)...3 {
      try await nodes[2].note(Note.id(number), [.assign(Note.title, .text("kept back"))], in: zone)
    }
    _ = try await nodes[2].sync()
    let kept = try files(family).subtracting(before)
    // Ben writes what rests on Carla's changes: it waits where they are missing.
    _ = try await nodes[1].sync()
    try await nodes[1].note(Note.id(4), [.assign(Note.title, .text("Ben's"))], in: zone)
    _ = try await nodes[1].sync()
    try remove(kept, in: family)
    _ = try await nodes[0].sync()
    let found = try await nodes[0].diagnostics.withheldChanges(in: group)
    #expect(found.map(\.count) == [3])
    #expect(found.first?.authorName == "Carla's phone" && found.first?.witnessName == "Ben's phone")
    try await Family.settle(nodes)
    #expect(try await nodes[0].diagnostics.withheldChanges(in: group).isEmpty)
  }

  @Test("What somebody claims of a device that never wrote it is told there as a false claim")
  func claimed() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna", "Ben", "Carla"], in: family)
    try await nodes[1].note(Note.id(1), [.assign(Note.title, .text("Ben's"))], in: zone)
    try await Family.settle(nodes)
    let ben = await nodes[1].device
    try await nodes[2].claim(50, of: ben, in: zone)
    try await Family.settle(nodes)
    // Anna cannot know whether a folder lags or Carla's device lies; Ben's device can.
    let found = try await nodes[0].diagnostics.withheldChanges(in: group)
    #expect(found.map(\.count) == [50])
    #expect(found.first?.authorName == "Ben's phone" && found.first?.witnessName == "Carla's phone")
    #expect(found.first?.witnessPersonName == "Carla")
    #expect(try await nodes[1].diagnostics.withheldChanges(in: group).isEmpty)
    for (place, node) in nodes.enumerated() {
      let told = try await node.notices().map(\.text).filter { $0.contains("never wrote") }
      let claims = try await node.diagnostics.zones().flatMap(\.falseClaims)
      #expect(told.count == (place == 1 ? 1 : 0) && claims == told)
      #expect(told.allSatisfy { $0.hasPrefix("Carla's phone claims to have seen 50 changes of") })
    }
  }

  @Test("Negative 6: a folder of last week takes nothing back, neither others' work nor one's own")
  func lastWeek() async throws {
    let family = try Family()
    let (nodes, zone, _) = try await household(["Anna", "Ben"], in: family)
    let old = family.home("last-week")
    try FileManager.default.copyItem(atPath: family.folder, toPath: old)
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("Anna's"))], in: zone)
    try await nodes[1].note(Note.id(2), [.assign(Note.title, .text("Ben's"))], in: zone)
    try await Family.settle(nodes)
    let digest = try await Family.digests(nodes, zone)
    let present = try files(family)
    try FileManager.default.removeItem(atPath: family.folder)
    try FileManager.default.copyItem(atPath: old, toPath: family.folder)
    #expect(try files(family).count < present.count)
    let report = try await nodes[0].sync()
    // It notices: what it knows to have been there is put back, also the other's.
    #expect(report.published > 0 && report.received == 0)
    #expect(await nodes[0].incarnation == 1)
    #expect(try await Family.digests(nodes, zone) == digest)
    // Going on, it writes after its own head.
    try await nodes[0].note(Note.id(3), [.assign(Note.title, .text("after"))], in: zone)
    try await Family.settle(nodes)
    #expect(try await Family.digests(nodes, zone).count == 1)
    #expect(
      try await nodes[1].state(Note.id(3), in: zone)?.shown(Note.title) == .text("after"))
    #expect(try await nodes[1].state(Note.id(1), in: zone)?.shown(Note.title) == .text("Anna's"))
  }

  @Test("A removal that never counted is not what brought somebody back")
  func voidRemoval() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna", "Ben", "Carla"], in: family)
    let ben = await nodes[1].person
    // Carla's program is changed: a member may remove nobody.
    try await nodes[2].removeAnyway(ben, from: group)
    try await Family.settle(nodes)
    #expect(try await nodes[0].membership(of: group).person(ben)?.name == "Ben")
    _ = try await nodes[1].people.leave(group)
    try await Family.settle([nodes[0], nodes[2]])
    let link = try await nodes[0].invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    try await nodes[1].invitations.join(link)
    try await Family.settle(nodes)
    let told = try await nodes[0].notices().map(\.text)
    #expect(told.contains { $0.hasPrefix("Ben does not belong") && $0.hasSuffix("left") })
    #expect(told.contains("Ben belongs to Home now"))
    #expect(!told.contains { $0.contains("again") })
  }

  @Test("Two devices show the same digits exactly while they hold the same")
  func fingerprint() async throws {
    let family = try Family()
    let (nodes, zone, group) = try await household(["Anna", "Ben"], in: family)
    let same = try await nodes[0].diagnostics.fingerprint(of: group)
    #expect(try await nodes[1].diagnostics.fingerprint(of: group) == same)
    try await nodes[0].note(Note.id(1), [.assign(Note.title, .text("more"))], in: zone)
    #expect(try await nodes[0].diagnostics.fingerprint(of: group) != same)
    try await Family.settle(nodes)
    #expect(
      try await nodes[0].diagnostics.fingerprint(of: group)
        == nodes[1].diagnostics.fingerprint(of: group))
    let people = [await nodes[0].person, await nodes[1].person]
    #expect(
      try await nodes[0].people.safetyNumber(with: people[1], in: group)
        == nodes[1].people.safetyNumber(with: people[0], in: group))
  }
}

extension Node {
  /// Writes the removal of a person without asking whether this device may.
  fileprivate func removeAnyway(_ person: PersonID, from group: GroupID) throws {
    _ = try ControlWriting.write(
      [.removeMember(person: person, cut: Cut(entries: []))], group: group,
      in: &engine, nowMilliseconds: now())
  }

  /// Claims in a heartbeat to have seen more changes of a device than there are.
  fileprivate func claim(_ number: UInt64, of other: DeviceID, in zone: ZoneID) throws {
    let state = try engine.zone(zone)
    let heads = state.heads.filter { $0.author.device == other }
    let said = ControlOperation.ZoneFrontier(
      zone: zone, frontier: Frontier(heads.map { ($0.author, $0.sequence + number) }))
    _ = try ControlWriting.write(
      [.heartbeat([said])], group: state.group, in: &engine, nowMilliseconds: now())
  }
}
