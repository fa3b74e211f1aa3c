import Foundation
import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync
import Household
import Testing

@testable import Hearth

extension Node {
  /// Works on this person's challenges of a day.
  fileprivate func challenges<R: Sendable>(
    on day: CivilDate,
    _ body: @escaping @Sendable (PersonChallenges, inout OperationBuilder) throws -> R
  ) throws -> R {
    let zone = try ownZone()
    return try write(to: zone) { source, dot in
      var builder = OperationBuilder(zone: zone, dot: dot, random: Node.randomIdentifier)
      let result = try body(PersonChallenges(source: source, today: day), &builder)
      return (builder.operations, result)
    }
  }

  fileprivate func history() throws -> [ChallengeEntry] {
    try read(ownZone()) {
      try PersonChallenges(source: $0, today: ChallengeNodeTests.day).history(
        after: nil, limit: 100
      )
      .entries
    }
  }

  fileprivate func shown(_ day: CivilDate) throws -> String {
    let challenge = try read(ownZone()) {
      try PersonChallenges(source: $0, today: day).challenge(on: day)
    }
    return challenge.map { "\($0.card.key.id) \($0.state)" } ?? "none"
  }

  fileprivate func rowsAreRight() throws -> Bool {
    try store.staleProjections(of: ownZone()).isEmpty
  }
}

@Suite("Challenges in the private database")
struct ChallengeNodeTests {
  fileprivate static let day = (try? CivilDate(iso: "2026-11-22")) ?? .first
  private static let schema = NodeSchema(
    records: HouseholdSchema.all, projections: [HouseholdProjection()],
    policy: HouseholdSchema.rolePolicy, naturalKeys: HouseholdSchema.naturalKeys)

  private static func card(_ id: String) throws -> ChallengeCard {
    try #require(
      ChallengeCard(
        key: ChallengeKey(catalogue: Identifier(high: 3, low: 3), id: id), catalogueName: "hearth",
        title: "The \(id)", category: "calm", minutes: 10))
  }

  private static func node(
    _ name: String, _ device: String, in family: Family
  ) async throws -> Node {
    try await Node.create(
      at: family.home(device), person: name, device: device, passphrase: nil, schema: schema)
  }

  /// Draws a challenge on a day, and does it, skips it, or leaves it.
  private static func live(
    _ node: Node, _ id: String, back: Int = 0, _ outcome: ChallengeOutcome?
  ) async throws {
    let day = try #require(day.adding(days: -back))
    let card = try card(id)
    try await node.challenges(on: day) { own, builder in
      own.assign(card, .drawn, in: &builder)
    }
    guard let outcome else { return }
    let moment = UInt64(Int(day.dayNumber)) * 86_400_000 + 60_000
    try await node.challenges(on: day) { own, builder in
      if outcome == .completed {
        _ = try own.complete(rating: 3, milliseconds: moment, in: &builder)
      } else {
        _ = try own.skip(reason: .cost, milliseconds: moment, in: &builder)
      }
    }
  }

  private static func undoLast(_ node: Node) async throws {
    try await node.challenges(on: day) { own, builder in
      guard let entry = try own.lastEntry() else { throw HouseholdError(.noSuchEntry, "") }
      try own.undo(entry, in: &builder)
    }
  }

  @Test("A device's own history is carried to its person's: once, undone undone, days as they were")
  func carried() async throws {
    let family = try Family()
    let laptop = try await Self.node("Anna", "laptop", in: family)
    let zone = try await laptop.createHousehold(named: "Home")
    _ = try await laptop.transports.add(folder: family.folder)
    try await Self.live(laptop, "bench", back: 2, .completed)
    try await Self.live(laptop, "walk", nil)
    let phone = try await Self.node("Anna", "phone", in: family)
    try await Self.live(phone, "cake", back: 3, .skipped)
    try await Self.live(phone, "letter", back: 1, .completed)
    try await Self.undoLast(phone)
    try await Self.live(phone, "song", .completed)
    let link = try await laptop.invitations.create(
      to: zone,
      InvitationTerms(
        role: .owner, isToOneself: true, maximumUses: 1, expiresInMilliseconds: 3_600_000))
    try await phone.invitations.join(link)
    try await Family.settle([laptop, phone])
    for node in [laptop, phone] {
      let history = try await node.history()
      #expect(history.map(\.card.key.id) == ["song", "bench", "cake"])
      #expect(history.map(\.outcome) == [.completed, .completed, .skipped])
      #expect(history.map(\.rating) == [3, 3, nil])
      // The laptop's walk was only drawn, and the phone's song was done.
      #expect(try await node.shown(Self.day) == "song completed")
      let yesterday = try #require(Self.day.adding(days: -1))
      #expect(try await node.shown(yesterday) == "letter pending")
      #expect(try await node.rowsAreRight())
    }
    #expect(try await Family.digests([laptop, phone], laptop.ownZone()).count == 1)
    // What was carried can be taken back on the other device.
    try await Self.undoLast(laptop)
    try await Family.settle([laptop, phone])
    #expect(try await phone.history().map(\.card.key.id) == ["bench", "cake"])
    #expect(try await phone.takeDraft(of: phone.ownZone()).isEmpty)
    #expect(try await phone.history().map(\.card.key.id) == ["bench", "cake"])
  }

  @Test("The challenges of many days are carried whole, however many transactions that takes")
  func carriedWhole() async throws {
    let family = try Family()
    let laptop = try await Self.node("Anna", "laptop", in: family)
    let zone = try await laptop.createHousehold(named: "Home")
    _ = try await laptop.transports.add(folder: family.folder)
    let phone = try await Self.node("Anna", "phone", in: family)
    let days = (1...260).compactMap { Self.day.adding(days: -$0) }
    for begin in stride(from: 0, to: days.count, by: 65) {
      let part = Array(days[begin..<begin + 65])
      let cards = try part.map { try Self.card("of-\($0.iso)") }
      let own = try await phone.ownZone()
      try await phone.write(to: own) { source, dot in
        var builder = OperationBuilder(zone: own, dot: dot, random: Node.randomIdentifier)
        for (day, card) in zip(part, cards) {
          PersonChallenges(source: source, today: day).assign(card, .drawn, in: &builder)
        }
        return (builder.operations, ())
      }
    }
    let link = try await laptop.invitations.create(
      to: zone,
      InvitationTerms(
        role: .owner, isToOneself: true, maximumUses: 1, expiresInMilliseconds: 3_600_000))
    try await phone.invitations.join(link)
    try await Family.settle([laptop, phone])
    // Each record is in one transaction, so that its fields stay together.
    for day in days { #expect(try await laptop.shown(day) == "of-\(day.iso) pending") }
    let versions = try await laptop.read(laptop.ownZone()) { source in
      try source.ids(of: HouseholdSchema.dailyChallenge).map { id in
        let state = try source.record(RecordKey(type: HouseholdSchema.dailyChallenge, id: id))
        let dots = (state?.entries ?? []).compactMap { entry -> Dot? in
          guard case .register(let register) = entry.field else { return nil }
          return register.shown.version.dot
        }
        return Set(dots).count
      }
    }
    #expect(versions == [Int](repeating: 1, count: days.count))
  }

  @Test("Nobody else of the household has any of it, and a device that goes keeps what it had")
  func others() async throws {
    let family = try Family()
    let (nodes, zone) = try await family.grow(["Anna", "Ben"], schema: Self.schema)
    try await Self.live(nodes[0], "bench", .completed)
    try await Self.live(nodes[1], "cake", .skipped)
    try await Family.settle(nodes)
    #expect(try await nodes[0].history().map(\.card.key.id) == ["bench"])
    #expect(try await nodes[1].history().map(\.card.key.id) == ["cake"])
    let entries = try await nodes[1].read(zone) { source in
      try PersonChallenges(source: source, today: Self.day).history(after: nil, limit: 9).entries
    }
    #expect(entries.isEmpty)
  }
}
