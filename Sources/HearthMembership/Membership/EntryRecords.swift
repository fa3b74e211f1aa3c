import HearthCRDT

/// A contested join that has no effect until somebody confirms it.
package struct WaitingEntry: Sendable {
  /// The id of its operation; a confirmation names it.
  package let id: RecordID
  package let person: PersonID
  package let personName: String
  package let device: DeviceID
  package let deviceName: String
  /// The requested role; nil for a person's further device.
  package let role: Role?
  package let invite: Identifier
  /// When it was written, by the clock of the device that wrote it.
  package let since: HybridTime
  package let reason: VoidReason
}

/// The joins of a group: which are pending, who may make them final, and who let somebody in.
package struct EntryRecords: ResolvedPart {
  let resolved: ResolvedControl

  /// The joins that are pending on an owner or admin, in log order.
  package var waiting: [WaitingEntry] {
    log.items.indices.compactMap { place in
      guard findings.isWaiting(place), let reason = findings.reason(place),
        case .join(let join) = log.operation(place)
      else { return nil }
      return WaitingEntry(
        id: log.items[place].id, person: join.person, personName: join.personName,
        device: log.devices[place], deviceName: join.device.name, role: findings.given(place),
        invite: join.invite, since: log.items[place].version.time, reason: reason)
    }
  }

  /// The ids of the effective joins and handovers that a device may make final and nobody has made
  /// final, strictly rising.
  ///
  /// Contested joins are not among them: only a person admits them. O(n) for n operations.
  package func unconfirmed(by device: DeviceID) -> [RecordID] {
    confirmable(by: device) { findings.isLive[$0] && findings.confirmations[$0] == nil }.sorted()
  }

  /// The ids of pending joins that a device may make final.
  package func confirmable(by device: DeviceID) -> Set<RecordID> {
    Set(confirmable(by: device, where: findings.isWaiting))
  }

  private func confirmable(by device: DeviceID, where isOpen: (Int) -> Bool) -> [RecordID] {
    guard let own = LogView.all.enrolment(of: device, in: findings),
      let person = findings.enrolledPerson(own),
      let role = LogView.all.role(of: person, in: findings)
    else { return [] }
    return log.items.indices.filter { isOpen($0) && mayConfirm($0, person, role, enrolledBy: own) }
      .map { log.items[$0].id }
  }

  /// Whether a person with full knowledge may make a join or an ownership handover final.
  private func mayConfirm(
    _ place: Int, _ person: PersonID, _ role: Role, enrolledBy own: Int
  ) -> Bool {
    switch log.operation(place) {
    case .join(let join):
      let rank =
        findings.given(place)?.rank ?? LogView.past(place).role(of: join.person, in: findings)?.rank
        ?? Role.owner.rank
      if role.rank >= Role.admin.rank, role.rank > max(rank, Role.child.rank) { return true }
      guard findings.given(place) == nil, join.person == person,
        let invite = findings.inviter(of: place)
      else { return false }
      return log.sees(invite, own)
    case .acceptOwner:
      // An admin of after the handover, whom the new owner may have promoted, makes nothing final.
      guard findings.person(place) != person, role.rank >= Role.admin.rank else { return false }
      return findings.verdicts[place].formerOwner == person || Mutant.confirmsInVain.isActive
        || LogView.past(place).role(of: person, in: findings)?.rank ?? 0 >= Role.admin.rank
    default: return false
    }
  }

  /// The operation by which a device belongs to the group; nil for a device that does not belong.
  package func entry(of device: DeviceID) -> ControlOperation? {
    LogView.all.enrolment(of: device, in: findings).map { log.operation($0) }
  }

  /// The device that approved another one; nil if no approval was needed.
  package func approver(of device: DeviceID) -> DeviceID? {
    guard let place = LogView.all.enrolment(of: device, in: findings),
      case .admit = log.operation(place)
    else { return nil }
    return log.devices[place]
  }

  /// Whether a device belongs to the group by an approval of an invitation's use.
  package func isAdmitted(_ device: DeviceID, by invite: Identifier) -> Bool {
    if Mutant.settlesByAnyWayIn.isActive { return outcome.isActive(device) }
    return findings.live.enrolments[log.deviceNames[device]].contains { place in
      guard case .admit(let admit) = log.operation(place) else { return false }
      return admit.join.invite == invite
        && LogView.all.ending(of: device, enrolledBy: place, in: findings) == nil
    }
  }

  /// Whether a device admitted another one, and had the right to do so by what it knew then.
  ///
  /// If two admins admit somebody concurrently, each had the right, whatever became of it later.
  package func hasAdmitted(_ device: DeviceID, by approver: DeviceID) -> Bool {
    (findings.index.enrolments[device] ?? []).contains { place in
      guard case .admit = log.operation(place), log.devices[place] == approver else { return false }
      let verdict = findings.verdicts[place]
      return verdict.refusal == nil || verdict.isContested && verdict.rank >= Role.admin.rank
    }
  }

  /// The person who made the invitation of a device; nil for a device without an invitation.
  package func inviter(of device: DeviceID) -> PersonID? {
    LogView.all.enrolment(of: device, in: findings).flatMap(findings.inviter)
      .flatMap(findings.person)
  }

  /// The people who invited or approved a person, in order of id; empty for a founder.
  package func whoLetIn(_ person: PersonID) -> [PersonID] {
    guard let addition = LogView.all.addition(of: person, in: findings) else { return [] }
    return whoLetIn(by: addition).sorted()
  }

  /// The people who invited or approved the person or device of an operation.
  private func whoLetIn(by place: Int) -> Set<PersonID> {
    var places = [LogView.all.invite(log.invited[place], in: findings)]
    if case .admit = log.operation(place) { places.append(place) }
    return Set(places.compactMap { $0.flatMap(findings.person) })
  }

  /// The people whom a device trusts about the time before its join, in order of id: its own
  /// person, and everybody who invited or approved the device or its person.
  package func introducers(of device: DeviceID) -> [PersonID] {
    guard let own = LogView.all.enrolment(of: device, in: findings),
      let person = LogView.all.person(of: device, in: findings)
    else { return [] }
    var introducers: Set<PersonID> = [person]
    for place in [own, LogView.all.addition(of: person, in: findings)].compactMap({ $0 }) {
      introducers.formUnion(whoLetIn(by: place))
    }
    return introducers.sorted()
  }

  /// Whether an invitation is for a person who is not in the group.
  package func isForNewcomer(_ person: PersonID?) -> Bool {
    person.map { id in !outcome.people.contains { $0.id == id } } ?? true
  }

  /// The devices whose joins were pending on an operation that a reader had not seen, so that the
  /// reader left out their changes.
  package func devicesBelonging(since known: Frontier) -> Set<DeviceID> {
    let late = findings.index.enrolments.filter { $0.value.contains { isLate($0, known) } }
    return Set(late.keys)
  }

  private func isLate(_ entry: Int, _ known: Frontier) -> Bool {
    guard findings.isLive[entry], case .join = log.operation(entry),
      let place = findings.confirmations[entry], !known.covers(log.items[place].version.dot)
    else { return false }
    return hadToWait(entry, for: place)
  }

  /// Whether a join was contested before it was made final: by its own past, by an invitation close
  /// that had not seen it, or by the maximum number of other joins by its invitation.
  func hadToWait(_ entry: Int, for confirmation: Int) -> Bool {
    if findings.verdicts[entry].refusal != nil { return true }
    let isClosed = findings.live.closings[log.invited[entry]].contains {
      log.sees(confirmation, $0) && log.areConcurrent($0, entry)
    }
    if isClosed { return true }
    guard let invite = findings.verdicts[entry].invite.flatMap(log.terms) else { return false }
    // A use that was itself pending and was confirmed only later had not consumed a use yet.
    let others = findings.live.uses[log.invited[entry]].count { use in
      use != entry && log.sees(confirmation, use)
        && findings.confirmations[use].map { log.sees(confirmation, $0) } ?? false
    }
    return others >= invite.maximumUses
  }
}
