import HearthCRDT

/// The terms of an invitation, without its keys: passes read them many times.
struct InviteTerms: Sendable {
  let person: PersonID?
  let role: Role
  let admission: ControlOperation.Admission
  let maximumUses: Int
  let expiresMilliseconds: UInt64

  init?(_ operation: ControlOperation) {
    guard case .inviteCreate(let invite) = operation else { return nil }
    (person, role, admission) = (invite.person, invite.role, invite.admission)
    (maximumUses, expiresMilliseconds) = (invite.maximumUses, invite.expiresMilliseconds)
  }
}
