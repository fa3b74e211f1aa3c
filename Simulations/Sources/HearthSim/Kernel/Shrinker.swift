/// Makes a failing plan smaller while the same check fails.
///
/// First whole families of faults, then devices, then steps by halving (Zeller and Hildebrandt's
/// ddmin), then single steps, then the rates of the carrier.
struct Shrinker {
  /// What came of it.
  struct Result {
    let plan: Plan
    let runs: Int
    /// What still fails.
    let violation: Violation
  }

  private let wanted: Oracle
  private var plan: Plan
  private var violation: Violation
  private var runs = 0
  private let maximumRuns: Int

  /// Shrinks a plan; nil if it does not fail at all.
  static func shrink(_ plan: Plan, maximumRuns: Int = 2_000) -> Result? {
    guard let violation = World(plan).run().violation else { return nil }
    var shrinker = Shrinker(
      wanted: violation.oracle, plan: plan, violation: violation, maximumRuns: maximumRuns)
    shrinker.run()
    return Result(plan: shrinker.plan, runs: shrinker.runs, violation: shrinker.violation)
  }

  private init(wanted: Oracle, plan: Plan, violation: Violation, maximumRuns: Int) {
    self.wanted = wanted
    self.plan = plan
    self.violation = violation
    self.maximumRuns = maximumRuns
  }

  private mutating func run() {
    dropVerbs()
    dropDevices()
    simplifyCarrier()
    dropSteps()
    dropDevices()
    simplifyCarrier()
    endEarly()
    plan.name += "-shrunk"
  }

  /// Takes a smaller plan if it fails alike.
  private mutating func take(_ candidate: Plan) -> Bool {
    guard runs < maximumRuns, candidate != plan else { return false }
    runs += 1
    guard let found = World(candidate).run().violation, found.oracle == wanted else { return false }
    plan = candidate
    violation = found
    return true
  }

  private mutating func dropVerbs() {
    for verb in Set(plan.steps.map(\.verb)).sorted() {
      var candidate = plan
      candidate.steps.removeAll { $0.verb == verb }
      _ = take(candidate)
    }
  }

  private mutating func dropDevices() {
    for device in plan.devices.reversed() where plan.devices.count > 1 {
      var candidate = plan
      candidate.devices.removeAll { $0.name == device.name }
      candidate.steps.removeAll { $0.device == device.name }
      _ = take(candidate)
    }
    for place in plan.devices.indices {
      var candidate = plan
      candidate.devices[place].build = "current"
      candidate.devices[place].joinsLater = false
      _ = take(candidate)
    }
  }

  private mutating func simplifyCarrier() {
    let easy: [(inout Plan.Carrier) -> Void] = [
      { $0 = Plan.Carrier() }, { $0.lossPerMille = 0 }, { $0.cutPerMille = 0 },
      { $0.flipPerMille = 0 }, { $0.resurrectPerMille = 0 }, { $0.isShared = true },
      { $0.delayMilliseconds = [50, 50] },
    ]
    for change in easy {
      var candidate = plan
      change(&candidate.carrier)
      _ = take(candidate)
    }
    var candidate = plan
    candidate.disks = Plan.Disks()
    _ = take(candidate)
    if plan.relay != nil {
      candidate = plan
      candidate.relay = Plan.Relay()
      _ = take(candidate)
    }
  }

  /// ddmin: ever smaller pieces are left out, as long as the check still fails.
  private mutating func dropSteps() {
    var size = max(1, plan.steps.count / 2)
    while runs < maximumRuns {
      var start = 0
      var hasShrunk = false
      while start < plan.steps.count, runs < maximumRuns {
        var candidate = plan
        candidate.steps.removeSubrange(start..<min(start + size, plan.steps.count))
        if take(candidate) { hasShrunk = true } else { start += size }
      }
      if size == 1, !hasShrunk { return }
      if size > 1 { size /= 2 }
    }
  }

  /// Brings the steps close together, so that nothing happens in between.
  private mutating func endEarly() {
    var candidate = plan
    for place in candidate.steps.indices {
      candidate.steps[place].atMilliseconds = UInt64(place + 1) * 60_000
    }
    _ = take(candidate)
  }
}
