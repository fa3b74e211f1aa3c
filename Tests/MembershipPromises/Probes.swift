/// Which promise a wrong standing breaks, and which acts must change nothing.
extension Truth {
  struct Probe {
    let promise: Promise
    let what: String
    let acts: [Act]
    /// Nobody came who holds a key by a link.
    let keepsKeys: Bool
  }

  func promise(aboutPerson person: Int, role: Role?) -> Promise {
    let time = cause[person]
    guard time >= 0 else {
      return isLate { $0.person == person } ? .expiryHolds : .noGain
    }
    switch ledger.moves[time] {
    case .join, .admit:
      if isUsurped(time) { return .numberIsItsMakers }
      if let role, role.rank > final.people[person].highest { return .noGain }
      return isVouched(ledger.moves[time], ledger.device[time]) ? staying(time) : .liveness
    case .remove, .confirmHandover: return .lasting
    case .found: return .lasting
    default: return .liveness
    }
  }

  func promise(aboutDevice device: Int, isIn: Bool) -> Promise {
    let time = deviceCause[device]
    let person = ledger.owner[device]
    if isIn, person >= 0, final.people[person].isOut, cause[person] >= 0 { return .lasting }
    guard time >= 0, person >= 0 else {
      if isUsurper(device) { return .numberIsItsMakers }
      return isLate { $0.device == device } ? .expiryHolds : .noGain
    }
    switch ledger.moves[time] {
    case .join, .admit:
      if isUsurped(time) { return .numberIsItsMakers }
      return isVouched(ledger.moves[time], device) ? staying(time) : .liveness
    case .revoke:
      return ledger.owner[ledger.device[time]] == person ? .stolenDevice : .lasting
    default: return .lasting
    }
  }

  private func isVouched(_ entry: Ledger.Move, _ device: Int) -> Bool {
    var newcomer = device
    if case .admit(_, let admitted, _) = entry { newcomer = admitted }
    return (0..<ledger.count).contains {
      guard case .confirm(let whom) = ledger.moves[$0] else { return false }
      return whom == newcomer && isCertain[$0] && backing[$0]
    }
  }

  /// The devices that can only have come by this link.
  func insiders(by link: Int) -> [Int] {
    var result: [Int] = []
    for time in 0..<ledger.count {
      guard let entry = entry(time), entry.link == link, !result.contains(entry.device) else {
        continue
      }
      let others = (0..<ledger.count).contains {
        if case .recover = ledger.moves[$0] { return ledger.device[$0] == entry.device }
        guard let other = self.entry($0) else { return false }
        return other.device == entry.device && other.link != link
      }
      if !others { result.append(entry.device) }
    }
    return result
  }

  /// Pairs of devices of one person that revoked each other, where nothing else decides: both must
  /// be out.
  ///
  /// For others than the owner only if no higher rank has seen either.
  func mutualRevocations() -> [(Int, Int)] {
    var result: [(Int, Int)] = []
    for one in 0..<ledger.count where armed[one] && sound[one] {
      guard case .revoke(let second) = ledger.moves[one] else { continue }
      let first = ledger.device[one]
      let person = ledger.owner[first]
      guard person >= 0, person == ledger.owner[second] else { continue }
      for other in one..<ledger.count where armed[other] && sound[other] {
        guard case .revoke(first) = ledger.moves[other], ledger.device[other] == second,
          ledger.areConcurrent(one, other), isUndisturbed(one, other),
          isUndisturbed(other, one),
          final.people[person].isOwner || !isWitnessed(one, other, person)
        else { continue }
        result.append((first, second))
      }
    }
    return result
  }

  private func isUndisturbed(_ one: Int, _ other: Int) -> Bool {
    guard !restsOnDispute(one) else { return false }
    var isFirmlyIn = true
    basis[one].forEach { if !isCertain[$0] { isFirmlyIn = false } }
    guard isFirmlyIn else { return false }
    return !(0..<ledger.count).contains {
      $0 != one && $0 != other && armed[$0] && isCut(one, by: $0)
    }
  }

  private func isWitnessed(_ one: Int, _ other: Int, _ person: Int) -> Bool {
    (0..<ledger.count).contains {
      // Somebody who recovers tells what was seen as well as somebody who is there.
      let isWitness: Bool
      if case .recover = ledger.moves[$0] {
        isWitness = armed[$0]
      } else {
        isWitness = reach[$0] >= 3 || reach[$0] > final.people[person].lowest
      }
      return isWitness && ledger.owner[ledger.device[$0]] != person
        && (ledger.sees($0, one) || ledger.sees($0, other))
    }
  }

  func backed(by link: Int) -> Int {
    insiders(by: link).count { sponsored[$0] }
  }

  /// Void acts on which somebody who may do so built something, without knowing better.
  ///
  /// In one world the void act came first, in the other the act that voids it: nothing is promised
  /// about these.
  private func builtOn() -> [Bool] {
    var kept = Array(repeating: false, count: ledger.count)
    for (number, link) in ledger.links.enumerated() where !armed[link.issue] {
      let isUsed = (0..<ledger.count).contains {
        guard let entry = entry($0), entry.link == number else { return false }
        return sponsored[entry.device]
      }
      if isUsed { kept[link.issue] = true }
    }
    for time in 0..<ledger.count {
      switch ledger.moves[time] {
      case .confirmHandover(let accept) where armed[time] && accept >= 0:
        kept[accept] = true
        if case .accept(let offer) = ledger.moves[accept], offer >= 0 { kept[offer] = true }
      case .recover(let person, _, _) where sponsored[ledger.device[time]]:
        kept[time] = true
        for other in 0..<ledger.count {
          if case .setWords = ledger.moves[other], ledger.owner[ledger.device[other]] == person {
            kept[other] = true
          }
        }
      case .setRole where isActedOn(time): kept[time] = true
      case .join, .admit: if isUsurping(time) { kept[time] = true }
      default: continue
      }
    }
    for time in (0..<ledger.count).reversed() where kept[time] {
      basis[time].forEach { kept[$0] = true }
      let device = ledger.device[time]
      for other in 0..<ledger.count {
        if case .confirm(device) = ledger.moves[other] { kept[other] = true }
        if case .seal(let devices) = ledger.moves[other], devices.contains(device) {
          kept[other] = true
        }
      }
    }
    return kept
  }

  /// Whether somebody lowered the own role without having seen that others had lowered it before,
  /// and somebody else acted on that.
  ///
  /// In another order of the same acts it was the first to lower it. So whoever acted on it had the
  /// right to, and silence would take from them what they knew.
  private func isActedOn(_ time: Int) -> Bool {
    let person = ledger.owner[ledger.device[time]]
    guard case .setRole(person, _) = ledger.moves[time], !armed[time], sound[time], reach[time] > 0
    else { return false }
    return (time + 1..<ledger.count).contains { other in
      guard armed[other], ledger.sees(other, time), ledger.owner[ledger.device[other]] != person
      else { return false }
      switch ledger.moves[other] {
      case .revoke(let device): return ledger.owner[device] == person
      case .remove(person), .setRole(person, _): return true
      default: return false
      }
    }
  }

  /// The histories that must have the same outcome.
  func probes(_ history: History) -> [Probe] {
    let kept = builtOn()
    var void: [Bool] = []
    for time in 0..<ledger.count { void.append(!armed[time] && !kept[time]) }
    var result: [Probe] = []
    let open = (0..<ledger.count).map { !ledger.closed[$0] }
    if open.contains(true) {
      result.append(silent(open, .closedCauses, "without what acts with open claims say"))
    }
    if let probe = strangersProbe(history) { result.append(probe) }
    let outside = (0..<ledger.count).map { void[$0] && reach[$0] == 0 }
    if outside.contains(true) {
      result.append(silent(outside, .outDecidesNothing, "without what outsiders' acts say"))
      if let probe = tailProbe(outside, history) { result.append(probe) }
    }
    let beyond = (0..<ledger.count).filter { void[$0] && !outside[$0] }
    if !beyond.isEmpty && !beyond.contains(where: mayWitness) {
      result.append(silent(void, .rankNeeded, "without what acts beyond their rank say"))
    }
    if let probe = clocksProbe() { result.append(probe) }
    return result
  }

  /// Silenced, the act would count as nothing but having seen its past, and so spare or end what
  /// somebody wrote beside a line of the own person.
  private func mayWitness(_ time: Int) -> Bool {
    (0..<ledger.count).contains { line in
      let person = ledger.owner[ledger.device[line]]
      guard isOwnLine(line), person != ledger.owner[ledger.device[time]] else { return false }
      if ledger.sees(time, line) { return true }
      return ledger.past[time].contains {
        ledger.owner[ledger.device[$0]] == person && !ledger.sees(line, $0)
      }
    }
  }

  private func isOwnLine(_ time: Int) -> Bool {
    let person = ledger.owner[ledger.device[time]]
    switch ledger.moves[time] {
    case .recover, .leave, .accept, .setWords: return true
    case .setRole(let whom, _): return whom == person
    case .revoke(let device): return ledger.owner[device] == person
    default: return false
    }
  }

  /// The marked acts say nothing any more.
  private func silent(_ marked: [Bool], _ promise: Promise, _ what: String) -> Probe {
    var acts = ledger.acts
    var ids: [Int] = []
    for time in acts.indices where marked[time] {
      ids.append(acts[time].id)
      acts[time] = acts[time].silenced
    }
    return Probe(
      promise: promise, what: "\(what) (\(ids))", acts: acts, keepsKeys: !hasEntry(Set(ids)))
  }

  private func strangersProbe(_ history: History) -> Probe? {
    var isStranger = Array(repeating: true, count: ledger.deviceIDs.count)
    for device in isStranger.indices {
      if final.wasActive[device] || final.mayBeIn[device] || sponsored[device] {
        isStranger[device] = false
      }
    }
    for time in 0..<ledger.count where armed[time] || reach[time] > 0 {
      isStranger[ledger.device[time]] = false
    }
    // What somebody built on without knowing better is promised neither way.
    let kept = builtOn()
    for time in 0..<ledger.count where kept[time] { isStranger[ledger.device[time]] = false }
    if let first = ledger.deviceIDs.first, first == 0 { isStranger[0] = false }
    var ids: Set<Int> = []
    for time in 0..<ledger.count where isStranger[ledger.device[time]] {
      ids.insert(ledger.acts[time].id)
    }
    guard !ids.isEmpty else { return nil }
    return Probe(
      promise: .noTrace, what: "without the strangers' acts \(ids.sorted())",
      acts: dropping(ids, history), keepsKeys: false)
  }

  /// Without the ends of the logs that were written outside.
  private func tailProbe(_ outside: [Bool], _ history: History) -> Probe? {
    var isEnding = Array(repeating: true, count: ledger.deviceIDs.count)
    var ids: Set<Int> = []
    for time in stride(from: ledger.count - 1, through: 0, by: -1) {
      if !outside[time] { isEnding[ledger.device[time]] = false }
      if isEnding[ledger.device[time]] { ids.insert(ledger.acts[time].id) }
    }
    guard !ids.isEmpty else { return nil }
    return Probe(
      promise: .outDecidesNothing, what: "without outsiders' acts \(ids.sorted()) at all",
      acts: dropping(ids, history), keepsKeys: !hasEntry(ids))
  }

  /// Does one of the acts let a device in.
  private func hasEntry(_ ids: Set<Int>) -> Bool {
    ledger.acts.contains { act in
      guard ids.contains(act.id) else { return false }
      switch act.deed {
      case .join, .admit, .recover: return true
      default: return false
      }
    }
  }

  /// What somebody cites is only made meaningless: its absence would change how many acts others
  /// had seen, and with it the order that decides where nothing else does.
  ///
  /// Acts with open claims must not become closed by the absence of others.
  private func dropping(_ ids: Set<Int>, _ history: History) -> [Act] {
    let isCited = ledger.acts.contains { act in
      !ids.contains(act.id)
        && ledger.past[time(act)].contains { ids.contains(ledger.acts[$0].id) }
    }
    if isCited { return ledger.acts.map { ids.contains($0.id) ? $0.meaningless : $0 } }
    var open: Set<Int> = []
    for time in 0..<ledger.count where !ledger.closed[time] { open.insert(ledger.acts[time].id) }
    return history.dropping { ids.contains($0.id) }.map {
      open.contains($0.id) ? $0.meaningless : $0
    }
  }
}

extension Truth {
  private func time(_ act: Act) -> Int { ledger.acts.firstIndex { $0.id == act.id } ?? 0 }
}
