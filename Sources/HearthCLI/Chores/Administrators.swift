import HearthCRDT
import HearthMembership
import HearthSync

/// The people who may close a week and undo what is in it.
enum Administrators {
  static func include(_ person: PersonID, in membership: Membership) -> Bool {
    (membership.person(person)?.role.rank ?? 0) >= Role.admin.rank
  }

  /// Returns their names in a list.
  static func names(in membership: Membership) -> String {
    Set(membership.people.filter { $0.role.rank >= Role.admin.rank }.map { Style.safe($0.name) })
      .sorted().joined(separator: ", ")
  }
}
