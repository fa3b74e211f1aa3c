import HearthCRDT

/// The result of each operation of a control log so far.
struct Findings: Sendable {
  var log: ControlLog
  var index: ControlIndex
  var live = LiveIndex()
  var isLive: [Bool] = []
  var verdicts: [Verdict] = []
  /// The line of another operation that overrides each operation.
  var strikes: [Strike?] = []
  /// The objection to each join that its own past allows.
  var contests: [VoidReason?] = []
  /// The operation that makes a join or an ownership handover final.
  var confirmations: [Int?] = []
  /// The acceptances that may have effect; nil while the chain of owners is followed.
  var handOvers: Set<Int>?
  /// Acceptances that failed because the new owner was not in the group.
  var aside: Set<Int> = []
  /// Joins that are pending because too many other disputed joins decide about them.
  var undecided: Set<Int> = []

  init(_ log: ControlLog, _ index: ControlIndex) {
    self.log = log
    self.index = index
    for _ in log.items { extend() }
  }

  /// Makes room for the results of one further operation.
  mutating func extend() {
    isLive.append(false)
    verdicts.append(Verdict())
    strikes.append(nil)
    contests.append(nil)
    confirmations.append(nil)
  }

  mutating func enact(_ place: Int) {
    isLive[place] = true
    live.add(place, verdicts, of: log)
  }

  func rank(_ place: Int) -> Int { verdicts[place].rank }
  func person(_ place: Int) -> PersonID? { verdicts[place].person }
  func given(_ place: Int) -> Role? { verdicts[place].given }

  /// The join by which the person of an operation's author belonged to the group.
  func membership(_ place: Int) -> Int? {
    verdicts[place].enrolment.flatMap { verdicts[$0].admitted }
  }

  /// The reason why an operation is void; nil for an effective one.
  func reason(_ place: Int) -> VoidReason? {
    if isLive[place] { return nil }
    let verdict = verdicts[place]
    if let refusal = verdict.refusal, !verdict.isContested { return refusal }
    if let strike = strikes[place] { return .overruled(by: log.items[strike.by].id, strike.rule) }
    if let reason = verdict.refusal ?? contests[place] { return reason }
    // An acceptance that the chain of owners did not include.
    return verdict.formerOwner == nil ? nil : .expired
  }

  /// Whether a join has no effect only because it is contested.
  func isWaiting(_ place: Int) -> Bool {
    !isLive[place] && strikes[place] == nil && verdicts[place].isAttempt
      && (verdicts[place].refusal == nil || verdicts[place].isContested)
  }

  /// Whether an operation is evidence of what a device of the group had seen: it has effect, or it
  /// only asks for something that its author may not do.
  func isWitness(_ place: Int) -> Bool {
    if isLive[place] { return true }
    guard strikes[place] == nil, let enrolment = verdicts[place].enrolment, enrolment != place
    else { return false }
    switch verdicts[place].refusal {
    case nil, .notADevice, .openCauses: return false
    default: return !verdicts[place].isEntry
    }
  }

  /// Whether a join is allowed by its own past, or would be if it were confirmed.
  func isCandidate(_ place: Int) -> Bool {
    let verdict = verdicts[place]
    return strikes[place] == nil && verdict.isEntry
      && (verdict.refusal == nil || verdict.isContested)
  }

  /// The person whose device an enrolment adds.
  func enrolledPerson(_ place: Int) -> PersonID? {
    log.comers[place].map { log.people[number: $0] }
  }

  func enrolledDevice(_ place: Int) -> DeviceID { log.deviceNames[number: log.entrants[place]] }

  /// All devices that ever enrolled under a person, with effect or without, in order of id.
  func everyDevice(of person: PersonID) -> [DeviceID] {
    let enrolments = (index.additions[person] ?? []) + (index.recovered[person] ?? [])
    return Set(enrolments.map { enrolledDevice($0) }).sorted()
  }

  /// The operation that made the invitation of an enrolment; nil for an enrolment without one.
  func inviter(of enrolment: Int) -> Int? {
    verdicts[enrolment].invite.flatMap { isLive[$0] ? $0 : nil }
  }

  /// The offer that an acceptance takes; in a forked log the offer that the acceptance had seen.
  func offer(takenBy place: Int) -> Int? {
    guard case .acceptOwner(let id) = log.operation(place) else { return nil }
    let offers = index.transfers[id] ?? []
    return offers.first { log.sees(place, $0) } ?? offers.first
  }

  /// An operation's effective rank: its author's rank, lowered by lines the author had not seen.
  ///
  /// A former owner counts as an admin, and a demoted person with the lower role.
  func standing(_ place: Int) -> Int {
    standing(place, under: live.roles[log.people[person(place)]])
  }

  /// The effective rank under some of the operations that set the author's role.
  func standing(_ place: Int, under roles: some Sequence<Int>) -> Int {
    let person = person(place)
    return roles.reduce(rank(place)) { rank, other in
      guard rank > Role.child.rank else { return rank }
      guard log.isUnaware(place, of: other) else { return rank }
      switch log.operation(other) {
      case .acceptOwner:
        return verdicts[other].formerOwner == person ? min(rank, Role.admin.rank) : rank
      case .setRole(_, let role, _):
        guard let membership = membership(place), log.sees(other, membership),
          self.person(other) == person || self.rank(other) > self.rank(place)
        else { return rank }
        return min(rank, role.rank)
      default: return rank
      }
    }
  }
}
