import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import Household
import SimDisk

/// Watches a run and compares what is with what must be.
///
/// Costs follow the news: digests are computed for an eighth of the frontiers, chosen by the
/// frontier itself, so that all devices that reach one frontier are compared there.
struct Checker {
  /// Zone and frontier → digest of the state, wherever it was first reached.
  private var digests: [UInt64: (digest: [UInt8], device: SimDevice)] = [:]
  /// Zone and dot → chain hash, wherever it was first seen.
  private var hashes: [ZoneDot: [UInt8]] = [:]
  /// Every change of the household's zone that left its device or stands there unsealed.
  private(set) var changes: [Dot: Change] = [:]
  /// How far each device had come at its last check.
  private var reached: [Int: [ZoneID: Frontier]] = [:]
  /// Who has given out two changes under one number, as nothing could tell it not to.
  private(set) var forked: Set<Author> = []
  /// Devices of which one number may stand for two changes, as they were put back unnoticed.
  private var repeating: Set<DeviceID> = []
  /// The greatest time that each device accepted from others.
  private var acceptedTimes: [Int: HybridTime] = [:]
  /// The greatest time of each device's own changes, those of the members' log included.
  private var ownTimes: [Int: HybridTime] = [:]
  /// The time of each device's last write.
  private var lastTimes: [Int: HybridTime] = [:]
  /// Nonce → hash of the sealed bytes it stands in.
  private var nonces: [ArraySlice<UInt8>: UInt64] = [:]
  /// A file that left a device, with the device's note of where it stood then.
  private struct Published {
    let file: FolderFile
    let bytes: [UInt8]
    let device: Int
    let anchor: [UInt8]?
  }

  private var unread: [Published] = []
  private(set) var digestsCompared = 0
  /// Devices that were not compared, as they knew that they rested on a snapshot that holds too
  /// much.
  private var onOutdatedBase: Set<Int> = []
  /// Frontier of a members' log → what was decided of it, wherever it was first reached.
  private var decisions: [UInt64: (words: String, device: SimDevice)] = [:]

  /// What was known of a household's people where each key was first: by whoever made it.
  ///
  /// Who is put back writes again what nobody had heard, now citing more than it knew at the time.
  private(set) var keysMade: [[UInt8]: Frontier] = [:]

  private struct ZoneDot: Hashable {
    let zone: ZoneID
    let dot: Dot
  }

  /// How far a device is in each zone that is shared.
  func frontiers(of device: SimDevice) -> [ZoneID: Frontier] {
    guard let engine = device.running?.engine else { return [:] }
    return Dictionary(
      uniqueKeysWithValues: engine.zones.filter { $0.database == .shared }
        .map { ($0.id, $0.frontier) })
  }

  /// Who holds a change, as far as it was looked.
  func holders(of dot: Dot, in zone: ZoneID) -> [Int] {
    reached.keys.sorted().filter { reached[$0]?[zone]?.covers(dot) == true }
  }

  /// What a device had reached counts no longer: it was put back.
  mutating func forget(_ device: SimDevice) {
    reached[device.index] = nil
    lastTimes[device.index] = nil
    acceptedTimes[device.index] = nil
    ownTimes[device.index] = nil
    // What it alone had reached may be reached again with other changes.
    digests = digests.filter { $0.value.device !== device }
    decisions = decisions.filter { $0.value.device !== device }
  }

  /// A device that was put back without any sign of it has found that out: what it wrote since and
  /// had not given to anybody is there again, under the numbers of its new life.
  mutating func rewritten(_ device: SimDevice, from life: Author, in world: World) throws {
    let engine = try device.engine()
    for zone in engine.zones where zone.database == .shared {
      guard world.ledger.move(from: life, to: engine.author, in: zone) else {
        throw world.fail(
          .durability, device, "did not write everything again that it wrote in its last life")
      }
      guard let before = reached[device.index]?[zone.id] else { continue }
      // The numbers that another copy had given out hold other changes now.
      let others = before.entries.filter { $0.author != life }
      reached[device.index]?[zone.id] = Frontier(others.map { ($0.author, $0.sequence) })
    }
  }

  // MARK: Events

  mutating func wrote(
    _ written: Written, on device: SimDevice, before: Frontier, in world: World
  ) throws {
    let wall = device.clock.wall(at: world.now)
    let limit = wall + HybridClock.maximumLeadMilliseconds
    guard written.version.time.milliseconds <= limit else {
      throw world.fail(
        .clocks, device,
        "wrote at \(written.version.time.milliseconds) though its clock shows \(wall)")
    }
    let time = written.version.time
    if let last = lastTimes[device.index], last.milliseconds <= limit, time <= last {
      throw world.fail(.clocks, device, "its clock went back below its own last write")
    }
    noteStepBack(device, limit: limit)
    if let last = acceptedTimes[device.index], last.milliseconds <= limit, time <= last {
      throw world.fail(.clocks, device, "wrote before what it had accepted from others")
    }
    lastTimes[device.index] = time
    if world.ledger.wrongClocks.isEmpty, let engine = device.running?.engine {
      let author = written.version.dot.author
      for head in try engine.zone(written.zone).heads where head.author != author {
        guard head.time < time else {
          throw world.fail(.clocks, device, "wrote before what it had seen of \(head.author)")
        }
      }
    }
    try moved(device, in: world)
  }

  mutating func synced(
    _ device: SimDevice, _ report: Round, before: [ZoneID: Frontier], in world: World
  ) throws {
    try readPublished(in: world)
    noteTimes(device, before: before, in: world)
    try moved(device, in: world)
    try agreesWithOthers(device, in: world)
  }

  /// Devices that compare what they hold find no difference, where no disk was made to rot.
  private func agreesWithOthers(_ device: SimDevice, in world: World) throws {
    guard let engine = device.running?.engine, world.liars.isEmpty,
      let notice = try engine.store.notices.all().last(where: { $0.kind == .difference })
    else { return }
    throw world.fail(.convergence, device, "it was told: \(notice.text)")
  }

  /// Forgets what a device had accepted when its own time is beyond its corrected wall clock: its
  /// clock steps back with its next change, of whatever log, below whatever it had accepted.
  private mutating func noteStepBack(_ device: SimDevice, limit: UInt64) {
    let times = [ownTimes[device.index], lastTimes[device.index]].compactMap { $0 }
    guard times.contains(where: { $0.milliseconds > limit }) else { return }
    acceptedTimes[device.index] = nil
    ownTimes[device.index] = nil
  }

  /// Remembers the greatest time that the device accepted from others: it writes after that.
  private mutating func noteTimes(
    _ device: SimDevice, before: [ZoneID: Frontier], in world: World
  ) {
    guard let engine = device.running?.engine else { return }
    let limit = device.clock.wall(at: world.now) + HybridClock.maximumLeadMilliseconds
    noteStepBack(device, limit: limit)
    for zone in engine.zones where zone.database == .shared {
      for head in zone.heads
      where head.author.device != engine.device && head.time.milliseconds <= limit
        && head.sequence > before[zone.id]?[head.author] ?? 0
      {
        acceptedTimes[device.index] = max(acceptedTimes[device.index] ?? head.time, head.time)
      }
    }
  }

  mutating func started(_ device: SimDevice, in world: World) throws {
    guard let running = device.running else { return }
    let before = device.disk.count(.readErrors)
    var verdict: [String]
    do {
      verdict = try running.store.integrity()
    } catch let error as StoreError
      where error.code == .corrupt && world.liars.contains(device.index)
    {
      return world.lose(device, "\(error)")
    }
    var failedReads = before
    // A read that an injected fault made fail says nothing of what is on the disk.
    while verdict != ["ok"], device.disk.count(.readErrors) > failedReads {
      failedReads = device.disk.count(.readErrors)
      verdict = try running.store.integrity()
    }
    guard verdict == ["ok"] else {
      if world.liars.contains(device.index) { return world.lose(device, "\(verdict.prefix(1))") }
      throw world.fail(.integrity, device, "integrity_check: \(verdict.prefix(3))")
    }
    // A time that its clock, now right, would refuse from anybody is forgotten at a start.
    let limit = device.clock.wall(at: world.now) + HybridClock.maximumLeadMilliseconds
    if let last = lastTimes[device.index], last.milliseconds > limit {
      lastTimes[device.index] = nil
    }
    if let last = acceptedTimes[device.index], last.milliseconds > limit {
      acceptedTimes[device.index] = nil
    }
    try moved(device, in: world)
  }

  /// A file left a device; what it holds is read when the device is back from its step.
  mutating func published(
    _ file: FolderFile, _ bytes: [UInt8], by device: SimDevice, in world: World
  ) {
    unread.append(
      Published(
        file: file, bytes: bytes, device: device.index, anchor: device.disk.peek("anchor")))
  }

  /// Somebody did something to the household's people.
  mutating func arranged(_ device: SimDevice, in world: World) throws {
    try moved(device, in: world)
  }

  // MARK: After every step of a device

  private mutating func moved(_ device: SimDevice, in world: World) throws {
    guard let engine = device.running?.engine else { return }
    for head in engine.zones.flatMap(\.heads) where head.author.device == device.deviceID {
      ownTimes[device.index] = max(ownTimes[device.index] ?? head.time, head.time)
    }
    for zone in engine.zones where zone.database == .shared {
      if let before = try reached[device.index]?[zone.id].map({
        try unrefuted(unforked($0, engine, in: world), of: zone.id, engine, in: world)
      }),
        !zone.frontier.covers(before),
        !world.liars.contains(device.index)
      {
        let isLost = world.ledger.acknowledged.contains {
          $0.device == device.index && !$0.isExempt
            && (try? engine.zone($0.zone))?.frontier.covers($0.dot) != true
        }
        throw world.fail(
          isLost ? .durability : .monotonicReads, device,
          "its \(zone.name) zone knows less than before of "
            + before.entries.filter { zone.frontier[$0.author] < $0.sequence }.prefix(3).map {
              "\($0.author) (\(zone.frontier[$0.author]) of \($0.sequence))"
            }.joined(separator: ", "))
      }
      guard reached[device.index]?[zone.id] != zone.frontier else { continue }
      reached[device.index, default: [:]][zone.id] = zone.frontier
      // What two histories ended is cited on by those who had seen it (decision 0025). So is a
      // hostile log that ended here for a false claim, and one that has no place.
      let excused = try ended(in: zone, engine, world)
      for head in zone.heads where !zone.reached.covers(head.seen) {
        let lacking = head.seen.entries.first {
          zone.reached[$0.author] < $0.sequence && !excused.contains($0.author)
        }
        guard let lacking else { continue }
        throw world.fail(
          .causality, device,
          "holds \(head.author) #\(head.sequence) without \(lacking.author) #\(lacking.sequence), "
            + "which it had seen")
      }
      try followsMembers(zone, device, engine, in: world)
      if zone.kind == .control { noteKeys(zone, engine) }
      // A numbering that may be taken twice lasts until the device has looked into its own files.
      guard !world.unaware.contains(device.index) else { continue }
      let key = try key(zone, engine)
      if zone.kind == .control { try decides(key, device, engine, zone, in: world) }
      if key % 8 == 0 || world.isHealed { try compare(zone, key, device, engine, in: world) }
    }
  }

  /// The hostile logs of which a device waits for nothing more.
  private func ended(
    in zone: ZoneState, _ engine: Engine<ReplicaStore>, _ world: World
  ) throws -> Set<Author> {
    guard !world.hostile.isEmpty else { return [] }
    let hostile = Set(world.hostile.map(\.deviceID))
    let control = engine.zones.first { $0.group == zone.group && $0.kind == .control }
    let cited = Set(zone.heads.flatMap { $0.seen.entries.map(\.author) })
    let ended =
      try FalseClaims(engine: engine).claims(in: zone.id).map(\.author)
      + zone.heads.filter { $0.forkedAt != nil }.map(\.author)
      + cited.filter { control?.head(of: $0).sequence == 0 }
    return Set(ended.filter { hostile.contains($0.device) })
  }

  /// What somebody wanted was refused; keys that were due anyway may have been made all the same.
  mutating func refused(_ device: SimDevice) {
    guard let engine = device.running?.engine else { return }
    for zone in engine.zones where zone.kind == .control { noteKeys(zone, engine) }
  }

  private mutating func noteKeys(_ control: ZoneState, _ engine: Engine<ReplicaStore>) {
    let membership = engine.membership(of: control.group)
    for zone in engine.zones where zone.group == control.group {
      for record in membership.keys.epochs(of: zone.id) where keysMade[record.grant.epoch] == nil {
        keysMade[record.grant.epoch] = control.frontier
      }
    }
  }

  /// Nothing is held whose author had seen more of the household's members than is known here.
  private func followsMembers(
    _ zone: ZoneState, _ device: SimDevice, _ engine: Engine<ReplicaStore>, in world: World
  ) throws {
    guard zone.kind == .data,
      let control = engine.zones.first(where: { $0.group == zone.group && $0.kind == .control })
    else { return }
    for head in zone.heads
    where head.sequence > 0 && control.head(of: head.author).sequence == 0 {
      throw world.fail(
        .causality, device, "holds \(head.author), of which the members' log tells nothing")
    }
    for head in zone.heads where !control.reached.covers(head.controlSeen) {
      throw world.fail(
        .causality, device,
        "holds \(head.author) #\(head.sequence) without what it had seen of the members")
    }
  }

  /// What is known of a zone, and of the members that decide about it.
  private func key(_ zone: ZoneState, _ engine: Engine<ReplicaStore>) throws -> UInt64 {
    var writer = ByteWriter(capacity: 128)
    writer.identifier(zone.id)
    writer.frontier(zone.frontier)
    if zone.kind == .data,
      let control = engine.zones.first(where: { $0.group == zone.group && $0.kind == .control })
    {
      writer.frontier(control.frontier)
      for head in control.heads where isAmbiguous(head.author) { writer.blob(head.hash) }
    }
    // One number of theirs stands for several changes.
    for head in zone.heads where isAmbiguous(head.author) { writer.blob(head.hash) }
    // What is held back counts for nothing, and is told with the rest.
    for claim in try FalseClaims(engine: engine).claims(in: zone.id) {
      writer.author(claim.author)
      writer.varint(claim.sequence)
    }
    return Chance.hash(writer.bytes)
  }

  /// Whether an author may have written one number twice: what was put back without a sign had
  /// perhaps told nobody of the first.
  private func isAmbiguous(_ author: Author) -> Bool {
    forked.contains(author) || repeating.contains(author.device)
  }

  /// A device was put back and does not know: it writes numbers again that nobody may have seen.
  mutating func mayRepeat(_ device: SimDevice) { repeating.insert(device.deviceID) }

  /// Equal members' logs, equal decisions, whatever came first; and what must hold of each.
  private mutating func decides(
    _ key: UInt64, _ device: SimDevice, _ engine: Engine<ReplicaStore>, _ zone: ZoneState,
    in world: World
  ) throws {
    let membership = engine.membership(of: zone.group)
    guard membership.genesis != nil else { return }
    let words = PeopleRules.words(membership)
    guard let known = decisions[key] else {
      decisions[key] = (words, device)
      if device.home != nil, key % 8 == 0 { try PeopleRules(world, device).check() }
      return
    }
    guard known.words == words else {
      throw world.fail(
        .membership, device,
        "has another household than \(known.device.name) had with the same operations: "
          + "\(words); \(known.words)")
    }
  }

  /// Equal knowledge, equal state: wherever and whenever it is reached.
  private mutating func compare(
    _ zone: ZoneState, _ key: UInt64, _ device: SimDevice, _ engine: Engine<ReplicaStore>,
    in world: World
  ) throws {
    // It knows, and says, that it began from a snapshot that holds too much: what takes its place
    // is on the way.
    if try BaseAuthors(engine: engine).authorLessenedInBase(of: zone.id) != nil {
      SimProbe.onAnOutdatedBase.hit()
      onOutdatedBase.insert(device.index)
      return
    }
    try compareDigest(zone, key, device, engine, in: world)
  }

  /// At rest nothing is on the way any more.
  mutating func compareAtRest(_ device: SimDevice, in world: World) throws {
    guard onOutdatedBase.contains(device.index), let home = device.home else { return }
    let engine = try device.engine()
    let zone = try engine.zone(home)
    try compareDigest(zone, try key(zone, engine), device, engine, in: world)
  }

  private mutating func compareDigest(
    _ zone: ZoneState, _ key: UInt64, _ device: SimDevice, _ engine: Engine<ReplicaStore>,
    in world: World
  ) throws {
    let digest = try engine.store.read { try engine.digest(of: zone.id) }
    digestsCompared += 1
    guard let known = digests[key] else {
      digests[key] = (digest, device)
      return
    }
    SimProbe.equalFrontiers.hit()
    guard known.digest == digest else {
      let isMixed = device.isOldBuild != known.device.isOldBuild
      throw world.fail(
        isMixed ? .mixedVersions : .convergence, device,
        "shows another \(zone.name) than \(known.device.name) did with the same changes "
          + "(\(zone.frontier.entries.map { "\($0.author.device.hex.prefix(4)):\($0.sequence)" }))"
          + (try difference(from: known.device, device, zone)))
    }
  }

  /// In which records they differ, where the other is still there.
  private func difference(
    from other: SimDevice, _ device: SimDevice, _ zone: ZoneState
  ) throws -> String {
    guard other.running != nil, try other.engine().zone(zone.id).frontier == zone.frontier else {
      return ""
    }
    return ": " + (try Settling.difference(device, other, in: zone.id))
  }

  // MARK: What left the devices

  /// Reads what was published since: nothing secret in it, and one content for each number.
  mutating func readPublished(in world: World) throws {
    let news = unread
    unread = []
    for published in news {
      let (file, bytes) = (published.file, published.bytes)
      // What a changed program wrote, which honest ones hand on unread.
      if let digest = file.digest, world.forged.contains(digest) { continue }
      let device = world.devices[published.device]
      // It lost power in the step in which it published, or another one's step has begun while it
      // waits for the relay: what it published is looked at when it is back.
      if device.running == nil, !device.isLost {
        unread.append(published)
        continue
      }
      try Secrecy.check(bytes, in: world, by: device)
      try checkNonce(of: bytes, file, device, in: world)
      guard case .segment(let name) = file, let engine = device.running?.engine else { continue }
      if let fault = AnchorNote.fault(of: published.anchor, before: name, by: engine) {
        throw world.fail(.clones, device, fault)
      }
      guard let zone = engine.zones.first(where: { $0.tag == name.zoneTag }),
        // What does not open here opens nowhere, and everybody's agreement will miss it.
        let opened = try? LogReader(engine: engine).changes(inSegment: bytes, of: zone.id)
      else { continue }
      for logged in opened { try learn(logged, zone.id, device, in: world) }
      if let last = opened.last?.change.dot {
        world.ledger.published(last.author, through: last.sequence, zone: zone.id)
      }
    }
  }

  /// No nonce stands in two different files.
  private mutating func checkNonce(
    of bytes: [UInt8], _ file: FolderFile, _ device: SimDevice, in world: World
  ) throws {
    if case .blob(let name) = file, name.kind != .snapshot { return }
    guard bytes.count > EnvelopeFormat.headerBytes else { return }
    let nonce = bytes[(EnvelopeFormat.headerBytes - 24)..<EnvelopeFormat.headerBytes]
    let hash = Chance.hash(bytes)
    if let known = nonces[nonce], known != hash {
      throw world.fail(.confidentiality, device, "sealed two files under one nonce")
    }
    nonces[nonce] = hash
  }

  /// One number of one author names one content, wherever it is seen.
  mutating func learn(
    _ logged: LoggedChange, _ zone: ZoneID, _ device: SimDevice, in world: World
  ) throws {
    let place = ZoneDot(zone: zone, dot: logged.change.dot)
    if let known = hashes[place], known != logged.hash {
      // A restored backup that nothing tells of it, on a folder that nobody else has seen.
      if world.putBackUnnoticed.contains(device.index) {
        forked.insert(logged.change.dot.author)
        world.ledger.exempt(
          logged.change.dot.author, from: logged.change.dot.sequence, in: zone)
        SimProbe.writtenTwice.hit()
        return
      }
      throw world.fail(
        .clones, device, "published another change under the number \(logged.change.dot)")
    }
    hashes[place] = logged.hash
    if device.home == zone { changes[logged.change.dot] = logged.change }
  }

  // MARK: On order of a step

  /// Everything the device has is given to it once more: nothing changes.
  ///
  /// What waits is tried first, as every exchange does: a change that cites one of this device's
  /// before there was any is judged once this device has written it.
  mutating func redeliver(_ device: SimDevice, in world: World) throws {
    device.takeTurn()
    for zone in frontiers(of: device).keys.sorted() {
      _ = try again(device, in: world) { engine in
        try engine.receive([], in: zone, nowMilliseconds: device.clock.wall(at: world.now))
      }
    }
    for (zone, frontier) in frontiers(of: device).sorted(by: { $0.key < $1.key }) {
      let before = try device.engine().store.read { try device.engine().digest(of: zone) }
      let report = try again(device, in: world) { engine in
        let blobs = try engine.store.log.segments(of: zone).compactMap {
          try engine.store.log.bytes(of: $0.digest, in: zone)
        }
        return try engine.receive(
          blobs, in: zone, nowMilliseconds: device.clock.wall(at: world.now))
      }
      let engine = try device.engine()
      let after = try engine.store.read { try engine.digest(of: zone) }
      let reached = try engine.zone(zone).frontier
      guard report.applied == 0, before == after, reached == frontier else {
        let kind = try engine.zone(zone).kind
        throw world.fail(
          .idempotence, device,
          "delivering \(kind) again changed it: \(report.applied) applied, digest "
            + (before == after ? "as before" : "changed") + ", \(frontier) became \(reached)")
      }
    }
    SimProbe.redelivered.hit()
  }

  /// What fails while nothing is wrong with the world is wrong with the engine.
  private func again<Result>(
    _ device: SimDevice, in world: World,
    _ body: (inout Engine<ReplicaStore>) throws -> Result
  ) throws -> Result {
    do {
      return try device.withEngine(body)
    } catch {
      guard world.isHealed else { throw error }
      throw world.fail(.idempotence, device, "cannot take again what it has: \(error)")
    }
  }

  /// The records built anew from the log are those that are there.
  mutating func rebuild(
    _ device: SimDevice, after oracle: Oracle = .snapshots, in world: World
  ) throws {
    guard let home = device.home else { return }
    device.takeTurn()
    // Where joining was broken off there may be keys for what waits.
    _ = try device.withEngine {
      try $0.receive([], in: home, nowMilliseconds: device.clock.wall(at: world.now))
    }
    let before = try device.engine().store.read { try device.engine().digest(of: home) }
    do {
      try device.withEngine {
        try Rebuild.rebuild(home, in: &$0, nowMilliseconds: device.clock.wall(at: world.now))
      }
    } catch let error as SyncError {
      throw world.fail(oracle, device, "cannot be built anew from the log: \(error)")
    }
    let after = try device.engine().store.read { try device.engine().digest(of: home) }
    guard before == after else {
      throw world.fail(oracle, device, "building it anew from the log gives another state")
    }
    SimProbe.rebuilt.hit()
  }
}
