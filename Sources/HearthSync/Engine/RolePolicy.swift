import HearthCRDT
import HearthMembership

/// The permissions of each role for the records of each type.
///
/// The domain provides the policy, because the engine knows no types. It is a value, so all
/// replicas of one version judge alike. Readers may do nothing, whatever the policy says.
package struct RolePolicy: Sendable {
  /// A set of roles.
  package struct Roles: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    package init(_ roles: Role...) {
      rawValue = roles.reduce(0) { $0 | 1 << $1.rawValue }
    }

    /// No role.
    package static let none: Roles = []
    /// Owner and admins.
    package static let admins = Roles(.admin, .owner)
    /// All writers except children.
    package static let members = Roles(.member, .admin, .owner)
    /// All writers.
    package static let writers = Roles(.child, .member, .admin, .owner)
  }

  /// The permissions for records or events of one type.
  package struct Rule: Sendable {
    /// The roles that may create a record or event.
    package let create: Roles
    /// The roles that may change all other fields, add to sets, and count.
    package let change: Roles
    /// The roles that may change single fields.
    package let fields: [FieldID: Roles]
    /// The roles that may delete a record.
    package let delete: Roles
    /// The roles that may create and change only the record with the id of its author's person.
    package let onlyOwn: Roles
    /// The person about whom an event decides; nil if it concerns no particular person.
    package let subject: Subject?
    /// The field that names the person an event is about, and the roles that may write it only
    /// about themselves.
    package let ofThemselves: (field: FieldID, roles: Roles)?

    package init(
      create: Roles, change: Roles, fields: [FieldID: Roles] = [:], delete: Roles,
      onlyOwn: Roles = .none, subject: Subject? = nil,
      ofThemselves: (field: FieldID, roles: Roles)? = nil
    ) {
      self.create = create
      self.change = change
      self.fields = fields
      self.delete = delete
      self.onlyOwn = onlyOwn
      self.subject = subject
      self.ofThemselves = ofThemselves
    }

    /// Creates a rule with the same roles for everything.
    package init(_ roles: Roles, about subject: Subject? = nil) {
      self.init(create: roles, change: roles, delete: roles, subject: subject)
    }
  }

  /// A person about whom an event decides: only a person of higher rank may write it.
  package struct Subject: Sendable {
    /// The field that names the person.
    package let person: FieldID
    /// The field that names the person's successor.
    ///
    /// If it names somebody, both people must be known and the person must have left: nobody who
    /// can still act may be replaced.
    package let successor: FieldID

    package init(person: FieldID, successor: FieldID) {
      self.person = person
      self.successor = successor
    }
  }

  private let rules: [TypeID: Rule]
  private let otherwise: Rule

  /// - Parameter otherwise: The rule of types without a rule, such as those of newer versions. It
  ///   excludes children, because nobody knows what such a type discloses.
  package init(_ rules: [TypeID: Rule] = [:], otherwise: Rule = Rule(.members)) {
    self.rules = rules
    self.otherwise = otherwise
  }

  /// The first of a transaction's operations that a role may not perform; nil if all are allowed.
  ///
  /// - Parameters: Those of ``allows(_:as:by:standing:)``.
  package func refused(
    _ operations: [Operation], as role: Role, by person: PersonID?,
    standing: (PersonID) -> PastStanding?
  ) -> Operation? {
    operations.first { !allows($0, as: role, by: person, standing: standing) }
  }

  /// Whether a person of a role may perform an operation.
  ///
  /// - Parameters:
  ///   - person: The person; nil if unknown, in which case the author has no record of their own.
  ///   - standing: The status of a person in the group as the author knew it; nil for a stranger.
  package func allows(
    _ operation: Operation, as role: Role, by person: PersonID?,
    standing: (PersonID) -> PastStanding?
  ) -> Bool {
    allows(operation, as: role, by: person) && mayDecide(operation, as: role, standing)
  }

  /// The people whose status decides whether an operation has effect.
  package func subjects(of operation: Operation) -> [PersonID] {
    guard case .event(let fields) = operation.body,
      let subject = rules[operation.key.type]?.subject
    else { return [] }
    return [subject.person, subject.successor].compactMap { RolePolicy.person($0, in: fields) }
  }

  /// Whether a person of a role may write an event, as far as it decides about another person.
  ///
  /// Together with ``allows(_:as:by:)``, this check is ``allows(_:as:by:standing:)``.
  package func mayDecide(
    _ operation: Operation, as role: Role, _ standing: (PersonID) -> PastStanding?
  ) -> Bool {
    guard case .event(let fields) = operation.body,
      let subject = rules[operation.key.type]?.subject,
      let person = RolePolicy.person(subject.person, in: fields)
    else { return true }
    guard let known = standing(person), known.role.rank < role.rank else { return false }
    guard let successor = RolePolicy.person(subject.successor, in: fields) else { return true }
    return !known.isPresent && standing(successor) != nil
  }

  private static func person(_ field: FieldID, in fields: [EventField]) -> PersonID? {
    guard case .bytes(let bytes)? = fields.first(where: { $0.field == field })?.value else {
      return nil
    }
    return Identifier(bytes: bytes)
  }

  /// Whether a person of a role may perform an operation, apart from its effect on other people.
  package func allows(_ operation: Operation, as role: Role, by person: PersonID?) -> Bool {
    guard role != .reader else { return false }
    let rule = rules[operation.key.type] ?? otherwise
    if rule.onlyOwn.contains(Roles(role)), operation.key.id != person { return false }
    if let (field, roles) = rule.ofThemselves, roles.contains(Roles(role)),
      case .event(let fields) = operation.body
    {
      // A reader takes the first of several values of one field, so none may name another person.
      let named = fields.filter { $0.field == field }.map(\.value)
      guard let person, named == [.bytes(person.bytes)] else { return false }
    }
    let roles =
      switch operation.body {
      case .insert, .event: rule.create
      case .delete: rule.delete
      case .assign(let field, _), .include(let field, _), .exclude(let field, _),
        .count(let field, _), .edit(let field, _):
        rule.fields[field] ?? rule.change
      }
    return roles.contains(Roles(role))
  }
}
