import HearthCRDT
import HearthCrypto

// What an author's role allows, judged by what the author had seen.
extension ControlResolver {
  /// Why an operation has no effect; nil if it has.
  mutating func judge(_ place: Int) -> VoidReason? {
    let item = log.items[place]
    switch item.operation {
    case .genesis: return judgeGenesis(place)
    case .join(let join): return judgeJoin(place, join)
    case .recover(let recover): return judgeRecover(place, recover)
    default: break
    }
    guard let enrolment = enrolment(of: item.device, .past(place)),
      let person = enrolledPerson(enrolment), let role = role(of: person, .past(place)),
      item.version.dot.author.incarnation >= firstLife(of: item.device, enrolledBy: enrolment)
    else { return .notADevice }
    persons[place] = person
    ranks[place] = role.rank
    return judgeMembers(place, person, role)
  }

  /// The author is known to be a device of the group.
  private mutating func judgeMembers(
    _ place: Int, _ person: PersonID, _ role: Role
  ) -> VoidReason? {
    switch log.items[place].operation {
    case .inviteCreate(let invite): return judgeInvite(place, invite, person, role)
    case .inviteClose(let id): return judgeClosing(place, id, person)
    case .admit(let admit): return judgeAdmit(place, admit)
    case .removeMember(let removal): return judgeRemoval(place, of: removal.person, by: person)
    case .revokeDevice(let revocation):
      return judgeRevocation(place, of: revocation.device, by: person)
    case .setRole(let change): return judgeRole(place, change, by: person)
    case .transferOwner(let transfer): return judgeTransfer(place, transfer, by: person)
    case .acceptOwner: return judgeAcceptance(place, by: person)
    case .leave:
      guard role != .owner else { return .ownerStays }
      index.noteLeaving(place, of: person)
      return nil
    case .setRecovery(let set):
      index.noteWords(place, of: person)
      guard recoveryKeys(of: person, .past(place)) == nil, !hasNamedTwice(place, person) else {
        return .alreadyThere
      }
      return areRecoveryKeys(set.keys) ? nil : .badProof
    case .rotateRecovery(let rotation): return judgeRotation(place, rotation, by: person)
    case .adopt: return require(.admin, place)
    case .setPolicy(let policy): return judgePolicy(place, policy)
    case .epoch: return role == .reader ? .needs(.child) : nil
    case .wrapAdd, .incarnate, .forkProof, .complaint, .heartbeat, .branch, .unknown, .genesis,
      .join, .recover:
      return nil
    }
  }

  /// The life in which a device came into the group, where it said so itself: earlier ones, which
  /// would not count as knowing what it has known since, say nothing.
  private func firstLife(of device: DeviceID, enrolledBy place: Int) -> UInt64 {
    let author = log.items[place].version.dot.author
    return author.device == device ? author.incarnation : 0
  }

  private mutating func require(_ role: Role, _ place: Int) -> VoidReason? {
    needs[place] = max(needs[place], role.rank)
    return ranks[place] >= role.rank ? nil : .needs(role)
  }

  /// Whether the author is of a higher rank than a person it concerns, and an admin at least.
  private mutating func requireAbove(_ person: PersonID, _ place: Int) -> VoidReason? {
    guard let role = role(of: person, .past(place)) else { return .noSubject }
    if let reason = require(.admin, place) { return reason }
    needs[place] = max(needs[place], role.rank + 1)
    return ranks[place] > role.rank ? nil : .notBelow
  }
}

// MARK: - Beginnings

extension ControlResolver {
  private mutating func judgeGenesis(_ place: Int) -> VoidReason? {
    guard index.geneses.contains(place), case .genesis(let genesis) = log.items[place].operation,
      proofs.isCard(genesis.device)
    else { return .badProof }
    persons[place] = genesis.founder
    given[place] = .owner
    ranks[place] = Role.owner.rank
    return nil
  }

  private mutating func judgeJoin(
    _ place: Int, _ join: ControlOperation.Join
  ) -> VoidReason? {
    let item = log.items[place]
    persons[place] = join.person
    guard Membership.cardID(of: join.device) == item.device else { return .badProof }
    if let reason = judgeUse(place, join, admission: .auto) { return reason }
    ranks[place] = role(of: join.person, .past(place))?.rank ?? given[place]?.rank ?? 0
    return nil
  }

  private mutating func judgeAdmit(
    _ place: Int, _ admit: ControlOperation.Admit
  ) -> VoidReason? {
    if let reason = require(.admin, place) { return reason }
    if let reason = judgeUse(place, admit.join, admission: .approve) { return reason }
    guard let role = given[place] ?? role(of: admit.join.person, .past(place)) else {
      return .noSubject
    }
    let isOwnDevice = admit.join.person == persons[place]
    if !isOwnDevice, let reason = grant(role, place) { return reason }
    let claim = ProofBook.Claim(
      domain: Membership.possessionDomain, sign: admit.join.device.signKey, box: [],
      message: Membership.joinHash(of: admit.join, group: group), signature: admit.possession)
    return proofs.holds(claim) ? nil : .badProof
  }

  /// Whether a role may be granted by the author.
  private mutating func grant(_ role: Role, _ place: Int) -> VoidReason? {
    needs[place] = max(needs[place], role.rank + 1)
    return role.rank < ranks[place] ? nil : .grantsTooMuch
  }

  /// What joining at once and being let in have in common: an invitation that holds.
  private mutating func judgeUse(
    _ place: Int, _ join: ControlOperation.Join, admission: ControlOperation.Admission
  ) -> VoidReason? {
    let item = log.items[place]
    let past = View.past(place)
    guard let invite = invite(join.invite, past) else { return .noSubject }
    guard invite.operation.admission == admission else { return .wrongInvitation }
    guard mayStillInvite(invite.place, invite.operation, past) else { return .closed }
    guard enrolment(of: Membership.cardID(of: join.device), past) == nil else {
      return .alreadyThere
    }
    guard item.version.time.milliseconds <= invite.operation.expiresMilliseconds else {
      return .expired
    }
    guard
      index.closings[join.invite]?.contains(where: { holds($0, past) }) != true
        || Mutant.closedStillAdmits.isActive
    else { return .closed }
    var left = invite.operation.maximumUses
    for use in index.uses[join.invite] ?? [] {
      guard left > 0, use < place else { break }
      if holds(use, past), inviter(of: use) == invite.place { left -= 1 }
    }
    guard left > 0 else { return .usedUp }
    guard proofs.isProven(join, by: invite.operation, group: group) else { return .badProof }
    return judgePerson(place, join, invite.operation, from: persons[invite.place])
  }

  /// Whether who made an invitation is still there, with a rank that may make it: an invitation
  /// does not outlive its device or its maker's rank.
  private func mayStillInvite(
    _ place: Int, _ invite: ControlOperation.InviteCreate, _ view: View
  ) -> Bool {
    guard let inviter = persons[place], person(of: log.items[place].device, view) == inviter
    else { return false }
    if invite.person == inviter { return true }
    guard let rank = role(of: inviter, view)?.rank else { return false }
    return rank >= Role.admin.rank && invite.role.rank < rank
  }

  /// Whether the invitation lets in the person who is named.
  ///
  /// A present person's further device needs an invitation for that very person, and so does the
  /// name of somebody who was here before, unless the device is known to have been theirs.
  private mutating func judgePerson(
    _ place: Int, _ join: ControlOperation.Join, _ invite: ControlOperation.InviteCreate,
    from inviter: PersonID?
  ) -> VoidReason? {
    let past = View.past(place)
    if let person = invite.person, person != join.person { return .wrongInvitation }
    if addition(of: join.person, past) != nil {
      return invite.person == join.person && inviter == join.person ? nil : .alreadyThere
    }
    given[place] = invite.role
    let wasHere = index.additions[join.person]?.contains { holds($0, past) } ?? false
    guard wasHere, invite.person == nil else { return nil }
    let wasTheirs =
      index.enrolments[Membership.cardID(of: join.device)]?.contains {
        holds($0, past) && enrolledPerson($0) == join.person
      } ?? false
    return wasTheirs ? nil : .alreadyThere
  }

  private mutating func judgeRecover(
    _ place: Int, _ recover: ControlOperation.Recover
  ) -> VoidReason? {
    let item = log.items[place]
    let past = View.past(place)
    persons[place] = recover.person
    guard Membership.cardID(of: recover.device) == item.device, proofs.isCard(recover.device)
    else { return .badProof }
    guard let role = role(of: recover.person, past) else { return .noSubject }
    guard enrolment(of: item.device, past) == nil else { return .alreadyThere }
    guard let root = recoveryKeys(of: recover.person, past) else { return .badProof }
    ranks[place] = role.rank
    return holds(
      recover.signature, of: recover.signedBody, Membership.recoverDomain, by: root.keys.sign,
      place) ? nil : .badProof
  }

  private mutating func holds(
    _ signature: [UInt8], of body: [UInt8], _ domain: Domain, by key: [UInt8], _ place: Int
  ) -> Bool {
    let claim = ProofBook.Claim(
      domain: domain, sign: key, box: [],
      message: Membership.signedBytes(
        group: group, dot: log.items[place].version.dot, body),
      signature: signature)
    return !signature.isEmpty && proofs.holds(claim)
  }
}

// MARK: - Invitations and people

extension ControlResolver {
  private mutating func judgeInvite(
    _ place: Int, _ invite: ControlOperation.InviteCreate, _ person: PersonID, _ role: Role
  ) -> VoidReason? {
    guard invite.maximumUses > 0, self.invite(invite.invite, .past(place)) == nil else {
      return .alreadyThere
    }
    // To oneself: a further device, whatever the role.
    if invite.person == person { return nil }
    if let invited = invite.person, addition(of: invited, .past(place)) != nil {
      return .wrongInvitation
    }
    return require(.admin, place) ?? grant(invite.role, place)
  }

  private mutating func judgeClosing(
    _ place: Int, _ id: Identifier, _ person: PersonID
  ) -> VoidReason? {
    guard let invite = invite(id, .past(place)) else { return .noSubject }
    return persons[invite.place] == person ? nil : require(.admin, place)
  }

  private mutating func judgeRemoval(
    _ place: Int, of subject: PersonID, by person: PersonID
  ) -> VoidReason? {
    guard subject != person else { return .ownerStays }
    return requireAbove(subject, place)
  }

  private mutating func judgeRevocation(
    _ place: Int, of device: DeviceID, by person: PersonID
  ) -> VoidReason? {
    guard let subject = self.person(of: device, .past(place)) else { return .noSubject }
    return subject == person ? nil : requireAbove(subject, place)
  }

  private mutating func judgeRole(
    _ place: Int, _ change: ControlOperation.SetRole, by person: PersonID
  ) -> VoidReason? {
    given[place] = change.role
    if change.person == person {
      if ranks[place] == Role.owner.rank { return .ownerStays }
      return change.role.rawValue < (role(of: person, .past(place))?.rawValue ?? 0)
        ? nil : .grantsTooMuch
    }
    return requireAbove(change.person, place) ?? grant(change.role, place)
  }

  private mutating func judgeTransfer(
    _ place: Int, _ transfer: ControlOperation.TransferOwner, by person: PersonID
  ) -> VoidReason? {
    if let reason = require(.owner, place) { return reason }
    // To oneself: nobody may take it any more who has seen that.
    guard addition(of: transfer.to, .past(place)) != nil else { return .noSubject }
    // Without words whoever holds an unlocked device could give the group away.
    guard let root = recoveryKeys(of: person, .past(place)) else { return .noWords }
    return holds(
      transfer.signature, of: transfer.signedBody, Membership.transferDomain,
      by: root.keys.sign, place) ? nil : .badProof
  }

  private mutating func judgeAcceptance(
    _ place: Int, by person: PersonID
  ) -> VoidReason? {
    let past = View.past(place)
    guard let offer = offer(takenBy: place), holds(offer, past),
      case .transferOwner(let transfer) = log.items[offer].operation, transfer.to == person,
      let owner = persons[offer], owner != person
    else { return .noSubject }
    // An offer holds while its maker is the owner and has made no other since.
    let isSuperseded = index.transfers.values.joined().contains {
      $0 > offer && holds($0, past) && log.sees($0, offer)
    }
    guard self.owner(past) == owner, !isSuperseded else { return .expired }
    index.noteHandingOver(place, from: owner, to: person)
    return nil
  }

  private mutating func judgePolicy(
    _ place: Int, _ policy: ControlOperation.Policy
  ) -> VoidReason? {
    if let reason = require(.admin, place) { return reason }
    let floor = minimumSuite(.past(place))
    return policy.minimumSuite >= floor ? nil : .grantsTooMuch
  }

  /// The least suite that is accepted: the greatest that was ever asked for.
  func minimumSuite(_ view: View) -> UInt8 {
    index.policies.reduce(1) { floor, place in
      guard holds(place, view), case .setPolicy(let policy) = log.items[place].operation else {
        return floor
      }
      return max(floor, policy.minimumSuite)
    }
  }

  private mutating func judgeRotation(
    _ place: Int, _ rotation: ControlOperation.RotateRecovery, by person: PersonID
  ) -> VoidReason? {
    index.noteWords(place, of: person)
    let past = View.past(place)
    guard let root = recoveryKeys(of: person, past) else { return .noSubject }
    guard areRecoveryKeys(rotation.keys) else { return .badProof }
    let isAgreed: Bool
    switch rotation.consent {
    case .recovery(let signature):
      isAgreed = holds(
        signature, of: rotation.signedBody, Membership.rotationDomain, by: root.keys.sign, place)
    case .device(let device, let signature):
      guard device != log.items[place].device, self.person(of: device, past) == person,
        let enrolment = enrolment(of: device, past), let card = card(enrolment)
      else { return .noSubject }
      guard mayConsent(enrolment, to: place, of: root.place) else { return .notIndependent }
      isAgreed = holds(
        signature, of: rotation.signedBody, Membership.rotationDomain, by: card.signKey, place)
    }
    return isAgreed ? nil : .badProof
  }

  /// Whether an author's device had named first words of the person twice, in two histories of one
  /// life: whoever did that names none any more, or it would replace words in two steps.
  private func hasNamedTwice(_ place: Int, _ person: PersonID) -> Bool {
    let own = (index.words[person] ?? []).filter {
      log.items[$0].device == log.items[place].device && log.sees(place, $0)
    }
    return own.contains { one in own.contains { log.areBranches(one, $0) } }
  }

  /// Whether a second device's consent to new words says more than the asking device's.
  ///
  /// Both were in the group when the present words were named, so nobody who comes by a device
  /// later makes one up for this; and the asking device did not let the second one in.
  private func mayConsent(_ second: Int, to place: Int, of words: Int) -> Bool {
    let asking = log.items[place].device
    guard let first = enrolment(of: asking, .past(place)), log.sees(words, first),
      log.sees(words, second)
    else { return false }
    return inviter(of: second).map { log.items[$0].device } != asking
  }

  private mutating func areRecoveryKeys(_ keys: ControlOperation.RecoveryKeys) -> Bool {
    let claim = ProofBook.Claim(
      domain: "HRTH/recovery-keys/v1", sign: keys.sign, box: keys.box, message: [], signature: [])
    return proofs.holds(claim)
  }
}
