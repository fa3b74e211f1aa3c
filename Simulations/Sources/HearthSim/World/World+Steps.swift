import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync
import Household
import SimDisk

extension World {
  /// Carries out one step of the plan.
  func perform(_ step: Step) throws {
    if step.device == "world" { return try performOnWorld(step) }
    if step.device == "relay" { return try performOnRelay(step) }
    // A copy of a device that could not be copied then never takes part.
    guard let device = device(named: step.device) else { return SimProbe.stepWhileOff.hit() }
    trace.note(
      "step", at: now, device: device.index, Chance.hash(step.verb.utf8), step.line)
    if Commands.verbs.contains(step.verb) {
      try attempt(step, on: device) { try self.write(step, on: device) }
    } else if step.verb == "forge" {
      try attempt(step, on: device) { try self.forge(step, on: device) }
    } else if step.verb == "hostile" {
      try attempt(step, on: device) { try self.turnHostile(step, device) }
    } else if try !performOnPeople(step, device), try !performOnDevice(step, device),
      try !performOnDisk(step, device)
    {
      throw StepFailure("there is no verb \(step.verb)")
    }
  }

  /// Runs what a person or program does, and sorts out why it failed if it did.
  func attempt(_ step: Step, on device: SimDevice, _ body: () throws -> Void) throws {
    guard device.running != nil else { return SimProbe.stepWhileOff.hit() }
    do {
      try body()
      trace.note("done", at: now, device: device.index, device.disk.operations)
    } catch let violation as Violation {
      throw violation
    } catch {
      trace.note(
        "refused", at: now, device: device.index, Chance.hash("\(type(of: error))".utf8), "\(error)"
      )
      ledger.count(error)
      refused["\(device.name)/\(Words.code(of: error))", default: 0] += 1
      try recover(device, from: error, in: step)
      checker.refused(device)
    }
  }

  /// How far a device's own log is, by what it holds in memory.
  private func reached(by device: SimDevice) -> Dot? {
    guard let engine = device.running?.engine, let home = device.home,
      let zone = try? engine.zone(home)
    else { return nil }
    return Dot(author: engine.author, sequence: zone.head(of: engine.author).sequence)
  }

  /// After a failure: a dead disk is rebooted later; a disk that failed once is not trusted, so the
  /// program starts again; everything else goes on.
  private func recover(
    _ device: SimDevice, from error: any Error, in step: Step
  ) throws {
    if device.disk.isDown {
      SimProbe.powerLostInStep.hit()
      if Commands.verbs.contains(step.verb) {
        ledger.attempted(on: device.index, after: reached(by: device))
      }
      device.drop()
      trace.note("off", at: now, device: device.index, 0, "loses power")
      var chance = Chance(plan.seed, domain: "boot", UInt64(device.index), now)
      events.push(.boot(device: device.index), at: now + UInt64(chance.within(5_000...600_000)))
    } else if let store = error as? StoreError, store.code == .io || store.code == .failed {
      device.drop()
      try boot(device)
    }
  }

  /// Starts a device, rebooting its disk if that lost power.
  func boot(_ device: SimDevice) throws {
    guard device.running == nil, !device.isStopped, !device.isLost else { return }
    if device.disk.isDown {
      // What was told since the disk began to lie may be gone now, its anchor too: then it goes on
      // under old numbers until it meets its own files.
      if liars.contains(device.index) {
        ledger.exempt(device: device.index)
        unaware.insert(device.index)
        checker.mayRepeat(device)
      }
      device.disk.reboot()
      if let place = cutsInRecovery.removeValue(forKey: device.index) {
        device.disk.arm(.powerCut(atOperation: device.disk.operations + place))
      }
    }
    let before = device.disk.operations
    do {
      try device.start(at: now)
      device.forgetUnknownHome()
      startOperations = max(startOperations, device.disk.operations - before)
    } catch
      where device.disk.isDown || error is DiskError || (error as? StoreError)?.code == .io
    {
      SimProbe.startFailed.hit()
      device.drop()
      ledger.starts[device.index, default: 0] += 1
      guard ledger.starts[device.index, default: 0] < 50 else {
        throw fail(.integrity, device, "does not start any more: \(error)")
      }
      events.push(.boot(device: device.index), at: now + 60_000)
      return
    } catch let error as StoreError where error.code == .corrupt && liars.contains(device.index) {
      SimProbe.lostToLies.hit()
      return lose(device, "\(error)")
    } catch let error as StoreError where error.code == .full || error.code == .readOnly {
      // No file can be made on a full disk; on a healed one it must start.
      device.drop()
      events.push(.boot(device: device.index), at: now + 600_000)
      return
    } catch {
      throw fail(.integrity, device, "cannot start: \(error)")
    }
    ledger.starts[device.index] = 0
    if ledger.hasBecomeDurable(on: device.index, now: reached(by: device)) {
      SimProbe.attemptBecameDurable.hit()
    }
    trace.note("boot", at: now, device: device.index, device.disk.operations, "starts")
    try checker.started(device, in: self)
    try compareWithLog(device)
  }

  /// A device is lost for good: its disk said it had written what it had not, and the database is
  /// damaged; or it was destroyed.
  func lose(_ device: SimDevice, _ words: String) {
    trace.note("off", at: now, device: device.index, 3, "is lost: \(words)")
    device.drop()
    device.isLost = true
    ledger.exempt(device: device.index)
  }

  /// After some starts: the records are exactly what the log says.
  private func compareWithLog(_ device: SimDevice) throws {
    var chance = Chance(plan.seed, domain: "compare", UInt64(device.index), now)
    guard device.home != nil, !isHealed, !liars.contains(device.index),
      chance.happens(perMille: 300)
    else { return }
    do {
      try checker.rebuild(device, after: .integrity, in: self)
      SimProbe.comparedAfterStart.hit()
    } catch let violation as Violation {
      throw violation
    } catch {
      // A fault that was still to come.
      guard device.disk.isDown || error is StoreError else { throw error }
      try recover(device, from: error, in: Step(at: 0, device.name, "rebuild"))
    }
  }

  private func write(_ step: Step, on device: SimDevice) throws {
    let before = try device.engine().zone(device.home ?? .zero).frontier
    let written =
      step.verb == "tally"
      ? try device.writeTally(step, at: now) : try commands.perform(step, on: device, at: now)
    switch step.verb {
    case "undo": SimProbe.undone.hit()
    case "restore": SimProbe.archivedAndRestored.hit()
    case "tally" where device.isOldBuild: SimProbe.oldBuildWrote.hit()
    default: break
    }
    ledger.acknowledged(written, by: device.index, step: step.line)
    trace.note(
      "write", at: now, device: device.index, written.version.dot.sequence,
      "writes \(step.verb) \(step.words.joined(separator: " "))")
    try checker.wrote(written, on: device, before: before, in: self)
  }

  // MARK: Devices

  private func performOnDevice(_ step: Step, _ device: SimDevice) throws -> Bool {
    switch step.verb {
    case "sync": try attempt(step, on: device) { try self.sync(device) }
    case "restart":
      try attempt(step, on: device) { try device.close() }
      SimProbe.restarted.hit()
      try boot(device)
    case "kill":
      device.disk.killProcess()
      SimProbe.killed.hit()
      device.drop()
      trace.note("off", at: now, device: device.index, 1, "is killed")
      try boot(device)
    case "stop":
      device.isStopped = true
      try attempt(step, on: device) { try device.close() }
      device.drop()
      trace.note("off", at: now, device: device.index, 2, "is switched off")
    case "destroy": destroy(device)
    case "start":
      device.isStopped = false
      try boot(device)
    case "snapshot":
      try attempt(step, on: device) {
        try device.publishSnapshot()
        try self.checker.readPublished(in: self)
      }
    case "meanwhile": try planMeanwhile(step, device)
    case "clock": try setClock(step, device)
    case "redeliver": try attempt(step, on: device) { try self.checker.redeliver(device, in: self) }
    case "rebuild": try attempt(step, on: device) { try self.checker.rebuild(device, in: self) }
    case "unplug":
      device.folder.isPresent = false
      SimProbe.folderMissing.hit()
    case "plug": device.folder.isPresent = true
    case "folder-full":
      device.folder.isFull = step.words.first != "off"
      if device.folder.isFull { SimProbe.folderFull.hit() }
    case "folder-stale":
      device.folder.setStale(step.words.first != "off")
      SimProbe.listingStale.hit()
    case "resurrect": resurrect(device)
    case "wipe": step.words.first == "told" ? deleteAll(device) : wipe(device)
    case "damage": damage(step, device)
    default: return try performOnProgram(step, device)
    }
    return true
  }

  /// The digests of the segments that a device has stored.
  func held(by device: SimDevice) throws -> Set<Identifier> {
    let engine = try device.engine()
    return Set(
      try engine.zones.flatMap { try engine.store.log.segments(of: $0.id).map(\.digest) })
  }

  /// One round over the folder.
  func sync(_ device: SimDevice) throws {
    let before = checker.frontiers(of: device)
    let author = try device.engine().author
    // In a healed world people let every file be read again.
    let cost = Cost(before: device, in: self)
    let report = try device.sync(at: now, checking: isHealed ? .all : .some)
    try cost.check(after: device, in: self)
    ledger.synced(report)
    if unaware.contains(device.index), try device.engine().author != author {
      try checker.rewritten(device, from: author, in: self)
    }
    if report.failure == nil { unaware.remove(device.index) }
    trace.note(
      "sync", at: now, device: device.index,
      UInt64(report.received) << 32 | UInt64(report.published),
      "syncs: \(report.received) changes in, \(report.published) segments out"
        + (report.failure.map { ", \($0)" } ?? "")
        + report.problems.prefix(3).map { "; \($0.place): \($0.fault)" }.joined())
    try checker.synced(device, report, before: before, in: self)
    try throwFound()
  }

  private func setClock(_ step: Step, _ device: SimDevice) throws {
    if let by = step.value("by").flatMap({ Int64($0) }) {
      device.clock.step(by: by, at: now)
      (by < 0 ? SimProbe.clockBack : .clockAhead).hit()
    } else if let wall = step.value("to").flatMap({ UInt64($0) }) {
      device.clock.set(to: wall, at: now)
      if wall < 1_000_000_000_000 { SimProbe.clock1970.hit() }
      if wall > 4_000_000_000_000 { SimProbe.clock2099.hit() }
    } else if let drift = step.value("ppm").flatMap({ Int64($0) }) {
      device.clock.run(partsPerMillion: drift, at: now)
      SimProbe.clockDrifts.hit()
    } else {
      throw StepFailure("clock by=MILLISECONDS, to=MILLISECONDS or ppm=N")
    }
    ledger.note(clockOf: device.index)
  }

  /// Somebody empties the device's copy of the folder; carriers bring the others' files again.
  private func wipe(_ device: SimDevice) {
    device.folder.wipe()
    SimProbe.folderEmptied.hit()
    for place in carriers.indices where carriers[place].to == device.index {
      carriers[place].cursor = 0
    }
    for other in devices where other.index != device.index { wakeCarriers(from: other.index) }
  }

  /// Somebody deletes every file in the device's copy, and the carriers tell the others.
  ///
  /// What only a device had that is lost is gone then, unless somebody has taken it.
  private func deleteAll(_ device: SimDevice) {
    for gone in devices where gone.isLost && !gone.isDestroyed {
      // Any replica of the zone tells how its files are called.
      guard let home = gone.home,
        let zone = devices.lazy.compactMap({ try? $0.engine().zone(home) }).first
      else { continue }
      takeBackWhatNobodyHas(of: gone, in: zone, deleting: Set(device.folder.names))
    }
    for file in device.folder.names { device.folder.take(file) }
    SimProbe.folderDeletedEverywhere.hit()
    wakeCarriers(from: device.index)
  }

  /// Files that were removed come back.
  private func resurrect(_ device: SimDevice) {
    for file in device.folder.removed where device.folder.files[file] == nil {
      guard let bytes = archive[file] else { continue }
      SimProbe.fileResurrected.hit()
      device.folder.put(file, bytes)
    }
    wakeCarriers(from: device.index)
  }

  /// Damages a file of the device's copy in place: `damage flip|cut|zero|swap|lose [WHICH]
  /// [stays=yes|no]`.
  ///
  /// Some of it is gone after a while, as where a carrier brings the file once more; the rest stays
  /// until a device puts it right.
  private func damage(_ step: Step, _ device: SimDevice) {
    let names = files(step.words.dropFirst().first, of: device)
    guard !names.isEmpty else { return }
    var chance = Chance(plan.seed, domain: "damage", UInt64(device.index), now)
    let file = names[chance.below(names.count)]
    guard var bytes = device.folder.files[file], !bytes.isEmpty else { return }
    SimProbe.fileDamaged.hit()
    if step.words.first == "lose" {
      device.folder.lose(file)
    } else {
      switch step.words.first {
      case "cut": bytes = Array(bytes.prefix(chance.below(bytes.count)))
      case "zero": bytes = [UInt8](repeating: 0, count: bytes.count)
      case "swap": bytes = device.folder.files[names[chance.below(names.count)]] ?? bytes
      default: bytes[chance.below(bytes.count)] ^= UInt8(1 << chance.below(8))
      }
      device.folder.damage(file, bytes)
      if step.value("stays").map({ $0 == "yes" }) ?? chance.happens(perMille: 500) { return }
    }
    events.push(
      .repair(device: device.index, file: file), at: now + UInt64(chance.within(60_000...7_200_000))
    )
  }

  /// Which files may be meant: the chunks of snapshots, the newest file of the household's members,
  /// or any.
  private func files(_ which: String?, of device: SimDevice) -> [FolderFile] {
    switch which {
    case "snapshot":
      return device.folder.names.filter {
        if case .blob(let name) = $0 { name.kind == .snapshot } else { false }
      }
    case "control":
      let tag = device.running?.engine.zones.first { $0.kind == .control }?.tag
      let newest = device.folder.log.last { entry in
        guard case .segment(let name) = entry.file else { return false }
        return name.zoneTag == tag && device.folder.files[entry.file] != nil
      }
      return newest.map { [$0.file] } ?? []
    default: return device.folder.names
    }
  }

  // MARK: The world

  private func performOnWorld(_ step: Step) throws {
    trace.note("world", at: now, Chance.hash(step.verb.utf8), step.line)
    switch step.verb {
    case "cut", "heal":
      let words = step.words.filter { !cutRelay($0, isUp: step.verb == "heal") }
      if words.isEmpty, !step.words.isEmpty { return }
      for (from, to) in try pairs(words) {
        setCarrier(from: from, to: to, isUp: step.verb == "heal")
      }
      if step.verb == "cut" { SimProbe.partition.hit() }
    case "expect": try expect(step)
    case "recover": try recover(step)
    default: throw StepFailure("the world does not know \(step.verb)")
    }
  }

  /// `A>B` one way, `A-B` both ways, `A` everything from and to A, nothing: everybody.
  private func pairs(_ words: [String]) throws -> [(Int, Int)] {
    var found: [(Int, Int)] = []
    if words.isEmpty { return carriers.map { ($0.from, $0.to) } }
    for word in words {
      let sign: Character = word.contains(">") ? ">" : "-"
      let names = word.split(separator: sign).map(String.init)
      let indices = names.compactMap { device(named: $0)?.index }
      guard indices.count == names.count else { continue }
      if indices.count == 2 {
        found.append((indices[0], indices[1]))
        if sign == "-" { found.append((indices[1], indices[0])) }
      } else if let only = indices.first {
        found += carriers.filter { $0.from == only || $0.to == only }.map { ($0.from, $0.to) }
      }
    }
    return found
  }
}
