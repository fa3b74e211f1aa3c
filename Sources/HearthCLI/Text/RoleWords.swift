import Foundation
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// Roles in words.
enum RoleWords {
  /// The roles that can be assigned.
  static let given: [Role] = [.admin, .member, .child, .reader]

  /// Returns the role of a word.
  ///
  /// - Throws: a usage failure that lists the words.
  static func role(_ text: String) throws -> Role {
    guard let role = Role(name: text.lowercased()) else {
      throw CommandFailure(
        .usage, "there is no role \(ShownText.quoted(text))", hint: "reader, child, member, admin")
    }
    guard role != .owner else {
      throw CommandFailure(
        .usage, "a household has one owner, and only the owner can transfer it",
        hint: "`hearth owner transfer PERSON`; as a role: reader, child, member, admin")
    }
    return role
  }

  /// The role with its article.
  static func a(_ role: Role) -> String {
    switch role {
    case .owner: "the owner"
    case .admin: "an admin"
    case .member, .child, .reader: "a \(role.name)"
    }
  }

  /// The rights of a role in words.
  static func may(_ role: Role) -> String {
    switch role {
    case .owner: "does what admins do, makes admins, and transfers the ownership"
    case .admin: "does what members do, invites, approves, removes, gives lower roles, closes weeks"
    case .member: "adds and changes chores, points and settings, and does chores"
    case .child:
      "does, undoes and skips chores; changes no chores, points or settings, and enters "
        + "nothing for others"
    case .reader: "sees everything and changes nothing"
    }
  }
}

/// The rights of this node's person in a household, and the people to ask for the rest.
struct RoleGate: Sendable {
  let household: String
  let membership: Membership
  let person: Member?
  let ending: String?

  var role: Role? { ending == nil ? person?.role : nil }

  /// Refuses operations on records that the role does not allow.
  func check(_ operations: [HearthCRDT.Operation]) throws {
    let member = try requireMember()
    let role = member.role
    let policy = HouseholdSchema.rolePolicy
    guard let refused = operations.first(where: { !policy.allows($0, as: role, by: member.id) })
    else { return }
    let allowed = Role.allCases.filter { role in
      operations.allSatisfy { policy.allows($0, as: role, by: member.id) }
    }
    let isNew = operations.contains {
      $0.key.type == HouseholdSchema.chore && RoleGate.field("created", isAssignedBy: $0)
    }
    let action = isNew ? "add chores" : RoleGate.action(refused)
    throw refusal(to: role == .reader ? "change anything" : action, allowed)
  }

  /// Refuses if the person is no longer a member.
  @discardableResult
  func requireMember() throws -> Member {
    guard let person, ending == nil else {
      throw CommandFailure(
        .notAllowed,
        (ending ?? "this device does not belong to \(Style.safe(household))")
          + ": changes made here do not reach the others",
        hint: wayBack)
    }
    return person
  }

  /// The steps with which this device joins again.
  private var wayBack: String {
    guard let person, membership.people.contains(where: { $0.id == person.id }) else {
      return "ask an owner or admin for an invitation, then `hearth join -` with its link"
    }
    return "run `hearth device add` on another device of yours, or ask an owner or admin for "
      + "`hearth device add --for \(Style.safe(person.name))`; then `hearth join -` here"
  }

  /// Refuses a person who is no admin.
  func requireAdmin(to action: String) throws {
    guard try requireMember().role.rank < Role.admin.rank else { return }
    throw refusal(to: action, [.admin, .owner])
  }

  /// Refuses a person whose rank is not higher than that of the affected one.
  func requireAbove(_ subject: Member, to action: String) throws {
    try requireAdmin(to: action)
    let own = try requireMember()
    guard subject.role.rank >= own.role.rank else { return }
    let above = Role.allCases.filter { $0.rank > subject.role.rank }
    guard !above.isEmpty else {
      throw CommandFailure(
        .notAllowed,
        "\(Style.safe(subject.name)) is the owner, and nobody may \(action)",
        hint: "an owner can transfer the household (`hearth owner transfer PERSON`)")
    }
    throw refusal(to: action, above)
  }

  /// Refuses a role that is not below one's own.
  func requireGiving(_ role: Role) throws {
    let own = try requireMember()
    guard role.rank >= own.role.rank else { return }
    throw refusal(
      to: "make anybody \(RoleWords.a(role))", Role.allCases.filter { $0.rank > role.rank })
  }

  /// "Ben is a child and may not change points: ask Ada or Cleo".
  func refusal(to action: String, _ allowed: [Role]) -> CommandFailure {
    // Several people of one name are listed once.
    var seen: Set<String> = []
    let names = membership.people.filter { allowed.contains($0.role) && $0.id != person?.id }
      .sorted { ($1.role.rawValue, $0.name) < ($0.role.rawValue, $1.name) }
      .map { Style.safe($0.name) }.filter { seen.insert($0).inserted }.prefix(4)
    let asked = names.isEmpty ? "" : ": ask \(RoleGate.either(Array(names)))"
    let who =
      person.map { "\(Style.safe($0.name)) is \(RoleWords.a($0.role))" } ?? "you are no member"
    return CommandFailure(.notAllowed, "\(who) and may not \(action)\(asked)")
  }

  /// Names with "or" before the last.
  static func either(_ names: [String]) -> String {
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return names.dropLast().joined(separator: ", ") + " or " + last
  }

  /// The effect of an operation, in words.
  private static func action(_ operation: HearthCRDT.Operation) -> String {
    switch operation.key.type {
    case HouseholdSchema.chore:
      return field("points", isAssignedBy: operation) ? "change points" : "change chores"
    case HouseholdSchema.occurrence: return "change when a chore is due"
    case HouseholdSchema.setting: return "change the household's settings or names of devices"
    case HouseholdSchema.close: return "close a week or month"
    case HouseholdSchema.personMerge: return "merge people"
    case HouseholdSchema.person: return "change people"
    case HouseholdSchema.completion: return "enter what somebody else did"
    default: return "do this"
    }
  }

  private static func field(
    _ name: String, isAssignedBy operation: HearthCRDT.Operation
  ) -> Bool {
    guard case .assign(let field, _) = operation.body else { return false }
    let schema = HouseholdSchema.all.first { $0.id == operation.key.type }
    return schema?.field(named: name)?.id == field
  }
}
