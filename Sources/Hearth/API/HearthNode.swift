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

  init(node: Node) {
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

  /// Opens the node in a folder, or creates one there, with shared folders that are not on disk.
  package static func open(
    at path: String, _ app: AppSchema, as owner: NodeOwner?, passphrase: String?,
    clock: HearthClock, folders: SharedFolders?
  ) async throws(HearthError) -> HearthNode {
    let schema = try app.checked()
    let secret = passphrase.map { Array($0.utf8) }
    return try await reported {
      let node: Node
      if let owner, try !NodeFolder(path).holdsNode() {
        node = try await Node.create(
          at: path, person: owner.person, device: owner.device, passphrase: secret,
          schema: schema, now: clock.read, folders: folders)
      } else {
        node = try await Node.open(
          at: path, passphrase: secret, schema: schema, now: clock.read, folders: folders)
      }
      try await node.reads.open()
      return HearthNode(node: node)
    }
  }

  /// The zones of this person's devices.
  public var personal: HearthDatabase { HearthDatabase(node: node, kind: .personal) }

  /// The zones shared with others.
  public var shared: HearthDatabase { HearthDatabase(node: node, kind: .shared) }

  /// The key of this node's person, which is the same in every zone.
  ///
  /// It changes only when the node joins by a link for a further device of another person.
  public var me: Key<ZoneMember> {
    get async { Key(await node.person) }
  }

  /// The key of this device, which is the same in every zone.
  public var device: Key<ZoneDevice> {
    get async { Key(await node.device) }
  }

  /// Closes the node; no other call may follow.
  public func close() async throws(HearthError) {
    try await reported { try await node.close() }
  }
}
