import Foundation
import HearthCRDT
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// A transport of a node.
package struct TransportSetting: Codable, Equatable, Sendable {
  package let number: Int
  /// `folder` or `relay`.
  package let kind: String
  /// The folder's path or the relay's address.
  package let path: String
  /// The token with which this node may create mailboxes at the relay, if it needs one.
  package var token: String?
  /// The scope of the transport; nil for everything, including future groups.
  package internal(set) var cargo: TransportCargo?

  /// The number of the next one.
  static func nextNumber(after present: [TransportSetting]) -> Int {
    (present.map(\.number).max() ?? 0) + 1
  }
}

/// The scope of a transport that does not carry everything.
package struct TransportCargo: Codable, Equatable, Sendable {
  /// The households' ids in hexadecimal digits, sorted.
  package internal(set) var households: [String]
  /// Whether it includes the person's private database.
  package internal(set) var privateDatabase: Bool

  package init(households: [GroupID], privateDatabase: Bool) {
    self.households = Set(households.map(\.hex)).sorted()
    self.privateDatabase = privateDatabase
  }

  /// Returns the union of two scopes.
  func joined(with other: TransportCargo) -> TransportCargo {
    var joined = self
    joined.households = Set(households + other.households).sorted()
    joined.privateDatabase = privateDatabase || other.privateDatabase
    return joined
  }
}

// The transports, and the scope of each.
extension Node {
  private static let transportsFact = "transports"

  /// Returns the transports, in order of number.
  package func transports() throws -> [TransportSetting] {
    guard let encoded = try store.fact(Node.transportsFact) else { return [] }
    return try JSONDecoder().decode([TransportSetting].self, from: Data(encoded))
  }

  func save(_ settings: [TransportSetting]) throws {
    let encoded = Array(try JSONEncoder().encode(settings.sorted { $0.number < $1.number }))
    try store.transaction { try store.setFact(Node.transportsFact, encoded) }
  }

  func folderTransport(_ path: String) -> FolderTransport {
    FolderTransport(path: path, digest: { segmentDigest($0) })
  }

  // MARK: Adding and removing

  /// Adds a shared folder; for an existing one it may only extend the scope.
  ///
  /// - Parameter cargo: the folder's scope; nil for everything.
  /// - Throws: `invalid` for a folder that would expose a node's key.
  package func addFolder(
    _ path: String, carrying cargo: TransportCargo? = nil
  ) throws -> TransportSetting {
    try replicas.working {
      let absolute = try SharedFolderPath.checked(path, home: folder.root.path)
      var present = try transports()
      if let known = present.first(where: { $0.kind == "folder" && $0.path == absolute }) {
        return try widen(known, to: cargo)
      }
      try folderTransport(absolute).prepare()
      let setting = TransportSetting(
        number: TransportSetting.nextNumber(after: present), kind: "folder", path: absolute,
        cargo: cargo)
      present.append(setting)
      try save(present)
      return setting
    }
  }

  /// Extends the scope of an existing transport.
  func widen(_ known: TransportSetting, to cargo: TransportCargo?) throws -> TransportSetting {
    var setting = known
    setting.cargo = known.cargo.flatMap { own in cargo.map { own.joined(with: $0) } }
    guard setting != known else { return known }
    try save(try transports().filter { $0.number != known.number } + [setting])
    return setting
  }

  /// Returns the transport of a number, path or address.
  ///
  /// - Throws: `notFound`.
  func transport(named name: String) throws -> TransportSetting {
    let absolute = URL(fileURLWithPath: name).standardizedFileURL.path
    let present = name.isEmpty ? [] : try transports()
    let found =
      present.first { String($0.number) == name }
      ?? present.first { $0.path == name || $0.path == absolute }
    guard let found else {
      throw HearthError(
        .notFound,
        "there is no transport \(name.isEmpty ? "without a name" : printable(name)): see "
          + "`hearth transport list`")
    }
    return found
  }

  /// Removes a transport by its number or path.
  package func removeTransport(_ name: String) throws {
    try replicas.working {
      let gone = try transport(named: name)
      relays[gone.path] = nil
      try store.transaction {
        try store.setFact(Engine<ReplicaStore>.heldFact(of: gone.path), nil)
        try save(try transports().filter { $0.number != gone.number })
      }
    }
  }

  // MARK: Scope

  /// Sets the scope of a transport from now on; data already there stays.
  ///
  /// - Parameters:
  ///   - name: its number, path or address.
  ///   - cargo: the scope; nil for everything.
  /// - Throws: `notFound`, `invalid` for an empty scope.
  package func setCargo(
    of name: String, to cargo: TransportCargo?
  ) throws -> TransportSetting {
    try replicas.working {
      var setting = try transport(named: name)
      if let cargo, cargo.households.isEmpty, !cargo.privateDatabase {
        throw HearthError(
          .invalid,
          "the transport would carry nothing: name a household, or remove the transport with "
            + "`hearth transport remove \(setting.number)`")
      }
      setting.cargo = cargo
      try save(try transports().filter { $0.number != setting.number } + [setting])
      return setting
    }
  }

  /// Extends the scope of a transport; one that carries everything stays unchanged.
  ///
  /// - Throws: `notFound`.
  package func addCargo(
    to name: String, _ cargo: TransportCargo
  ) throws -> TransportSetting {
    try replicas.working {
      try widen(try transport(named: name), to: cargo)
    }
  }

  /// Returns the groups that a transport carries.
  ///
  /// The private database is the present one, and one that this node is about to join.
  package func groups(over setting: TransportSetting) -> CarriedGroups {
    guard let cargo = setting.cargo else { return .everything }
    var groups = Set(cargo.households.compactMap { GroupID(hex: $0) })
    if cargo.privateDatabase, let own = engine.privateGroup { groups.insert(own) }
    return .only(groups)
  }

  /// Returns the groups that are exchanged with others, or would be if there were a transport.
  package func exchangedGroups() -> [GroupID] { engine.exchangedGroups }

  /// Returns the groups that the transport at a place carries: none if it is no transport of this
  /// node.
  func groups(over place: String) throws -> CarriedGroups {
    try transports().first { $0.path == place }.map { groups(over: $0) } ?? .only([])
  }

  /// Returns the transports that carry a group, in order of number.
  package func transports(of group: GroupID) throws -> [TransportSetting] {
    try transports().filter { groups(over: $0).contains(group) }
  }

  /// Returns the households and private database that are to be exchanged and that no transport
  /// carries, though there are transports; in order of name.
  ///
  /// - Parameter withUnshared: whether to include a private database that no other device shares
  ///   yet and that has no recovery words.
  package func stranded(withUnshared: Bool = false) throws -> [ZoneState] {
    let settings = try transports()
    guard !settings.isEmpty else { return [] }
    return dataZones().filter { zone in
      (engine.isExchanged(zone) || withUnshared && zone.group == engine.privateGroup)
        && ending(in: zone.group) == nil
        && !settings.contains { groups(over: $0).contains(zone.group) }
    }
  }

  /// Keeps the way over which an invitation was followed.
  ///
  /// The first way of a node carries everything. A further one carries the household alone, so that
  /// nothing of the others comes to lie at a place that was not chosen for them.
  func keepTransport(_ named: String, for group: GroupID) throws {
    let isRelay = Node.isRelay(named)
    let place = isRelay ? try Node.relayAddress(named).description : named
    let present = try transports()
    let cargo =
      present.isEmpty ? nil : TransportCargo(households: [group], privateDatabase: false)
    if let known = present.first(where: { $0.path == place }) {
      _ = try widen(known, to: cargo)
      return
    }
    if !isRelay { try folderTransport(place).prepare() }
    try save(
      present + [
        TransportSetting(
          number: TransportSetting.nextNumber(after: present), kind: isRelay ? "relay" : "folder",
          path: place, cargo: cargo)
      ])
  }

  /// Adds the private database to a transport's scope, after an invitation to it was followed.
  func letPrivateDatabase(over place: String) throws {
    guard let known = try transports().first(where: { $0.path == place }) else { return }
    _ = try widen(known, to: TransportCargo(households: [], privateDatabase: true))
  }
}
