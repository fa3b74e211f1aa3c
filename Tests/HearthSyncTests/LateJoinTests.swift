import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

/// Joins that an admin's device reads after the expiry of the invitation, by its own clock.
@Suite("Joins that arrive after the expiry")
struct LateJoinTests {
  private static let now = EngineFamily.now
  private static let expiry = now + 1_000
  private static let grace = EntranceUpkeep.graceMilliseconds

  /// A household of an owner and an admin, and somebody who joined in time.
  ///
  /// Only the shelf has heard of that.
  private struct Story {
    var family: EngineFamily
    let shelf = MemoryShelf()
    let invite: Identifier
    let comer: Int

    init(as role: Role = .member) throws {
      family = try EngineFamily(2)
      try family.setRole(1, .admin, by: 0)
      try family.meet([0, 1])
      let made = try InvitationMaking.invite(
        to: family.group, named: "Home", role: role, maximumUses: 2,
        expiresMilliseconds: LateJoinTests.expiry, in: &family.members[0],
        nowMilliseconds: LateJoinTests.now)
      invite = try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
      try family.meet([0, 1])
      comer = try family.arrive(
        by: made.capsule, with: made.secret, meeting: 0, as: EngineFamily.id(90))
      try family.set(comer, 5, 5)
      try sync(comer, at: LateJoinTests.now)
    }

    var device: DeviceID { family.members[comer].device }

    mutating func sync(
      _ member: Int, at moment: UInt64, over other: MemoryShelf? = nil, isComplete: Bool = true
    ) throws {
      let report = try family.members[member].exchange(
        over: other ?? shelf, named: "shelf", anchorFile: ForgetfulAnchor(),
        isComplete: isComplete, nowMilliseconds: moment)
      #expect(report.failure == nil)
    }

    func isClosed(for member: Int) -> Bool {
      family.membership(member).invites.contains { $0.operation.invite == invite && $0.isClosed }
    }

    func unconfirmed(by member: Int) -> [RecordID] {
      family.membership(member).entries.unconfirmed(by: family.members[member].device)
    }
  }

  @Test("Whoever arrives within the grace belongs for good, and the invitation is closed")
  func withinGrace() throws {
    var story = try Story()
    try story.sync(0, at: LateJoinTests.expiry + LateJoinTests.grace)
    #expect(story.family.membership(0).isActive(story.device))
    #expect(try story.family.shown(0, 5) == .int(5))
    #expect(story.unconfirmed(by: 0).isEmpty)
    #expect(story.isClosed(for: 0))
  }

  @Test("Whoever arrives later waits for a person: not in, not removed, and without new keys")
  func afterGrace() throws {
    var story = try Story()
    let late = LateJoinTests.expiry + LateJoinTests.grace + 1
    for member in [0, 1, 0] {
      try story.sync(member, at: late)
      let membership = story.family.membership(member)
      #expect(!membership.isActive(story.device), "member \(member)")
      #expect(membership.entries.waiting.map(\.device) == [story.device], "member \(member)")
      #expect(membership.formerPeople.isEmpty, "member \(member)")
      #expect(try story.family.shown(member, 5) == nil, "member \(member)")
      let newest = try #require(membership.keys.newestEpochs(of: story.family.zone).first)
      #expect(!newest.grant.wraps.contains { $0.recipient == story.device })
    }
    let entry = try #require(story.family.membership(0).entries.waiting.first)
    try EntranceUpkeep.confirm(
      entry.id, in: story.family.group, by: &story.family.members[0], nowMilliseconds: late + 1)
    for member in [0, story.comer, 0, 1] { try story.sync(member, at: late + 2) }
    for member in [0, 1] {
      #expect(story.family.membership(member).isActive(story.device), "member \(member)")
      #expect(try story.family.shown(member, 5) == .int(5), "member \(member)")
    }
  }

  @Test("Whoever was here before is confirmed later, also where a transport could not be read")
  func heldBack() throws {
    var story = try Story()
    try story.sync(0, at: LateJoinTests.expiry + 1, isComplete: false)
    #expect(story.family.membership(0).isActive(story.device))
    #expect(story.unconfirmed(by: 0).count == 1)
    #expect(!story.isClosed(for: 0))
    try story.sync(0, at: LateJoinTests.expiry + LateJoinTests.grace + 1)
    #expect(story.family.membership(0).isActive(story.device))
    #expect(story.unconfirmed(by: 0).isEmpty)
    #expect(story.isClosed(for: 0))
  }

  @Test("An admin who was away for longer puts nobody out whom another one has confirmed")
  func awayForLonger() throws {
    var story = try Story()
    try story.sync(1, at: LateJoinTests.expiry + 1)
    #expect(story.unconfirmed(by: 1).isEmpty)
    // The owner knows the invitation as open, and closes it before anything is read.
    try story.sync(0, at: LateJoinTests.expiry + 2 * LateJoinTests.grace)
    try story.sync(1, at: LateJoinTests.expiry + 2 * LateJoinTests.grace)
    for member in [0, 1] {
      #expect(story.family.membership(member).isActive(story.device), "member \(member)")
      #expect(try story.family.shown(member, 5) == .int(5), "member \(member)")
    }
  }
  @Test("What an admin has closed without the rank for it, its maker's device closes too")
  func closedInVain() throws {
    for isComplete in [true, false] {
      var story = try Story(as: .admin)
      // The admin has not heard of the joining, and the owner hears of the closing first.
      let other = MemoryShelf()
      try story.sync(1, at: LateJoinTests.expiry + 1, over: other)
      #expect(story.isClosed(for: 1))
      try story.sync(0, at: LateJoinTests.expiry + 2, over: other, isComplete: isComplete)
      #expect(story.isClosed(for: 0))
      let later = LateJoinTests.expiry + (isComplete ? 3 : LateJoinTests.grace + 1)
      for member in [0, 1] {
        try story.sync(member, at: later)
        let membership = story.family.membership(member)
        #expect(!membership.isActive(story.device), "member \(member), \(isComplete)")
        #expect(membership.entries.waiting.map(\.device) == [story.device], "member \(member)")
      }
    }
  }
}
