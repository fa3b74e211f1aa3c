import Foundation
import Hearth
import Testing

@Suite("People of a zone")
struct ZonePeopleTests {
  @Test("Members have names, roles, devices and the times at which these were last seen")
  func members() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair(.child)
    try await zones[1].write { tx in
      for item in try tx.fetch(Item.all) { try tx.update(item.id) { $0.quantity += 1 } }
    }
    try await Shopping.settle(nodes)
    let members = try await zones[0].members()
    #expect(members.map(\.name) == ["Anna", "Ben"])
    #expect(members.map(\.role) == [.owner, .child])
    #expect(members.map(\.isMe) == [true, false])
    #expect(members.map(\.id) == [await nodes[0].me, await nodes[1].me])
    #expect(members.map(\.devices.count) == [1, 1])
    #expect(members[0].devices.map(\.isThisDevice) == [true])
    #expect(members[1].devices.map(\.id) == [await nodes[1].device])
    #expect(members[1].devices[0].name == "device" && members[1].devices[0].lastSeen != nil)
    #expect(try await zones[1].me()?.id == members[1].id)
    #expect(try await zones[1].members().map(\.isMe) == [false, true])
  }

  @Test("A role changes what a person may do, everywhere")
  func roles() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let ben = await nodes[1].me
    try await zones[0].setRole(of: ben, to: .reader)
    try await nodes[1].sync()
    #expect(try await zones[1].me()?.role == .reader)
    #expect(await fault { try await zones[1].insert(Item(name: "x")) }?.code == .notAllowed)
    let refused = await fault { try await zones[1].setRole(of: ben, to: .admin) }
    #expect(refused?.code == .notAllowed)
    #expect(await fault { try await zones[0].setRole(of: ben, to: .owner) }?.code == .invalid)
    #expect(await fault { try await zones[0].setRole(of: Key(), to: .child) }?.code == .notFound)
  }

  @Test("A removed person receives nothing new, and the others see it at once")
  func removing() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let (anna, ben) = (await nodes[0].me, await nodes[1].me)
    // What only Ben had published counts: the removal reads it first.
    let early = try await zones[1].insert(Item(name: "early"))
    try await nodes[1].sync()
    #expect(await fault { try await zones[1].remove(anna) }?.code == .notAllowed)
    #expect(await fault { try await zones[0].remove(anna) }?.code == .invalid)
    try await zones[0].remove(ben)
    let late = try await zones[0].insert(Item(name: "late"))
    try await nodes[0].sync()
    try await nodes[1].sync()
    #expect(try await zones[0].get(early.id)?.name == "early")
    #expect(try await zones[1].get(late.id) == nil)
    #expect(try await zones[0].members().map(\.id) == [anna])
    #expect(try await zones[1].me() == nil)
    #expect(await fault { try await zones[0].remove(ben) }?.code == .notFound)
  }

  @Test("Somebody leaves; the owner first transfers the zone")
  func leaving() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    #expect(await fault { try await zones[0].leave() }?.code == .notAllowed)
    let item = try await zones[1].insert(Item(name: "last"))
    try await zones[1].leave()
    try await nodes[0].sync()
    #expect(try await zones[0].members().map(\.name) == ["Anna"])
    #expect(try await zones[0].get(item.id)?.name == "last")
    #expect(await fault { try await zones[1].leave() }?.code == .notAllowed)
    let own = try #require(await nodes[0].personal.zones().first)
    #expect(await fault { try await own.leave() }?.code == .invalid)
  }

  @Test("Somebody leaves while one of two folders is away")
  func leavingByOne() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let second = shopping.home("second")
    try FileManager.default.createDirectory(atPath: second, withIntermediateDirectories: false)
    try await nodes[1].addFolder(second)
    try await nodes[1].sync()
    try FileManager.default.removeItem(atPath: second)
    try await zones[1].leave()
    try await nodes[0].sync()
    #expect(try await zones[0].members().map(\.name) == ["Anna"])
  }

  @Test("A revoked device is out, and its person stays")
  func revoking() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let phone = try await HearthNode.open(
      at: shopping.home("phone"), Shopping.app, as: .new(person: "Anna", device: "phone"))
    let third = try await phone.joined(try await zones[0].inviteOwnDevice())
    #expect(await phone.me == nodes[0].me)
    try await Shopping.settle(nodes + [phone])
    #expect(try await zones[0].me()?.devices.map(\.name) == ["device", "phone"])
    #expect(await fault { try await third.revoke(phone.device) }?.code == .invalid)
    try await zones[0].revoke(await phone.device)
    let item = try await zones[0].insert(Item(name: "new"))
    try await Shopping.settle(nodes + [phone])
    #expect(try await third.get(item.id) == nil)
    #expect(try await zones[1].members().map(\.devices.count) == [1, 1])
    #expect(await fault { try await zones[0].revoke(Key()) }?.code == .notFound)
  }

  @Test("The ownership goes to whoever accepts it, with the owner's recovery words")
  func handingOver() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let ben = await nodes[1].me
    let words = try RecoveryPhrase.random()
    #expect(
      await fault { try await zones[0].offerOwnership(to: ben, words: words) }?.code
        == .notAllowed)
    #expect(try await !nodes[0].hasRecoveryPhrase())
    try await nodes[0].setRecoveryPhrase(words)
    #expect(try await nodes[0].hasRecoveryPhrase())
    #expect(
      try await nodes[0].isRecoveryPhrase(RecoveryPhrase(words.texts().joined(separator: " "))))
    let others = try RecoveryPhrase.random()
    #expect(try await !nodes[0].isRecoveryPhrase(others))
    #expect(
      await fault { try await zones[0].offerOwnership(to: ben, words: others) }?.code
        == .notAllowed)
    try await zones[0].offerOwnership(to: ben, words: words)
    try await nodes[1].sync()
    let offer = try #require(try await zones[1].ownershipTransfers().first)
    #expect(offer.from == (await nodes[0].me) && offer.to == ben)
    #expect(await fault { try await zones[0].accept(offer) }?.code == .notAllowed)
    try await zones[1].accept(offer)
    try await nodes[0].sync()
    #expect(try await zones[0].members().map(\.role) == [.admin, .owner])
    #expect(try await zones[0].ownershipTransfers().isEmpty)
    #expect(await fault { _ = try RecoveryPhrase("one two") }?.code == .invalid)
  }

  @Test("A lost node comes back by its recovery words")
  func recovering() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let words = try RecoveryPhrase.random()
    try await nodes[1].setRecoveryPhrase(words)
    let item = try await zones[0].insert(Item(name: "Milk"))
    try await Shopping.settle(nodes)
    let (again, recovered) = try await HearthNode.recover(
      at: shopping.home("new"), Shopping.app, phrase: words, from: [shopping.folder],
      device: "laptop", revokingOthers: true)
    #expect(await again.me == nodes[1].me)
    #expect(recovered.zones.map(\.name) == ["Home"] && recovered.refused.isEmpty)
    #expect(try await recovered.zones.first?.get(item.id)?.name == "Milk")
    try await nodes[0].sync()
    #expect(try await zones[0].members()[1].devices.map(\.name) == ["laptop"])
  }
}

@Suite("Invitations and requests to join")
struct ZoneInvitationTests {
  @Test("A request waits for an approval, with a number that both sides see")
  func approving() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let carl = try await shopping.open("Carl")
    let link = try await zones[0].invite(role: .child, approval: true)
    guard case .awaitingApproval(let awaited) = try await carl.join(link) else {
      Issue.record("the link lets in without an approval")
      return
    }
    #expect(awaited.zoneName == "Home" && awaited.inviterName == "Anna")
    #expect(try await carl.awaitedApprovals() == [awaited])
    #expect(await carl.shared.zones().isEmpty)
    let request = try #require(try await zones[0].joinRequests().first)
    #expect(request.personName == "Carl" && request.role == .child && !request.isTooLate)
    #expect(request.number == awaited.number && request.number.count >= 30)
    #expect(try await zones[1].joinRequests().isEmpty)
    try await zones[0].approve(request)
    let joined = try await carl.sync().joined
    #expect(joined.map(\.id) == [zones[0].id] && joined.map(\.name) == ["Home"])
    #expect(try await joined.first?.me()?.role == .child)
    #expect(try await carl.awaitedApprovals().isEmpty)
    #expect(try await carl.sync().joined.isEmpty)
    try await nodes[0].sync()
    #expect(try await zones[0].joinRequests().isEmpty)
  }

  @Test("A declined request ends with its invitation, and whoever asked learns of it")
  func declining() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let carl = try await shopping.open("Carl")
    let link = try await zones[0].invite(approval: true)
    #expect(try await carl.join(link).zone == nil)
    let request = try #require(try await zones[0].joinRequests().first)
    let other = try await nodes[0].shared.createZone(named: "Other")
    #expect(await fault { try await other.decline(request) }?.code == .invalid)
    #expect(await fault { try await other.approve(request) }?.code == .invalid)
    try await zones[0].decline(request)
    #expect(try await zones[0].joinRequests().isEmpty)
    #expect(await fault { try await zones[0].approve(request) } != nil)
    try await carl.sync()
    #expect(try await carl.awaitedApprovals().map(\.closedBy) == ["Anna"])
    #expect(await carl.shared.zones().isEmpty)
  }

  @Test("Invitations are listed with their state, and a closed one lets nobody in")
  func closing() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let link = try await zones[0].invite(role: .reader, uses: 2, expires: .days(2))
    let listed = try await zones[0].invitations()
    #expect(listed.map(\.state) == [.used, .open])
    #expect(listed.map(\.role) == [.member, .reader])
    #expect(listed.map(\.uses) == [1, 2] && listed.map(\.usesLeft) == [0, 2])
    #expect(listed[0].joined == [await nodes[1].me])
    #expect(listed[1].creator == (await nodes[0].me) && !listed[1].needsApproval)
    #expect(listed[1].expires.timeIntervalSince(listed[1].created).rounded() == 172_800)
    try await zones[0].close(listed[1].id)
    #expect(try await zones[0].invitations().map(\.state) == [.used, .closed])
    let carl = try await shopping.open("Carl")
    // Whoever closes an invitation removes it from the folder.
    #expect(await fault { _ = try await carl.join(link) }?.code == .notFound)
    #expect(await fault { try await zones[0].close(Key()) }?.code == .notFound)
  }
}
