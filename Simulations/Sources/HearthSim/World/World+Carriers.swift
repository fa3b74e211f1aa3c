import HearthCRDT
import HearthSync

/// Files on their way between the devices' copies of the shared folder.
extension World {
  /// Tells the carriers of a device that its copy has changed.
  func wakeCarriers(from index: Int) {
    for place in carriers.indices where carriers[place].from == index {
      schedule(place, after: nil)
    }
  }

  private func schedule(_ place: Int, after delay: Int?) {
    let carriage = carriers[place]
    guard carriage.isUp, !carriage.isScheduled,
      carriage.cursor < devices[carriage.from].folder.log.count
    else { return }
    carriers[place].isScheduled = true
    var chance = Chance(
      plan.seed, domain: "carrier", UInt64(carriage.from), UInt64(carriage.to), carriage.carried)
    let range = carrierRules.delayMilliseconds
    let low = max(0, range.first ?? 50)
    let usual = carrierRules.isShared ? 0 : chance.within(low...max(low, range.last ?? low))
    events.push(.carry(place), at: now + UInt64(delay ?? usual))
  }

  /// Opens or closes the way between two devices.
  func setCarrier(from: Int, to: Int, isUp: Bool) {
    for place in carriers.indices where carriers[place].from == from && carriers[place].to == to {
      carriers[place].isUp = isUp
      if isUp { schedule(place, after: nil) }
    }
  }

  /// One attempt to carry what is new.
  func carry(_ place: Int) {
    carriers[place].isScheduled = false
    let (from, to) = (carriers[place].from, carriers[place].to)
    guard carriers[place].isUp, !devices[from].isDestroyed, !devices[to].isDestroyed else { return }
    while carriers[place].cursor < devices[from].folder.log.count {
      let entry = devices[from].folder.log[carriers[place].cursor]
      carriers[place].carried += 1
      var chance = Chance(
        plan.seed, domain: "file", UInt64(from), UInt64(to), entry.file.key,
        carriers[place].carried)
      if !isHealed, chance.happens(perMille: carrierRules.lossPerMille) {
        SimProbe.fileLost.hit()
        trace.note("lost", at: now, device: to, from: from, sent: entry.time, entry.file.key)
        schedule(place, after: carrierRules.retryMilliseconds)
        return
      }
      carriers[place].cursor += 1
      deliver(entry, from: from, to: to, &chance)
    }
  }

  /// Carries everything at once, without faults.
  func carryAll(_ place: Int) {
    let (from, to) = (carriers[place].from, carriers[place].to)
    guard !devices[from].isDestroyed, !devices[to].isDestroyed else { return }
    var chance = Chance(0)
    while carriers[place].cursor < devices[from].folder.log.count {
      let entry = devices[from].folder.log[carriers[place].cursor]
      carriers[place].cursor += 1
      deliver(entry, from: from, to: to, &chance)
    }
  }

  private func deliver(
    _ entry: SimFolder.Entry, from: Int, to: Int, _ chance: inout Chance
  ) {
    let folder = devices[to].folder
    guard entry.version > folder.versions[entry.file] ?? 0 else { return }
    if entry.isRemoval {
      if !isHealed, chance.happens(perMille: carrierRules.resurrectPerMille) {
        SimProbe.removalIgnored.hit()
        return
      }
      guard folder.files[entry.file] != nil else {
        folder.take(entry.file, version: entry.version)
        return wakeCarriers(from: to)
      }
      folder.take(entry.file, version: entry.version)
      trace.note(
        "removal", at: now, device: to, from: from, sent: entry.time, entry.file.key,
        "loses \(Words.file(entry.file))")
    } else {
      // A name that carries no digest may stand for other bytes since.
      let isReplaceable = entry.file.digest == nil
      guard folder.files[entry.file] == nil || isReplaceable else {
        // It was put right at the other end: who takes it away later takes that away.
        return folder.note(entry.version, of: entry.file)
      }
      // A removal that was carried before its file: the file is not brought back.
      guard let present = devices[from].folder.files[entry.file],
        let bytes = isReplaceable ? present : archive[entry.file]
      else { return }
      var arriving = bytes
      if !isHealed, chance.happens(perMille: carrierRules.cutPerMille) {
        arriving = Array(bytes.prefix(chance.below(bytes.count)))
        SimProbe.fileArrivedInPart.hit()
      } else if !isHealed, chance.happens(perMille: carrierRules.flipPerMille) {
        arriving[chance.below(bytes.count)] ^= UInt8(1 << chance.below(8))
        SimProbe.fileArrivedDamaged.hit()
      }
      if !isHealed, case .segment(let name) = entry.file { ambush(name, devices[to]) }
      folder.put(entry.file, arriving, version: entry.version)
      if arriving != bytes {
        events.push(
          .repair(device: to, file: entry.file), at: now + UInt64(chance.within(1_000...600_000)))
      }
      trace.note(
        "carry", at: now, device: to, from: from, sent: entry.time, entry.file.key,
        "gets \(Words.file(entry.file)) from \(devices[from].name)")
    }
    wakeCarriers(from: to)
  }
}
