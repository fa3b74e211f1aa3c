import HearthCRDT

// Memberships and roles in a view.
extension ControlResolver {
  /// The operations that a query takes into account.
  package enum View {
    /// The past of an operation.
    case past(Int)
    /// The frontier of a reader, as ``ControlResolver/cited(_:)`` returns it.
    case frontier(Frontier)
    /// All operations.
    case all
  }

  /// Whether an operation has effect and is in view.
  package func holds(_ place: Int, _ view: View) -> Bool {
    guard isLive[place] else { return false }
    return switch view {
    case .past(let later): log.sees(later, place)
    case .frontier(let frontier): frontier.covers(log.items[place].position)
    case .all: true
    }
  }

  /// The operation by which a device belongs to the group; nil if it does not belong.
  package func enrolment(of device: DeviceID, _ view: View) -> Int? {
    log.deviceNames[device].flatMap { enrolment(of: $0, view) }
  }

  func enrolment(of device: Int, _ view: View) -> Int? {
    let enrolments = live.enrolments[device]
    func stands(_ place: Int) -> Bool {
      holds(place, view) && ending(of: device, enrolledBy: place, view) == nil
    }
    for place in enrolments.reversed() where holds(place, view) {
      guard let end = ending(of: device, enrolledBy: place, view) else { return place }
      // The ending also ended all enrolments in its past, if they were the same person's.
      guard log.sees(end, place), !live.isShared(device),
        let others = live.apartEnrolments.besides(place)
      else { continue }
      return others.first(where: stands)
    }
    return nil
  }

  /// The operation that ended an enrolment; nil if none has.
  ///
  /// An operation ends only what its author had seen: a removal ends a membership with all its
  /// devices; a revocation, or a recovery that revokes the other devices, ends the enrolment.
  package func ending(of device: DeviceID, enrolledBy enrolment: Int, _ view: View) -> Int? {
    log.deviceNames[device].flatMap { ending(of: $0, enrolledBy: enrolment, view) }
  }

  private func ending(of device: Int, enrolledBy enrolment: Int, _ view: View) -> Int? {
    /// The last operation that ends it; one before `seen` cannot have seen it.
    func last(of places: [Int], seeing seen: Int, but device: Int? = nil) -> Int? {
      for place in places.reversed() {
        guard place > seen || Mutant.endsWhatWasNotSeen.isActive else { return nil }
        if place != enrolment, device == nil || log.deviceNumbers[place] != device,
          holds(place, view), hadSeen(place, seen)
        {
          return place
        }
      }
      return nil
    }
    if let place = last(of: live.revocations[device], seeing: enrolment) { return place }
    guard let person = log.comers[enrolment] else { return nil }
    if let place = last(of: live.recoveries[person], seeing: enrolment, but: device) {
      return place
    }
    guard let membership = verdicts[enrolment].admitted else { return nil }
    return last(of: live.removals[person], seeing: membership)
  }

  /// The person whose device an enrolment adds.
  package func enrolledPerson(_ place: Int) -> PersonID? {
    log.comers[place].map { log.people[number: $0] }
  }

  func enrolledDevice(_ place: Int) -> DeviceID {
    log.deviceNames[number: log.entrants[place]]
  }

  /// All devices that ever enrolled under a person, with effect or without, in order of id.
  func everyDevice(of person: PersonID) -> [DeviceID] {
    let enrolments = (index.additions[person] ?? []) + (index.recovered[person] ?? [])
    return Set(enrolments.map { enrolledDevice($0) }).sorted()
  }

  /// The person who owns a device; nil for a stranger or a removed device.
  package func person(of device: DeviceID, _ view: View) -> PersonID? {
    enrolment(of: device, view).flatMap { enrolledPerson($0) }
  }

  /// The join by which a person belongs to the group; nil if the person does not belong.
  package func addition(of person: PersonID, _ view: View) -> Int? {
    log.people[person].flatMap { addition(of: $0, view) }
  }

  func addition(of person: Int, _ view: View) -> Int? {
    let (beginnings, removals) = (live.beginnings[person], live.removals[person])
    func isOver(_ place: Int) -> Bool {
      // Only a later operation in the order can have seen the join.
      for removal in removals.reversed() {
        if removal < place, !Mutant.endsWhatWasNotSeen.isActive { return false }
        if hadSeen(removal, place), holds(removal, view) { return true }
      }
      return false
    }
    for place in beginnings.reversed() where holds(place, view) {
      guard isOver(place) else { return place }
      // The removal that ended this membership also ended all memberships in its past.
      guard let others = live.apartBeginnings.besides(place) else { continue }
      return others.first { holds($0, view) && !isOver($0) }
    }
    return nil
  }

  private func hadSeen(_ ending: Int, _ entry: Int) -> Bool {
    Mutant.endsWhatWasNotSeen.isActive ? !log.sees(entry, ending) : log.sees(ending, entry)
  }

  /// The owner: the last person who accepted an ownership offer, or the founder.
  package func owner(_ view: View) -> PersonID? {
    if Mutant.ownerByOffer.isActive, let offer = live.transfers.last(where: { holds($0, view) }),
      case .transferOwner(let transfer) = log.operation(offer)
    {
      return transfer.to
    }
    if let place = live.acceptances.last(where: { holds($0, view) }) { return person(place) }
    return live.geneses.first { holds($0, view) }.flatMap { enrolledPerson($0) }
  }

  /// A person's role; nil if the person does not belong to the group.
  package func role(of person: PersonID, _ view: View) -> Role? {
    log.people[person].flatMap { role(of: $0, view) }
  }

  func role(of person: Int, _ view: View) -> Role? {
    addition(of: person, view).flatMap { role(of: person, since: $0, view) }
  }

  func role(of person: Int, since membership: Int, _ view: View) -> Role? {
    if owner(view) == log.people[number: person] { return .owner }
    for place in live.roles[person].reversed() where holds(place, view) {
      if case .acceptOwner = log.operation(place) {
        // A former owner stays as an admin.
        return .admin
      }
      // A role change applies only to the membership that its author had seen.
      guard place == membership || log.sees(place, membership) else { continue }
      if let role = given(place) {
        return lowered(role == .owner ? .admin : role, of: person, after: place, view)
      }
    }
    return nil
  }

  /// The role for an author who had seen an overridden role change, but not the role that won.
  ///
  /// The person's actual rank is not higher in either case, so operations that depend on the
  /// overridden role have effect.
  private func lowered(_ role: Role, of person: Int, after set: Int, _ view: View) -> Role {
    guard case .past(let later) = view else { return role }
    let known = live.overruledRoles[person].last { place in
      place > set && log.sees(later, place)
        && (strikers[place].map { !log.sees(later, $0) } ?? false)
    }
    guard let known, let other = given(known), other.rank < role.rank else { return role }
    return other
  }

  func isRole(_ place: Int) -> Bool {
    if case .setRole = log.operation(place) { return true }
    return false
  }

  /// The offer that an acceptance takes; in a forked log the offer that the acceptance had seen.
  package func offer(takenBy place: Int) -> Int? {
    guard case .acceptOwner(let id) = log.operation(place) else { return nil }
    let offers = index.transfers[id] ?? []
    return offers.first { log.sees(place, $0) } ?? offers.first
  }

  /// The view of an author who cites control heads by number.
  package func cited(_ heads: Frontier) -> View { .frontier(log.forked.view(citing: heads)) }

  /// The public keys of a person's recovery words; nil if the person has none.
  package func recoveryKeys(
    of person: PersonID, _ view: View
  ) -> (place: Int, keys: ControlOperation.RecoveryKeys)? {
    guard let place = live.words[log.people[person]].last(where: { holds($0, view) }) else {
      return nil
    }
    return log.operation(place).words.map { (place, $0) }
  }

  /// The operation that made the effective invitation with an id.
  func invite(_ id: Identifier, _ view: View) -> Int? { invite(log.invitations[id], view) }

  func invite(_ number: Int?, _ view: View) -> Int? {
    live.invites[number].first { holds($0, view) }
  }

  /// The operation that made the invitation of an enrolment; nil for an enrolment without one.
  package func inviter(of enrolment: Int) -> Int? {
    verdicts[enrolment].invite.flatMap { isLive[$0] ? $0 : nil }
  }

  func invitation(_ place: Int) -> ControlOperation.InviteCreate? {
    if case .inviteCreate(let invite) = log.operation(place) { return invite }
    return nil
  }

  /// Whether an invitation's device still belongs to its maker, with a sufficient rank.
  func mayStillInvite(_ place: Int, _ terms: InviteTerms, _ view: View) -> Bool {
    guard let inviter = person(place),
      let number = enrolment(of: log.deviceNumbers[place], view).flatMap({ log.comers[$0] }),
      log.people[number: number] == inviter
    else { return false }
    if terms.person == inviter { return true }
    guard let rank = role(of: number, view)?.rank else { return false }
    return rank >= Role.admin.rank && terms.role.rank < rank
  }

  /// An operation's effective rank: its author's rank, lowered by lines the author had not seen.
  ///
  /// A former owner counts as an admin, and a demoted person with the lower role.
  func standing(_ place: Int) -> Int {
    if place < stock.standings.count { return stock.standings[place] }
    guard let person = person(place) else { return rank(place) }
    return standing(place, under: live.roleChanges[log.people[person]])
  }

  /// The effective rank under some of the operations that set the author's role.
  func standing(_ place: Int, under roles: some Sequence<Int>) -> Int {
    let person = person(place)
    return roles.reduce(rank(place)) { rank, other in
      guard rank > Role.child.rank else { return rank }
      guard !log.sees(place, other), log.isBeyond(place, other) else { return rank }
      switch log.operation(other) {
      case .acceptOwner:
        return verdicts[other].formerOwner == person ? min(rank, Role.admin.rank) : rank
      case .setRole(let change):
        guard let membership = verdicts[place].membership, log.sees(other, membership),
          self.person(other) == person || self.rank(other) > self.rank(place)
        else { return rank }
        return min(rank, change.role.rank)
      default: return rank
      }
    }
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
}
