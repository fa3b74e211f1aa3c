import HearthCRDT

/// The reason why a control operation has no effect.
package enum VoidReason: Equatable, Sendable {
  /// Its author's device did not belong to the group at that time.
  case notADevice
  /// Its author's role does not allow it.
  case needs(Role)
  /// Its subject does not have a lower rank than its author.
  case notBelow
  /// It grants a rank that is not below its author's rank.
  case grantsTooMuch
  /// Its subject does not exist.
  case noSubject
  /// It contains an invalid signature or hash.
  case badProof
  /// An ownership handover needs recovery words, and its author has none.
  case noWords
  /// The consenting second device was enrolled after the words were set, or by the author's device.
  case notIndependent
  /// Its subject exists already.
  case alreadyThere
  /// The invitation has no uses left.
  case usedUp
  /// The invitation or the offer had expired.
  case expired
  /// The invitation was closed.
  case closed
  /// The invitation is for somebody else, or admits people in a different manner.
  case wrongInvitation
  /// Too many other disputed joins decide about it.
  case undecided
  /// Its author states to have seen a change without that change's own causes.
  case openCauses
  /// Its author has reached the limit for this kind of operation.
  case tooMany
  /// The owner must transfer the group first.
  case ownerStays
  /// A concurrent operation overrides it.
  case overruled(by: RecordID, Rule)

  /// The rule by which one of two concurrent operations overrides the other.
  package enum Rule: String, Sendable {
    /// Somebody of higher rank removed the author or revoked the author's device.
    case authorRemoved
    /// Another device of the same person revoked the device that wrote it.
    case deviceRevoked
    /// The person left the group.
    case hasLeft
    /// The author lost the rank that the operation needs.
    case rankLost
    /// Between a removal and a grant the higher rank wins; between equal ranks the removal wins.
    case removalAndGrant
    /// Between two roles the higher rank wins; between equal ranks the lower role wins.
    case twoRoles
    /// An ownership handover overrides operations of others against the new owner.
    case transferWins
    /// The offer had ended before it was accepted, and other witnesses had seen this.
    case offerEnded
    /// Between two ownership handovers the first in order wins.
    case twoTransfers
    /// A recovery with the recovery words revoked the device that wrote it.
    case recoveryWords
    /// Another device of the same person also set first recovery words; neither takes effect.
    case wordsTwice
    /// The recovery words were replaced.
    case wordsReplaced
    /// The invitation was closed by an author who had not seen the join.
    case invitationClosed
    /// Other joins, earlier in order, used up the invitation.
    case invitationUsedUp
    /// Another device joined under the same person with a stronger claim, or earlier in order.
    case samePerson
    /// The device joined under another name in another branch of its log.
    case deviceTwice
  }
}

/// A control operation without effect.
package struct VoidedOperation: Sendable {
  /// The id of its event.
  package let id: RecordID
  package let version: Version
  package let operation: ControlOperation
  package let reason: VoidReason
}
