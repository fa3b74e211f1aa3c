import HearthCRDT
import HearthMembership
import HearthSync

/// The person and device of a node that is created.
public struct NodeOwner: Sendable {
  let person: String
  let device: String

  /// A new person, or one who joins on a further device by a link.
  public static func new(person: String, device: String = "device") -> NodeOwner {
    NodeOwner(person: person, device: device)
  }
}

/// The result of a sync.
public struct SyncResult: Sendable {
  /// The number of changes that were received.
  public let received: Int
  /// The number of sealed segments that were given to transports.
  public let published: Int
  /// What went wrong with single transports and files, in words.
  public let problems: [String]
}

/// One installation on a device: it opens the replicas, provides the databases, and syncs.
///
/// ```swift
/// let app = AppSchema("org.example.notes", [Note.self])
/// let node = try await HearthNode.open(at: directory, app, as: .new(person: "Anna"))
/// let zone = try await node.shared.zone(named: "Home", create: true)
/// try await zone.insert(Note(title: "Dishes"))
/// try await node.addFolder("/media/stick/home")
/// let link = try await zone.invite(role: .member, uses: 1, expires: .days(7))
/// try await node.sync()
/// ```
///
/// Every write is durable when it returns. Only one process at a time may open a folder.
public final class HearthNode: Sendable {
  package let node: Node

  private init(node: Node) {
    self.node = node
  }

  /// Opens the node in a folder, or creates one there.
  ///
  /// - Parameters:
  ///   - path: the node's own folder; never a shared one.
  ///   - app: the application, to which the node belongs from then on.
  ///   - owner: the person and device of a node that is created; nil to open only one that exists.
  ///   - passphrase: protects the key file, if given.
  ///   - clock: tells the time to the node.
  /// - Throws: ``HearthError``: `schema` if a declaration contradicts itself or what the node
  ///   holds, `otherApplication`, `noNode`, `locked`, `passphrase`, `corrupt`.
  public static func open(
    at path: String, _ app: AppSchema, as owner: NodeOwner? = nil, passphrase: String? = nil,
    clock: HearthClock = .system
  ) async throws(HearthError) -> HearthNode {
    try await open(
      at: path, app, as: owner, passphrase: passphrase, clock: clock, folders: nil)
  }

  /// Opens the node in a folder, or creates one there, with other shared folders than those on disk.
  package static func open(
    at path: String, _ app: AppSchema, as owner: NodeOwner?, passphrase: String?,
    clock: HearthClock, folders: SharedFolders?
  ) async throws(HearthError) -> HearthNode {
    let schema = try app.checked()
    let secret = passphrase.map { Array($0.utf8) }
    return try await reported {
      guard let owner, try !NodeFolder(path).holdsNode() else {
        return HearthNode(
          node: try await Node.open(
            at: path, passphrase: secret, schema: schema, now: clock.read, folders: folders))
      }
      return HearthNode(
        node: try await Node.create(
          at: path, person: owner.person, device: owner.device, passphrase: secret,
          schema: schema, now: clock.read, folders: folders))
    }
  }

  /// The zones of this person's devices.
  public var personal: HearthDatabase { HearthDatabase(node: node, kind: .personal) }

  /// The zones shared with others.
  public var shared: HearthDatabase { HearthDatabase(node: node, kind: .shared) }

  /// Adds a folder as a transport: one that a file synchroniser, a network share or a USB stick
  /// carries between devices.
  public func addFolder(_ path: String) async throws(HearthError) {
    try await reported { _ = try await node.transports.add(folder: path) }
  }

  /// Adds a relay as a transport.
  ///
  /// - Parameters:
  ///   - address: the line that the relay printed when it was started.
  ///   - token: the token from the relay's operator, if the relay requires one.
  public func addRelay(_ address: String, token: String? = nil) async throws(HearthError) {
    try await reported { _ = try await node.transports.add(relay: address, token: token) }
  }

  /// Joins a shared zone by an invitation's link.
  ///
  /// - Parameters:
  ///   - link: the result of ``HearthZone/invite(role:uses:expires:)``.
  ///   - folder: the shared folder on this device, or a relay's address, if it differs from the
  ///     link's.
  /// - Throws: `otherApplication` if another application made the link.
  public func join(
    _ link: String, folder: String? = nil
  ) async throws(HearthError) -> HearthZone {
    try await reported {
      let zone = try await node.invitations.join(try InvitationLink(text: link), at: folder)
      let name = await node.dataZones().first { $0.id == zone }?.name ?? ""
      return HearthZone(node: node, zone: zone, name: name)
    }
  }

  /// Syncs with every folder and relay.
  ///
  /// A transport that cannot be reached is one of the result's problems, and no error.
  @discardableResult
  public func sync() async throws(HearthError) -> SyncResult {
    try await reported {
      let report = try await node.sync()
      let problems = report.transports.flatMap { transport in
        (transport.failure.map { [$0] } ?? [])
          + transport.problems.filter(\.hidesData).map { "\($0.place): \($0.fault)" }
      }
      return SyncResult(
        received: report.received, published: report.published, problems: problems)
    }
  }

  /// Closes the node; no other call may follow.
  public func close() async throws(HearthError) {
    try await reported { try await node.close() }
  }
}
