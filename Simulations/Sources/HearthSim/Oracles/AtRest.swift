import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import Household

/// What must hold when everybody has healed and agrees.
struct AtRest {
  private let world: World

  init(_ world: World) {
    self.world = world
  }

  func check(_ devices: [SimDevice]) throws {
    try promisesAreKept(by: devices)
    guard let first = devices.first(where: { !$0.isOldBuild }) else { return }
    try ledgersAddUp(on: first)
    try AgainstModel(world, first).check()
    try HonestWork(world, first).check()
    for device in devices where !device.isOldBuild { try Culprits(world, device).check() }
    for device in devices { try logsAreWhole(on: device) }
    try storageIsBounded(devices)
    for device in devices { try waitingIsBounded(on: device) }
    for device in devices { try filesAreWhole(on: device) }
    var checker = world.checker
    for device in devices { try checker.compareAtRest(device, in: world) }
    for device in world.sample(of: devices, for: "again") {
      try checker.redeliver(device, in: world)
      try checker.rebuild(device, in: world)
    }
  }

  /// Every write whose command returned success is on every device.
  private func promisesAreKept(by devices: [SimDevice]) throws {
    let inside = Set(devices.map(\.index))
    guard let first = devices.first else { return }
    let roles = ChangeRoles(
      world.checker.changes, in: first.home ?? .zero, by: try PeopleLog(of: first, in: world))
    for promise in world.ledger.acknowledged where !promise.isExempt {
      // Who was removed gives nothing away any more.
      if !inside.contains(promise.device),
        !promise.isPublished || !roles.isWhole || roles.role(promise.dot) == nil
      {
        continue
      }
      for device in devices {
        guard try device.engine().zone(promise.zone).frontier.covers(promise.dot) else {
          throw world.fail(
            .durability, device,
            "\(world.devices[promise.device].name)'s acknowledged \"\(promise.step)\" "
              + "(\(promise.dot)) is missing")
        }
      }
    }
  }

  /// At most one award an occurrence; the total is the sum of the ledger.
  private func ledgersAddUp(on device: SimDevice) throws {
    try device.read(at: world.now) { state in
      let entries = try state.ledger.entries(of: nil)
      for person in try state.people.all() {
        let sum = entries.filter { $0.person == person.id }.reduce(0) { $0 + $1.points }
        let total = try state.totals.points(of: person.id).total
        guard sum == total else {
          throw world.fail(
            .points, device, "\(person.name) has \(total) points but a ledger of \(sum)")
        }
      }
    }
  }

  /// Each author's hash chain closes, and nothing waits.
  private func logsAreWhole(on device: SimDevice) throws {
    let engine = try device.engine()
    for zone in engine.zones where zone.database == .shared {
      let audit = try ZoneAudit(engine: engine).audit(zone.id)
      if let finding = audit.findings.first {
        throw world.fail(.clones, device, "\(finding.author): \(finding.text)")
      }
      let active = Set(
        engine.membership(of: zone.group).devices.map { zone.authorTag(of: $0.id) })
      let disputers = try disputers(beside: engine.membership(of: zone.group), in: zone)
      // What a removed device sealed under a key of its own making opens for nobody.
      let waiting = try engine.store.pending.segments(in: zone.id).filter { pending in
        // Evidence of two histories is kept.
        if pending.reason == .quarantine, !world.checker.forked.isEmpty { return false }
        // What a wrong snapshot misled somebody to cite is kept, and written again.
        if pending.reason == .falseClaim, world.isMisquoted { return false }
        // What a changed program signed as if it were a newer one waits for that one, and what it
        // left out for ever.
        if world.forged.contains(pending.digest) { return false }
        let author = (try? EnvelopeFrame(pending.bytes)).flatMap {
          Identifier(bytes: $0.authorTag.array)
        }
        if let author, disputers.contains(author) { return false }
        guard pending.reason == .epoch, let author else { return true }
        return active.contains(author)
      }
      guard waiting.isEmpty else {
        throw world.fail(
          .liveness, device,
          "\(waiting.count) segments wait for \(waiting[0].reason.rawValue): "
            + (try Settling.state(of: device)))
      }
    }
  }

  /// The tags of those who go on with a household of which they are out by others' log, and of whom
  /// they let in: nobody else can take what these write.
  private func disputers(
    beside membership: Membership, in zone: ZoneState
  ) throws -> Set<Identifier> {
    let disputers = try world.devices.filter {
      try $0.running != nil && $0.home != nil && $0.disputesOffer(with: membership)
    }
    guard !disputers.isEmpty else { return [] }
    let known = Set(membership.allDevices.map(\.id))
    let guests = world.devices.filter { $0.home != nil && !known.contains($0.deviceID) }
    return Set((disputers + guests).map { zone.authorTag(of: $0.deviceID) })
  }

  /// The folder holds what is needed, not every file that ever was.
  private func storageIsBounded(_ devices: [SimDevice]) throws {
    let held = try heldOfOutsiders(devices)
    let statements = try statements(of: devices)
    for device in devices {
      let folder = device.folder
      let changes = try device.engine().zones.filter { $0.database == .shared }
        .reduce(0) { $0 + $1.heads.reduce(0) { $0 + Int($1.sequence) } }
      let authors = try device.engine().zones.reduce(0) { $0 + $1.heads.count }
      // Who has no newer key reads of the next one in a file under the one before: it stays.
      let engine = try device.engine()
      let keys = engine.zones.filter { $0.database == .shared && $0.kind == .control }
        .reduce(0) { $0 + engine.membership(of: $1.group).keys.epochs(of: $1.id).count }
      // What a stranger or a changed program put there nobody else may take away.
      let files = folder.names.count { world.isHonest($0) && !isUnknown($0, held) }
      let bound =
        8 + authors * 2 * Compaction.compactionThreshold + changes / 64 + keys
        + statements
      guard files <= bound else {
        throw world.fail(
          .boundedStorage, device, "\(files) files in the folder for \(changes) changes")
      }
    }
  }

  /// The most statements about what zones hold, which stay under an earlier key.
  ///
  /// A device whose clock was moved may make one more each time.
  private func statements(of devices: [SimDevice]) throws -> Int {
    let moves = world.plan.steps.count { $0.verb == "clock" }
    var most: [ZoneID: Int] = [:]
    for device in devices {
      let engine = try device.engine()
      for zone in engine.zones where zone.kind == .data && most[zone.id] == nil {
        let membership = engine.membership(of: zone.group)
        // Nobody else would compare it.
        guard membership.allDevices.count > 1 else { continue }
        let pace = StatementPace(
          arrivals: membership.people.map(\.since.milliseconds),
          from: world.plan.startMilliseconds, to: world.now)
        most[zone.id] = membership.allDevices.count * pace.most + moves
      }
    }
    return most.values.reduce(0, +)
  }

  /// No more waits than may, of nobody and in all.
  private func waitingIsBounded(on device: SimDevice) throws {
    for zone in try device.engine().zones where zone.database == .shared {
      let entries = try device.engine().store.pending.entries(in: zone.id)
      // Each kind has space of its own.
      let unverified = max(
        entries.count { $0.reason == .author }, entries.count { $0.reason == .format })
      let most = Dictionary(grouping: entries, by: \.authorTag).values.map(\.count).max() ?? 0
      guard unverified <= WaitingRoom.maximumUnverifiedSegments,
        most <= max(WaitingRoom.maximumDeviceSegments, WaitingRoom.maximumUnverifiedSegments)
      else {
        throw world.fail(
          .boundedStorage, device,
          "\(entries.count) segments wait in \(zone.name), \(unverified) of them unverified")
      }
    }
  }

  /// What is held of the logs of those who are out, by the tags of their devices.
  ///
  /// Where all began from a snapshot nobody holds the beginning of such a log: what of it comes
  /// back to a folder nobody can judge, since names alone prove nothing (decision 0019).
  private func heldOfOutsiders(_ devices: [SimDevice]) throws -> [Identifier: [StoredSegment]] {
    guard let first = devices.first else { return [:] }
    let membership = try first.membership()
    var held: [Identifier: [StoredSegment]] = [:]
    for zone in try first.engine().zones where zone.kind == .data && zone.database == .shared {
      for id in membership.allDevices.map(\.id) where !membership.isActive(id) {
        held[zone.authorTag(of: id)] = []
      }
      for device in devices {
        for segment in try device.engine().store.log.segments(of: zone.id) {
          held[zone.authorTag(of: segment.author.device)]?.append(segment)
        }
      }
    }
    return held
  }

  private func isUnknown(_ file: FolderFile, _ held: [Identifier: [StoredSegment]]) -> Bool {
    guard case .segment(let name) = file, let segments = held[name.authorTag],
      !segments.contains(where: {
        $0.author.incarnation == name.incarnation && $0.first <= name.last && name.first <= $0.last
      })
    else { return false }
    SimProbe.fileOfNobody.hit()
    return true
  }

  /// What a device has it put right in its copy of the folder, if that was damaged.
  private func filesAreWhole(on device: SimDevice) throws {
    guard device.usesFolder else { return }
    let own = try world.held(by: device)
    for file in device.folder.names {
      guard let good = world.archive[file], device.folder.files[file] != good,
        file.digest.map({ own.contains($0) }) ?? false
      else { continue }
      throw world.fail(
        .liveness, device, "has a file whose copy in its folder is damaged: \(file.key)")
    }
  }
}
