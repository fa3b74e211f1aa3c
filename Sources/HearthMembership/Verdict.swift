import HearthCRDT

/// The judgement of an operation by its own past.
struct Verdict: Equatable {
  /// The reason why it has no effect; nil if its past allows it.
  var refusal: VoidReason?
  /// Whether a confirmation can override the refusal.
  var isContested = false
  /// The rank of its author; 0 for a stranger.
  var rank = 0
  /// The rank that it needs.
  var needs = 0
  /// The person whose device wrote it, or who joins by it.
  var person: PersonID?
  /// The role that it gives to its subject; nil if it gives none.
  var given: Role?
  /// The enrolment of its author's device; for a join, its own place.
  var enrolment: Int?
  /// The join by which its author's person belonged to the group.
  var membership: Int?
  /// The join by which the admitted person belongs to the group; nil if it admits nobody.
  var admitted: Int?
  /// Whether it admits somebody by an invitation.
  var isEntry = false
  /// Whether its author joins as a person who had never been in the group.
  var isFirst = false
  /// The operation that made the invitation by which it admits somebody.
  var invite: Int?
  /// Whether its proof was checked.
  var isAttempt = false
  /// Whether it is proven that the invitation's holder made it.
  var isProven = false
  /// The former owner of an ownership handover; nil for any other operation.
  var formerOwner: PersonID?
}

struct Authority {
  /// The author's knowledge of other logs, as numbered by ``Causality``.
  let sight: Int
  /// The author's enrolment, person and role; nil if the author did not belong to the group.
  let standing: (enrolment: Int, person: PersonID, role: Role)?
}

/// An operation that another one overrides.
struct Strike {
  let place: Int
  let by: Int
  let reason: VoidReason
}
