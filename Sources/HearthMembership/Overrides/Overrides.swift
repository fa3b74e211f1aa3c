import HearthCRDT

/// The overrides of one step: removals, revocations, demotions, leaves and recoveries each draw a
/// line.
///
/// A line overrides its subject's operations that are beyond it and need a right that the subject
/// lost, whatever they cite. A line by another person needs a higher rank. A line by the subject's
/// own person spares each operation that a witness of higher rank had seen before the line. One
/// object serves one step, since it caches findings about lines.
final class Overrides {
  let findings: Findings
  let log: ControlLog
  let stock: Stock
  /// Whether each operation is already overridden, since only the first line counts.
  private(set) var isStruck: [Bool]
  /// The operations of each person's devices, grouped by author.
  private var written: [PersonID: OpenParts] = [:]
  /// The lines drawn by own devices that were already computed, by floor and place.
  private var ownLines: [Int: [Int: OwnLine]] = [:]
  private var lastSight: JointSight?
  /// The recoveries that others saw before each replacement of recovery words.
  var settledRecoveries: [Int: [Int]] = [:]
  private(set) lazy var witnesses = BranchWitnesses(findings)

  init(_ findings: Findings, _ stock: Stock) {
    self.findings = findings
    self.stock = stock
    log = findings.log
    isStruck = findings.strikes.map { $0 != nil }
  }

  func standing(_ place: Int) -> Int { stock.standing(place, in: findings) }

  /// Overrides those of the operations that are not overridden yet.
  func strikes(_ places: [Int], by line: Int, _ rule: VoidReason.Rule) -> [Strike] {
    let open = places.filter { !isStruck[$0] }
    for place in open { isStruck[place] = true }
    return open.map { Strike(place: $0, by: line, rule: rule) }
  }

  /// The operations of some kinds and a rank that have effect.
  func places(of rank: Int, _ kinds: ControlOperation.Kind...) -> [Int] {
    let all = kinds.map { findings.index[$0] }
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
    !isStruck[place] && (findings.isLive[place] || findings.verdicts[place].refusal != nil)
      && log.isBeyond(place, line) && (findings.isLive[place] || !log.sees(place, line))
  }

  private func writings(of person: PersonID, _ withRecoveries: Bool) -> OpenParts {
    let written = findings.everyDevice(of: person).flatMap {
      findings.index.writings[log.deviceNames[$0]]
    }
    let all = written.filter { place in
      if !withRecoveries, case .recover = log.operation(place) { return false }
      return findings.person(place) == person && !isStruck[place]
    }
    return OpenParts(all, of: log)
  }

  /// Whether an operation needs a right that a role does not give.
  func needsMore(_ place: Int, than role: Role) -> Bool {
    if case .epoch = log.operation(place) { return role == .reader }
    return findings.verdicts[place].needs > role.rank
  }

  /// A line by the subject's own person, with the past of the witnesses of higher rank who had not
  /// seen it.
  ///
  /// Nobody ranks above the owner, so admins are witnesses if the line's own device was revoked as
  /// well (`isMutual`). Otherwise a stolen device would undo everything that the other device did.
  func ownLine(_ line: Int, _ rank: Int, isMutual: Bool = false) -> OwnLine {
    let floor = isMutual ? min(rank, Role.member.rank) : rank
    if let known = ownLines[floor]?[line] { return known }
    let person = findings.person(line)
    // The last operation of each author of higher rank that had not seen the line.
    let witnesses = stock.eyes(above: floor).compactMap { eye -> Int? in
      guard eye.person != person else { return nil }
      if let last = eye.places.last, !log.sees(last, line) { return last }
      let first = eye.places.partitionPoint { log.sees($0, line) }
      return first > 0 ? eye.places[first - 1] : nil
    }
    // Usually the same witnesses apply to the next line.
    let sight = lastSight.flatMap { $0.witnesses == witnesses ? $0 : nil }
    let found = OwnLine(place: line, seen: sight ?? JointSight(witnesses, of: log))
    lastSight = found.seen
    ownLines[floor, default: [:]][line] = found
    return found
  }
}

/// A line drawn by the subject's own person.
struct OwnLine {
  let place: Int
  /// The combined past of the witnesses of higher rank before they saw the line.
  let seen: JointSight

  /// Whether the witnesses had seen an operation before they saw the line.
  func spares(_ place: Int, in log: ControlLog) -> Bool { seen.holds(place, in: log) }
}

/// The combined past of several operations, shared by lines with equal witnesses.
final class JointSight {
  let witnesses: [Int]
  private var row: CausalRows.Row
  /// The last witness in each change, which sees the operations before it in that change.
  private var changes: [Int: Int] = [:]

  init(_ witnesses: [Int], of log: ControlLog) {
    self.witnesses = witnesses
    row = log.causality.row()
    for witness in witnesses {
      let change = log.changes[witness]
      log.causality.join(change, into: &row)
      changes[change] = max(changes[change] ?? 0, witness)
    }
  }

  func holds(_ place: Int, in log: ControlLog) -> Bool {
    let change = log.changes[place]
    if log.causality.isSeen(change, in: row) { return true }
    return log.causality.isNext(change, in: row) && changes[change] ?? -1 > place
  }
}
