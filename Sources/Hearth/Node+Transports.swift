import Foundation
import HearthCRDT
import HearthStore
import HearthSync
import HearthTransport

/// A way by which a node reaches others.
package struct TransportSetting: Codable, Equatable, Sendable {
  package let number: Int
  /// `folder` or `relay`.
  package let kind: String
  /// The folder's path or the relay's address.
  package let path: String
  /// The token by which this node may make mailboxes at the relay, if it needs one.
  package var token: String?
  /// What goes over it, where that is not everything; nil is everything, also what comes later.
  package internal(set) var cargo: TransportCargo?
}

/// What goes over a way that does not carry everything.
package struct TransportCargo: Codable, Equatable, Sendable {
  /// The households' ids in hexadecimal digits, sorted.
  package internal(set) var households: [String]
  /// Whether the person's private database does.
  package internal(set) var privateDatabase: Bool

  package init(households: [GroupID], privateDatabase: Bool) {
    self.households = Set(households.map(\.hex)).sorted()
    self.privateDatabase = privateDatabase
  }

  /// What either of two carries.
  func joined(with other: TransportCargo) -> TransportCargo {
    var joined = self
    joined.households = Set(households + other.households).sorted()
    joined.privateDatabase = privateDatabase || other.privateDatabase
    return joined
  }
}

// The ways to others, and what goes over which.
extension Node {
  private static let transportsFact = "transports"

  /// The ways to others, in order of number.
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

  // MARK: Adding and forgetting

  /// Adds a shared folder; of one that is there already only what it carries may grow.
  ///
  /// - Parameter cargo: what goes over it; nil for everything.
  /// - Throws: `invalid` for a folder that would give away a node's key.
  package func addFolder(
    _ path: String, carrying cargo: TransportCargo? = nil
  ) throws -> TransportSetting {
    let absolute = try SharedFolderPath.checked(path, home: folder.root.path)
    var present = try transports()
    if let known = present.first(where: { $0.kind == "folder" && $0.path == absolute }) {
      return try widen(known, to: cargo)
    }
    try folderTransport(absolute).prepare()
    let setting = TransportSetting(
      number: Node.nextNumber(after: present), kind: "folder", path: absolute, cargo: cargo)
    present.append(setting)
    try save(present)
    return setting
  }

  static func nextNumber(after present: [TransportSetting]) -> Int {
    (present.map(\.number).max() ?? 0) + 1
  }

  /// Lets a way that is there carry something more.
  func widen(_ known: TransportSetting, to cargo: TransportCargo?) throws -> TransportSetting {
    var setting = known
    setting.cargo = known.cargo.flatMap { own in cargo.map { own.joined(with: $0) } }
    guard setting != known else { return known }
    try save(try transports().filter { $0.number != known.number } + [setting])
    return setting
  }

  /// The way of a number, path or address.
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

  /// Forgets a transport by its number or path.
  package func removeTransport(_ name: String) throws {
    let gone = try transport(named: name)
    relays[gone.path] = nil
    try store.transaction {
      try store.setFact(Engine<ReplicaStore>.heldFact(of: gone.path), nil)
      try save(try transports().filter { $0.number != gone.number })
    }
  }

  // MARK: What goes over which

  /// Sets what goes over a way from now on; what lies there already stays.
  ///
  /// - Parameters:
  ///   - name: its number, path or address.
  ///   - cargo: what goes over it; nil for everything.
  /// - Throws: `notFound`, `invalid` where nothing would go over it.
  package func setCargo(
    of name: String, to cargo: TransportCargo?
  ) throws -> TransportSetting {
    var setting = try transport(named: name)
    if let cargo, cargo.households.isEmpty, !cargo.privateDatabase {
      throw HearthError(
        .invalid,
        "nothing would go over it: name a household, or forget the way with "
          + "`hearth transport remove \(setting.number)`")
    }
    setting.cargo = cargo
    try save(try transports().filter { $0.number != setting.number } + [setting])
    return setting
  }

  /// Lets something more go over a way; over one that carries everything it does already.
  ///
  /// - Throws: `notFound`.
  package func addCargo(
    to name: String, _ cargo: TransportCargo
  ) throws -> TransportSetting {
    try widen(try transport(named: name), to: cargo)
  }

  /// Which groups go over a way.
  ///
  /// The private database is the one of this moment, and one that this node is about to join.
  package func groups(over setting: TransportSetting) -> CarriedGroups {
    guard let cargo = setting.cargo else { return .everything }
    var groups = Set(cargo.households.compactMap { GroupID(hex: $0) })
    if cargo.privateDatabase, let own = engine.privateGroup { groups.insert(own) }
    return .only(groups)
  }

  /// The groups that are exchanged with others, or would be if there were a way.
  package func exchangedGroups() -> [GroupID] { engine.exchangedGroups }

  /// Which groups go over what lies at a place: none where it is no way of this node.
  func groups(over place: String) throws -> CarriedGroups {
    try transports().first { $0.path == place }.map { groups(over: $0) } ?? .only([])
  }

  /// The ways over which a group goes, in order of number.
  package func transports(of group: GroupID) throws -> [TransportSetting] {
    try transports().filter { groups(over: $0).contains(group) }
  }

  /// The households and private database that are exchanged with others and go over no way, though
  /// there are ways; in order of name.
  ///
  /// - Parameter withUnshared: whether the private database counts that no other device shares yet
  ///   and no words lead to: it would go over none either.
  package func stranded(withUnshared: Bool = false) throws -> [ZoneState] {
    let settings = try transports()
    guard !settings.isEmpty else { return [] }
    return dataZones().filter { zone in
      (engine.isExchanged(zone) || withUnshared && zone.group == engine.privateGroup)
        && ending(in: zone.group) == nil
        && !settings.contains { groups(over: $0).contains(zone.group) }
    }
  }

  /// Adds the way over which an invitation was followed.
  ///
  /// The first way of a node carries everything. A further one carries the household alone, so that
  /// nothing of the others comes to lie at a place that was not chosen for them.
  func addTransport(_ place: String, for group: GroupID) throws {
    let cargo =
      try transports().isEmpty ? nil : TransportCargo(households: [group], privateDatabase: false)
    _ =
      Node.isRelay(place)
      ? try addRelay(place, carrying: cargo) : try addFolder(place, carrying: cargo)
  }

  /// Lets a way carry the private database too, where an invitation to it was followed.
  func letPrivateDatabase(over place: String) throws {
    guard let known = try transports().first(where: { $0.path == place }) else { return }
    _ = try widen(known, to: TransportCargo(households: [], privateDatabase: true))
  }
}
