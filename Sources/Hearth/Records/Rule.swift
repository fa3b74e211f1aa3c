import HearthCRDT
import HearthMembership
import HearthSync

/// The role of a person in a shared zone.
public enum ZoneRole: String, Sendable, CaseIterable {
  /// Is responsible for the zone and its people.
  case owner
  /// Reads, writes, invites people, and removes people of lower rank.
  case admin
  /// Reads and writes.
  case member
  /// Reads, and writes what the application's rules allow.
  case child
  /// Reads.
  case reader

  var role: Role {
    switch self {
    case .owner: .owner
    case .admin: .admin
    case .member: .member
    case .child: .child
    case .reader: .reader
    }
  }

  init(_ role: Role) {
    self =
      switch role {
      case .owner: .owner
      case .admin: .admin
      case .member: .member
      case .child: .child
      case .reader: .reader
      }
  }
}

/// Something that a role may do with records of a type.
public struct Permission<Owner: Record>: Sendable {
  enum Action: Hashable, Sendable {
    case create
    case changeAll
    case change(FieldID?)
    case delete
  }

  let actions: [Action]

  /// Creating records.
  public static var create: Permission { Permission(actions: [.create]) }
  /// Changing every field.
  public static var changeAll: Permission { Permission(actions: [.changeAll]) }
  /// Deleting records.
  public static var delete: Permission { Permission(actions: [.delete]) }
  /// Creating, changing and deleting records.
  public static var everything: Permission {
    Permission(actions: [.create, .changeAll, .delete])
  }
  /// Changing one field.
  public static func change(_ path: PartialKeyPath<Owner>) -> Permission {
    Permission(actions: [.change(Owner.schema.field(path)?.id)])
  }
}

/// A rule about what a role may do with records of one type.
///
/// Without a rule, owners, admins and members may create, change and delete every record; children
/// and readers change nothing. All devices judge by the rules: what somebody writes beyond them has
/// no effect anywhere. Readers never change anything.
public struct Rule: Sendable {
  let type: TypeID
  let typeName: String
  let roles: [ZoneRole]
  let isExclusive: Bool
  let actions: [Action]

  enum Action: Hashable, Sendable {
    case create
    case changeAll
    case change(FieldID)
    case delete
    /// A property that is no field.
    case unknown
  }

  /// Allows roles something in addition.
  public init<Owner: Record>(
    _ type: Owner.Type, _ roles: ZoneRole..., may permissions: Permission<Owner>...
  ) {
    self.init(type, roles, permissions, isExclusive: false)
  }

  /// Allows something only to roles, and to the owner.
  public init<Owner: Record>(
    _ type: Owner.Type, only roles: ZoneRole..., may permissions: Permission<Owner>...
  ) {
    self.init(type, roles, permissions, isExclusive: true)
  }

  private init<Owner: Record>(
    _ type: Owner.Type, _ roles: [ZoneRole], _ permissions: [Permission<Owner>],
    isExclusive: Bool
  ) {
    self.type = type.schema.type
    typeName = type.schema.name
    self.roles = roles
    self.isExclusive = isExclusive
    actions = permissions.flatMap(\.actions).map { action in
      switch action {
      case .create: .create
      case .changeAll: .changeAll
      case .change(let field?): .change(field)
      case .change(nil): .unknown
      case .delete: .delete
      }
    }
  }
}

/// Collects the rules of an application.
@resultBuilder
public enum RuleBuilder {
  /// Joins the rules.
  public static func buildBlock(_ rules: Rule...) -> [Rule] { rules }
}

/// Turns rules into the policy by which every replica judges.
struct PolicyMaker {
  private struct Rights {
    var create = RolePolicy.Roles.members
    var change = RolePolicy.Roles.members
    var delete = RolePolicy.Roles.members
    var fields: [FieldID: RolePolicy.Roles] = [:]
  }

  /// Makes the policy; rules apply in order.
  static func policy(_ rules: [Rule]) -> RolePolicy {
    var rights: [TypeID: Rights] = [:]
    for rule in rules {
      var present = rights[rule.type] ?? Rights()
      let roles = rule.roles.reduce(into: RolePolicy.Roles(.owner)) {
        $0.formUnion(RolePolicy.Roles($1.role))
      }
      func changed(_ before: RolePolicy.Roles) -> RolePolicy.Roles {
        rule.isExclusive ? roles : before.union(roles)
      }
      for action in rule.actions {
        switch action {
        case .create: present.create = changed(present.create)
        case .delete: present.delete = changed(present.delete)
        case .changeAll:
          present.change = changed(present.change)
          present.fields = present.fields.mapValues(changed)
        case .change(let field):
          present.fields[field] = changed(present.fields[field] ?? present.change)
        case .unknown: continue
        }
      }
      rights[rule.type] = present
    }
    return RolePolicy(
      rights.mapValues {
        RolePolicy.Rule(create: $0.create, change: $0.change, fields: $0.fields, delete: $0.delete)
      })
  }
}
