import HearthCRDT
import HearthSync

extension HouseholdSchema {
  /// What each role may do: children do chores, take back and skip, and keep their own name; what
  /// costs or gives points, what plans and what settles is for members, admins and the owner.
  package static let rolePolicy = RolePolicy([
    person: .init(create: .writers, change: .writers, delete: .members),
    chore: .init(.members),
    occurrence: .init(.members),
    setting: .init(.members),
    completion: .init(.writers),
    retraction: .init(.writers),
    skip: .init(.writers),
    close: .init(.members),
  ])
}
