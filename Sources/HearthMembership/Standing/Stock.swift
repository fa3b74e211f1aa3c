import HearthCRDT

/// The status of every operation and its possible witnesses, computed between two passes.
struct Stock: Sendable {
  /// One author's operations of a status above a rank under one enrolment, in log order.
  ///
  /// Those that their past does not allow are included: their author had seen that past regardless.
  struct Eyes: Sendable {
    let person: PersonID?
    let places: [Int]
  }

  /// The effective rank of each operation.
  private(set) var standings: [Int] = []
  /// Operations that admins wrote while concurrent role changes had lowered their rank.
  private(set) var lowered: [Int] = []
  /// The witnesses above each rank.
  private var eyes: [[Eyes]] = []
  /// The joins that may take effect, in log order, by the rank that they give.
  private(set) var candidates: [Int: [Int]] = [:]

  /// The operations on one's own devices: only these are decided by their witnesses.
  private static let ownLines: [ControlOperation.Kind] = [
    .revokeDevice, .setRole, .leave, .setRecovery, .rotateRecovery, .recover,
  ]

  init() {}

  init(_ findings: Findings) {
    let log = findings.log
    var roles: [PersonID: (all: [Int], parts: LogParts?)] = [:]
    for number in findings.live.roles.numbers {
      let changes = findings.live.roles[number].filter { log.comers[$0] == nil }
      guard !changes.isEmpty else { continue }
      let parts = changes.count > 4 ? LogParts(changes, of: log) : nil
      roles[log.people[number: number]] = (changes, parts)
    }
    standings = log.items.indices.map { place in
      guard findings.rank(place) > Role.child.rank, let person = findings.person(place),
        let (all, parts) = roles[person]
      else { return findings.rank(place) }
      return findings.standing(place, under: parts?.concurrent(with: place, in: log) ?? all)
    }
    candidates = Dictionary(
      grouping: findings.index.joinings.filter { findings.isCandidate($0) },
      by: { Stock.entryRank($0, in: findings) })
    guard Stock.ownLines.contains(where: { !findings.index[$0].isEmpty }) else { return }
    let witnesses = log.items.indices.filter { findings.isWitness($0) }
    lowered = witnesses.filter {
      findings.rank($0) >= Role.admin.rank && standings[$0] < Role.admin.rank
    }
    let all = LogParts(witnesses, of: log).authors.flatMap { part -> [Eyes] in
      let enrolment = findings.verdicts[part[part.startIndex]].enrolment
      let isOne = part.allSatisfy { findings.verdicts[$0].enrolment == enrolment }
      let groups =
        isOne
        ? [Array(part)]
        : Dictionary(grouping: part) { findings.verdicts[$0].enrolment }.map(\.value)
      return groups.map { Eyes(person: findings.person($0[0]), places: $0) }
    }
    for floor in 0..<Role.owner.rank {
      eyes.append(
        all.compactMap { one in
          let above = one.places.filter { standings[$0] > floor }
          return above.isEmpty ? nil : Eyes(person: one.person, places: above)
        })
    }
  }

  /// The effective rank of an operation, also before all of them were computed.
  func standing(_ place: Int, in findings: Findings) -> Int {
    place < standings.count ? standings[place] : findings.standing(place)
  }

  /// The witnesses above a rank; none above the owner.
  func eyes(above rank: Int) -> [Eyes] { rank < eyes.count ? eyes[rank] : [] }

  /// The rank of the role that a join grants, or for a further device the rank of its person.
  static func entryRank(_ place: Int, in findings: Findings) -> Int {
    let verdict = findings.verdicts[place]
    if let given = verdict.given { return max(given.rank, Role.child.rank) }
    // The author of an automatic join has the rank of the person.
    guard verdict.enrolment != place, let person = findings.log.comers[place] else {
      return verdict.rank
    }
    return LogView.past(place).role(of: person, in: findings)?.rank ?? 0
  }
}
