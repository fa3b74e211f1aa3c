import HearthCRDT
import HearthCrypto

/// A device's verified self-introduction at the beginning of its log in the control zone.
package struct Introduction: Sendable {
  /// The keys that hash to the device's id.
  package let card: DeviceCard
  /// The invitation that it used; nil for a founder or a device that used recovery words.
  var invite: Identifier?
  /// Whether it takes one of the slots for devices that no current member vouches for.
  package let isStranger: Bool
  /// The person at whose expense the device writes: whose recovery words or link for a further
  /// device it used; nil for a newcomer.
  package var sponsor: PersonID?
  /// Whether it uses the present recovery words to end all other devices of the person.
  package var endsOthers = false
}

/// What the first operation of an unknown device claims, before anybody has checked a signature.
package struct IntroductionClaim: Sendable {
  fileprivate enum Proof {
    /// The device is the one that the group's id commits to.
    case genesis
    /// The invitations of one id that the device may have used, in the order of trial.
    case invitation(ControlOperation.Join, [ControlOperation.InviteCreate])
    /// The sign keys of the recovery words that may have signed, in the order of trial.
    case words(ControlOperation.Recover, Dot, [[UInt8]])
  }

  /// The introductions of which the proof can establish one; never empty.
  ///
  /// For an invitation there is one for each operation with its id, in the order of the proof.
  fileprivate let candidates: [Introduction]
  fileprivate let proof: Proof

  /// The people at whose expense the device may write; nil stands for nobody.
  package var sponsors: [PersonID?] { candidates.map(\.sponsor) }
}

/// The number of further devices that may begin logs in the control zone.
///
/// A zone has a limited number of authors. Anybody with an old key of the control zone can seal
/// arbitrary content, so only a device that shows an invitation or recovery words gets a slot. Each
/// invitation has a few more slots than it allows uses. A bounded number of slots is for devices
/// whose voucher has no effect any more. All other devices stay pending and take no slot.
package struct IntroductionRoom: Sendable {
  fileprivate var allowed: [Identifier: Int] = [:]
  fileprivate var used: [Identifier: Int] = [:]
  fileprivate var strangers = 0

  /// The most devices in the control log that no current member vouches for.
  package static let maximumStrangers = 256

  /// Whether a claim would get a slot if its proof holds.
  ///
  /// The answer costs no signature, so a crowd that shows one link costs none beyond its slots.
  package func mayAdmit(_ claim: IntroductionClaim, isCited: Bool) -> Bool {
    claim.candidates.contains { hasSlot(for: $0, isCited: isCited) }
  }

  private func hasSlot(for introduction: Introduction, isCited: Bool) -> Bool {
    if isCited { return true }
    if let invite = introduction.invite {
      guard used[invite, default: 0] < allowed[invite, default: 0] else { return false }
    }
    return !introduction.isStranger || strangers < IntroductionRoom.maximumStrangers
  }

  /// Takes a slot; returns false if none is free, but a log that a current member has seen
  /// (`isCited`) is needed, whoever wrote it.
  package mutating func admit(_ introduction: Introduction, isCited: Bool) -> Bool {
    guard hasSlot(for: introduction, isCited: isCited) else { return false }
    if let invite = introduction.invite { used[invite, default: 0] += 1 }
    if introduction.isStranger { strangers += 1 }
    return true
  }
}

/// The devices that may begin logs in the control zone.
package struct Introductions: ResolvedPart {
  let resolved: ResolvedControl

  /// The introduction in an unknown device's first operation; nil while nothing vouches for it.
  package func introduction(
    _ operation: ControlOperation, at dot: Dot, in group: GroupID, naming words: [UInt8]?
  ) -> Introduction? {
    claim(of: operation, at: dot, in: group, naming: words).flatMap(proven)
  }

  /// What an unknown device's first operation claims; nil if no proof could establish anything.
  ///
  /// A genesis vouches for itself, since the group's id is its hash.
  ///
  /// - Parameter words: The sign key of the recovery words that a recovery says it shows. Versions
  ///   before this rule said nothing; then only a few words are tried, since a person may have
  ///   replaced them very often, and each trial costs a signature.
  package func claim(
    of operation: ControlOperation, at dot: Dot, in group: GroupID, naming words: [UInt8]?
  ) -> IntroductionClaim? {
    guard let card = operation.card, ControlIdentity.cardID(of: card) == dot.author.device
    else { return nil }
    switch operation {
    case .genesis(let genesis):
      guard ControlIdentity.groupID(of: genesis) == group else { return nil }
      return IntroductionClaim(
        candidates: [Introduction(card: card, isStranger: false)], proof: .genesis)
    case .join(let join): return claim(of: join)
    case .recover(let recover):
      let keys = signKeys(of: recover.person, named: words)
      guard !recover.signature.isEmpty, !keys.isEmpty else { return nil }
      let hoped = Introduction(card: card, isStranger: false, sponsor: recover.person)
      return IntroductionClaim(candidates: [hoped], proof: .words(recover, dot, keys))
    default: return nil
    }
  }

  private func claim(of join: ControlOperation.Join) -> IntroductionClaim? {
    var candidates: [Introduction] = []
    var invites: [ControlOperation.InviteCreate] = []
    for place in findings.index.invites[log.invitations[join.invite]] {
      guard findings.verdicts[place].refusal == nil,
        case .inviteCreate(let invite) = log.operation(place)
      else { continue }
      invites.append(invite)
      candidates.append(
        Introduction(
          card: join.device, invite: join.invite, isStranger: !findings.isLive[place],
          sponsor: invite.person))
    }
    guard !candidates.isEmpty else { return nil }
    return IntroductionClaim(candidates: candidates, proof: .invitation(join, invites))
  }

  /// Checks the signatures of a claim; nil if they do not hold.
  package func proven(_ claim: IntroductionClaim) -> Introduction? {
    switch claim.proof {
    case .genesis: return claim.candidates.first
    case .invitation(let join, let invites):
      var proofs = resolved.resolver.proofs
      let place = invites.firstIndex {
        proofs.isProven(join, by: $0, group: resolved.resolver.group)
      }
      return place.map { claim.candidates[$0] }
    case .words(let recover, let dot, let keys):
      return signer(of: recover, at: dot, among: keys).map { introduction(of: recover, by: $0) }
    }
  }

  private func introduction(of recover: ControlOperation.Recover, by sign: [UInt8]) -> Introduction
  {
    let isPresent = presentKey(of: recover.person) == sign
    return Introduction(
      card: recover.device, isStranger: !isPresent, sponsor: recover.person,
      endsOthers: recover.revokesOthers && isPresent)
  }

  /// The sign key of the person's recovery words, present or replaced, that signed a recovery; nil
  /// if there are none.
  package func signKey(of recover: ControlOperation.Recover, at dot: Dot) -> [UInt8]? {
    signer(of: recover, at: dot, among: everySignKey(of: recover.person))
  }

  private func signer(
    of recover: ControlOperation.Recover, at dot: Dot, among keys: [[UInt8]]
  ) -> [UInt8]? {
    var proofs = resolved.resolver.proofs
    return keys.first { sign in
      proofs.holds(
        ProofBook.Claim(
          domain: ControlSignature.recoverDomain, sign: sign, box: [],
          message: ControlSignature.signedBytes(
            group: resolved.resolver.group, dot: dot, recover.signedBody),
          signature: recover.signature))
    }
  }

  private func presentKey(of person: PersonID) -> [UInt8]? {
    LogView.all.recoveryKeys(of: person, in: findings)?.keys.sign
  }

  /// The sign keys with which a recovery is tried: the named one, or else the present one and the
  /// first ones.
  private func signKeys(of person: PersonID, named: [UInt8]?) -> [[UInt8]] {
    let all = everySignKey(of: person)
    if let named { return all.contains(named) ? [named] : [] }
    let first = all.prefix(Introductions.maximumUnnamedWords)
    guard let present = presentKey(of: person), !first.contains(present) else {
      return Array(first)
    }
    return [present] + first
  }

  /// The most words, beside the present ones, that are tried if a recovery does not name its own.
  private static let maximumUnnamedWords = 4

  /// The sign keys of all recovery words that a person ever had, in log order.
  private func everySignKey(of person: PersonID) -> [[UInt8]] {
    (findings.index.words[person] ?? []).compactMap { place in
      findings.verdicts[place].refusal == nil ? log.operation(place).words?.sign : nil
    }
  }

  /// The number of further devices that may begin logs now.
  package var room: IntroductionRoom {
    var room = IntroductionRoom()
    for number in findings.index.invites.numbers {
      let uses = findings.index.invites[number].compactMap { log.terms($0)?.maximumUses }
      room.allowed[log.invitations[number: number]] = (uses.max() ?? 0) + EntryJudge.spareUses
    }
    for places in findings.index.enrolments.values {
      if !places.contains(where: { findings.isLive[$0] }) { room.strangers += 1 }
      for case .join(let join) in places.prefix(1).map({ log.operation($0) }) {
        room.used[join.invite, default: 0] += 1
      }
    }
    return room
  }
}
