/// The rights of a person in a group.
package enum Role: UInt8, Sendable, CaseIterable {
  /// Reads, but changes nothing.
  case reader = 0
  /// Completes and proposes.
  case child = 1
  /// Reads and writes.
  case member = 2
  /// Also invites people, and removes people of lower rank.
  case admin = 3
  /// Is responsible for the group.
  case owner = 4

  /// The name that people see.
  package var name: String {
    switch self {
    case .reader: "reader"
    case .child: "child"
    case .member: "member"
    case .admin: "admin"
    case .owner: "owner"
    }
  }

  /// Finds a role by its name; nil for any other text.
  package init?(name: String) {
    guard let role = Role.allCases.first(where: { $0.name == name }) else { return nil }
    self = role
  }

  /// The rank in the hierarchy; child and reader have the same rank.
  package var rank: Int { self == .reader ? 1 : Int(rawValue) }
}
