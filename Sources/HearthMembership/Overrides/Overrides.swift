import HearthCRDT

/// The overrides of one step: removals, revocations, demotions, leaves and recoveries each draw a
/// line.
///
/// A line overrides its subject's operations that are beyond it and need a right that the subject
/// lost, whatever they cite. A line by another person needs a higher rank
/// (``OverridesByOthers``). A line by the subject's own person spares each operation that a witness
/// of higher rank had seen before the line (``OwnOverrides``). One object serves one step, since it
/// caches findings about lines.
final class Overrides {
  let findings: Findings
  let log: ControlLog
  let stock: Stock
  let ends: DeviceEnds
  /// Whether each operation is already overridden, since only the first line counts.
  private var struck: [Bool]
  /// The operations of each person's devices, grouped by author.
  private var written: [PersonID: OpenParts] = [:]
  /// The lines drawn by own devices that were already computed.
  var known = OwnLines()
  /// The recoveries that others saw before each replacement of recovery words.
  var settledRecoveries: [Int: [Int]] = [:]
  private(set) lazy var witnesses = BranchWitnesses(findings)

  init(_ findings: Findings, _ stock: Stock) {
    self.findings = findings
    self.stock = stock
    log = findings.log
    ends = DeviceEnds(findings: findings)
    struck = findings.strikes.map { $0 != nil }
  }

  /// The effective rank of an operation.
  func standing(_ place: Int) -> Int { stock.standing(place, in: findings) }

  /// Overrides those of the operations that are not overridden yet.
  func strikes(_ places: [Int], by line: Int, _ rule: VoidReason.Rule) -> [Strike] {
    let reason = VoidReason.overruled(by: log.items[line].id, rule)
    var strikes: [Strike] = []
    for place in places where !struck[place] {
      struck[place] = true
      strikes.append(Strike(place: place, by: line, reason: reason))
    }
    return strikes
  }

  /// Whether an operation is overridden already.
  func isStruck(_ place: Int) -> Bool { struck[place] }

  /// The operations of some kinds and a rank that have effect.
  func places(of rank: Int, _ kinds: ControlOperation.Kind...) -> [Int] {
    let all = kinds.map { findings.index.kinds[$0.rawValue] ?? [] }
    return (all.count == 1 ? all[0] : all.joined().sorted()).filter {
      findings.isLive[$0] && max(standing($0), Role.child.rank) == rank
    }
  }

  /// Overrides the matching operations of a person's devices that are concurrent with a line.
  ///
  /// Operations that had seen the line were judged by their own past, in which it had ended the
  /// enrolment. A recovery never overrides another one, so callers exclude recoveries there.
  func strikeWritings(
    of person: PersonID, by line: Int, _ rule: VoidReason.Rule, withRecoveries: Bool = true,
    where fits: (Int) -> Bool
  ) -> [Strike] {
    if written[person] == nil { written[person] = writings(of: person, withRecoveries) }
    // An overridden operation is not visited again.
    let struck = written[person]?.take(concurrentWith: line, in: log) {
      isInReach($0, of: line) && fits($0)
    }
    return strikes(struck ?? [], by: line, rule)
  }

  /// Whether an operation is beyond a line and has effect, or regains it once a void operation in
  /// its past is overridden; an operation that had seen the line is judged by its own past.
  func isInReach(_ place: Int, of line: Int) -> Bool {
    !isStruck(place) && (findings.isLive[place] || findings.verdicts[place].refusal != nil)
      && log.isBeyond(place, line) && (findings.isLive[place] || !log.sees(place, line))
  }

  private func writings(of person: PersonID, _ withRecoveries: Bool) -> OpenParts {
    let written = findings.everyDevice(of: person).flatMap {
      findings.index.writings[log.deviceNames[$0]]
    }
    let all = written.filter { place in
      if !withRecoveries, case .recover = log.operation(place) { return false }
      return findings.person(place) == person && !isStruck(place)
    }
    return OpenParts(all, of: log)
  }

  /// Whether an operation is beyond a line that its author had not seen, and not overridden yet.
  func areConcurrent(_ place: Int, beyond line: Int) -> Bool {
    !isStruck(place) && log.isBeyond(place, line) && !log.sees(place, line)
  }

  /// Whether a line's author had seen the membership under which an operation was written.
  ///
  /// Nobody can end a membership that they had not seen, and a person who rejoins starts anew.
  func hasSeenMembership(_ line: Int, of place: Int) -> Bool {
    findings.verdicts[place].membership.map { log.sees(line, $0) } ?? false
  }

  /// Whether an operation needs a right that a role does not give.
  func needsMore(_ place: Int, than role: Role) -> Bool {
    if case .epoch = log.operation(place) { return role == .reader }
    return findings.verdicts[place].needs > role.rank
  }
}
