import Household

/// Short stories that chance alone hardly ever tells: what leads to a rare situation, in order.
extension Generator {
  /// Draws some of them, those of faults only where their family is on.
  mutating func situations(through end: Int) {
    passingRecords(through: end)
    clocksSetBackBetweenWrites(through: end)
    writesBehindWhatCame(through: end)
    oldAnchors(through: end)
    troubledJoins()
    workBeforeMembers(through: end)
    if chance.happens(perMille: mode == .quick ? 70 : 250) { closing(through: end) }
  }

  /// Who runs the current program.
  var writers: [Plan.Device] { plan.devices.filter { $0.build == "current" } }

  /// Records that are deleted by who wrote them and are never touched again.
  private mutating func passingRecords(through end: Int) {
    for number in 0..<chance.below(3) {
      let writer = chance.pick(writers).name
      let at = 600_000 + chance.below(end / 2)
      step(at, writer, "tally", ["p\(number)", "label", "\(number)"])
      step(at + 1_000, writer, "tally", ["p\(number)", "mark", "m0"])
      step(at + chance.within(2_000...end / 4), writer, "tally", ["p\(number)", "delete"])
    }
  }

  /// Somebody sets the clock right between two commands: by less than clocks may be ahead, which
  /// the next write's time does not follow, or by more, which it does.
  private mutating func clocksSetBackBetweenWrites(through end: Int) {
    guard weight(.clocks) > 0 else { return }
    for _ in 0..<chance.within(1...3) {
      let writer = chance.pick(writers).name
      let at = 600_000 + chance.below(end - 900_000)
      let by = chance.happens(perMille: 500) ? chance.within(5_000...250_000) : 1_500_000
      step(at, writer, "clock", ["by=\(by)"])
      step(at + 1_000, writer, "complete", ["c0", "early"])
      step(at + 1_500, writer, "tally", ["k0", "add", "1"])
      step(at + 2_000, writer, "clock", ["by=-\(by)"])
      step(at + 2_500, writer, "tally", ["k0", "add", "1"])
      step(at + 3_000, writer, "undo")
    }
  }

  /// Somebody's clock is some minutes ahead, and another writes at once upon what came from there.
  private mutating func writesBehindWhatCame(through end: Int) {
    guard weight(.clocks) > 0, writers.count > 1 else { return }
    var own = Chance(seed, domain: "behind")
    let ahead = own.pick(writers).name
    let behind = own.pick(writers.filter { $0.name != ahead }).name
    let at = 600_000 + own.below(end - 900_000)
    let by = own.within(60_000...250_000)
    step(at, ahead, "clock", ["by=\(by)"])
    step(at + 1_000, ahead, "tally", ["k0", "label", "ahead"])
    step(at + 2_000, ahead, "sync")
    step(at + 30_000, behind, "sync")
    step(at + 31_000, behind, "tally", ["k0", "label", "behind"])
    step(at + 40_000, ahead, "clock", ["by=-\(by)"])
  }

  /// The anchor's file is put back alone.
  private mutating func oldAnchors(through end: Int) {
    guard weight(.lives) > 0, chance.happens(perMille: 250) else { return }
    let device = chance.pick(plan.devices).name
    let at = 600_000 + chance.below(end / 2)
    step(at, device, "save", ["a0"])
    for place in 0..<2 {
      step(at + 60_000 * (place + 1), device, "tally", ["k0", "add", "1"])
      step(at + 60_000 * (place + 1) + 1_000, device, "sync")
    }
    step(at + 300_000, device, "anchor", ["a0"])
  }

  /// Who joins finds a damaged snapshot, or one without all of its chunks; who knows the newcomer's
  /// work before the newcomer; who began from a snapshot and loses the folder.
  private mutating func troubledJoins() {
    let joins = plan.steps.filter { $0.verb == "join" }
    var seen: Set<String> = []
    for join in joins where seen.insert(join.device).inserted {
      let at = Int(join.atMilliseconds)
      if weight(.damage) > 0 {
        step(max(1_000, at - 2_000), plan.devices[0].name, "snapshot")
        let kind = chance.pick(["flip", "lose"])
        step(at - 1, join.device, "damage", [kind, "snapshot"])
        if chance.happens(perMille: 500) {
          step(at - 1, join.device, "damage", [kind, "snapshot"])
        }
        unknownNewcomer(join.device, at: at)
      } else if weight(.folders) > 0, chance.happens(perMille: 500) {
        step(max(1_000, at - 60_000), plan.devices[0].name, "snapshot")
        let later = at + chance.within(600_000...Generator.dayMilliseconds)
        step(later, join.device, "wipe")
        step(later + 1, join.device, "sync")
      }
    }
  }

  /// The newcomer's introduction is damaged on one device, to which then come changes of the
  /// newcomer and of somebody who knows the newcomer.
  private mutating func unknownNewcomer(_ newcomer: String, at: Int) {
    let others = plan.devices.map(\.name).filter { $0 != newcomer }
    let (reader, friend) = (chance.pick(others), chance.pick(writers).name)
    step(at + 30_000, newcomer, "sync")
    guard reader != friend, friend != newcomer else { return }
    step(at + 60_000, friend, "sync")
    step(at + 61_000, friend, "tally", ["k0", "add", "1"])
    step(at + 62_000, friend, "sync")
    step(at + 90_000, reader, "damage", ["cut", "control"])
    step(at + 90_001, reader, "sync")
  }

  /// The founder changes the members' log and then writes, and the first of both is damaged where
  /// somebody reads it.
  private mutating func workBeforeMembers(through end: Int) {
    guard weight(.damage) > 0, chance.happens(perMille: 500) else { return }
    let (founder, reader) = (
      plan.devices[0].name, chance.pick(Array(plan.devices.dropFirst())).name
    )
    let at = 600_000 + chance.below(end - 900_000)
    step(at, founder, "invite")
    step(at + 1_000, founder, "sync")
    step(at + 2_000, founder, "tally", ["k0", "add", "1"])
    step(at + 3_000, founder, "sync")
    step(at + 60_000, reader, "damage", ["cut", "control"])
    step(at + 60_001, reader, "sync")
  }

  /// The founder closes the week before, once or by both reckonings of weeks, while somebody who
  /// did and undoes something in it is away.
  private mutating func closing(through end: Int) {
    let hour = 3_600_000
    let at = 4 * hour + chance.below(end - 12 * hour)
    let day =
      Int(plan.startMilliseconds / UInt64(Generator.dayMilliseconds))
      + at / Generator.dayMilliseconds
    let monday = day - (day + 3) % 7
    guard let done = try? CivilDate(dayNumber: monday - 1),
      let week = try? CivilDate(dayNumber: monday - 7),
      let other = try? CivilDate(dayNumber: monday - 8)
    else { return }
    let (founder, away) = (plan.devices[0].name, chance.pick(writers).name)
    step(at - 3 * hour, away, "complete", ["c0", "day=\(done.iso)"])
    step(at - 2 * hour, away, "sync")
    if away != founder { step(at - hour, "world", "cut", [away]) }
    step(at - hour / 2, away, "complete", ["c1", "day=\(done.iso)"])
    step(at - hour / 4, founder, "sync")
    if chance.happens(perMille: 400) { step(at, founder, "close", [other.iso]) }
    step(at + 1_000, founder, "close", [week.iso])
    step(at + 2_000, founder, "sync")
    step(at + hour, away, "undo")
    if away != founder { step(at + chance.within(2...5) * hour, "world", "heal", [away]) }
  }
}
