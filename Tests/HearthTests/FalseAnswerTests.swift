import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthTransport
import Testing

@testable import Hearth
@testable import HearthSync

@Suite("False answers to who asks to join")
struct FalseAnswerTests {
  private func waiting(
    _ guest: Node, for nodes: [Node], _ zone: ZoneID, _ group: GroupID
  ) async throws -> WaitingJoin {
    let link = try await nodes[0].invitations.create(
      to: zone,
      InvitationTerms(
        role: .member, needsApproval: true, maximumUses: 1, expiresInMilliseconds: 3_600_000))
    _ = try await guest.invitations.follow(link)
    for node in nodes { _ = try await node.sync() }
    return try #require(try await nodes[0].admissions.waiting(of: group).first)
  }

  /// A false answer in the place where the true one will lie, then the true one.
  private func check(_ nodes: [Node], _ zone: ZoneID, _ guest: Node) async throws {
    let group = try #require(await nodes[0].allZones().first { $0.id == zone }?.group)
    let waiting = try await waiting(guest, for: nodes, zone, group)
    let owned = Set(await guest.allZones().map(\.id))
    try await nodes[1].putFalseAnswer(to: waiting.request)
    _ = try await guest.sync()
    #expect(Set(await guest.allZones().map(\.id)) == owned)
    #expect(try await guest.membership(of: group).people.isEmpty)
    let told = try #require(try await guest.admissions.requested().first?.unproven)
    let liar = await nodes[1].device.hex.prefix(8)
    #expect(told.contains("answered") && told.contains(liar))
    // Once more over the true answer: the approver's device puts its own back.
    _ = try await nodes[0].admissions.approve(waiting, named: "Home")
    try await nodes[1].putFalseAnswer(to: waiting.request)
    _ = try await guest.sync()
    #expect(try await guest.admissions.requested().count == 1)
    #expect(Set(await guest.allZones().map(\.id)) == owned)
    _ = try await nodes[0].sync()
    _ = try await guest.sync()
    #expect(await guest.lastAdmissions == [zone])
    #expect(try await guest.admissions.requested().isEmpty)
    try await Family.settle(nodes + [guest])
    #expect(try await Family.digests(nodes + [guest], zone).count == 1)
  }

  @Test("A false answer leaves nothing, and the true one leads in after it")
  func folder() async throws {
    let family = try Family()
    let anna = try await node("Anna", in: family)
    let ben = try await node("Ben", in: family)
    let zone = try await anna.createHousehold(named: "Home")
    _ = try await anna.transports.add(folder: family.folder)
    let link = try await anna.invitations.create(
      to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
    try await ben.invitations.join(link)
    try await Family.settle([anna, ben])
    try await check([anna, ben], zone, try await node("Guest", in: family))
  }

  @Test("The same over a relay")
  func relay() async throws {
    let shelf = try RelayShelf()
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], over: shelf)
    try await check(nodes, zone, try await node("Guest", in: family))
  }

  private func node(_ name: String, in family: Family) async throws -> Node {
    try await Node.create(
      at: family.home(name), person: name, device: "phone", passphrase: nil,
      schema: Family.schema)
  }
}

extension Node {
  /// Answers a request as somebody who may not: with the true members' log, and false records.
  func putFalseAnswer(to request: JoinRequest) async throws {
    let key = try BoxPublicKey(validating: request.admit.join.device.boxKey)
    let zones = try NewcomerKeys(engine: engine).zoneGrants(of: request.group, to: key, for: nil)
    let capsule = InvitationCapsule(
      group: request.group, database: .shared, groupName: "Home", inviterName: "Anna",
      role: .member, expiresMilliseconds: .max, zones: zones, controlFrontier: Frontier())
    let answer = JoinAnswer(
      by: engine.identity, showing: try OwnCards(engine: engine).ownCard(in: request.group),
      saying: capsule,
      to: request)
    let name = ApprovalNames.answerName(to: request.device, of: request.group)
    let invite = try #require(
      membership(of: request.group).invites.first { $0.operation.invite == request.invite })
    for setting in try core.transports.list() {
      let transport = try transport(setting.path)
      core.connections.setMailbox(
        of: name.scope, to: try core.connections.requestAccess(of: invite.operation),
        on: transport)
      try await transport.publish(name, try SealedBox.seal(answer.encoded, to: key))
    }
  }
}
