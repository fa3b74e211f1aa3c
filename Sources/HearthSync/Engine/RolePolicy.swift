import HearthCRDT
import HearthMembership

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
    /// Whom an event decides about; nil where it concerns no person in particular.
    package let subject: Subject?
    /// The field of an event that says about whom it is, and who may write it of themselves only.
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

    /// The same roles for everything.
    package init(_ roles: Roles, about subject: Subject? = nil) {
      self.init(create: roles, change: roles, delete: roles, subject: subject)
    }
  }

  /// A person about whom an event decides: only who ranks above may write it.
  package struct Subject: Sendable {
    /// The field that names the person.
    package let person: FieldID
    /// The field that names who takes the person's place.
    ///
    /// Where it names somebody, both must be
    /// known and the person must have gone: nobody is replaced who can answer for themselves.
    package let successor: FieldID

    package init(person: FieldID, successor: FieldID) {
      self.person = person
      self.successor = successor
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

  /// The first of a transaction's operations that somebody of a role may not do; nil if they may do
  /// all of it.
  ///
  /// - Parameters: as of ``allows(_:as:by:standing:)``.
  package func refused(
    _ operations: [Operation], as role: Role, by person: PersonID?,
    standing: (PersonID) -> Membership.Standing?
  ) -> Operation? {
    operations.first { !allows($0, as: role, by: person, standing: standing) }
  }

  /// Whether somebody of a role may do an operation.
  ///
  /// - Parameters:
  ///   - person: who it is; nil where nobody knows, who then has no record of their own.
  ///   - standing: what somebody was to the group in that one's eyes; nil of a stranger.
  package func allows(
    _ operation: Operation, as role: Role, by person: PersonID?,
    standing: (PersonID) -> Membership.Standing?
  ) -> Bool {
    allows(operation, as: role, by: person) && mayDecide(operation, as: role, standing)
  }

  /// The people whose standing decides whether an operation has effect.
  package func subjects(of operation: Operation) -> [PersonID] {
    guard let subject = rules[operation.key.type]?.subject, case .event(let fields) = operation.body
    else { return [] }
    return [subject.person, subject.successor].compactMap { RolePolicy.person($0, in: fields) }
  }

  /// Whether somebody of a role may write an event as far as it decides about a person.
  ///
  /// Together with ``allows(_:as:by:)`` that is ``allows(_:as:by:standing:)``.
  package func mayDecide(
    _ operation: Operation, as role: Role, _ standing: (PersonID) -> Membership.Standing?
  ) -> Bool {
    guard let subject = rules[operation.key.type]?.subject,
      case .event(let fields) = operation.body,
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

  /// The same for operations that decide about nobody in particular.
  package func allows(_ operation: Operation, as role: Role, by person: PersonID?) -> Bool {
    guard role != .reader else { return false }
    let rule = rules[operation.key.type] ?? otherwise
    if rule.onlyOwn.contains(Roles(role)), operation.key.id != person { return false }
    if let (field, roles) = rule.ofThemselves, roles.contains(Roles(role)),
      case .event(let fields) = operation.body
    {
      // Of several values of one field a reader takes the first, so none may name somebody else.
      let named = fields.filter { $0.field == field }.map(\.value)
      guard let person, named == [.bytes(person.bytes)] else { return false }
    }
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
