import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// A removed device with everything that anybody ever stored, and its old keys (O9).
///
/// It may read what it could read before, and nothing that was written by somebody who had seen
/// that it was removed.
struct Adversary {
  private let world: World
  private let member: SimDevice
  private let log: PeopleLog

  init(_ world: World, against member: SimDevice) throws {
    self.world = world
    self.member = member
    log = try PeopleLog(of: member, in: world)
  }

  func check(_ outsiders: [SimDevice]) throws {
    guard let home = member.home, !outsiders.isEmpty else { return }
    let roles = ChangeRoles(world.checker.changes, in: home, by: log)
    for thief in outsiders where thief.running != nil && thief.home == home {
      let endings = endings(of: thief)
      guard !endings.isEmpty, !isGivenKeys(thief) else { continue }
      let returns = returns(of: thief, after: endings)
      try giveEverything(to: thief)
      try keysStayAway(from: thief, endings, returns)
      try segmentsStayShut(to: thief, endings, returns, roles, home)
      SimProbe.adversaryTried.hit()
    }
  }

  /// Whether somebody sent a removed device a link since: it was given the keys with it, whether it
  /// was let in or not.
  func isGivenKeys(_ thief: SimDevice) -> Bool {
    let endings = endings(of: thief)
    return thief.openedInvitations.contains { hasSeen($0, endings) }
  }

  /// What ended a device for good.
  private func endings(of thief: SimDevice) -> [Int] {
    let enrolment = log.entries.indices.last { log.entries[$0].isLive && lets($0, in: thief) }
    guard let enrolment else { return [] }
    return log.endings(of: thief.deviceID, thief.person, after: enrolment)
  }

  /// What let a device in again that was removed, without effect in the end.
  ///
  /// Whoever had seen it, and not yet what made it void, gave the device keys in good faith.
  private func returns(of thief: SimDevice, after endings: [Int]) -> [Int] {
    log.entries.indices.filter { place in
      !log.entries[place].isLive && lets(place, in: thief)
        && endings.contains { !log.sees($0, place) }
    }
  }

  private func lets(_ place: Int, in device: SimDevice) -> Bool {
    let card: DeviceCard? =
      switch log.entries[place].operation {
      case .genesis(let genesis): genesis.device
      case .join(let join): join.device
      case .admit(let admit): admit.join.device
      case .recover(let recover): recover.device
      default: nil
      }
    return card.flatMap { ControlIdentity.deviceID(of: $0) } == device.deviceID
  }

  private func giveEverything(to thief: SimDevice) throws {
    let files = world.archive.keys.sorted()
    for zone in try thief.engine().zones where zone.database == .shared {
      let bytes = files.compactMap { file -> [UInt8]? in
        guard case .segment(let name) = file, name.zoneTag == zone.tag else { return nil }
        return world.archive[file]
      }
      // What it cannot use does not interest it.
      _ = try? thief.withEngine {
        try $0.receive(bytes, in: zone.id, nowMilliseconds: thief.clock.wall(at: world.now))
      }
    }
  }

  private func hasSeen(_ frontier: Frontier, _ endings: [Int]) -> Bool {
    endings.contains { frontier.covers(log.entries[$0].dot) }
  }

  /// Whether somebody handed the thief a key in whose eyes it was in.
  ///
  /// Its removal may have been void then, as its author was out, and count since: the next key
  /// leaves the thief out, and those of before were handed over in good faith.
  private func wasHanded(_ epoch: [UInt8], to thief: SimDevice) throws -> Bool {
    try log.entries.contains { entry in
      let wraps: [ControlOperation.Wrap]
      switch entry.operation {
      case .epoch(let grant) where grant.epoch == epoch: wraps = grant.wraps
      case .wrapAdd(_, epoch, let more): wraps = more
      default: return false
      }
      return try wraps.contains { $0.recipient == thief.deviceID }
        && member.membership(seenBy: entry.stated).isActive(thief.deviceID)
    }
  }

  private func isUnderHandedKey(_ segment: [UInt8], _ thief: SimDevice) throws -> Bool {
    let tag = try Envelope.parseHeader(segment, minimumSuite: 1).epochTag
    return try log.entries.contains { entry in
      guard case .epoch(let grant) = entry.operation,
        try EpochKey.tag(ofID: grant.epoch) == tag
      else { return false }
      return try wasHanded(grant.epoch, to: thief)
    }
  }

  /// No key that was made by who knew of the removal.
  private func keysStayAway(
    from thief: SimDevice, _ endings: [Int], _ returns: [Int]
  ) throws {
    for place in log.entries.indices {
      guard case .epoch(let grant) = log.entries[place].operation,
        let known = world.checker.keysMade[grant.epoch],
        endings.contains(where: { log.sees(place, $0) && hasSeen(known, [$0]) }),
        !returns.contains(where: { log.sees(place, $0) }),
        let zone = try? thief.engine().zone(grant.zone)
      else { continue }
      guard try !zone.holdsEpoch(grant.epoch) || wasHanded(grant.epoch, to: thief) else {
        throw world.fail(
          .keys, thief,
          "has a key of \(zone.name) made after it was removed (\(log.entries[place].dot))")
      }
    }
  }

  /// Nothing that was written by who knew of the removal.
  private func segmentsStayShut(
    to thief: SimDevice, _ endings: [Int], _ returns: [Int], _ roles: ChangeRoles, _ home: ZoneID
  ) throws {
    let tag = try member.engine().zone(home).tag
    for file in world.archive.keys.sorted() {
      guard case .segment(let name) = file, name.zoneTag == tag, let bytes = world.archive[file],
        let opened = try? LogReader(engine: member.engine()).changes(inSegment: bytes, of: home),
        let last = opened.last?.change.dot, last.author.device != thief.deviceID,
        let heads = roles.heads[last], hasSeen(heads, endings), !hasSeen(heads, returns)
      else { continue }
      if let read = try? LogReader(engine: thief.engine()).changes(inSegment: bytes, of: home),
        !read.isEmpty,
        try !isUnderHandedKey(bytes, thief)
      {
        throw world.fail(
          .keys, thief, "reads what \(last.author) wrote knowing that it was removed (\(last))")
      }
    }
  }
}
