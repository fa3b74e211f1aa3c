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
  /// The former owner of an ownership handover; nil for any other operation.
  var formerOwner: PersonID?

  /// Requires a rank of the author; returns the reason why the operation is void without it.
  mutating func require(_ role: Role) -> VoidReason? {
    needs = max(needs, role.rank)
    return rank >= role.rank ? nil : .needs(role)
  }

  /// Requires that the author is an admin at least and has a higher rank than the subject, whose
  /// role is nil if there is no such person.
  mutating func requireAbove(_ subject: Role?) -> VoidReason? {
    guard let subject else { return .noSubject }
    if let reason = require(.admin) { return reason }
    needs = max(needs, subject.rank + 1)
    return rank > subject.rank || Mutant.ranksDoNotBind.isActive ? nil : .notBelow
  }

  /// Requires that the author has a higher rank than the granted role.
  mutating func grant(_ role: Role) -> VoidReason? {
    needs = max(needs, role.rank + 1)
    return role.rank < rank ? nil : .grantsTooMuch
  }
}

/// An operation that another one overrides.
struct Strike: Hashable {
  let place: Int
  let by: Int
  let rule: VoidReason.Rule
}
