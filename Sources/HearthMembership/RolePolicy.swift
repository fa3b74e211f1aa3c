import HearthCRDT

/// What each role may do to the records of each type: given in from the domain, as the engine
/// knows no types.
///
/// A value, so that all replicas of one program judge alike. Readers may do nothing, whatever it
/// says.
package struct RolePolicy: Sendable {
  /// Some of the roles.
  package struct Roles: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    package init(_ roles: Role...) {
      rawValue = roles.reduce(0) { $0 | 1 << $1.rawValue }
    }

    /// Nobody.
    package static let none: Roles = []
    /// Owner and admins.
    package static let admins = Roles(.admin, .owner)
    /// Everybody who writes but children.
    package static let members = Roles(.member, .admin, .owner)
    /// Everybody who writes.
    package static let writers = Roles(.child, .member, .admin, .owner)
  }

  /// Who may do what to records or events of one type.
  package struct Rule: Sendable {
    /// Who may create a record or event.
    package let create: Roles
    /// Who may change fields that are not named, add to sets and count.
    package let change: Roles
    /// Who may change single fields.
    package let fields: [FieldID: Roles]
    /// Who may delete a record.
    package let delete: Roles
    /// Who may create and change only the record that has the id of its author's person.
    package let onlyOwn: Roles

    package init(
      create: Roles, change: Roles, fields: [FieldID: Roles] = [:], delete: Roles,
      onlyOwn: Roles = .none
    ) {
      self.create = create
      self.change = change
      self.fields = fields
      self.delete = delete
      self.onlyOwn = onlyOwn
    }

    /// The same roles for everything.
    package init(_ roles: Roles) {
      self.init(create: roles, change: roles, delete: roles)
    }
  }

  private let rules: [TypeID: Rule]
  private let otherwise: Rule

  /// - Parameter otherwise: the rule of types that are not named, as of newer versions; not for
  ///   children, as nobody knows what such a type gives away.
  package init(_ rules: [TypeID: Rule] = [:], otherwise: Rule = Rule(.members)) {
    self.rules = rules
    self.otherwise = otherwise
  }

  /// Whether somebody of a role may do an operation.
  ///
  /// - Parameter person: who it is; nil where nobody knows, who then has no record of their own.
  package func allows(_ operation: Operation, as role: Role, by person: PersonID?) -> Bool {
    guard role != .reader else { return false }
    let rule = rules[operation.key.type] ?? otherwise
    if rule.onlyOwn.contains(Roles(role)), operation.key.id != person { return false }
    let roles =
      switch operation.body {
      case .insert, .event: rule.create
      case .delete: rule.delete
      case .assign(let field, _), .include(let field, _), .exclude(let field, _),
        .count(let field, _):
        rule.fields[field] ?? rule.change
      }
    return roles.contains(Roles(role))
  }
}
