import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import Household
import SimDisk

/// The second half of a run: a core heals, converges and falls silent; then everybody does.
struct Settling {
  private let world: World
  /// How many rounds the folder may take: its diameter and two more.
  private static let rounds = 3
  /// How far ahead a clock may be before somebody who follows a link is told that it has expired:
  /// the shortest life of an invitation.
  private static let clockTolerance: UInt64 = 3_600_000

  /// Where people did something to each other, keys follow what all have learnt: made, joined,
  /// handed on, in one round each.
  private var rounds: Int {
    world.plan.steps.contains { World.peopleVerbs.contains($0.verb) }
      ? 2 * Settling.rounds : Settling.rounds
  }

  init(_ world: World) {
    self.world = world
  }

  func run() throws {
    world.isHealed = true
    try world.healRelay()
    var everybody = world.devices.filter { $0.home != nil }
    guard !everybody.isEmpty else { return }
    var chance = Chance(world.plan.seed, domain: "core")
    var core = everybody.filter { _ in chance.happens(perMille: 500) }
    if core.isEmpty { core = [everybody[chance.below(everybody.count)]] }
    if core.count < everybody.count {
      SimProbe.coreHealed.hit()
      for place in world.carriers.indices { world.carriers[place].isUp = false }
      world.connect(core)
      core = try heal(core)
      _ = try converge(core, mayBeShutOut: true)
    }
    for device in world.devices where device.home == nil { _ = try heal([device]) }
    world.connect(everybody)
    everybody = try heal(everybody)
    guard try converge(everybody) else { return }
    // Who goes on as the owner of a household of its own keeps taking away from the folder what it
    // has merged under keys of its own, and the others keep putting it back.
    let first = try members(of: everybody).first?.membership()
    try silence(
      everybody.filter { device in
        try !(first.map { try device.disputesOffer(with: $0) } ?? false)
      })
    let members = try members(of: everybody)
    // First what building anew, which others do, would mend.
    for device in members { try WholeState(world).ledgersAreFresh(on: device) }
    let isClosedToAll = try onlyOutsidersRead(members, everybody)
    try peopleAgree(members, everybody, isClosedToAll: isClosedToAll)
    if let first = members.first { try NewcomerKeys(world, against: first).check() }
    // What builds on what nobody in it can open waits too.
    guard !isClosedToAll else { return }
    try AtRest(world).check(members)
    try WholeState(world).check(members)
    try RelayAtRest(world).check(members, everybody)
    try WordsLead(world).check(members)
    try Reach(world).check(members)
  }

  /// Who believes to belong to the household.
  private func members(of devices: [SimDevice]) throws -> [SimDevice] {
    try world.members(of: devices)
  }

  /// Who believes to belong does, in everybody's eyes; who does not can read nothing new.
  private func peopleAgree(
    _ members: [SimDevice], _ everybody: [SimDevice], isClosedToAll: Bool
  ) throws {
    guard let first = members.first else { return }
    let membership = try first.membership()
    for device in everybody
    where try !isClosedToAll && membership.isActive(device.deviceID) != device.isMember()
      && (device.isKnown(to: first, in: world) || !device.waitsForMembersKeys())
      && !device.isShutOut
    {
      throw world.fail(.membership, device, "does not know whether it belongs to the household")
    }
    try PeopleRules(world, first).check()
    let outsiders = everybody.filter { device in !members.contains { $0 === device } }
    try Adversary(world, against: first).check(outsiders)
  }

  /// Whether all who can open some of the members' log are out.
  ///
  /// Nobody who is in can be given the key then, until somebody recovers by words, and those who
  /// are out know more.
  private func onlyOutsidersRead(
    _ members: [SimDevice], _ everybody: [SimDevice]
  ) throws -> Bool {
    guard let first = members.first else { return false }
    var closed = try first.closedOperations()
    for member in members {
      let own = try member.closedOperations()
      closed = closed.filter { own[$0.key] != nil }
    }
    let outsiders = everybody.filter { device in !members.contains { $0 === device } }
    let inside = Set(members.map(\.deviceID))
    let isSo = try outsiders.contains { outsider in
      let opened = try outsider.openedOperations()
      let tags = Set(closed.filter { opened.contains($0.key) }.values)
      guard !tags.isEmpty else { return false }
      let control = try outsider.engine().controlZone(of: outsider.group()).id
      return try outsider.membership().keys.epochs(of: control)
        .filter { tags.contains(try EpochKey.tag(ofID: $0.grant.epoch).array) }
        // A member for whom the key was sealed has to have it.
        .allSatisfy { $0.grant.wraps.allSatisfy { !inside.contains($0.recipient) } }
    }
    if isSo { SimProbe.closedToAll.hit() }
    return isSo
  }

  /// - Returns: those of the devices that run afterwards: all but those that are lost.
  private func heal(_ devices: [SimDevice]) throws -> [SimDevice] {
    let indices = devices.map(\.index)
    for device in devices {
      device.isStopped = false
      device.disk.disarm()
      device.disk.setQuota(bytes: nil)
      device.folder.isPresent = true
      device.folder.isFull = false
      device.folder.setStale(false)
      device.folder.unfreeze()
      device.frozenAtRelay = [:]
      device.folder.mendLost()
      if device.running == nil { try world.boot(device) }
      guard device.running != nil || device.isLost else {
        throw world.fail(.liveness, device, "does not start on a healed disk")
      }
      // What a member has it puts right itself.
      let own = try device.running != nil && device.isMember() ? world.held(by: device) : []
      for file in device.folder.names {
        if let good = world.archive[file], device.folder.files[file] != good,
          file.digest.map({ !own.contains($0) }) ?? true
        {
          device.folder.damage(file, good)
        }
      }
    }
    for place in world.carriers.indices
    where indices.contains(world.carriers[place].from) && indices.contains(world.carriers[place].to)
    {
      world.carriers[place].isUp = true
    }
    return devices.filter { !$0.isLost }
  }

  /// A copy of a device that was removed and has joined again since has none of the new keys, nor
  /// has one that was put back to before: its person follows the same link on it.
  ///
  /// - Returns: whether somebody did.
  private func rejoin(_ devices: [SimDevice]) throws -> Bool {
    var isNew = false
    let members = try members(of: devices)
    for device in devices where device.home != nil && device.running != nil {
      // A relay gives one that is out nothing that it could wait for.
      guard try !device.isMember(), try device.way == .relay || device.waitsForMembersKeys(),
        try members.contains(where: { try $0.membership().isActive(device.deviceID) }),
        let twin = world.devices.last(where: {
          $0.deviceID == device.deviceID && world.joins[$0.index] != nil
        }), let words = world.joins[twin.index]?.words
      else { continue }
      SimProbe.copyJoined.hit()
      // By a clock that is years ahead every invitation has expired: its person sets it first.
      if device.clock.wall(at: world.now) > world.now + Settling.clockTolerance {
        device.clock.set(to: world.now, at: world.now)
      }
      try world.perform(
        Step(at: world.now - world.plan.startMilliseconds, device.name, "join", words))
      isNew = true
    }
    return isNew
  }

  /// Every device syncs once, then every file is carried.
  ///
  /// - Returns: who took or gave anything.
  @discardableResult
  private func round(_ devices: [SimDevice]) throws -> [SimDevice] {
    var moved: [SimDevice] = []
    for device in devices {
      let before = exchanged
      do {
        try world.sync(device)
      } catch let violation as Violation {
        throw violation
      } catch {
        throw world.fail(.liveness, device, "cannot sync in a healed world: \(error)")
      }
      if exchanged != before { moved.append(device) }
    }
    let indices = devices.map(\.index)
    // What those who are gone left in their copies goes to the others, too.
    let left = world.devices.filter { $0.isLost && $0.leavesFolder }.map(\.index)
    var before = -1
    // Files go on from copy to copy until no copy changes any more.
    while before != total(indices) {
      before = total(indices)
      for place in world.carriers.indices
      where world.carriers[place].isUp
        && (indices + left).contains(world.carriers[place].from)
        && indices.contains(world.carriers[place].to)
      {
        world.carryAll(place)
      }
    }
    try world.runEvents(until: world.now + 1_000)
    return moved
  }

  /// How much was ever taken and given, in folders and at the relay.
  private var exchanged: Int {
    world.ledger.received + world.ledger.published + world.relayStores
      + world.devices.reduce(0) { $0 + $1.folder.publishedFiles }
  }

  private func total(_ indices: [Int]) -> Int {
    indices.reduce(0) { $0 + world.devices[$1].folder.log.count }
  }

  /// - Returns: false where they cannot agree, as nobody is there who may sum up what newcomers
  ///   cannot open.
  private func converge(_ devices: [SimDevice], mayBeShutOut: Bool = false) throws -> Bool {
    if devices.isEmpty { return true }
    for _ in 0..<rounds {
      let moved = try round(devices)
      if try rejoin(devices) { continue }
      // What one who is out has said in this round, as that another is out too, nobody has heard.
      let insiders = try members(of: devices)
      if moved.contains(where: { one in !insiders.contains { $0 === one } }) { continue }
      if areEqual(insiders), try knowThemselves(devices) {
        return try !waitsForAdmin(insiders)
      }
    }
    // Who does not know by now whether it belongs is looked at when people are.
    if areEqual(try members(of: devices)) { return true }
    if try waitsForAdmin(try members(of: devices)) { return false }
    if mayBeShutOut, try areShutOut(devices) { return false }
    let states = try members(of: devices).map { try Settling.state(of: $0) }
    throw world.fail(
      .liveness, nil,
      "no agreement after \(rounds) rounds: \(states.joined(separator: "; "))")
  }

  /// Whether the relay that lost everything was filled again by somebody who is away, under keys
  /// that nobody has who is here, nor anybody who could leave them in a handoff.
  private func areShutOut(_ devices: [SimDevice]) throws -> Bool {
    let hasLost = world.plan.steps.contains {
      $0.device == "relay" && ["wipe", "rollback"].contains($0.verb)
    }
    let onRelay = try members(of: devices).filter(\.usesRelay)
    guard hasLost, !onRelay.isEmpty, onRelay.allSatisfy(\.isShutOut) else { return false }
    SimProbe.coreShutOut.hit()
    return true
  }

  /// Whether somebody waits for a snapshot, and nobody is there whose word they would believe.
  private func waitsForAdmin(_ members: [SimDevice]) throws -> Bool {
    let waiting = try members.filter { member in
      try member.home.map { try ClosedSegments(engine: member.engine()).awaitsSnapshot($0) }
        ?? false
    }
    // All others agree.
    let others = members.filter { member in !waiting.contains { $0 === member } }
    guard areEqual(others) else { return false }
    // Who waits itself can sum up nothing for others.
    let isLed = try members.contains { member in
      let membership = try member.membership()
      guard membership.role(of: member.deviceID)?.rank ?? 0 >= Role.admin.rank,
        !waiting.contains(where: { $0 === member }),
        let person = membership.person(of: member.deviceID)?.id
      else { return false }
      // Who waits believes those who let them in, and nobody else alone.
      return try waiting.contains { other in
        guard let home = other.home else { return false }
        let group = try other.engine().zone(home).group
        return try SnapshotTrust(engine: other.engine()).awaitedVoices(in: group).contains {
          $0.id == person
        }
      }
    }
    guard !waiting.isEmpty, !isLed else { return false }
    SimProbe.waitsForAdmin.hit()
    return true
  }

  /// How far a device is, zone by zone, and what waits there for what.
  static func state(of device: SimDevice) throws -> String {
    let engine = try device.engine()
    let zones = try engine.zones.filter { $0.database == .shared }.map { zone in
      let authors = Dictionary(
        zone.heads.map { (zone.authorTag(of: $0.author.device), $0.author.device) },
        uniquingKeysWith: { first, _ in first })
      let waiting = try engine.store.pending.segments(in: zone.id).map { pending in
        guard let frame = try? EnvelopeFrame(pending.bytes) else { return "rubbish" }
        let author = Identifier(bytes: frame.authorTag.array).flatMap { authors[$0] }
        return "\(author.map { "\($0.hex.prefix(4))" } ?? "somebody") \(frame.incarnation) "
          + "\(frame.firstSeq)…\(frame.lastSeq) for \(pending.reason.rawValue)"
      }
      return "\(zone.name) "
        + zone.heads.map { head in
          "\(head.author.device.hex.prefix(4)):\(head.sequence)"
            + (head.forkedAt.map { "!\($0)" } ?? "")
        }.joined(separator: " ")
        + " knows \(engine.membership(of: zone.group).devices.map { String($0.id.hex.prefix(4)) })"
        + (waiting.isEmpty ? "" : " waiting: \(waiting.sorted().joined(separator: ", "))")
    }
    return "\(device.name) \(zones.joined(separator: ", "))"
  }

  /// The records in which two devices differ, the first few, for people.
  static func difference(_ one: SimDevice, _ other: SimDevice, in home: ZoneID) throws -> String {
    var found: [RecordKey: StoredRecord] = [:]
    try one.engine().store.records.forEach(in: home) { found[$0] = $1 }
    var words: [String] = []
    try other.engine().store.records.forEach(in: home) { key, record in
      let mine = found.removeValue(forKey: key)
      if mine != record, words.count < 2 {
        words.append("\(key): \(mine.map { "\($0)" } ?? "nothing") here, \(record) there")
      }
    }
    let extra = found.keys.sorted().prefix(2).map {
      "\($0): only here: \("\(String(describing: found[$0]))".prefix(1_000))"
    }
    return "they differ in \((words + extra).joined(separator: "; "))"
  }

  private func areEqual(_ devices: [SimDevice]) -> Bool {
    guard let first = devices.first else { return true }
    let doubted = doubted(on: devices)
    func frontiers(of device: SimDevice) -> [ZoneID: [Frontier.Entry]] {
      world.checker.frontiers(of: device).mapValues { frontier in
        frontier.entries.filter { !doubted.contains($0.author) }
      }
    }
    let wanted = frontiers(of: first)
    return devices.allSatisfy { frontiers(of: $0) == wanted }
  }

  /// The hostile logs that somebody who began from a snapshot cannot judge: there it may believe
  /// what the others refute.
  private func doubted(on devices: [SimDevice]) -> Set<Author> {
    let hostile = Set(world.hostile.map(\.deviceID))
    var doubted: Set<Author> = []
    for device in devices {
      guard let home = device.home, let engine = try? device.engine(),
        let uncertain = try? StoredClaims.uncertainChanges(in: home, with: engine.store)
      else { continue }
      doubted.formUnion(uncertain.keys.filter { hostile.contains($0.device) })
    }
    return doubted
  }

  /// Whether nobody is about to come in: whom the others have as a member believes it too.
  private func knowThemselves(_ devices: [SimDevice]) throws -> Bool {
    guard let membership = try members(of: devices).first?.membership() else { return true }
    return try devices.allSatisfy { try $0.isMember() || !membership.isActive($0.deviceID) }
  }

  /// Who agrees has nothing more to say.
  ///
  /// Who does not belong any more is not among those who agree: it may be behind still, and take
  /// what it can read, for as many rounds as they had.
  private func silence(_ devices: [SimDevice]) throws {
    // The first round may give a snapshot, and the second attests what it says (decision 0065).
    try round(devices)
    try round(devices)
    for _ in 0..<rounds {
      let moved = try round(devices)
      if moved.isEmpty { return }
      let members = try members(of: devices)
      if moved.contains(where: { one in members.contains { $0 === one } }) { break }
    }
    throw world.fail(.liveness, nil, "equal devices go on exchanging")
  }
}
