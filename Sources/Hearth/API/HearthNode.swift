import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// One installation on a device: it opens the replicas, provides the databases, and syncs.
///
/// ```swift
/// let node = try await HearthNode.open(at: directory, schema: [Note.self], person: "Anna")
/// let zone = try await node.shared.createZone(named: "Home")
/// try await zone.write { try $0.insert(Note(title: "Dishes")) }
/// try await node.addFolder("/media/stick/home")
/// let link = try await zone.invite(role: .member, uses: 1, expires: .days(7))
/// try await node.sync()
/// ```
///
/// Every write is durable when it returns. Only one process at a time may open a folder.
public final class HearthNode: Sendable {
  let node: Node

  private init(node: Node) {
    self.node = node
  }

  /// Opens the node in a folder, or creates one there.
  ///
  /// - Parameters:
  ///   - path: the node's own folder; never a shared one.
  ///   - schema: the record types of the program.
  ///   - person: the name of the node's person; used when the node is created.
  ///   - device: the name of the device; used when the node is created.
  ///   - passphrase: protects the key file, if given.
  /// - Throws: ``HearthError``, with the fault and the remedy.
  public static func open(
    at path: String, schema: [any SyncedRecord.Type], person: String, device: String = "device",
    passphrase: String? = nil
  ) async throws -> HearthNode {
    let records = NodeSchema(records: schema.map { $0.schema })
    guard !records.records.contains(where: { $0.id == RecoveryBundles.locationType }) else {
      throw HearthError(
        .invalid, "Hearth reserves record type 16383: give yours another number")
    }
    let secret = passphrase.map { Array($0.utf8) }
    if try NodeFolder(path).holdsNode() {
      return HearthNode(
        node: try await Node.open(at: path, passphrase: secret, schema: records))
    }
    return HearthNode(
      node: try await Node.create(
        at: path, person: person, device: device, passphrase: secret, schema: records))
  }

  /// The zones of this person's devices.
  public var personal: HearthDatabase { HearthDatabase(node: node, kind: .personal) }

  /// The zones shared with others.
  public var shared: HearthDatabase { HearthDatabase(node: node, kind: .shared) }

  /// Adds a folder as a transport: one that a file synchroniser, a network share or a USB stick
  /// carries between devices.
  public func addFolder(_ path: String) async throws {
    _ = try await node.transports.add(folder: path)
  }

  /// Adds a relay as a transport.
  ///
  /// - Parameters:
  ///   - address: the line that `hearth-relay serve` printed.
  ///   - token: the token from the relay's operator, if the relay requires one.
  public func addRelay(_ address: String, token: String? = nil) async throws {
    _ = try await node.transports.add(relay: address, token: token)
  }

  /// Joins a shared zone by an invitation's link.
  ///
  /// - Parameters:
  ///   - link: the result of ``HearthZone/invite(role:uses:expires:)``.
  ///   - folder: the shared folder on this device, or a relay's address, if it differs from the
  ///     link's.
  public func join(_ link: String, folder: String? = nil) async throws -> HearthZone {
    let zone = try await node.invitations.join(try InvitationLink(text: link), at: folder)
    return HearthZone(node: node, id: zone)
  }

  /// Syncs with every folder and relay.
  ///
  /// - Returns: the number of received changes, and the problems in words.
  public func sync() async throws -> (received: Int, problems: [String]) {
    let report = try await node.sync()
    let problems = report.transports.flatMap { transport in
      (transport.failure.map { [$0] } ?? [])
        + transport.problems.filter(\.hidesData).map { "\($0.place): \($0.fault)" }
    }
    return (report.received, problems)
  }

  /// Closes the node; no other call may follow.
  public func close() async throws {
    try await node.close()
  }
}

/// The private or the shared database of a node.
public struct HearthDatabase: Sendable {
  let node: Node
  let kind: DatabaseKind

  /// Creates a shared zone; the private database has its single zone from the start.
  public func createZone(named name: String) async throws -> HearthZone {
    guard kind == .shared else {
      throw HearthError(.invalid, "the private database has one zone: use zones()")
    }
    return HearthZone(node: node, id: try await node.createHousehold(named: name))
  }

  /// Returns the zones, in order of name.
  public func zones() async -> [HearthZone] {
    await node.dataZones().filter { $0.database == kind }
      .map { HearthZone(node: node, id: $0.id) }
  }
}
