import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Synchronization

/// One person of a family, with one device.
public final class FamilyMember: Sendable {
  /// The person's name.
  public let name: String
  private let home: String
  private let family: FamilyGround
  private let present: Mutex<HearthNode?>
  private let app: Mutex<AppSchema>

  init(_ name: String, in family: FamilyGround) async throws {
    self.name = name
    self.family = family
    home = family.folder.path + "/home-" + name
    present = Mutex(nil)
    app = Mutex(family.app)
    family.network.add(name)
    try await open(as: .new(person: name))
  }

  /// The person's node; another one after a crash.
  ///
  /// It needs no transport: the family's folder is one already.
  public var node: HearthNode {
    guard let node = present.withLock({ $0 }) else {
      preconditionFailure("the node of \(name) is closed, as it could not be opened again")
    }
    return node
  }

  /// Returns the family's zone, as it is on this person's device.
  ///
  /// - Throws: `notFound` if the person is not in it.
  public func zone() async throws(HearthError) -> HearthZone {
    guard let zone = await node.shared.zones().first(where: { $0.id == family.zone }) else {
      throw HearthError(.notFound, "\(name) does not have the family's zone")
    }
    return zone
  }

  /// Whether the person belongs to the family's zone.
  func isInFamily() async throws -> Bool {
    let node = node.node
    let zone = await node.dataZones().first { $0.id.hex == family.zone?.description }
    guard let zone else { return false }
    return try await node.ending(in: zone.group) == nil
  }

  /// Syncs once: takes what has arrived, and gives what others lack.
  @discardableResult
  public func sync() async throws(HearthError) -> SyncResult {
    family.network.beginRound(of: name)
    defer { family.network.endRound(of: name) }
    return try await node.sync()
  }

  // MARK: The node's life

  private func open(as owner: NodeOwner?) async throws {
    let (network, shared, name) = (family.network, family.sharedFolder, name)
    let node = try await HearthNode.open(
      at: home, app.withLock { $0 }, as: owner, passphrase: nil,
      clock: family.clock.clock(of: name),
      folders: { [weak self] path in
        guard path == shared else { return nil }
        let member = self
        return FamilyFolder(
          network: network, name: name, end: { [weak member] in await member?.end() })
      })
    present.withLock { $0 = node }
  }

  /// Ends the node at once; what it was doing fails.
  private func end() async {
    try? await present.withLock({ $0 })?.close()
  }

  /// Ends the node and opens it again.
  func restart(with app: AppSchema?) async throws {
    await end()
    present.withLock { $0 = nil }
    if let app { self.app.withLock { $0 = app } }
    try await open(as: nil)
  }

  /// Ends the node within a sync, and opens it again.
  func restart(inSyncAfterCalls count: Int) async throws {
    family.network.endNode(of: name, afterCalls: max(1, count))
    _ = try? await sync()
    family.network.endNode(of: name, afterCalls: nil)
    try await restart(with: nil)
  }
}
