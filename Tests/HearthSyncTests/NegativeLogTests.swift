import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

/// The negative tests of the security contract that concern logs and snapshots, by their numbers.
@Suite("Logs and snapshots: what must not work")
struct NegativeLogTests {
  @Test("Negative 3: a segment that is delivered 1,000 times counts once")
  func replay() throws {
    var family = try EngineFamily(2)
    let counter = FieldID(.counter, 1)
    try family.write(1, 1, [.count(counter, 5)])
    let blobs = try family.published(1, family.zone)
    _ = try family.members[0].receive(blobs, in: family.zone, nowMilliseconds: now)
    let store = family.members[0].store
    let before = (
      try family.members[0].digest(of: family.zone), try store.log.segments(of: family.zone).count
    )
    for _ in 0..<1_000 {
      let report = try family.members[0].receive(blobs, in: family.zone, nowMilliseconds: now)
      guard report.applied == 0, report.refused.isEmpty, report.forks.isEmpty else {
        Issue.record("a replay had an effect: \(report)")
        return
      }
    }
    #expect(try family.members[0].digest(of: family.zone) == before.0)
    #expect(try store.log.segments(of: family.zone).count == before.1)
    #expect(try store.pending.segments(in: family.zone).isEmpty)
    let key = RecordKey(type: .record(7), id: EngineFamily.id(1))
    #expect(try store.records.states(of: [key], in: family.zone)[0]?.shown(counter) == .int(5))
  }

  @Test("Negative 7: a newcomer goes on from nothing older than its invitation")
  func oldMailbox() throws {
    var family = try EngineFamily(3)
    let lastWeek = try family.published(0, family.control)
    // What the folder takes back: a removal, whose subject would be one of the household again.
    try family.remove(2, by: 0)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    let today = try family.published(0, family.control)
    var newcomer = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &newcomer, nowMilliseconds: now)
    let join = { (engine: inout Engine<MemoryStore>) throws in
      try JoiningByInvitation.finish(
        opened, with: made.secret, person: EngineFamily.id(90), personName: "N", deviceName: "n",
        in: &engine, nowMilliseconds: now)
    }
    for missing in [today.count - lastWeek.count, 1] {
      var fresh = try EngineFamily.engine()
      _ = try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &fresh, nowMilliseconds: now)
      _ = try fresh.receive(
        missing == 1 ? Array(today.dropLast()) : lastWeek, in: family.control,
        nowMilliseconds: now)
      let error = #expect(throws: SyncError.self) { try join(&fresh) }
      #expect(error?.code == .notFound)
      #expect(error?.message.contains("still lacks files that") == true)
    }
    _ = try newcomer.receive(today, in: family.control, nowMilliseconds: now)
    try join(&newcomer)
    #expect(!newcomer.membership(of: family.group).isActive(family.members[2].device))
  }

  @Test("Negative 7: who is let in by approval is in only with the log in which that stands")
  func oldMailboxByApproval() throws {
    var family = try EngineFamily(2)
    let lastWeek = try family.published(0, family.control)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, admission: .approve, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    var newcomer = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &newcomer, nowMilliseconds: now)
    let request = try ApprovalRequests(engine: newcomer).requestToJoin(
      opened, with: made.secret, person: EngineFamily.id(40), personName: "Nina",
      deviceName: "tablet", slot: 0)
    let answer = try Approval.approve(
      try ApprovalRequests(engine: family.members[0]).open(
        request: request.bytes, to: family.group), named: "Home",
      in: &family.members[0], nowMilliseconds: now)
    let given = try AnswerAcceptance.open(
      answer: answer.bytes, to: opened, asked: request.hash, in: newcomer)
    let today = try family.published(0, family.control)
    #expect(throws: SyncError(.unproven, "")) {
      try AnswerAcceptance.accept(given, in: &newcomer) {
        _ = try $0.receive(lastWeek, in: family.control, nowMilliseconds: now)
      }
    }
    #expect(newcomer.zones.isEmpty && newcomer.membership(of: family.group).people.isEmpty)
    try AnswerAcceptance.accept(given, in: &newcomer) {
      _ = try $0.receive(today, in: family.control, nowMilliseconds: now)
    }
    #expect(newcomer.membership(of: family.group).isActive(newcomer.device))
    let frontier = try newcomer.controlZone(of: family.group).frontier
    #expect(frontier.covers(given.capsule.controlFrontier))
  }

  @Test("Negative 18: a member's snapshot with an altered row is not taken; the log is")
  func alteredSnapshot() throws {
    var family = try EngineFamily(2)
    try family.set(0, 1, 1)
    try family.meet([0, 1])
    let key = RecordKey(type: .record(7), id: EngineFamily.id(1))
    let store = family.members[1].store
    var state = try #require(try store.records.states(of: [key], in: family.zone)[0])
    let head = try family.members[1].zone(family.zone).head(of: family.members[0].author)
    state.apply(
      .assign(EngineFamily.register, .int(666)),
      version: Version(
        dot: Dot(author: head.author, sequence: head.sequence), time: head.time),
      past: try family.members[1].zone(family.zone).frontier)
    let altered = state
    try store.transaction {
      try store.records.save(
        [RecordChange(key: key, state: altered, isNew: false)], in: family.zone)
    }
    #expect(try family.shown(1, 1) == .int(666))
    let forged = try SnapshotMaking.snapshot(of: family.zone, in: family.members[1])
    let newcomer = try family.join(by: 0, role: .member)
    let error = #expect(throws: SyncError.self) {
      try SnapshotLoading.bootstrap(
        family.zone, from: forged, in: &family.members[newcomer], nowMilliseconds: now)
    }
    #expect(error?.message.contains("only snapshots by an owner or admin") == true)
    #expect(error?.message.contains("device 1") == true)
    try family.send(0, to: [newcomer])
    #expect(try family.shown(newcomer, 1) == .int(1))
    #expect(try family.areEqual([0, newcomer]))
  }
}
