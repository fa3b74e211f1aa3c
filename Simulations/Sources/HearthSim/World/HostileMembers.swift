import HearthCRDT
import HearthMembership
import HearthSync
import HearthTransport
import HostileMember
import Household
import InlineExecution

/// What a member with a changed program wrote about something while it claimed to have seen more
/// than it can have.
struct Lie {
  /// The change that says so.
  let dot: Dot
  /// What its author can have seen, or owns to have seen.
  let known: Frontier
  /// What it does.
  let operation: Operation
  /// The change that it cites and that nobody can have had; nil where it cites what there is.
  var cited: Dot?
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
    hostile.append(device)
    var left: [HostileFile] = []
    for deed in step.words {
      if World.plantingDeeds.contains(deed) {
        left += try plant(deed, of: step.words, &member, device)
      } else {
        let found = try files(of: deed, by: &member, device, &chance)
        for file in found { leave(file, device) }
        left += found
      }
    }
    for change in member.written { hostileChanges[change.dot] = change }
    try leaveAtRelay(left, device)
    wakeCarriers(from: device.index)
    lose(device, "turns hostile: \(step.words.joined(separator: " "))")
  }

  /// The deeds that plans know, in order.
  static let hostileDeeds = [
    "set", "history", "gap", "future", "untag", "plant", "suite", "big", "unseen", "half", "done",
    "marks", "light", "unannounced", "edits",
  ]
  /// Those that write under other lives of the device.
  static let plantingDeeds: Set<String> = ["plant", "unannounced"]

  private func files(
    of deed: String, by member: inout HostileMember, _ device: SimDevice,
    _ chance: inout Chance
  ) throws -> [HostileFile] {
    switch deed {
    case "set":
      SimProbe.hostileSet.hit()
      return try member.setBomb(
        elements: 12_000, HostileMember.Measure(perChange: 1_000, perFile: 6_000))
    case "history":
      SimProbe.hostileHistory.hit()
      return try member.historyBomb(values: 800, perFile: 800)
    case "edits":
      SimProbe.hostileText.hit()
      return try member.textBomb(
        edits: 6_000, HostileMember.Measure(perChange: 1_000, perFile: 3_000))
    case "gap":
      SimProbe.hostileGap.hit()
      return try member.gapBomb(
        files: 8, HostileMember.Measure(perChange: 4_000, perFile: 8_000))
    case "suite":
      SimProbe.hostileSuite.hit()
      return try member.newerSuite(files: 6, bytesEach: 4_000)
    case "light":
      SimProbe.hostileLight.hit()
      return try member.weightless(operations: 8_000)
    case "crowd":
      return try member.newerSuite(files: 600, bytesEach: 100)
    case "texts":
      return try member.longTextsBehindGap(files: 64, bytesEach: 500_000)
    case "big":
      SimProbe.hostileBig.hit()
      return try member.bigRecord(member.ownRecord, fields: 6, bytesEach: 100_000)
    case "future", "untag": return try lie(deed, by: &member, &chance)
    default: return try householdFiles(of: deed, by: &member, device, &chance)
    }
  }

  /// Deeds against the household's rules.
  private func householdFiles(
    of deed: String, by member: inout HostileMember, _ device: SimDevice,
    _ chance: inout Chance
  ) throws -> [HostileFile] {
    if deed == "marks" {
      SimProbe.hostileMarks.hit()
      return try member.marks()
    }
    guard let chore = commands.chores["c\(chance.below(3))"] else { return [] }
    let today = try CivilDate(dayNumber: Int(now) / Generator.dayMilliseconds)
    switch deed {
    case "unseen":
      let dot = member.nextDot
      guard let (files, owned) = try member.unseen(over: chore) else { return [] }
      SimProbe.hostileUnseen.hit()
      let key = RecordKey(type: HouseholdSchema.chore, id: chore)
      lies.append(
        Lie(dot: dot, known: owned, operation: Operation(key, .assign(HonestWork.title, .null))))
      return files
    case "half":
      SimProbe.hostileHalf.hit()
      return try member.halfTransaction(
        on: chore, key: OccurrenceKey.once.rawValue, day: today)
    case "done":
      SimProbe.hostileDone.hit()
      ledger.note(clockOf: device.index)
      let others = member.membership.people.map(\.id)
      return try member.futureDone(
        of: chore, from: today.adding(days: chance.below(3)) ?? today, number: 30,
        by: chance.happens(perMille: 500) ? nil : chance.pick(others))
    case "links": return try member.links(of: chore, on: today, number: 60)
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
    let victim = chance.pick(victims)
    let ahead = UInt64(chance.within(1...6))
    let found = try member.future(of: victim, ahead: ahead, over: chore, erasure)
    let key = RecordKey(type: HouseholdSchema.chore, id: chore)
    let operation =
      switch erasure {
      case .exclude(let tag): Operation(key, .exclude(HonestWork.tags, .text(tag)))
      default: Operation(key, .assign(HonestWork.title, .null))
      }
    let cited = Dot(author: victim, sequence: member.known[victim] + ahead)
    lies.append(Lie(dot: dot, known: member.known, operation: operation, cited: cited))
    return found
  }

  /// Lives of the device, of which one copy of the folder has these first and another one those.
  ///
  /// Lives that the control log tells of (`plant`) take places. All that a step plants stays within
  /// a person's room: what is beyond waits until another person's operation has seen it, and nobody
  /// in a simulation writes one without a reason. Of the others (`unannounced`) there are too many
  /// for any replica, and none may count.
  private func plant(
    _ deed: String, of deeds: [String], _ member: inout HostileMember, _ device: SimDevice
  ) throws -> [HostileFile] {
    let isTold = deed == "plant"
    (isTold ? SimProbe.hostilePlant : .hostileUnannounced).hit()
    let number = isTold ? 120 / deeds.count { $0 == deed } : 140
    let others = devices.filter { $0.index != device.index && $0.usesFolder && $0.home != nil }
    var left: [HostileFile] = []
    for part in 0..<2 {
      let place = part < others.count ? others[part] : device
      let found = try member.lives(number, part: part, announcing: isTold, addingChores: false)
      for file in found { leave(file, place) }
      left += found
      wakeCarriers(from: place.index)
    }
    return left
  }

  /// Gives files to the relay too, with the member's own keys; if it is off or full they lie in
  /// folders only.
  private func leaveAtRelay(_ files: [HostileFile], _ device: SimDevice) throws {
    guard device.usesRelay, let net, !files.isEmpty else { return }
    let way = try device.relayWay()
    net.elapse()
    way.link.begin()
    let anchor = device.anchor
    do {
      try device.withEngine { engine in
        let groups = Set(engine.zones.filter { $0.database == .shared }.map(\.group)).sorted()
        try engine.withTurns { turns in
          try await RelayReadmission(to: RelayMailboxes(at: way.relay, with: turns)).admit(
            to: groups, anchorFile: anchor, nowMilliseconds: now)
        }
        try runInline { try await way.relay.publish(files.map { ($0.name, $0.bytes) }) }
      }
      SimProbe.hostileAtRelay.hit()
    } catch let error as TransportError {
      trace.note(
        "refused", at: now, device: device.index, UInt64(files.count), "the relay: \(error)")
    }
  }

  /// Every change of the household's zone that honest programs gave away or changed ones left.
  var allChanges: [Dot: Change] {
    checker.changes.merging(hostileChanges) { _, hostile in hostile }
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
