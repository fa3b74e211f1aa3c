/// The promises, each of which can be checked alone.
package enum Promise: String, Sendable, CaseIterable {
  /// A.
  ///
  /// The same set of acts gives the same answer, in any order and with doubles.
  case convergence
  /// B.
  ///
  /// A person whose joining a higher rank confirmed for good is in, with the right role.
  case entryIsFinal
  /// C.
  ///
  /// What devices write that were out at that moment changes nothing.
  case outDecidesNothing
  /// D.
  ///
  /// Nobody is in, is of a rank, or owns, who never was given it.
  case noGain
  /// E.
  ///
  /// A removal, a revocation, a demotion, a confirmed hand-over, a finished recovery stays.
  case lasting
  /// F.
  ///
  /// An act whose claims are not closed, or go back, has no effect.
  case closedCauses
  /// G.
  ///
  /// Devices that never had any standing leave no trace.
  case noTrace
  /// H.
  ///
  /// What nobody contradicts takes effect.
  case liveness
  /// I.
  ///
  /// A device that its own person revoked is out, and decides nothing once that is known.
  case stolenDevice
  /// J.
  ///
  /// What an author writes without the rank that it needs at that moment changes nothing.
  case rankNeeded
  /// K.
  ///
  /// There is exactly one owner, and the owner is in.
  case oneOwner
  /// L.
  ///
  /// No more people stay in by a link than it has uses, unless more were confirmed.
  case usesHold
  /// P.
  ///
  /// Keys follow standing: the key under which records are written is held by nobody who is out.
  case keysFollowStanding
  /// O.
  ///
  /// Two devices of one person that revoked each other are both out.
  case mutualRevocation
  /// M.
  ///
  /// E and I for the owner: once an owner or admin of another person has seen a recovery that
  /// revokes the others, what those devices write changes nothing for anybody, although nobody
  /// outranks the owner. Derived, see `Strictness.recovery`.
  case recoverySilences
  /// N.
  ///
  /// The same for somebody who left, once a higher rank has seen it. Derived.
  case leavingSilences
  /// Q.
  ///
  /// A joining that an honest owner or admin who knew the link first sees after its expiry, by that
  /// one's own clock, and that nobody of rank had confirmed before, is in only if a person approves
  /// it. The same is true of one that claims itself to be late.
  case expiryHolds
  /// R.
  ///
  /// A joining that somebody of rank confirmed stays, whatever anybody's clock claims. Clocks
  /// decide nothing but whether a joining is in time.
  case clocksUndoNothing
  /// S.
  ///
  /// Whoever made a person's number keeps it: a joining under it by another device neither counts
  /// nor ends anything, unless an owner may have accepted it.
  case numberIsItsMakers

  /// Only histories with clocks can break it.
  package var isAboutClocks: Bool { self == .expiryHolds || self == .clocksUndoNothing }
}

/// Promises that go further than the words of the design; each can be switched off.
package struct Strictness: OptionSet, Sendable {
  package let rawValue: Int
  package init(rawValue: Int) { self.rawValue = rawValue }

  /// A finished recovery silences the revoked devices of an owner too.
  package static let recovery = Strictness(rawValue: 1)
  /// A witnessed leave silences the other devices of who left.
  package static let leaving = Strictness(rawValue: 2)
  package static let all: Strictness = [.recovery, .leaving]
}
