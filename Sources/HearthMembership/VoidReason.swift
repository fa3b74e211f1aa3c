import HearthCRDT

/// Why a control operation has no effect.
package enum VoidReason: Equatable, Sendable {
  /// Its author's device was not one of the group's at that time.
  case notADevice
  /// Its author's role does not allow it.
  case needs(Role)
  /// Whom it concerns is not of a lower rank than its author.
  case notBelow
  /// It grants a rank that is not below its author's.
  case grantsTooMuch
  /// Whom or what it concerns is not there.
  case noSubject
  /// A signature or a hash in it does not hold.
  case badProof
  /// The group is handed over with recovery words only, and its author has none.
  case noWords
  /// The second device that agrees came after the words, or by the author's device.
  case notIndependent
  /// What it makes is there already.
  case alreadyThere
  /// The invitation was used as often as it allows.
  case usedUp
  /// The invitation was over.
  case expired
  /// The invitation was closed.
  case closed
  /// The invitation is for somebody else, or lets in another way.
  case wrongInvitation
  /// Too many others that are in dispute decide about it.
  case undecided
  /// Its author states to have seen something without what that had seen.
  case openCauses
  /// Its author has made as many as anybody may.
  case tooMany
  /// The owner must hand the group over first.
  case ownerStays
  /// Something that happened at the same time goes before it.
  case overruled(by: RecordID, Rule)

  /// Which of two operations that happened at the same time goes before the other.
  package enum Rule: String, Sendable {
    /// The author was removed, or its device revoked, by a higher rank.
    case authorRemoved
    /// Another device of the same person revoked the device that wrote it.
    case deviceRevoked
    /// The person left the group.
    case hasLeft
    /// The author lost the rank that the operation needs.
    case rankLost
    /// Of a removal and a grant the higher rank's holds, of equal ones the removal.
    case removalAndGrant
    /// Of two roles the higher rank's holds, of equal ones the lower role.
    case twoRoles
    /// Handing the group over goes before what others do to the new owner.
    case transferWins
    /// The offer ended before it was taken, as others had seen.
    case offerEnded
    /// Of two handings over the first in order holds.
    case twoTransfers
    /// The recovery words revoked the device that wrote it.
    case recoveryWords
    /// Another device of the same person named first words as well: neither holds.
    case wordsTwice
    /// The recovery words were replaced.
    case wordsReplaced
    /// The invitation was closed by somebody who had not seen the joining.
    case invitationClosed
    /// Others joined by the invitation before, in order.
    case invitationUsedUp
    /// Another device joined under the same person before, in order.
    case samePerson
    /// The device joined under another name in another history of its log.
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
