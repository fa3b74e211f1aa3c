import HearthCRDT
import HearthStore
import HearthSync
import SimDisk

/// Faults of disks, and of people who copy and restore them.
extension World {
  func performOnDisk(_ step: Step, _ device: SimDevice) throws -> Bool {
    let next = device.disk.operations + UInt64(step.value("in").flatMap { Int($0) } ?? 1)
    let count = UInt64(step.value("for").flatMap { Int($0) } ?? 1)
    switch step.verb {
    case "power":
      device.disk.arm(.powerCut(atOperation: next))
      cutsInRecovery[device.index] = step.value("then").flatMap { UInt64($0) }
    case "power-now": try losePower(device)
    case "disk-full":
      if step.words.first == "off" {
        device.disk.setQuota(bytes: nil)
      } else {
        device.disk.arm(.noSpace(atOperation: next, count: count))
      }
    case "disk-error": device.disk.arm(.writeError(atOperation: next, count: count))
    case "read-error":
      device.disk.arm(
        .readError(atRead: device.disk.reads + (next - device.disk.operations), count: count))
    case "short-read":
      device.disk.arm(
        .shortRead(atRead: device.disk.reads + (next - device.disk.operations), count: count))
    case "kill-in": device.disk.arm(.processKill(atOperation: next))
    case "sync-error":
      device.disk.arm(.syncError(atOperation: next, count: count))
      SimProbe.syncFailed.hit()
    case "sync-lie":
      device.disk.arm(.syncLie(atOperation: next, count: count))
      ledger.exempt(device: device.index)
      liars.insert(device.index)
      SimProbe.syncLied.hit()
    default: return try performOnLife(step, device)
    }
    return true
  }

  private func losePower(_ device: SimDevice) throws {
    device.disk.cutPower()
    device.drop()
    trace.note("off", at: now, device: device.index, 0, "loses power")
    SimProbe.powerLost.hit()
    try boot(device)
  }

  /// Copies and restores: `save NAME`, `rollback NAME [unnoticed]`, `clone NEW`.
  private func performOnLife(_ step: Step, _ device: SimDevice) throws -> Bool {
    let name = step.words.first ?? ""
    switch step.verb {
    case "save":
      guard device.running != nil else { return true }
      images[device.name + "/" + name] = device.disk.image(of: .current)
      imageTimes[device.name + "/" + name] = now
      imageIsOfMember[device.name + "/" + name] = (try? device.isMember()) ?? false
      anchors[device.name + "/" + name] = try device.disk.read("anchor")
    case "anchor":
      guard device.running != nil else { return true }
      let old = anchors[device.name + "/" + name]
      try attempt(step, on: device) { try device.close() }
      // A fault that is still to come may strike here; the anchor then stays as it is.
      if let old, (try? device.disk.write(old, to: "anchor")) != nil {
        SimProbe.anchorOld.hit()
      } else if (try? device.disk.remove("anchor")) != nil {
        SimProbe.anchorLost.hit()
      }
      try boot(device)
    case "rollback": try rollBack(device, to: name, as: step.words)
    case "clone": try clone(device, named: name)
    default: return false
    }
    return true
  }

  /// Restores a saved image, if there is one: all of it, or with `database` all but the anchor.
  private func rollBack(_ device: SimDevice, to name: String, as words: [String]) throws {
    guard let image = images[device.name + "/" + name] else { return }
    let zone = device.running == nil ? nil : device.home.flatMap { try? device.engine().zone($0) }
    device.drop()
    // A restored database beside an anchor that was not: the file outlives the copy of the rest.
    let anchor = words.contains("database") ? try? device.disk.read("anchor") : nil
    device.disk.restore(image)
    // Where the disk is full there is no anchor afterwards, as after a copy.
    if let anchor, (try? device.disk.write(anchor, to: "anchor")) != nil {
      SimProbe.databaseRolledBack.hit()
    }
    if words.contains("unnoticed") {
      unaware.insert(device.index)
      putBackUnnoticed.insert(device.index)
      checker.mayRepeat(device)
      SimProbe.rolledBackUnnoticed.hit()
    }
    if !words.contains("unnoticed") { device.copies += 1 }
    ledger.exempt(device: device.index)
    SimProbe.rolledBack.hit()
    checker.forget(device)
    if let zone, !device.usesRelay { takeBackWhatNobodyHas(of: device, in: zone) }
    try boot(device)
    try rejoin(device, since: imageTimes[device.name + "/" + name] ?? now)
  }

  /// Copies a device with its disk and its copy of the folder, unless that is too many.
  private func clone(_ device: SimDevice, named name: String) throws {
    guard devices.count < 16, self.device(named: name) == nil, device.home != nil,
      !device.isLost
    else {
      return
    }
    let copy = SimDevice(
      index: devices.count, copying: device, name: name,
      disk: device.disk.clone(seed: Chance.mix(plan.seed ^ UInt64(devices.count) << 40)))
    for file in device.folder.names {
      if let bytes = device.folder.files[file] { copy.folder.put(file, bytes) }
    }
    add(copy)
    SimProbe.cloned.hit()
    copy.openedInvitations = device.openedInvitations
    (copy.asked, copy.answered) = (device.asked, device.answered)
    try boot(copy)
  }

  /// A device that was put back to before it joined does so again, by the same invitation or the
  /// one that stands.
  private func rejoin(_ device: SimDevice, since imageTime: UInt64) throws {
    guard device.running != nil else { return }
    let last = joins[device.index].flatMap { $0.at >= imageTime ? $0.words : nil }
    if device.home != nil {
      guard last != nil, try !device.isMember() else { return }
    }
    SimProbe.rolledBackBeforeJoining.hit()
    try perform(Step(at: now - plan.startMilliseconds, device.name, "join", last ?? []))
  }
}
