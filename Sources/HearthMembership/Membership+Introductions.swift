import HearthCRDT
import HearthCrypto

/// What a device says of itself at the beginning of its log in the members' zone, vouched for.
package struct Introduction: Sendable {
  /// The keys that hash to the device's id.
  package let card: DeviceCard
  /// The invitation by which it came; nil for a founder or somebody with recovery words.
  let invite: Identifier?
  /// Whether it needs one of the places for those for whom nobody who belongs to the group vouches.
  let isStranger: Bool
}

/// How many further devices may begin logs in the members' zone.
///
/// A zone has room for so many authors. Whoever has an old key of the members' zone can seal
/// whatever it likes, so only who shows an invitation or recovery words gets a place: of each
/// invitation a few more than it allows, and a bounded number where what vouches for them has no
/// effect any more. Everybody else waits, and takes no room.
package struct IntroductionRoom: Sendable {
  private let allowed: [Identifier: Int]
  private var used: [Identifier: Int]
  private var strangers: Int

  /// The most devices in the members' log for whom nobody in the group vouches.
  package static let maximumStrangers = 256

  init(allowed: [Identifier: Int], used: [Identifier: Int], strangers: Int) {
    self.allowed = allowed
    self.used = used
    self.strangers = strangers
  }

  /// Takes a place; false where none is free.
  ///
  /// - Parameter isCited: whether somebody who belongs to the group has seen the device's log. That
  ///   log is needed then, whoever wrote it.
  package mutating func admit(_ introduction: Introduction, isCited: Bool) -> Bool {
    if let invite = introduction.invite {
      guard isCited || used[invite, default: 0] < allowed[invite, default: 0] else { return false }
    }
    guard isCited || !introduction.isStranger || strangers < IntroductionRoom.maximumStrangers
    else { return false }
    if let invite = introduction.invite { used[invite, default: 0] += 1 }
    if introduction.isStranger { strangers += 1 }
    return true
  }
}

extension Membership {
  /// What vouches for an operation with which an unknown device begins its log; nil where nothing
  /// here does.
  ///
  /// It may do later, when the invitation or the words have come. A genesis vouches for itself: the
  /// group's id is its hash.
  package func introduction(
    _ operation: ControlOperation, at dot: Dot, in group: GroupID
  ) -> Introduction? {
    switch operation {
    case .genesis(let genesis):
      guard Membership.cardID(of: genesis.device) == dot.author.device,
        Membership.groupID(of: genesis) == group
      else { return nil }
      return Introduction(card: genesis.device, invite: nil, isStranger: false)
    case .join(let join):
      guard Membership.cardID(of: join.device) == dot.author.device else { return nil }
      return introduction(of: join)
    case .recover(let recover):
      guard Membership.cardID(of: recover.device) == dot.author.device else { return nil }
      return introduction(of: recover, at: dot)
    default: return nil
    }
  }

  private func introduction(of join: ControlOperation.Join) -> Introduction? {
    var proofs = resolver.proofs
    for place in resolver.index.invites[resolver.log.invitations[join.invite]] {
      guard resolver.verdicts[place].refusal == nil,
        case .inviteCreate(let invite) = resolver.log.operation(place),
        proofs.isProven(join, by: invite, group: resolver.group)
      else { continue }
      return Introduction(
        card: join.device, invite: join.invite, isStranger: !resolver.isLive[place])
    }
    return nil
  }

  private func introduction(of recover: ControlOperation.Recover, at dot: Dot) -> Introduction? {
    var proofs = resolver.proofs
    let present = resolver.recoveryKeys(of: recover.person, .all)?.keys
    for keys in resolver.everyWords(of: recover.person) {
      let claim = ProofBook.Claim(
        domain: Membership.recoverDomain, sign: keys.sign, box: [],
        message: Membership.signedBytes(group: resolver.group, dot: dot, recover.signedBody),
        signature: recover.signature)
      guard !recover.signature.isEmpty, proofs.holds(claim) else { continue }
      return Introduction(card: recover.device, invite: nil, isStranger: keys != present)
    }
    return nil
  }

  /// How many further devices may begin logs now.
  package var introductionRoom: IntroductionRoom {
    var allowed: [Identifier: Int] = [:]
    for number in resolver.index.invites.numbers {
      let uses = resolver.index.invites[number].compactMap { resolver.log.terms($0)?.maximumUses }
      allowed[resolver.log.invitations[number: number]] =
        (uses.max() ?? 0) + ControlResolver.spareUses
    }
    var used: [Identifier: Int] = [:]
    var strangers = 0
    for places in resolver.index.enrolments.values {
      if !places.contains(where: { resolver.isLive[$0] }) { strangers += 1 }
      for case .join(let join) in places.prefix(1).map({ resolver.log.operation($0) }) {
        used[join.invite, default: 0] += 1
      }
    }
    return IntroductionRoom(allowed: allowed, used: used, strangers: strangers)
  }
}

extension ControlResolver {
  /// All words that a person ever had, also such as were replaced.
  fileprivate func everyWords(of person: PersonID) -> [ControlOperation.RecoveryKeys] {
    (index.words[person] ?? []).compactMap { place in
      verdicts[place].refusal == nil ? log.operation(place).words : nil
    }
  }
}
