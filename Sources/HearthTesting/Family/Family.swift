import Hearth
import Synchronization

/// Several people with a device each, who share one zone of an application, in one test.
///
/// ```swift
/// let family = try await Family(app, ["anna", "ben", "cleo"], roles: ["cleo": .child])
/// let annas = try await family["anna"].zone()
/// let milk = try await annas.insert(Item(name: "Milk"))
/// try await family.settle()
/// try family.partition([["anna"], ["ben", "cleo"]])
/// try await family["ben"].zone().update(milk.id) { $0.quantity += 1 }
/// family.heal()
/// try await family.settle()
/// ```
///
/// The nodes are those of production, in a folder that is removed at the end; in memory where the
/// system has a folder there. The shared folder and the clock belong to the test. Everything
/// happens in the order of the test's calls, and nothing waits.
///
/// Keys are random, and so is the order of records that have no other one: see ``RepeatableKeys``.
public final class Family: Sendable {
  private let ground: FamilyGround
  private let people: Mutex<[FamilyMember]>

  /// Makes a family: the first person creates the zone, and the others join it.
  ///
  /// - Parameters:
  ///   - names: the people's names, each once; at least one.
  ///   - roles: the roles of those who are no plain members; the first person is the owner.
  ///   - seed: decides which deliveries ``deliveries`` concern.
  public init(
    _ app: AppSchema, _ names: [String], roles: [String: ZoneRole] = [:], seed: UInt64 = 0
  ) async throws {
    guard let first = names.first, Set(names).count == names.count,
      names.allSatisfy({ !$0.isEmpty && !$0.contains("/") })
    else {
      throw FamilyError("a family needs people with different names that have no slash: \(names)")
    }
    if let stranger = roles.keys.sorted().first(where: { !names.dropFirst().contains($0) }) {
      throw FamilyError("\(stranger) has a role, but is nobody who joins the family")
    }
    ground = try FamilyGround(app, seed: seed)
    people = Mutex([])
    let founder = try await FamilyMember(first, in: ground)
    try await founder.node.addFolder(ground.sharedFolder)
    ground.zone = try await founder.node.shared.createZone(named: FamilyGround.zoneName).id
    people.withLock { $0 = [founder] }
    for name in names.dropFirst() {
      try await add(name, as: roles[name] ?? .member, invitedBy: first)
    }
    try await settle()
  }

  /// The people's names, in the order in which they came.
  public var names: [String] { members.map(\.name) }

  private var members: [FamilyMember] { people.withLock { $0 } }

  /// The time, which passes only when the test says so.
  public var clock: FamilyClock { ground.clock }

  /// What goes wrong between the devices.
  public var deliveries: Deliveries { Deliveries(network: ground.network) }

  /// The person of a name, who must exist.
  public subscript(name: String) -> FamilyMember {
    guard let member = members.first(where: { $0.name == name }) else {
      preconditionFailure("there is nobody named \(name) in the family: \(names)")
    }
    return member
  }

  /// Adds a person, who joins by an invitation.
  @discardableResult
  public func add(
    _ name: String, as role: ZoneRole = .member, invitedBy inviter: String
  ) async throws -> FamilyMember {
    guard !names.contains(name), !name.isEmpty, !name.contains("/") else {
      throw FamilyError("\(name) is in the family already, or is no name")
    }
    let link = try await self[inviter].zone().invite(role: role)
    let member = try await FamilyMember(name, in: ground)
    _ = try await member.node.join(link)
    people.withLock { $0.append(member) }
    return member
  }

  // MARK: Syncing

  /// Lets everybody sync until nothing moves, and requires that all who are connected are equal.
  ///
  /// - Parameter maximumRounds: how often everybody syncs at most.
  /// - Throws: ``FamilyError`` if something still moves then, or if replicas differ.
  public func settle(maximumRounds: Int = 50) async throws {
    var moving: [String] = []
    for _ in 0..<max(1, maximumRounds) {
      moving = []
      for member in members {
        let result = try await member.sync()
        if let problem = result.problems.first {
          moving.append("\(member.name) has a problem: \(problem)")
        } else if result.received + result.published > 0 {
          moving.append(
            "\(member.name) received \(result.received) and gave \(result.published)")
        }
      }
      moving += ground.network.waiting().map { "something is on its way to \($0)" }
      if moving.isEmpty { return try await requireEquality() }
    }
    throw FamilyError(
      "the family did not settle in \(max(1, maximumRounds)) rounds: "
        + moving.joined(separator: "; "))
  }

  private func requireEquality() async throws {
    var seen: [(name: String, digest: [UInt8])] = []
    for member in members {
      guard try await member.isInFamily() else { continue }
      let digest = try await member.zone().digest()
      if let other = seen.first(where: {
        ground.network.areConnected($0.name, member.name) && $0.digest != digest
      }) {
        throw FamilyError(
          "the replicas of \(other.name) and \(member.name) differ although nothing moves any "
            + "more: report this as a fault of Hearth")
      }
      seen.append((member.name, digest))
    }
  }

  // MARK: Faults

  /// Parts the family: from now on only those in one part reach each other.
  ///
  /// - Parameter parts: everybody's name, once.
  public func partition(_ parts: [[String]]) throws {
    guard parts.flatMap({ $0 }).sorted() == names.sorted() else {
      throw FamilyError("the parts \(parts) do not contain each of \(names) once")
    }
    ground.network.part(parts)
  }

  /// Ends a partition: everybody reaches everybody again.
  public func heal() {
    ground.network.part([])
  }

  /// Ends a person's node without warning, and opens it again with what was durable.
  ///
  /// Zones and observations of the former node fail with `closed`: get them anew.
  public func crash(_ name: String) async throws {
    try await self[name].restart(with: nil)
  }

  /// Ends a person's node within a sync, and opens it again with what was durable.
  ///
  /// - Parameter calls: after how many calls of the node to its folder; at the end of the sync if
  ///   there are fewer.
  public func crash(_ name: String, inSyncAfterCalls calls: Int) async throws {
    try await self[name].restart(inSyncAfterCalls: calls)
  }

  /// Closes a person's node and opens it with another version of the application.
  public func update(_ name: String, to app: AppSchema) async throws {
    try await self[name].restart(with: app)
  }
}
