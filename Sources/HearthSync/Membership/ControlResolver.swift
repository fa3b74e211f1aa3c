import HearthCRDT

/// Decides which operations of a control log have effect.
///
/// Two steps, repeated until nothing changes. First each operation is judged by what its author
/// had seen, less what is struck: whether the author's device was one of the group's, of sufficient
/// rank. Then the first of the operations that take something away strikes what happened at the
/// same time and loses to it. What is struck stays struck, so the steps end; nothing depends on the
/// order of arrival, as only causes and ids are looked at.
///
/// The judgement of one operation asks for the standing of a device in a past, which is answered
/// from the few operations about that device and its person; after a strike only what comes later
/// in the log is judged again. O(n·(k + log a)) a pass, for k operations about one device.
struct ControlResolver: Sendable {
  let group: GroupID
  let log: ControlLog
  var index: ControlIndex
  var proofs: ProofBook
  /// Which operations count at the moment.
  var isLive: [Bool]
  /// Why others do not; nil where not judged to be void.
  var refusals: [VoidReason?]
  /// What was struck, with the reason.
  private(set) var strikes: [VoidReason?]
  /// The rank of each operation's author when it wrote, 0 for a stranger.
  var ranks: [Int]
  /// The rank that each operation needs.
  var needs: [Int]
  /// The person whose device wrote each operation.
  var persons: [PersonID?]
  /// The role that each operation gives to the person it adds or sets; nil if none.
  var given: [Role?]
  /// How often everything was judged.
  private(set) var passes = 0

  init(
    group: GroupID, items: [ControlItem], forks: ControlForks = ControlForks(), proofs: ProofBook
  ) {
    self.group = group
    self.proofs = proofs
    log = ControlLog(items, forks: forks)
    index = ControlIndex(log, group: group)
    let count = log.items.count
    isLive = [Bool](repeating: false, count: count)
    refusals = [VoidReason?](repeating: nil, count: count)
    strikes = [VoidReason?](repeating: nil, count: count)
    ranks = [Int](repeating: 0, count: count)
    needs = [Int](repeating: 0, count: count)
    persons = [PersonID?](repeating: nil, count: count)
    given = [Role?](repeating: nil, count: count)
    run()
  }

  /// Why an operation is void; nil for one that counts.
  func reason(_ place: Int) -> VoidReason? {
    isLive[place] ? nil : strikes[place] ?? refusals[place]
  }

  private mutating func run() {
    var from = 0
    while from < log.items.count {
      passes += 1
      for place in from..<log.items.count { isLive[place] = false }
      for place in from..<log.items.count { judgeOne(place) }
      let struck = nextStrikes()
      guard let first = struck.map(\.place).min() else { return }
      Probe.operationStruck.hit()
      for strike in struck { strikes[strike.place] = strike.reason }
      from = first
    }
  }

  private mutating func judgeOne(_ place: Int) {
    refusals[place] = nil
    given[place] = nil
    ranks[place] = 0
    needs[place] = 0
    guard strikes[place] == nil else { return }
    refusals[place] = judge(place)
    isLive[place] = refusals[place] == nil
  }
}

// MARK: - Standing

extension ControlResolver {
  /// The operations that are taken into account.
  enum View {
    /// What the author of an operation had seen.
    case past(Int)
    /// What somebody had seen, as ``ControlResolver/cited(_:)`` tells it.
    case frontier(Frontier)
    /// Everything.
    case all
  }

  /// Whether an operation counts and is in view.
  func holds(_ place: Int, _ view: View) -> Bool {
    guard isLive[place] else { return false }
    return switch view {
    case .past(let later): log.sees(later, place)
    case .frontier(let frontier): frontier.covers(log.items[place].position)
    case .all: true
    }
  }

  /// The operation by which a device belongs to the group; nil if it does not.
  func enrolment(of device: DeviceID, _ view: View) -> Int? {
    index.enrolments[device]?.last { place in
      holds(place, view) && ending(of: device, enrolledBy: place, view) == nil
    }
  }

  /// The operation that ended an enrolment; nil while none has.
  ///
  /// One that the enrolment had seen ended an earlier one; one of the same time ends this too.
  func ending(of device: DeviceID, enrolledBy enrolment: Int, _ view: View) -> Int? {
    func ends(_ place: Int) -> Bool {
      holds(place, view) && place != enrolment && !log.sees(enrolment, place)
    }
    if let place = index.revocations[device]?.first(where: ends) { return place }
    guard let person = enrolledPerson(enrolment) else { return nil }
    return index.removals[person]?.first { ends($0) && removes($0, person) }
      ?? index.recoveries[person]?.first { ends($0) && log.items[$0].device != device }
  }

  /// Whether a removal, or its author's leaving, concerns a person.
  private func removes(_ place: Int, _ person: PersonID) -> Bool {
    if case .leave = log.items[place].operation { return persons[place] == person }
    return true
  }

  /// Whose device an enrolment makes it.
  func enrolledPerson(_ place: Int) -> PersonID? {
    switch log.items[place].operation {
    case .genesis(let genesis): genesis.founder
    case .join(let join): join.person
    case .admit(let admit): admit.join.person
    case .recover(let recover): recover.person
    default: nil
    }
  }

  /// The person whose device it is; nil for a stranger or a device that was removed.
  func person(of device: DeviceID, _ view: View) -> PersonID? {
    enrolment(of: device, view).flatMap(enrolledPerson)
  }

  /// The operation by which a person belongs to the group; nil if it does not.
  func addition(of person: PersonID, _ view: View) -> Int? {
    index.additions[person]?.last { place in
      holds(place, view)
        && !(index.removals[person] ?? []).contains {
          holds($0, view) && !log.sees(place, $0) && removes($0, person)
        }
    }
  }

  /// The owner: the last who took the group over, or the founder.
  func owner(_ view: View) -> PersonID? {
    if Mutant.ownerByOffer.isActive,
      let offer = index.transfers.values.joined().sorted().last(where: { holds($0, view) }),
      case .transferOwner(let transfer) = log.items[offer].operation
    {
      return transfer.to
    }
    if let place = index.acceptances.last(where: { holds($0, view) }) { return persons[place] }
    return index.geneses.first { holds($0, view) }.flatMap(enrolledPerson)
  }

  /// A person's role; nil if the person does not belong to the group.
  func role(of person: PersonID, _ view: View) -> Role? {
    guard addition(of: person, view) != nil else { return nil }
    if owner(view) == person { return .owner }
    for place in (index.roles[person] ?? []).reversed() where holds(place, view) {
      if case .acceptOwner = log.items[place].operation {
        guard concerns(place, person) else { continue }
        // Who hands the group over stays as an admin.
        return .admin
      }
      if let role = given[place] { return role == .owner ? .admin : role }
    }
    return nil
  }

  /// Whether a handing over is from or to a person.
  private func concerns(_ place: Int, _ person: PersonID) -> Bool {
    guard case .acceptOwner = log.items[place].operation else { return false }
    return persons[place] == person || offer(takenBy: place).map { persons[$0] == person } ?? false
  }

  /// The offer that an acceptance takes: of several histories that of the one it had seen.
  func offer(takenBy place: Int) -> Int? {
    guard case .acceptOwner(let id) = log.items[place].operation else { return nil }
    let offers = index.transfers[id] ?? []
    return offers.first { log.sees(place, $0) } ?? offers.first
  }

  /// The view of somebody who cites control heads by number.
  func cited(_ heads: Frontier) -> View { .frontier(log.forked.view(citing: heads)) }

  /// The keys of a person's recovery words; nil if it has none.
  func recoveryKeys(
    of person: PersonID, _ view: View
  ) -> (place: Int, keys: ControlOperation.RecoveryKeys)? {
    let place = index.words[person]?.last { holds($0, view) && persons[$0] == person }
    guard let place else { return nil }
    switch log.items[place].operation {
    case .setRecovery(let set): return (place, set.keys)
    case .rotateRecovery(let rotation): return (place, rotation.keys)
    default: return nil
    }
  }

  /// The card that an enrolment shows.
  func card(_ place: Int) -> DeviceCard? {
    switch log.items[place].operation {
    case .genesis(let genesis): genesis.device
    case .join(let join): join.device
    case .admit(let admit): admit.join.device
    case .recover(let recover): recover.device
    default: nil
    }
  }

  /// The invitation that holds under an id.
  func invite(
    _ id: Identifier, _ view: View
  ) -> (place: Int, operation: ControlOperation.InviteCreate)? {
    guard let place = index.invites[id]?.first(where: { holds($0, view) }),
      case .inviteCreate(let operation) = log.items[place].operation
    else { return nil }
    return (place, operation)
  }

  /// The operation that made the invitation by which an enrolment came; nil for one without.
  func inviter(of enrolment: Int) -> Int? {
    switch log.items[enrolment].operation {
    case .join(let join): invite(join.invite, .past(enrolment))?.place
    case .admit(let admit): invite(admit.join.invite, .past(enrolment))?.place
    default: nil
    }
  }
}
