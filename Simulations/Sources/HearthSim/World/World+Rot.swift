import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync
import SimDisk

/// What a decaying disk does to a database.
extension World {
  /// `rot FILE tries=N bits=N` tries it on copies of a device's disk, which itself stays whole;
  /// `rot FILE bits=N at=N` damages the disk itself, beginning with that byte.
  ///
  /// FILE is `main` for the database or `log` for the write-ahead log that a program leaves which
  /// does not end in good order.
  func rot(_ step: Step, _ device: SimDevice) throws {
    guard let which = step.words.first, let file = RottenFile(rawValue: which) else {
      throw StepFailure("rot main|log tries=NUMBER bits=NUMBER, or rot main|log at=BYTE")
    }
    let bits = max(1, min(64, step.value("bits").flatMap { Int($0) } ?? 1))
    if let first = step.value("at").flatMap({ UInt64($0) }) {
      for bit in 0..<UInt64(bits) { try device.disk.flipBit((first + bit) * 8, of: file.name) }
      // What it holds is not what it told any more.
      liars.insert(device.index)
      return ledger.exempt(device: device.index)
    }
    guard device.running != nil, device.home != nil else { return }
    let tries = max(1, min(2_000, step.value("tries").flatMap { Int($0) } ?? 100))
    let whole = try Soundness(of: device)
    let before = try faults(of: device)
    guard before.isEmpty else {
      throw fail(.integrity, device, "what is whole is said to be damaged: \(before)")
    }
    if file == .main { try attempt(step, on: device) { try device.close() } }
    for number in 0..<tries {
      try tryRot(of: file, bits: bits, number: UInt64(number), on: device, whole)
    }
    if device.running == nil { try boot(device) }
  }

  private func tryRot(
    of file: RottenFile, bits: Int, number: UInt64, on device: SimDevice, _ whole: Soundness
  ) throws {
    let seed = Chance.mix(plan.seed ^ now ^ number << 32)
    let copy = SimDevice(
      index: device.index, copying: device, name: device.name, disk: device.disk.clone(seed: seed))
    copy.copies = device.copies
    defer { copy.drop() }
    var chance = Chance(seed, domain: "rot", UInt64(device.index))
    guard let size = copy.disk.size(of: file.name), size > 0 else {
      throw StepFailure("\(device.name) has no \(file.rawValue)")
    }
    let places = (0..<bits).map { _ in UInt64(chance.below(Int(size) * 8)) }
    for place in places { try copy.disk.flipBit(place, of: file.name) }
    let words = "bits \(places) of \(file.rawValue)"
    do {
      try copy.start(at: now)
    } catch {
      // Whatever was not to be read, it is said.
      return SimProbe.rotRefused.hit()
    }
    let faults = try faults(of: copy)
    guard faults.isEmpty else { return try mend(copy, faults, whole, words) }
    let found = try Soundness(of: copy)
    if found == whole { return SimProbe.rotHarmless.hit() }
    if found.isBegunAnew(since: whole) { return SimProbe.rotBegunAnew.hit() }
    // A log that ends early is like one of a moment before: what others may have is still there.
    guard file == .log, found.isEarlier(than: whole) else {
      throw fail(.integrity, device, "decay is not told: \(words); holds \(found) of \(whole)")
    }
    SimProbe.rotForgot.hit()
  }

  /// What `hearth verify` finds.
  private func faults(of device: SimDevice) throws -> [String] {
    let engine = try device.engine()
    var faults: [String] = []
    do {
      faults += try engine.store.integrity().filter { $0 != "ok" }
      for zone in engine.zones {
        let log = try engine.store.read { try ZoneAudit(engine: engine).audit(zone.id) }.findings
          .map(\.text)
        faults += log
        if log.isEmpty {
          let records = try ZoneAudit(engine: engine).auditRecords(
            of: zone.id, nowMilliseconds: device.clock.wall(at: now))
          faults += [records].compactMap(\.self)
        }
        faults += try engine.store.staleProjections(of: zone.id)
      }
    } catch {
      faults.append("\(error)")
    }
    return faults
  }

  /// What building anew can mend is as it was.
  private func mend(
    _ device: SimDevice, _ faults: [String], _ whole: Soundness, _ words: String
  ) throws {
    SimProbe.rotTold.hit()
    do {
      try device.engine().store.rebuildIndexes()
      let zones = try device.engine().zones.sorted { $0.kind.rawValue > $1.kind.rawValue }
      // The records before the members' log, which looks things up in them, and after it.
      for zone in zones + zones.filter({ $0.kind == .data }) {
        try device.withEngine {
          try Rebuild.rebuild(zone.id, in: &$0, nowMilliseconds: device.clock.wall(at: self.now))
        }
        try device.engine().store.rebuildProjections(of: zone.id)
      }
      guard try self.faults(of: device).isEmpty else { return }
    } catch is StoreError {
      return
    } catch is SyncError {
      return
    }
    let found = try Soundness(of: device)
    guard found == whole || found.isBegunAnew(since: whole) else {
      throw fail(.integrity, device, "what is mended is not what was: \(words), \(faults)")
    }
    SimProbe.rotMended.hit()
  }
}

/// A file of a device's database.
private enum RottenFile: String {
  case main
  case log

  var name: String { self == .main ? "hearth.sqlite" : "hearth.sqlite-wal" }
}

/// What a device holds, and as whom it writes.
private struct Soundness: Equatable, CustomStringConvertible {
  struct Zone: Equatable {
    var id: ZoneID
    var digest: [UInt8]
    var frontier: Frontier
    /// How far the device's own log is sealed, and may be with others.
    var sealed: UInt64
  }
  var zones: [Zone]
  var author: Author

  init(of device: SimDevice) throws {
    let engine = try device.engine()
    zones = try engine.store.read {
      try engine.zones.map {
        Zone(
          id: $0.id, digest: try engine.digest(of: $0.id), frontier: $0.frontier,
          sealed: try engine.store.log.segments(of: $0.id).filter { $0.author == engine.author }
            .map(\.last).max() ?? 0)
      }
    }
    author = engine.author
  }

  var description: String {
    let held = zones.map { zone in
      let heads = zone.frontier.entries.map { "\($0.author.device.hex.prefix(4)):\($0.sequence)" }
      return "\(zone.id.hex.prefix(4)) \(heads.joined(separator: ",")) sealed \(zone.sealed)"
    }
    return "[\(held.joined(separator: "; "))]"
  }

  /// Whether it found that it was put back: it holds less and writes under another number.
  func isBegunAnew(since whole: Soundness) -> Bool {
    author != whole.author && isPart(of: whole)
  }

  /// Whether it lacks nothing but what only it had, and what others give it again.
  func isEarlier(than whole: Soundness) -> Bool {
    author == whole.author && isPart(of: whole)
      && whole.zones.allSatisfy { zone in
        zones.contains { $0.id == zone.id && $0.frontier[author] >= zone.sealed }
      }
  }

  private func isPart(of whole: Soundness) -> Bool {
    zones.allSatisfy { zone in
      guard let before = whole.zones.first(where: { $0.id == zone.id }) else { return false }
      return zone.frontier.entries.allSatisfy {
        // What begins anew says so in a log of its own.
        $0.sequence <= before.frontier[$0.author] || $0.author == author && author != whole.author
      }
    }
  }
}
