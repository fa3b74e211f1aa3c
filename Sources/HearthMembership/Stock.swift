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

  init(_ fold: ControlResolver) {
    let log = fold.log
    var parts: [PersonID: LogParts] = [:]
    var roles: [PersonID: [Int]] = [:]
    for number in fold.live.roleChanges.numbers {
      let changes = fold.live.roleChanges[number]
      let person = log.people[number: number]
      roles[person] = changes
      if changes.count > 4 { parts[person] = LogParts(changes, of: log) }
    }
    standings = log.items.indices.map { place in
      guard let person = fold.person(place), fold.rank(place) > Role.child.rank else {
        return fold.rank(place)
      }
      guard let all = roles[person] else { return fold.rank(place) }
      let near = parts[person].map { $0.concurrent(with: place, in: log) }
      return fold.standing(place, under: near ?? all)
    }
    candidates = Entries(fold).candidates()
    guard Stock.ownLines.contains(where: { fold.index.kinds[$0.rawValue] != nil }) else { return }
    let witnesses = log.items.indices.filter { fold.isWitness($0) }
    lowered = witnesses.filter {
      fold.rank($0) >= Role.admin.rank && standings[$0] < Role.admin.rank
    }
    let all = LogParts(witnesses, of: log).authors.flatMap { part -> [Eyes] in
      let enrolment = fold.verdicts[part[part.startIndex]].enrolment
      let isOne = part.allSatisfy { fold.verdicts[$0].enrolment == enrolment }
      let groups =
        isOne
        ? [Array(part)] : Dictionary(grouping: part) { fold.verdicts[$0].enrolment }.map(\.value)
      return groups.map { Eyes(person: fold.person($0[0]), places: $0) }
    }
    for floor in 0..<Role.owner.rank {
      eyes.append(
        all.compactMap { one in
          let above = one.places.filter { standings[$0] > floor }
          return above.isEmpty ? nil : Eyes(person: one.person, places: above)
        })
    }
  }

  func eyes(above rank: Int, besides person: PersonID?) -> [Eyes] {
    rank < eyes.count ? eyes[rank].filter { $0.person != person } : []
  }
}
