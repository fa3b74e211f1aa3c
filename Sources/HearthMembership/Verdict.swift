import HearthCRDT

/// What an operation is to the group by its own past.
struct Verdict: Equatable {
  /// Why it has no effect; nil if its past allows it.
  var refusal: VoidReason?
  /// Whether it is refused only for what a confirmation overcomes.
  var isContested = false
  /// The rank of its author, 0 for a stranger.
  var rank = 0
  /// The rank that it needs.
  var needs = 0
  /// The person whose device wrote it, or comes in by it.
  var person: PersonID?
  /// The role that it gives to the person whom it adds or sets; nil if none.
  var given: Role?
  /// The enrolment by which its author's device belonged to the group, its own for a joining.
  var enrolment: Int?
  /// The joining by which the person belonged to the group.
  var membership: Int?
  /// The same of who comes in by it; nil if it lets nobody in.
  var admitted: Int?
  /// Whether it lets somebody in by an invitation.
  var isEntry = false
  /// The operation that made the invitation by which it lets somebody in.
  var invite: Int?
  /// Whether its proof was looked at.
  var isAttempt = false
  /// Whether the invitation's holder is proven to have made it.
  var isProven = false
  /// From whom it takes the group over; nil if it is no hand-over.
  var formerOwner: PersonID?
}

/// How the author of an operation stood.
struct Authority {
  /// What its author had seen of others, as ``Causality`` numbers it.
  let sight: Int
  /// Nil for somebody who did not belong to the group.
  let standing: (enrolment: Int, person: PersonID, role: Role)?
}

/// An operation that loses its effect.
struct Strike {
  let place: Int
  /// What takes the effect from it.
  let by: Int
  let reason: VoidReason
}
