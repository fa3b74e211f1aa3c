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
  /// - Parameter person: who does it.
  static func allow(_ operation: Operation, _ role: Role, by person: PersonID?) -> Bool {
    let isForAdmins = [HouseholdSchema.close, HouseholdSchema.personMerge]
    if isForAdmins.contains(operation.key.type) { return role == .admin || role == .owner }
    switch role {
    case .reader: return false
    case .child:
      let type = operation.key.type
      if work.contains(type) { return true }
      if case .delete = operation.body { return false }
      return type == HouseholdSchema.person && operation.key.id == person
    case .member, .admin, .owner: return true
    }
  }
}
