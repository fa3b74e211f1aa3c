/// A broken promise with the history that shows it.
package struct Broken: Sendable, CustomStringConvertible {
  package let promise: Promise
  package let reason: String
  package let history: History
  package let outcome: Outcome
  package var trace: [String] = []

  package var description: String {
    (["BROKEN \(promise.rawValue): \(reason)", "got: \(outcome)"] + trace)
      .joined(separator: "\n")
  }
}

/// Checks the promises for one history.
///
/// No resolver can tell in which order acts were really written that do not know each other, so
/// the promises must hold for every such order: what is checked is the order of the history, and
/// others of the same acts, which need no further call to the resolver.
package struct Checker {
  private let history: History
  private let truth: Truth?
  private let promises: Set<Promise>
  private let strictness: Strictness
  /// Decides what is looked at only sometimes; nil looks at everything.
  private let seed: UInt64?
  private let memory: Memory?

  package init(
    _ history: History, promises: Set<Promise> = Set(Promise.allCases),
    strictness: Strictness = .all, seed: UInt64? = nil
  ) {
    self.init(history, promises: promises, strictness: strictness, seed: seed, memory: nil)
  }

  init(
    _ history: History, promises: Set<Promise>, strictness: Strictness, seed: UInt64?,
    memory: Memory?
  ) {
    self.seed = seed
    self.memory = memory
    self.history = history
    self.promises = promises
    self.strictness = strictness
    if let ledger = Ledger(history.acts), !ledger.isStrange {
      let truth = Truth(ledger, strictness)
      self.truth = truth.isStable ? truth : nil
    } else {
      truth = nil
    }
  }

  /// The oracle could judge the standings; otherwise only A, F and K are checked.
  package var isJudged: Bool { truth != nil }

  /// Acts without and with effect, for statistics: (all, void, certain).
  package var weight: (acts: Int, void: Int, certain: Int) {
    guard let truth else { return (history.acts.count, 0, 0) }
    return (
      history.acts.count, truth.armed.count { !$0 }, truth.isCertain.count { $0 }
    )
  }

  /// How many people and devices have only one possible standing: (people, of, devices, of).
  package var certainty: (people: Int, of: Int, devices: Int, all: Int) {
    guard let truth else { return (0, 0, 0, 0) }
    let people = truth.final.people.count { $0.isOut || $0.role != nil }
    let devices = truth.final.mayBeIn.indices.count {
      truth.final.mayBeIn[$0] != truth.final.mayBeOut[$0]
    }
    return (people, truth.final.people.count, devices, truth.final.mayBeIn.count)
  }

  package func firstBroken(_ resolve: Resolve) -> Broken? {
    let wanted = promises.union(
      promises.isDisjoint(with: [.recoverySilences, .leavingSilences])
        ? [] : Set(Promise.allCases))
    let all =
      wanted == promises
      ? self
      : Checker(history, promises: wanted, strictness: strictness, seed: seed, memory: memory)
    guard let broken = all.firstFound(resolve) else { return nil }
    let named = all.naming(broken, resolve)
    return promises.contains(named.promise) ? named : nil
  }

  /// If only a derived promise makes it wrong, the derived promise gets the blame.
  private func naming(_ broken: Broken, _ resolve: Resolve) -> Broken {
    let derived: [(Strictness, Promise)] = [
      (.recovery, .recoverySilences), (.leaving, .leavingSilences),
    ]
    for (option, promise) in derived where strictness.contains(option) {
      let weaker = Checker(history, strictness: strictness.subtracting(option), seed: seed)
      if weaker.firstFound(resolve) != nil { continue }
      var result = Broken(
        promise: promise, reason: broken.reason, history: history, outcome: broken.outcome)
      result.trace = broken.trace
      return result
    }
    return broken
  }

  private func firstFound(_ resolve: Resolve) -> Broken? {
    let outcome = answer(history.acts, resolve)
    let found = checkOwner(outcome) ?? checkKeys(outcome) ?? checkOrder(outcome, resolve)
    if let found { return traced(found) }
    if let found = firstUntrue(outcome, resolve) { return found }
    for order in otherOrders() {
      let other = Checker(
        TwoWorlds.reordered(history, seed: order), promises: promises, strictness: strictness,
        seed: seed, memory: memory)
      if let found = other.firstUntrue(outcome, resolve) { return found }
    }
    return nil
  }

  private func answer(_ acts: [Act], _ resolve: Resolve) -> Outcome {
    memory?.outcome(acts, resolve) ?? resolve(acts)
  }

  /// What the truth of this order does not allow.
  private func firstUntrue(_ outcome: Outcome, _ resolve: Resolve) -> Broken? {
    guard let truth else { return nil }
    let found =
      checkStandings(outcome, truth) ?? checkUses(outcome, truth) ?? checkMutual(outcome, truth)
      ?? checkVoid(outcome, truth, resolve)
    return found.map(traced)
  }

  private func traced(_ broken: Broken) -> Broken {
    var result = broken
    result.trace = trace()
    return result
  }

  /// Seeds of other orders: all of a few for a shrinking, else one with a chance.
  private func otherOrders() -> [UInt64] {
    guard let seed else { return [1, 2, 3, 4, 5, 7] }
    return seed % (memory == nil ? 2 : 4) == 0 ? [seed / 4 % 1_000 + 1] : []
  }

  private func broken(_ promise: Promise, _ reason: String, _ outcome: Outcome) -> Broken? {
    guard promises.contains(promise) else { return nil }
    return Broken(promise: promise, reason: reason, history: history, outcome: outcome)
  }

  private func checkOwner(_ outcome: Outcome) -> Broken? {
    let owners = outcome.roles.keys.sorted().filter { outcome.roles[$0] == .owner }
    let isFounded = history.acts.contains {
      $0.deed == .found && $0.device == 0 && $0.sequence == 0
    }
    guard isFounded, owners != [outcome.owner] else { return nil }
    return broken(.oneOwner, "owners by role: \(owners)", outcome)
  }

  private func checkKeys(_ outcome: Outcome) -> Broken? {
    let strangers = (outcome.readers ?? []).subtracting(outcome.devices).sorted()
    guard !strangers.isEmpty else { return nil }
    return broken(.keysFollowStanding, "devices \(strangers) hold the key and are out", outcome)
  }

  private func checkOrder(_ outcome: Outcome, _ resolve: Resolve) -> Broken? {
    guard promises.contains(.convergence) else { return nil }
    if let seed, seed / 4 % (memory == nil ? 3 : 12) != 0 { return nil }
    var random = SplitMix64(seed: seed ?? UInt64(history.acts.count) &* 977)
    let mixed = random.shuffled(history.acts)
    var twice = Array(history.acts.reversed())
    twice.insert(contentsOf: mixed.prefix(mixed.count / 2), at: twice.count / 2)
    for acts in [mixed, twice] {
      let other = resolve(acts)
      if other != outcome {
        return broken(.convergence, "in another order: \(other)", outcome)
      }
    }
    return nil
  }

  private func checkStandings(_ outcome: Outcome, _ truth: Truth) -> Broken? {
    let ledger = truth.ledger
    for (person, standing) in truth.final.people.enumerated() {
      let id = ledger.personIDs[person]
      let role = outcome.roles[id]
      if standing.allows(role) { continue }
      let promise = truth.promise(aboutPerson: person, role: role)
      let got = role.map { "is \($0)" } ?? "is out"
      if let found = broken(promise, "p\(id) \(got), must be \(standing.words)", outcome) {
        return found
      }
    }
    let known = Set(ledger.personIDs)
    for id in outcome.roles.keys.sorted() where !known.contains(id) {
      if let found = broken(.noGain, "nobody ever named p\(id)", outcome) { return found }
    }
    return checkDevices(outcome, truth)
  }

  private func checkDevices(_ outcome: Outcome, _ truth: Truth) -> Broken? {
    let ledger = truth.ledger
    for (device, id) in ledger.deviceIDs.enumerated() {
      let person = ledger.owner[device]
      let standing = person < 0 ? Standing.out : truth.final.people[person]
      let mayBeIn = truth.final.mayBeIn[device] && standing.mayBeIn
      let mayBeOut = truth.final.mayBeOut[device] || standing.mayBeOut
      let isIn = outcome.devices.contains(id)
      if isIn ? mayBeIn : mayBeOut { continue }
      let promise = truth.promise(aboutDevice: device, isIn: isIn)
      let got = isIn ? "is active, must not be" : "is not active, must be"
      if let found = broken(promise, "d\(id) \(got)", outcome) { return found }
    }
    return nil
  }

  private func checkUses(_ outcome: Outcome, _ truth: Truth) -> Broken? {
    for (number, link) in truth.ledger.links.enumerated() {
      let inside = truth.insiders(by: number).filter {
        outcome.devices.contains(truth.ledger.deviceIDs[$0])
      }
      let backed = truth.backed(by: number)
      guard inside.count > max(link.uses, backed) else { continue }
      let names = inside.map { "d\(truth.ledger.deviceIDs[$0])" }
      if let found = broken(
        .usesHold, "\(names) are in by one link with \(link.uses) uses", outcome)
      {
        return found
      }
    }
    return nil
  }

  private func checkMutual(_ outcome: Outcome, _ truth: Truth) -> Broken? {
    for (one, other) in truth.mutualRevocations() {
      let ids = [truth.ledger.deviceIDs[one], truth.ledger.deviceIDs[other]]
      for id in ids where outcome.devices.contains(id) {
        let reason = "d\(ids[0]) and d\(ids[1]) revoked each other, d\(id) is active"
        if let found = broken(.mutualRevocation, reason, outcome) { return found }
      }
    }
    return nil
  }

  private func checkVoid(_ outcome: Outcome, _ truth: Truth, _ resolve: Resolve) -> Broken? {
    for probe in truth.probes(history) where promises.contains(probe.promise) {
      let other = answer(probe.acts, resolve)
      if !other.isSame(as: outcome, withKeys: probe.keepsKeys) {
        return broken(probe.promise, "\(probe.what); then: \(other)", outcome)
      }
    }
    return nil
  }

  /// Who did what, what it claims, and what its author really knew.
  package func trace() -> [String] {
    var lines: [String] = []
    for (time, act) in history.acts.enumerated() {
      var notes: [String] = []
      if let truth {
        if !truth.ledger.closed[time] {
          notes.append("NOT CLOSED")
        } else if !truth.armed[time] {
          notes.append("void")
        } else {
          notes.append(truth.isCertain[time] ? "certain" : "possible")
        }
      }
      lines.append(history.line(act) + (notes.isEmpty ? "" : " [\(notes.joined())]"))
    }
    return lines
  }
}
