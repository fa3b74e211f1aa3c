import Foundation
import Hearth
import Testing

@Suite("The guide to people and sync")
struct PeopleGuideTests {
  @Test("The guide's code does what the guide says", .timeLimit(.minutes(20)))
  func guide() async throws {
    let family = try Family()
    let (sharedFolder, newHome) = (family.folder, family.home("new"))
    let anna = try await HearthNode.open(
      at: family.home("Anna"), shoppingGuide, as: .new(person: "Anna"))
    let cleo = try await HearthNode.open(
      at: family.home("Cleo"), shoppingGuide, as: .new(person: "Cleo"))
    let cleosKey = await cleo.me
    let zone = try await anna.shared.zone(named: "Family", create: true)
    let milk = try await zone.insert(Article(name: "Milk"))
    try await anna.addFolder(sharedFolder)
    let link = try await zone.invite(role: .child, expires: .days(2), approval: true)
    guard case .awaitingApproval(let request) = try await cleo.join(link) else { return }
    print("Read this number to \(request.inviterName): \(request.number)")
    for newcomer in try await zone.joinRequests() where newcomer.number == request.number {
      try await zone.approve(newcomer)
    }
    let joined = try await cleo.sync().joined
    let cleos = try #require(joined.first)
    try await anna.sync()
    let members = try await zone.members()
    for member in members where !member.isMe {
      print(member.name, member.role, member.devices.map(\.name))
    }
    #expect(members.map(\.name) == ["Anna", "Cleo"])
    try await zone.setRole(of: cleosKey, to: .member)
    try await cleo.sync()
    try await cleos.update(milk.id) { $0.name = "Oat milk" }
    try await zone.update(milk.id) { $0.name = "Soy milk" }
    try await cleo.sync()
    await syncUntilIdle(anna)
    let result = try await anna.sync()
    for transport in result.transports {
      print(transport.address, transport.received, transport.failure?.message ?? "reached")
    }
    for transport in try await anna.transports() {
      print(transport.address, transport.lastSuccess as Any)
    }
    try await resolveOneConflict(in: zone)
    let words = try RecoveryPhrase.random()
    try await anna.setRecoveryPhrase(words)
    let (again, recovered) = try await HearthNode.recover(
      at: newHome, shoppingGuide, phrase: words, from: [sharedFolder], revokingOthers: true)
    #expect(await again.me == anna.me)
    #expect(recovered.zones.map(\.id) == [zone.id])
  }

  private func syncUntilIdle(_ anna: HearthNode) async {
    let live = anna.startSync()
    for await state in live.states {
      switch state {
      case .syncing(let progress): print("syncing", progress?.files ?? 0)
      case .idle: print("everything is exchanged")
      case .offline(let until): print("offline until \(until)")
      case .failed(let error, _): print(error.message)
      }
      if state == .idle { break }
    }
    await live.stop()
  }

  private func resolveOneConflict(in zone: HearthZone) async throws {
    #expect(try await zone.conflicts(of: Article.self).count == 1)
    for conflict in try await zone.conflicts(of: Article.self) {
      for value in conflict.values { print(value.authorName, value.time, value.stored) }
      try await zone.resolve(conflict, with: conflict.values[0])
    }
    #expect(try await zone.conflicts().isEmpty)
  }

  @Test("Every block of code in the guide is in this file")
  func compiled() throws {
    try GuideCode.check("people-and-sync.md", isIn: #filePath, blocks: 10)
  }
}
