/// What can be promised about a history, from its true timeline.
///
/// The truth is kept in intervals: for everybody the set of standings that some faithful
/// resolver may give. An act is `armed` if its author, when it was really written, may have had
/// the standing and the rank that it needs; nothing else may have any effect. An act is
/// `settled` if nothing armed that did not know it takes away what it rests on. Settled and
/// uncontested acts make certain, other armed acts only widen what is possible.
///
/// Armed acts make others unsettled, and unsettled acts make more acts armed: the sets are
/// computed until they stop moving, from the most certain side.
struct Truth {
  let ledger: Ledger
  let strictness: Strictness
  var sound: [Bool] = []
  var basis: [Bits] = []
  var armed: [Bool]
  var settled: [Bool]
  var contested: [Bool]
  var excluded: [Bool]
  /// Joinings after the expiry, by their own clock or by that of whoever closed the link, that
  /// nobody confirmed.
  var late: [Bool]
  var firm: [Bool]
  /// The rank that the author had for certain.
  var rank: [Int]
  /// The rank that the author may have had.
  var reach: [Int]
  var isCertain: [Bool]
  /// Confirmations by somebody with enough rank for certain.
  var backing: [Bool]
  /// Role changes that may take something away.
  var lowers: [Bool]
  /// By device: somebody who may do so confirmed or admitted it.
  var sponsored: [Bool]
  /// By device: somebody who may be an owner accepted it.
  var owned: [Bool]
  /// False if the sets did not come to rest; then nothing is promised about standings.
  private(set) var isStable = false
  var final: Standings
  /// The act that last decided about a person or a device.
  var cause: [Int]
  var deviceCause: [Int]

  init(_ ledger: Ledger, _ strictness: Strictness = .all) {
    self.strictness = strictness
    self.ledger = ledger
    let count = ledger.count
    let no = Array(repeating: false, count: count)
    armed = no
    settled = no
    contested = no
    excluded = no
    late = no
    firm = no
    isCertain = no
    rank = Array(repeating: 0, count: count)
    reach = rank
    backing = no
    lowers = no
    sponsored = Array(repeating: false, count: ledger.deviceIDs.count)
    owned = sponsored
    final = Standings(ledger)
    cause = Array(repeating: -1, count: ledger.personIDs.count)
    deviceCause = Array(repeating: -1, count: ledger.deviceIDs.count)
    readViews()
    settled = sound
    backing = sound
    guessTruth()
    for _ in 0..<16 {
      let before = sets
      judgeContests()
      judgeSettled()
      judgeEntries()
      run()
      isStable = sets == before
      if isStable { break }
    }
  }

  private var sets: [[Bool]] {
    [
      armed, settled, contested, excluded, late, firm, backing, lowers, isCertain, sponsored, owned,
    ]
  }

  /// Whether each act was allowed in the past that it claims, and on what it rested there.
  private mutating func readViews() {
    for time in 0..<ledger.count {
      guard ledger.closed[time] else {
        sound.append(false)
        basis.append(Bits())
        continue
      }
      var view = View(ledger, seeing: ledger.past[time])
      // A joining that says itself that it is late waits, and counts as soon as it is confirmed.
      sound.append(view.apply(time) || view.isMerelyLate(time))
      var ground = Bits()
      for act in view.grounds(time) {
        ground[act] = true
        ground.add(basis[act])
      }
      basis.append(ground)
    }
  }

  /// The first guess: what took effect when all acts are read in true order.
  private mutating func guessTruth() {
    var view = View(ledger)
    for time in 0..<ledger.count where ledger.closed[time] {
      let person = ledger.owner[ledger.device[time]]
      let isActive = view.active[ledger.device[time]]
      rank[time] = isActive ? view.rank(person) : 0
      reach[time] = rank[time]
      armed[time] = view.apply(time)
      isCertain[time] = armed[time]
    }
  }

  /// Two armed acts that do not know each other and say different things about one person.
  private mutating func judgeContests() {
    for one in 0..<ledger.count where armed[one] && !contested[one] {
      if case .revoke(let device) = ledger.moves[one] { contestRevocation(one, device) }
      guard let subject = subject(one) else { continue }
      for other in 0..<ledger.count where mayCount(other) && ledger.areConcurrent(one, other) {
        if self.subject(other) == subject, contests(other, one), !keepsNumber(one, against: other) {
          contested[one] = true
        }
      }
    }
  }

  /// Whether an act may have an effect.
  ///
  /// The chain of owners is settled first: a revocation or a removal of the heir by anybody,
  /// written first but unknown to an acceptance, is not known to be stronger than it.
  private func mayCount(_ time: Int) -> Bool { armed[time] || isCompleteHandover(time) }

  /// A promotion unknown to a revocation, up to the revoker's rank or more.
  private mutating func contestRevocation(_ one: Int, _ device: Int) {
    let person = ledger.owner[device]
    guard person != ledger.owner[ledger.device[one]] else { return }
    for other in 0..<ledger.count where mayCount(other) && ledger.areConcurrent(one, other) {
      if case .setRole(person, let role) = ledger.moves[other], role.rank >= rank[one] {
        contested[one] = true
      }
      // Whoever takes the group over is promoted as well.
      if case .accept = ledger.moves[other], ledger.owner[ledger.device[other]] == person {
        contested[one] = true
      }
    }
  }

  /// The person whose role an act changes.
  func subject(_ time: Int) -> Int? {
    switch ledger.moves[time] {
    case .remove(let person), .setRole(let person, _): person
    case .leave: ledger.owner[ledger.device[time]]
    case .accept(let offer): offer < 0 ? nil : ledger.owner[ledger.device[time]]
    case .join(let link, let person), .admit(let link, _, let person):
      link >= 0 && ledger.links[link].forPerson == nil ? person : nil
    default: nil
    }
  }

  /// Does `other` spoil `one`.
  private func contests(_ other: Int, _ one: Int) -> Bool {
    switch (ledger.moves[one], ledger.moves[other]) {
    case (.remove, .remove), (.remove, .leave), (.leave, .remove), (.leave, .leave):
      return false
    case (.remove, .setRole):
      return rank[one] <= reach[other]
    case (.setRole(_, let role), .setRole(_, let another)):
      return role != another && rank[one] <= reach[other]
    default: return true
    }
  }

  /// Does the act, if it counts, void what the device wrote unseen by it.
  func cuts(_ cut: Int, _ device: Int) -> Bool {
    let person = ledger.owner[device]
    guard person >= 0, device != ledger.device[cut] else { return false }
    switch ledger.moves[cut] {
    case .remove(let whom): return whom == person
    case .setRole(let whom, _): return whom == person && lowers[cut]
    case .revoke(let other): return other == device
    case .leave: return ledger.owner[ledger.device[cut]] == person
    case .recover(let whom, _, let others): return others && whom == person
    case .accept(let offer):
      return offer >= 0 && ledger.owner[ledger.device[offer]] == person
    default: return false
    }
  }

  private mutating func judgeSettled() {
    var cutting: [Int] = []
    for time in 0..<ledger.count where armed[time] || isCompleteHandover(time) {
      switch ledger.moves[time] {
      case .remove, .setRole, .revoke, .leave, .recover, .accept: cutting.append(time)
      default: break
      }
    }
    for time in 0..<ledger.count where settled[time] {
      for cut in cutting where cut != time && isCut(time, by: cut) {
        settled[time] = false
        break
      }
      if settled[time] && restsOnDispute(time) { settled[time] = false }
    }
  }

  /// An acceptance that its past allows and that somebody confirmed, or that nobody of rank saw to
  /// be too late.
  ///
  /// What devices of the offering person did concurrently, a removal of the heir for example, came
  /// before it in one world and after it in another: it is never certain.
  private func isCompleteHandover(_ time: Int) -> Bool {
    guard case .accept(let offer) = ledger.moves[time], offer >= 0, ledger.closed[time] else {
      return false
    }
    // Of an offer and a recovery that do not know each other the heir may have heard either first.
    guard sound[time] || (armed[offer] && ledger.sees(time, offer)) else { return false }
    let heir = ledger.owner[ledger.device[time]]
    let former = ledger.owner[ledger.device[offer]]
    let isConfirmed = (time..<ledger.count).contains {
      let author = ledger.owner[ledger.device[$0]]
      if author == former, ledger.closed[$0], ledger.sees($0, time) { return true }
      guard case .confirmHandover(time) = ledger.moves[$0], sound[$0] else { return false }
      return author != heir
    }
    if isConfirmed { return true }
    // An acceptance holds against what the former owner wrote without having seen it, unless a
    // third person of rank had seen that alone.
    return !(0..<ledger.count).contains { witness in
      let author = ledger.owner[ledger.device[witness]]
      guard author != heir, author != former, rank[witness] >= 3, settled[witness],
        !ledger.sees(witness, time)
      else { return false }
      return ledger.past[witness].contains { end in
        guard ledger.owner[ledger.device[end]] == former, ledger.areConcurrent(end, time) else {
          return false
        }
        switch ledger.moves[end] {
        case .remove(heir), .withdraw: return true
        default: return false
        }
      }
    }
  }

  func isCut(_ time: Int, by cut: Int) -> Bool {
    if touches(cut, time) { return true }
    return basis[time].contains { touches(cut, $0) }
  }

  private func touches(_ cut: Int, _ act: Int) -> Bool {
    guard cuts(cut, ledger.device[act]) || cutsEntry(cut, act) else { return false }
    if ledger.sees(cut, act) { return false }
    return !(ledger.sees(act, cut) && isCertain[cut])
  }

  /// An admitted device does not write its own entry.
  private func cutsEntry(_ cut: Int, _ act: Int) -> Bool {
    guard case .admit(_, let newcomer, _) = ledger.moves[act] else { return false }
    return cuts(cut, newcomer)
  }
}
