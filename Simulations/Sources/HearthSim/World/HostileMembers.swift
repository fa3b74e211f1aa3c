import HearthCRDT
import HearthSync
import HostileMember
import Household

/// What a member with a changed program wrote about something while it claimed to have seen more
/// than it can have.
struct Lie {
  /// The change that says so.
  let dot: Dot
  /// What its author can have seen.
  let known: Frontier
  /// What it does.
  let operation: Operation
}

/// Members with valid keys who write what no honest program writes.
///
/// Their devices did honest work before, and are gone afterwards: what they left lies in folders.
extension World {
  /// `hostile DEED…`: the device does these deeds one after the other, in one log, and is gone.
  ///
  /// The sizes are those at which a run stays short: what is dear is counted, not timed.
  func turnHostile(_ step: Step, _ device: SimDevice) throws {
    guard let home = device.home else { throw StepFailure("\(device.name) is in no household") }
    device.takeTurn()
    var chance = Chance(plan.seed, domain: "hostile", UInt64(device.index), now)
    var member = try HostileMember(
      of: device.engine(), writing: home, seed: chance.next(),
      nowMilliseconds: device.clock.wall(at: now))
    if try !device.isMember() { SimProbe.hostileAfterRemoval.hit() }
    for deed in step.words {
      if deed == "plant" {
        try plant(&member, device)
      } else {
        for file in try files(of: deed, by: &member, &chance) { leave(file, device) }
      }
    }
    wakeCarriers(from: device.index)
    lose(device, "turns hostile: \(step.words.joined(separator: " "))")
  }

  /// The deeds that plans know, in order.
  static let hostileDeeds = [
    "set", "history", "gap", "future", "untag", "plant", "suite", "big",
  ]

  private func files(
    of deed: String, by member: inout HostileMember, _ chance: inout Chance
  ) throws -> [HostileFile] {
    switch deed {
    case "set":
      SimProbe.hostileSet.hit()
      return try member.setBomb(
        elements: 12_000, HostileMember.Measure(perChange: 6_000, perFile: 12_000))
    case "history":
      SimProbe.hostileHistory.hit()
      return try member.historyBomb(values: 800, perFile: 800)
    case "gap":
      SimProbe.hostileGap.hit()
      return try member.gapBomb(
        files: 8, HostileMember.Measure(perChange: 4_000, perFile: 8_000))
    case "suite":
      SimProbe.hostileSuite.hit()
      return try member.newerSuite(files: 6, bytesEach: 4_000)
    case "big":
      SimProbe.hostileBig.hit()
      return try member.bigRecord(member.ownRecord, fields: 6, bytesEach: 100_000)
    case "future", "untag": return try lie(deed, by: &member, &chance)
    default: throw StepFailure("there is no deed \(deed)")
    }
  }

  /// Claims to have seen what somebody has yet to write.
  private func lie(
    _ deed: String, by member: inout HostileMember, _ chance: inout Chance
  ) throws -> [HostileFile] {
    let own = member.head.author.device
    let victims = member.heads.filter { $0.author.device != own && $0.sequence > 0 }.map(\.author)
    guard !victims.isEmpty, let chore = commands.chores["c\(chance.below(3))"] else { return [] }
    (deed == "untag" ? SimProbe.hostileUntag : .hostileFuture).hit()
    let erasure: HostileMember.Erasure =
      deed == "untag" ? .exclude(tag: "t0") : .rename
    let dot = member.nextDot
    let found = try member.future(
      of: chance.pick(victims), ahead: UInt64(chance.within(1...6)), over: chore, erasure)
    let key = RecordKey(type: HouseholdSchema.chore, id: chore)
    let operation =
      switch erasure {
      case .exclude(let tag): Operation(key, .exclude(HonestWork.tags, .text(tag)))
      default: Operation(key, .assign(HonestWork.title, .null))
      }
    lies.append(Lie(dot: dot, known: member.known, operation: operation))
    return found
  }

  /// Lives of the device, too many for any replica, of which one copy of the folder has these first
  /// and another one those.
  private func plant(_ member: inout HostileMember, _ device: SimDevice) throws {
    SimProbe.hostilePlant.hit()
    let others = devices.filter { $0.index != device.index && $0.usesFolder && $0.home != nil }
    for part in 0..<2 {
      let place = part < others.count ? others[part] : device
      for file in try member.lives(140, part: part, addingChores: false) { leave(file, place) }
      wakeCarriers(from: place.index)
    }
  }

  /// Puts a file into a copy of the folder.
  private func leave(_ file: HostileFile, _ device: SimDevice) {
    let place = FolderFile.segment(file.name)
    forged.insert(file.name.digest)
    archive[place] = file.bytes
    device.folder.put(place, file.bytes)
    trace.note(
      "publish", at: now, device: device.index, place.key,
      "leaves \(Words.file(place)), \(file.bytes.count) bytes")
  }
}
