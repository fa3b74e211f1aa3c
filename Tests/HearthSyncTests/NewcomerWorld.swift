import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

/// A transport in memory.
final class MemoryShelf: Transport {
  var segments: [SegmentName: [UInt8]] = [:]
  var blobs: [BlobName: [UInt8]] = [:]
  var bytesGiven = 0

  func place(of name: SegmentName) -> String { "\(name.digest)" }
  func list(zoneTag: Identifier) -> TransportListing {
    TransportListing(
      segments: segments.keys.filter { $0.zoneTag == zoneTag }.sorted(),
      snapshots: blobs.keys.filter { $0.kind == .snapshot && $0.scope == zoneTag }.sorted())
  }
  func fetch(_ name: SegmentName) throws -> [UInt8] {
    guard let bytes = segments[name] else {
      throw TransportError(.notFound, place: place(of: name), message: "gone", remedy: "none")
    }
    return bytes
  }
  func publish(_ name: SegmentName, _ bytes: [UInt8]) {
    bytesGiven += bytes.count
    segments[name] = bytes
  }
  func remove(_ name: SegmentName) { segments[name] = nil }
  func fetch(_ name: BlobName) throws -> [UInt8]? { blobs[name] }
  func publish(_ name: BlobName, _ bytes: [UInt8]) throws {
    bytesGiven += bytes.count
    blobs[name] = bytes
  }
  func remove(_ name: BlobName) { blobs[name] = nil }

  /// Puts a sealed segment here under its own name.
  @discardableResult
  func put(_ bytes: [UInt8]) throws -> SegmentName {
    let frame = try EnvelopeFrame(bytes)
    let name = SegmentName(
      zoneTag: Identifier(frame.zoneTag), authorTag: Identifier(frame.authorTag),
      incarnation: frame.incarnation, first: frame.firstSeq, last: frame.lastSeq,
      digest: segmentDigest(bytes))
    segments[name] = bytes
    return name
  }

  /// Puts segments here that lie elsewhere.
  func copy(from other: MemoryShelf, where isWanted: (SegmentName) -> Bool) {
    for (name, bytes) in other.segments where isWanted(name) { segments[name] = bytes }
  }

  /// The snapshots that are here.
  var snapshots: Set<Identifier> {
    Set(blobs.keys.filter { $0.kind == .snapshot }.map(\.group))
  }
}

final class ForgetfulAnchor: AnchorFile {
  func read(atMost limit: Int) -> [UInt8]? { nil }
  func replace(_ bytes: [UInt8]) {}
  func identity() -> [UInt8] { [] }
}

/// A household whose members meet over transports in memory.
struct NewcomerWorld {
  static let now = EngineFamily.now
  var family: EngineFamily
  var shelf = MemoryShelf()
  var reports: [Int: TransportReport] = [:]

  /// So many members who have written some and all been in touch, the last of them an admin.
  init(_ count: Int = 3) throws {
    family = try EngineFamily(count)
    if count > 2 { try family.setRole(count - 1, .admin, by: 0) }
    for number in 0..<12 { try family.set(number % count, number, Int64(number)) }
    for _ in 0..<2 { for member in 0..<count { try sync(member) } }
  }

  mutating func sync(_ member: Int, over other: MemoryShelf? = nil) throws {
    let report = try family.members[member].exchange(
      over: other ?? shelf, named: "shelf", anchorFile: ForgetfulAnchor(),
      nowMilliseconds: NewcomerWorld.now)
    #expect(report.failure == nil)
    reports[member] = report
  }

  mutating func sync(all members: [Int]) throws {
    for _ in 0..<2 { for member in members { try sync(member) } }
  }

  /// The second member seals a change for a stick, before it hears of anything that comes.
  ///
  /// - Returns: the stick.
  @discardableResult
  mutating func sealLateChange() throws -> MemoryShelf {
    let stick = MemoryShelf()
    try family.set(1, 3, 66)
    try sync(1, over: stick)
    return stick
  }

  mutating func setRule(_ rule: ControlOperation.Newcomers, by member: Int = 0) throws {
    try GroupPolicy.setPolicy(
      of: family.group, minimumSuite: 1, newcomers: rule, in: &family.members[member],
      nowMilliseconds: NewcomerWorld.now)
  }

  mutating func invite(
    by member: Int = 0, role: Role = .member, admission: ControlOperation.Admission = .auto,
    person: PersonID? = nil
  ) throws -> MadeInvitation {
    try InvitationMaking.invite(
      to: family.group, named: "Home", role: role, admission: admission, person: person,
      maximumUses: 1, expiresMilliseconds: NewcomerWorld.now * 2,
      in: &family.members[member], nowMilliseconds: NewcomerWorld.now)
  }

  /// A new device that follows a link, with nothing but what lies on the shelf.
  ///
  /// - Returns: its number.
  mutating func follow(_ made: MadeInvitation, as person: PersonID? = nil) throws -> Int {
    var engine = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &engine, nowMilliseconds: NewcomerWorld.now)
    family.members.append(engine)
    let number = family.members.count - 1
    try sync(number)
    try JoiningByInvitation.finish(
      opened, with: made.secret, person: person ?? EngineFamily.id(200 + number),
      personName: "P\(number)", deviceName: "device \(number)",
      in: &family.members[number], nowMilliseconds: NewcomerWorld.now)
    try sync(number)
    return number
  }

  /// A new device that reads the members' log alone before it joins, and then begins from the
  /// snapshot that lies on the shelf.
  ///
  /// - Returns: its number.
  mutating func beginFromSnapshot(_ made: MadeInvitation) throws -> Int {
    var engine = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &engine, nowMilliseconds: NewcomerWorld.now)
    var report = TransportReport(setting: "shelf")
    try engine.pull(
      family.control, from: shelf, anchorFile: ForgetfulAnchor(),
      nowMilliseconds: NewcomerWorld.now, &report)
    try JoiningByInvitation.finish(
      opened, with: made.secret, person: EngineFamily.id(900), personName: "Nina",
      deviceName: "tablet", in: &engine, nowMilliseconds: NewcomerWorld.now)
    family.members.append(engine)
    let nina = family.members.count - 1
    try sync(nina)
    #expect(reports[nina]?.begunFromSnapshots == 1)
    return nina
  }

  /// The same as ``follow`` by an invitation that needs an approval, given by a member.
  mutating func askAndEnter(_ made: MadeInvitation, approvedBy member: Int) throws -> Int {
    var engine = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &engine, nowMilliseconds: NewcomerWorld.now)
    let asked = try ApprovalRequests(engine: engine).requestToJoin(
      opened, with: made.secret, person: EngineFamily.id(300 + family.members.count),
      personName: "Nina", deviceName: "tablet", slot: 0)
    let request = try ApprovalRequests(engine: family.members[member]).open(
      request: asked.bytes, to: family.group)
    let answer = try Approval.approve(
      request, named: "Home", in: &family.members[member], nowMilliseconds: NewcomerWorld.now)
    try sync(member)
    let control = try family.published(member, family.control)
    let (id, now) = (family.control, NewcomerWorld.now)
    try AnswerAcceptance.accept(
      AnswerAcceptance.open(answer: answer.bytes, to: opened, asked: asked.hash, in: engine),
      in: &engine
    ) {
      _ = try $0.receive(control, in: id, nowMilliseconds: now)
    }
    family.members.append(engine)
    try sync(family.members.count - 1)
    return family.members.count - 1
  }

  /// Changes a record of a member behind its log's back.
  func lie(_ member: Int) throws {
    let key = RecordKey(type: .record(7), id: EngineFamily.id(1))
    let store = family.members[member].store
    var state = try #require(try store.records.states(of: [key], in: family.zone)[0])
    let zone = try family.members[member].zone(family.zone)
    let head = zone.head(of: family.members[0].author)
    state.apply(
      .assign(EngineFamily.register, .int(666)),
      version: Version(
        dot: Dot(author: head.author, sequence: head.sequence), time: head.time),
      past: zone.frontier)
    let changed = state
    try store.transaction {
      try store.records.save(
        [RecordChange(key: key, state: changed, isNew: false)], in: family.zone)
    }
  }

  func zone(_ member: Int) throws -> ZoneState { try family.members[member].zone(family.zone) }

  func digest(_ member: Int) throws -> [UInt8] {
    try family.members[member].digest(of: family.zone)
  }

  /// The segments of records on the shelf.
  var names: Set<SegmentName> {
    get throws { Set(shelf.list(zoneTag: try zone(0).tag).segments) }
  }

  /// What of the shelf's records any key opens that a device holds, whatever it has read.
  func openable(by member: Int, over other: MemoryShelf? = nil) throws -> Set<SegmentName> {
    let zone = try zone(member)
    let shelf = other ?? shelf
    return Set(
      shelf.list(zoneTag: zone.tag).segments.filter { name in
        zone.epochs.contains { epoch in
          let body = try? Envelope.open(
            shelf.segments[name] ?? [], zoneID: zone.id.bytes, epoch: epoch)
          return body != nil
        }
      })
  }

  func waits(_ member: Int) throws -> Bool {
    try ClosedSegments(engine: family.members[member]).awaitsSnapshot(family.zone)
  }

  /// The epochs of the zone of records, as a member's log has them.
  func epochs(_ member: Int) -> [EpochRecord] {
    family.membership(member).keys.epochs(of: family.zone)
  }
}
