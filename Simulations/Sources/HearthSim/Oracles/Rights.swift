import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// Who may do what, in the words of the rules: readers nothing; children do chores, take back,
/// skip, and keep their own name; everybody else everything.
enum Rights {
  private static let work = [
    HouseholdSchema.completion, HouseholdSchema.retraction, HouseholdSchema.skip,
  ]
  /// Whether it says who counts as whom.
  static func isMerge(_ operation: Operation) -> Bool {
    operation.key.type == HouseholdSchema.personMerge
  }

  /// Whether somebody may decide about the person in an event: who says that somebody counts as
  /// another one ranks above the former, who has gone.
  static func mayDecide(
    _ operation: Operation, _ role: Role, _ standing: PeopleLog.Standing
  ) -> Bool {
    guard isMerge(operation), case .event(let fields) = operation.body
    else { return true }
    func person(_ field: FieldID) -> PersonID? {
      fields.first { $0.field == field }?.value.bytes.flatMap { Identifier(bytes: $0) }
    }
    guard let ghost = person(FieldID(.register, 1)) else { return true }
    let rank = standing.roles[ghost] ?? standing.formerRoles[ghost]
    guard let rank, rank.rank < role.rank else { return false }
    guard let other = person(FieldID(.register, 2)) else { return true }
    return standing.roles[ghost] == nil
      && (standing.roles[other] ?? standing.formerRoles[other]) != nil
  }

  /// - Parameter person: who does it.
  static func allow(_ operation: Operation, _ role: Role, by person: PersonID?) -> Bool {
    let isForAdmins = [HouseholdSchema.close, HouseholdSchema.personMerge]
    if isForAdmins.contains(operation.key.type) { return role == .admin || role == .owner }
    switch role {
    case .reader: return false
    case .child:
      let type = operation.key.type
      // What somebody else did a child does not tell.
      if type == HouseholdSchema.completion, case .event(let fields) = operation.body {
        let doer = fields.first { $0.field == FieldID(.register, 3) }?.value.bytes
        return doer != nil && doer == person?.bytes
      }
      if work.contains(type) { return true }
      if case .delete = operation.body { return false }
      return type == HouseholdSchema.person && operation.key.id == person
    case .member, .admin, .owner: return true
    }
  }
}
