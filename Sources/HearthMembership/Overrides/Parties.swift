import HearthCRDT

/// Finds authors whose status depends on disputed operations, or on operations that these end.
///
/// They are no witnesses: the holder of a stolen device could otherwise admit or promote helpers.
struct Parties {
  private let sides: Set<Int>
  /// The disputed operations that would end devices.
  private let lines: [Int]
  private let findings: Findings
  private var known: [Int: Bool] = [:]

  init(of sides: Set<Int>, _ findings: Findings) {
    self.sides = sides
    self.findings = findings
    lines = sides.filter(findings.mayEndDevices)
  }

  /// Whether the author of an operation had a rank only through disputed operations.
  mutating func include(_ place: Int, of rank: Int) -> Bool {
    if Mutant.partiesAreWitnesses.isActive { return false }
    let grounds = grounds(of: place, rank)
    for ground in grounds.all { settle(ground) }
    return isGroundless(grounds)
  }

  /// Resolves an operation and everything that it depends on, once each and without recursion,
  /// since anybody may make a chain of any length.
  private mutating func settle(_ place: Int) {
    var open = [place]
    while let next = open.last {
      guard known[next] == nil else {
        open.removeLast()
        continue
      }
      guard !isInDispute(next) else {
        known[next] = true
        continue
      }
      let grounds = grounds(of: next, findings.verdicts[next].needs)
      let unknown = grounds.all.filter { known[$0] == nil }
      if unknown.isEmpty { known[next] = isGroundless(grounds) }
      open += unknown
    }
  }

  /// The operations that an operation depends on, all of them earlier.
  private struct Grounds {
    /// The entries of its author, and the invitation by which it admits somebody.
    let entries: [Int]
    /// The operations that gave its author the needed rank, each enough; nil if it needs none.
    var roles: [Int]?

    var all: [Int] { entries + (roles ?? []) }
  }

  private func grounds(of place: Int, _ rank: Int) -> Grounds {
    let verdict = findings.verdicts[place]
    let entries = [verdict.enrolment, findings.membership(place), verdict.admitted, verdict.invite]
    var grounds = Grounds(entries: entries.compactMap { $0 }.filter { $0 < place })
    // A new person's rank comes from the invitation.
    guard rank > Role.child.rank, let person = verdict.person,
      verdict.enrolment != place || verdict.admitted != place
    else { return grounds }
    grounds.roles = findings.live.roles[findings.log.people[person]].filter {
      findings.log.sees(place, $0) && given(by: $0, to: person) >= rank
    }
    return grounds
  }

  private func given(by place: Int, to person: PersonID) -> Int {
    if case .acceptOwner = findings.log.operation(place) {
      return findings.person(place) == person ? Role.owner.rank : Role.admin.rank
    }
    return findings.given(place)?.rank ?? 0
  }

  private func isGroundless(_ grounds: Grounds) -> Bool {
    grounds.entries.contains { known[$0] == true }
      || grounds.roles.map { !$0.contains { known[$0] == false } } ?? false
  }

  private func isInDispute(_ place: Int) -> Bool {
    sides.contains(place) || lines.contains { findings.isEnded(place, by: $0) }
  }
}
