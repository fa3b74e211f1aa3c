import HearthCRDT
import HearthSync
import Household

/// Who may do what, in the words of the rules: readers nothing; children do chores, take back,
/// skip, and keep their own name; everybody else everything.
enum Rights {
  private static let work = [
    HouseholdSchema.completion, HouseholdSchema.retraction, HouseholdSchema.skip,
  ]
  private static let plans = [
    HouseholdSchema.chore, HouseholdSchema.occurrence, HouseholdSchema.setting,
    HouseholdSchema.close,
  ]

  static func allow(_ operation: Operation, _ role: Role) -> Bool {
    switch role {
    case .reader: return false
    case .child:
      let type = operation.key.type
      if work.contains(type) { return true }
      if case .delete = operation.body, type == HouseholdSchema.person { return false }
      return !plans.contains(type)
    case .member, .admin, .owner: return true
    }
  }
}
