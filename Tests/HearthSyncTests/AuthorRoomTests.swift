import HearthCRDT
import HearthCrypto
import HearthMembership
import InlineExecution
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now

@Suite("Room for the lives of devices")
struct AuthorRoomTests {
  /// Further lives of a member's device, each told in the members' log, with a record of its own.
  private func lives(
    _ count: Int, of member: Int, in family: EngineFamily
  ) throws -> (announcements: [[UInt8]], records: [[UInt8]]) {
    var announcements: [[UInt8]] = []
    var records: [[UInt8]] = []
    for life in 0..<UInt64(count) {
      var forge = try Forge(family.members[member], family.zone, incarnation: (life + 2) << 32)
      announcements.append(try forge.announce(family.members[member]))
      records.append(try forge.seal([forge.change(record: Int(life))]))
    }
    return (announcements, records)
  }

  @Test(
    "All lives of a person's devices that others have seen count everywhere, whatever came first")
  func order() throws {
    #expect(Limits.maximumLives == 256)
    var family = try EngineFamily(4)
    let room = Limits.maximumLives - 1
    let (announcements, records) = try lives(room + 30, of: 1, in: family)
    // Each meets another end first and takes as many as there is room for.
    for (member, order) in [(0, announcements), (2, announcements.reversed())] {
      let first = try family.members[member].receive(
        order.prefix(room).map { $0 }, in: family.control, nowMilliseconds: now)
      #expect(first.applied == room)
      let second = try family.members[member].receive(
        order.dropFirst(room).map { $0 }, in: family.control, nowMilliseconds: now)
      #expect(second.applied == 0 && second.refused.count == 30)
      #expect(second.refused.first?.reason.contains("have more than 256 incarnations") == true)
      try MemberChanges.heartbeat(
        in: family.group, by: &family.members[member], nowMilliseconds: now)
    }
    // What one had seen gets a place with the other; the records follow the members' log.
    for _ in 0..<2 {
      for (giver, takers) in [(0, [2, 3]), (2, [0, 3])] {
        let blobs = try family.published(giver, family.control)
        for taker in takers {
          for _ in 0..<2 {
            _ = try family.members[taker].receive(
              blobs, in: family.control, nowMilliseconds: now)
          }
        }
      }
    }
    var random = SplitMix64(seed: 61)
    for member in [0, 2, 3] {
      _ = try family.members[member].receive(
        records.shuffled(using: &random), in: family.zone, nowMilliseconds: now)
    }
    for member in [0, 2, 3] {
      let control = try family.members[member].zone(family.control)
      #expect(
        control.lives(of: family.members[1].device) == room + 31, "member \(member)")
    }
    let digests = try [0, 2, 3].map { try family.members[$0].digest(of: family.zone) }
    #expect(Set(digests).count == 1)
    // Built anew, each keeps them, though nobody has seen the last ones when these are applied.
    for member in [0, 2, 3] {
      let heads = try family.members[member].zone(family.control).heads
      try Rebuild.rebuild(family.control, in: &family.members[member], nowMilliseconds: now)
      #expect(try family.members[member].zone(family.control).heads == heads, "member \(member)")
    }
  }

  /// What a member has of the members' log, as authors.
  private func authors(
    _ engine: Engine<MemoryStore>, in family: EngineFamily
  ) throws -> Set<Author> {
    Set(try engine.zone(family.control).heads.map(\.author))
  }

  @Test(
    "Who has received everything admits the same lives, and so does a new node", arguments: 1...2)
  func law(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var family = try EngineFamily(3)
    let announcements = try lives(Limits.maximumLives + 30, of: 1, in: family).announcements
    // Each meets others first, in one batch or in several, and tells the rest what it has.
    for member in [0, 2] {
      var rest = announcements.shuffled(using: &random)[...]
      rest = rest.prefix(rest.count - random.below(20))
      while !rest.isEmpty {
        let batch = Array(rest.prefix(1 + random.below(300)))
        rest = rest.dropFirst(batch.count)
        _ = try family.members[member].receive(
          batch, in: family.control, nowMilliseconds: now)
      }
      try MemberChanges.heartbeat(
        in: family.group, by: &family.members[member], nowMilliseconds: now)
    }
    let logs = try [0, 2].flatMap { try family.published($0, family.control) }
    for member in [0, 2] {
      _ = try family.members[member].receive(
        (announcements + logs).shuffled(using: &random), in: family.control, nowMilliseconds: now)
    }
    let known = try authors(family.members[0], in: family)
    #expect(try authors(family.members[2], in: family) == known)
    // A new node has all of that after one call, whatever comes first in it. What does not fit one
    // slice is no reason either: the damaged files fill the first.
    let junk = [[UInt8]](repeating: [UInt8](repeating: 1, count: 1 << 20), count: 5)
      .enumerated().map { place, bytes in bytes + [UInt8(place)] }
    #expect(junk.reduce(0) { $0 + $1.count } > SliceOpening.sliceBytes)
    let orders = [
      (announcements + logs).shuffled(using: &random),
      announcements.shuffled(using: &random) + junk + logs,
    ]
    for order in orders {
      var engine = try EngineFamily.engine()
      _ = try JoiningByInvitation.begin(
        family.capsule, with: family.secret, in: &engine, nowMilliseconds: now)
      let report = try engine.receive(order, in: family.control, nowMilliseconds: now)
      #expect(try authors(engine, in: family).isSuperset(of: known))
      let lives = try engine.zone(family.control).lives(of: family.members[1].device)
      // What it refuses is told once, and is only what nobody has.
      let refused = report.refused.filter { $0.reason.contains("incarnations") }
      #expect(refused.count == announcements.count + 1 - lives, "\(lives)")
    }
  }

  @Test("A newcomer keeps all that the inviter had, in however many parts it comes")
  func parts() throws {
    var family = try EngineFamily(4)
    let announcements = try (1...3).flatMap { member in
      try lives(200, of: member, in: family).announcements
    }
    #expect(announcements.count > WaitingRoom.maximumUnverifiedSegments)
    _ = try family.members[0].receive(announcements, in: family.control, nowMilliseconds: now)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, admission: .auto, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    var engine = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &engine, nowMilliseconds: now)
    #expect(opened.controlFrontier.entries.count > announcements.count)
    for first in stride(from: 0, to: announcements.count, by: 90) {
      let part = Array(announcements[first..<min(first + 90, announcements.count)])
      let report = try engine.receive(part, in: family.control, nowMilliseconds: now)
      #expect(report.refused.isEmpty, "from \(first)")
    }
    let logs = try (0...3).flatMap { try family.published($0, family.control) }
    _ = try engine.receive(logs, in: family.control, nowMilliseconds: now)
    #expect(try engine.zone(family.control).reached.covers(opened.controlFrontier))
  }

  /// Somebody who opened an invitation and has fetched nothing yet.
  private struct Newcomer {
    let world: NewcomerWorld
    let opened: InvitationCapsule
    var engine: Engine<MemoryStore>
    /// The files of the control zone that the inviter had.
    let known: Set<SegmentName>
    let listing: TransportListing

    /// - Parameter others: how many further incarnations of a member have a file in the listing.
    init(others: Int) throws {
      var world = try NewcomerWorld()
      let made = try world.invite()
      for _ in 0..<2 { try world.sync(0) }
      let tag = try world.family.members[0].zone(world.family.control).tag
      known = Set(world.shelf.list(zoneTag: tag).segments)
      for life in 0..<UInt64(others) {
        var forge = try Forge(
          world.family.members[1], world.family.zone, incarnation: (life + 2) << 32)
        try world.shelf.put(forge.announce(world.family.members[1]))
      }
      listing = world.shelf.list(zoneTag: tag)
      engine = try EngineFamily.engine()
      opened = try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &engine, nowMilliseconds: now)
      self.world = world
    }

    var others: Set<SegmentName> { Set(listing.segments).subtracting(known) }
  }

  @Test("A newcomer fetches first, and alone, the incarnations that the inviter had")
  func first() throws {
    var newcomer = try Newcomer(others: 5)
    let id = newcomer.world.family.control
    var taking = try FetchRounds.taking(
      of: id, from: newcomer.listing, in: newcomer.engine.store)
    let first = try FetchRounds.goOn(&taking, in: &newcomer.engine, nowMilliseconds: now)
    #expect(Set(first) == newcomer.known)
    let files = try first.map { ($0, try newcomer.world.shelf.fetch($0)) }
    try FetchRounds.receive(files, &taking, in: &newcomer.engine, nowMilliseconds: now)
    #expect(try newcomer.engine.zone(id).reached.covers(newcomer.opened.controlFrontier))
    let rest = try FetchRounds.goOn(&taking, in: &newcomer.engine, nowMilliseconds: now)
    #expect(Set(rest) == newcomer.others && rest.count == 5)
  }

  @Test("The inviter's files have one round before the others, whatever becomes of them")
  func firstOnce() throws {
    var newcomer = try Newcomer(others: 1)
    var taking = try FetchRounds.taking(
      of: newcomer.world.family.control, from: newcomer.listing, in: newcomer.engine.store)
    // As if each were dropped when it came: all are worth fetching again.
    let first = try FetchRounds.goOn(&taking, in: &newcomer.engine, nowMilliseconds: now)
    #expect(Set(first) == newcomer.known)
    let second = try FetchRounds.goOn(&taking, in: &newcomer.engine, nowMilliseconds: now)
    #expect(Set(second) == Set(newcomer.listing.segments))
  }

  @Test("What follows one of the inviter's files is fetched in the same sync")
  func afterFirst() throws {
    var world = try NewcomerWorld()
    let (group, control) = (world.family.group, world.family.control)
    func beat(_ member: Int, after files: [[UInt8]] = []) throws -> [[UInt8]] {
      _ = try world.family.members[member].receive(files, in: control, nowMilliseconds: now)
      try MemberChanges.heartbeat(
        in: group, by: &world.family.members[member], nowMilliseconds: now)
      return try world.family.published(member, control)
    }
    // The founder removes somebody, who does not know it and goes on writing.
    try MemberChanges.remove(
      EngineFamily.id(3), from: group, in: &world.family.members[0], nowMilliseconds: now)
    let made = try world.invite()
    let founders = try world.family.published(0, control)
    // One file of that log has what the inviter had, and a change that cites what it had not.
    let early = try beat(2, after: beat(1))
    let writer = world.family.members[2]
    let opener = SegmentOpener(
      zone: try writer.zone(control), membership: writer.membership(of: group))
    func ownChanges(_ file: [UInt8]) -> [Change] {
      opener.reopened(file, author: writer.author)?.changes ?? []
    }
    let changes = early.flatMap(ownChanges).sorted { $0.dot < $1.dot }
    let merged = try Forge(writer, control).seal(changes)
    let late = try Set(beat(2)).subtracting(early)
    #expect(late.count == 1)
    let files = early.filter { ownChanges($0).isEmpty } + founders
    let shelf = MemoryShelf()
    for file in Set(files + [merged]).union(late) { try shelf.put(file) }
    var engine = try EngineFamily.engine()
    _ = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &engine, nowMilliseconds: now)
    var report = TransportReport(setting: "shelf")
    try engine.pull(
      control, from: shelf, anchorFile: ForgetfulAnchor(), nowMilliseconds: now, &report)
    #expect(try engine.zone(control).frontier[writer.author] == UInt64(changes.count + 1))
  }

  @Test("Expected logs are those of the control zone alone")
  func expectedZone() throws {
    let newcomer = try Newcomer(others: 0)
    for zone in newcomer.engine.zones {
      #expect(zone.expectedLogs.isEmpty == (zone.kind != .control), "\(zone.name)")
    }
    #expect(newcomer.engine.zones.contains { $0.kind == .data })
  }

  @Test("Lives that nobody else has seen take no place from those that others have seen")
  func places() throws {
    let family = try EngineFamily(3)
    var room = AuthorRoom(
      family.members[0].membership(of: family.group), sponsors: [:], control: nil)
    var zone = try family.members[0].zone(family.control)
    let device = family.members[1].device
    func life(_ number: UInt64) -> Author { Author(device: device, incarnation: number << 32) }
    func begin(_ author: Author) {
      var head = LogHead(author: author)
      head.sequence = 1
      zone.set(head)
      let first = Change(
        dot: Dot(author: author, sequence: 1), previousHash: head.hash, seen: .none,
        time: HybridTime(milliseconds: now), operations: [])
      room.note([first], in: zone)
    }
    // A new node meets as many of them as a person has places for.
    let own = zone.lives(of: device)
    for number in 0..<UInt64(Limits.maximumLives - own) {
      #expect(room.admits(life(number + 10_000), in: zone))
      begin(life(number + 10_000))
    }
    #expect(!room.admits(life(9_999), in: zone))
    // Then what the others have: all places of the person, and all for cited lives.
    let most = Limits.maximumLives + Limits.maximumCitedLives
    var witness = zone.head(of: family.members[2].author)
    for number in 1...UInt64(most + 1) { witness.seen.advance(life(number), to: 1) }
    zone.set(witness)
    // The life that founded the person's log was seen too, or not.
    let founding = zone.heads.filter { $0.author.device == device && witness.seen[$0.author] > 0 }
    var random = SplitMix64(seed: 7)
    for number in (1...UInt64(most - founding.count)).shuffled(using: &random) {
      guard room.admits(life(number), in: zone) else {
        Issue.record("life \(number) of \(zone.heads.count)")
        break
      }
      begin(life(number))
    }
    #expect(!room.admits(life(UInt64(most + 1)), in: zone))
    // Counted anew, the places are as many.
    room.count(in: zone)
    #expect(!room.admits(life(UInt64(most + 1)), in: zone))
    #expect(room.admits(Author(device: EngineFamily.id(77), incarnation: 1 << 32), in: zone))
  }

  @Test("Records of a life count only if its first change cites that life in the members' log")
  func unannounced() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone, incarnation: 9 << 32)
    let silent = try forge.seal([forge.change(record: 1)])
    let first = try family.members[2].receive(
      [silent], in: family.zone, nowMilliseconds: now)
    #expect(first.applied == 0 && first.refused.count == 1)
    #expect(first.refused.first?.reason.contains("start of this incarnation") == true)
    // Announced afterwards it stays so, before and after: no order lets it in.
    var told = try Forge(family.members[1], family.zone, incarnation: 9 << 32)
    let announcement = try told.announce(family.members[1])
    for member in [0, 2] {
      _ = try family.members[member].receive(
        [announcement], in: family.control, nowMilliseconds: now)
      let report = try family.members[member].receive(
        [silent], in: family.zone, nowMilliseconds: now)
      #expect(report.applied == 0 && report.refused.count == 1)
    }
    // What cites it is taken, and waits where the members' log is not here yet.
    let fine = try told.seal([told.change(record: 2)])
    let early = try family.members[1].receive([fine], in: family.zone, nowMilliseconds: now)
    #expect(early.waiting == [.cause: 1])
    let late = try family.members[2].receive([fine], in: family.zone, nowMilliseconds: now)
    #expect(late.applied == 1)
  }

  /// A control zone in which a log has seen the first change of another.
  private func witnessed(_ seen: Author, by author: Author, in zone: ZoneState) -> ZoneState {
    var witness = zone.head(of: author)
    witness.seen.advance(seen, to: 1)
    var zone = zone
    zone.set(witness)
    return zone
  }

  @Test("All devices of a person share one room, and a newcomer still joins and writes")
  func newcomer() throws {
    var family = try EngineFamily(3)
    let person = try family.person(1)
    let second = try family.join(by: 1, role: .member, person: person)
    try family.settle()
    #expect(try family.person(second) == person)
    // Two devices of that person, whose lives fill the room together.
    let devices = [family.members[1].device, family.members[second].device]
    let room = AuthorRoom(
      family.members[0].membership(of: family.group), sponsors: [:], control: nil)
    var zone = try family.members[0].zone(family.control)
    #expect(devices.map { room.lives(of: $0, in: zone) } == [2, 2])
    for life in 3...UInt64(Limits.maximumLives) {
      let author = Author(device: devices[Int(life % 2)], incarnation: life << 32)
      #expect(room.admits(author, in: zone), "life \(life)")
      var head = LogHead(author: author)
      head.sequence = 1
      zone.set(head)
    }
    for device in devices {
      #expect(room.lives(of: device, in: zone) == Limits.maximumLives)
      #expect(!room.admits(Author(device: device, incarnation: 999 << 32), in: zone))
    }
    let next = Author(device: devices[0], incarnation: 999 << 32)
    // Another person's operation has seen it: then it has a place.
    let (other, own) = (family.members[2].author, family.members[second].author)
    #expect(room.admits(next, in: witnessed(next, by: other, in: zone)))
    // Its own person's word does not count.
    #expect(!room.admits(next, in: witnessed(next, by: own, in: zone)))
    // Others are not touched.
    #expect(room.admits(Author(device: family.members[2].device, incarnation: 9 << 32), in: zone))
    #expect(room.admits(Author(device: EngineFamily.id(77), incarnation: 1 << 32), in: zone))
    // A newcomer joins and writes, and all have that.
    let announcements = try lives(Limits.maximumLives - 2, of: 1, in: family).announcements
    for member in family.members.indices {
      _ = try family.members[member].receive(
        announcements, in: family.control, nowMilliseconds: now)
    }
    let crowded = try family.members[0].zone(family.control)
    #expect(room.lives(of: devices[0], in: crowded) == Limits.maximumLives)
    try family.join(9)
    try family.settle()
    try family.write(family.members.count - 1, 3, [.insert])
    try family.settle()
    #expect(try family.digests().count == 1)
    let author = family.members[family.members.count - 1].author
    #expect(try family.members[2].zone(family.zone).head(of: author).sequence == 1)
  }

  @Test("Lives beyond their persons' rooms have 2,000 places, and everybody else has those beside")
  func overflow() throws {
    #expect(Limits.maximumCitedLives == 2_000)
    let family = try EngineFamily(3)
    let room = AuthorRoom(
      family.members[0].membership(of: family.group), sponsors: [:], control: nil)
    let device = family.members[1].device
    func zone(lives: Int) throws -> ZoneState {
      var zone = try family.members[0].zone(family.control)
      for life in 2..<UInt64(lives + 1) {
        var head = LogHead(author: Author(device: device, incarnation: life << 32))
        head.sequence = 1
        zone.set(head)
      }
      var witness = zone.head(of: family.members[2].author)
      witness.seen = Frontier(
        zone.heads.filter { $0.author.device == device }.map { ($0.author, 1) })
      witness.seen.advance(Author(device: device, incarnation: 9_999 << 32), to: 1)
      zone.set(witness)
      return zone
    }
    let next = Author(device: device, incarnation: 9_999 << 32)
    let most = Limits.maximumLives + Limits.maximumCitedLives
    let last = try zone(lives: most - 1)
    #expect(room.admits(next, in: last))
    let full = try zone(lives: most)
    #expect(!room.admits(next, in: full))
    #expect(room.admits(Author(device: EngineFamily.id(77), incarnation: 1 << 32), in: full))
  }

  @Test("A device that others let in tells the members' log of itself before its first record")
  func announces() throws {
    var family = try EngineFamily(2)
    // As somebody whose admission was written by an admin: nothing of its own is in the log.
    try NewIncarnation.begin(reason: "a test", in: &family.members[1], nowMilliseconds: now)
    let control = try family.members[1].zone(family.control)
    #expect(control.head(of: family.members[1].author).sequence == 1)
    family.members[1].incarnation = 77 << 32
    try family.write(1, 1, [.insert])
    try family.write(1, 2, [.insert])
    let after = try family.members[1].zone(family.control)
    #expect(after.head(of: family.members[1].author).sequence == 1)
    try family.settle()
    #expect(try family.digests().count == 1)
    #expect(
      try family.members[0].zone(family.zone).head(of: family.members[1].author).sequence == 2)
  }
}
