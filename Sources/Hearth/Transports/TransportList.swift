import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// The transports that a node keeps, and the scope of each.
struct TransportList: NodeWork {
  let core: NodeCore

  private static let fact = JSONFact.named("transports", of: [TransportSetting].self)

  /// The transports, in order of number.
  func list() throws -> [TransportSetting] {
    try store.facts.value(of: TransportList.fact) ?? []
  }

  private func save(_ settings: [TransportSetting]) throws {
    let sorted = settings.sorted { $0.number < $1.number }
    try store.transaction { try store.facts.set(TransportList.fact, to: sorted) }
  }

  // MARK: Adding and removing

  /// Adds a shared folder; for an existing one it may only extend the scope.
  ///
  /// - Parameter scope: the folder's scope; nil for everything.
  /// - Throws: `invalid` for a folder that would expose a node's key.
  func add(folder path: String, carrying scope: TransportScope?) throws -> TransportSetting {
    let absolute = try SharedFolderPath.checked(path, home: folder.root.path)
    var present = try list()
    if let known = present.first(where: { $0.kind == .folder && $0.path == absolute }) {
      return try widen(known, to: scope)
    }
    try Connections.folder(absolute).prepare()
    let setting = TransportSetting(
      number: TransportSetting.nextNumber(after: present), kind: .folder, path: absolute,
      scope: scope)
    present.append(setting)
    try save(present)
    return setting
  }

  /// Extends the scope of an existing transport.
  func widen(_ known: TransportSetting, to scope: TransportScope?) throws -> TransportSetting {
    var setting = known
    setting.scope = known.scope.flatMap { own in scope.map { own.joined(with: $0) } }
    guard setting != known else { return known }
    try save(try list().filter { $0.number != known.number } + [setting])
    return setting
  }

  /// Adds a relay; for an existing one it changes the token and may extend the scope.
  ///
  /// - Parameter scope: the relay's scope; nil for everything.
  /// - Throws: `invalid` if the text is no address, `offline` if the relay is unreachable or is
  ///   another one.
  func add(
    relay text: String, token: String?, carrying scope: TransportScope?
  ) async throws -> TransportSetting {
    let address = try TransportAddress.relay(text)
    if let token, (try? Base32.decode(token)) == nil {
      throw HearthError(.invalid, "this is not a relay's token: copy the whole token")
    }
    let present = try list()
    if var known = present.first(where: { $0.path == address.description }) {
      if let token, token != known.token {
        known.token = token
        core.relays[known.path] = nil
        try save(present.filter { $0.number != known.number } + [known])
      }
      return try widen(known, to: scope)
    }
    try await connections.greet(address)
    // Another process may have changed the transports meanwhile.
    let others = try list()
    if let added = others.first(where: { $0.path == address.description }) { return added }
    let setting = TransportSetting(
      number: TransportSetting.nextNumber(after: others), kind: .relay,
      path: address.description, token: token, scope: scope)
    try save(others + [setting])
    return setting
  }

  /// Returns the transport of a number, path or address.
  ///
  /// - Throws: `notFound`.
  func setting(named name: String) throws -> TransportSetting {
    let absolute = URL(fileURLWithPath: name).standardizedFileURL.path
    let present = name.isEmpty ? [] : try list()
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
  func remove(_ name: String) throws {
    let gone = try setting(named: name)
    core.relays[gone.path] = nil
    try store.transaction {
      try store.facts.set(TransportWatermarks.fact(of: gone.path), to: nil)
      try save(try list().filter { $0.number != gone.number })
    }
  }

  // MARK: Scope

  /// Sets the scope of a transport from now on; data already there stays.
  ///
  /// - Parameters:
  ///   - name: its number, path or address.
  ///   - scope: the scope; nil for everything.
  /// - Throws: `notFound`, `invalid` for an empty scope.
  func setScope(of name: String, to scope: TransportScope?) throws -> TransportSetting {
    var setting = try setting(named: name)
    if let scope, scope.households.isEmpty, !scope.privateDatabase {
      throw HearthError(
        .invalid,
        "the transport would carry nothing: name a household, or remove the transport with "
          + "`hearth transport remove \(setting.number)`")
    }
    setting.scope = scope
    try save(try list().filter { $0.number != setting.number } + [setting])
    return setting
  }

  /// Returns the groups that a transport carries.
  ///
  /// The private database is the present one, and one that this node is about to join.
  func groups(over setting: TransportSetting) -> CarriedGroups {
    guard let scope = setting.scope else { return .everything }
    var groups = Set(scope.households.compactMap { GroupID(hex: $0) })
    if scope.privateDatabase, let own = engine.privateGroup { groups.insert(own) }
    return .only(groups)
  }

  /// Returns the groups that the transport at a place carries: none if it is no transport of this
  /// node.
  func groups(over place: String) throws -> CarriedGroups {
    try list().first { $0.path == place }.map { groups(over: $0) } ?? .only([])
  }

  /// Returns the transports that carry a group, in order of number.
  func list(of group: GroupID) throws -> [TransportSetting] {
    try list().filter { groups(over: $0).contains(group) }
  }

  /// Returns the households and private database that are to be exchanged and that no transport
  /// carries, though there are transports; in order of name.
  ///
  /// - Parameter withUnshared: whether to include a private database that no other device shares
  ///   yet and that has no recovery words.
  func uncarriedZones(withUnshared: Bool) throws -> [ZoneState] {
    let settings = try list()
    guard !settings.isEmpty else { return [] }
    return dataZones().filter { zone in
      (ExchangeScope(engine: engine).isExchanged(zone)
        || withUnshared && zone.group == engine.privateGroup)
        && ending(in: zone.group) == nil
        && !settings.contains { groups(over: $0).contains(zone.group) }
    }
  }

  /// Keeps the transport over which an invitation was followed.
  ///
  /// The first transport of a node carries everything. A further one carries the household alone,
  /// so that nothing of the others is stored at a place that was not chosen for them.
  func keep(_ named: String, for group: GroupID) throws {
    let isRelay = TransportAddress.isRelay(named)
    let place = isRelay ? try TransportAddress.relay(named).description : named
    let present = try list()
    let scope =
      present.isEmpty ? nil : TransportScope(households: [group], privateDatabase: false)
    if let known = present.first(where: { $0.path == place }) {
      _ = try widen(known, to: scope)
      return
    }
    if !isRelay { try Connections.folder(place).prepare() }
    try save(
      present + [
        TransportSetting(
          number: TransportSetting.nextNumber(after: present), kind: isRelay ? .relay : .folder,
          path: place, scope: scope)
      ])
  }

  /// Adds the private database to a transport's scope, after an invitation to it was followed.
  func carryPrivateDatabase(over place: String) throws {
    guard let known = try list().first(where: { $0.path == place }) else { return }
    _ = try widen(known, to: TransportScope(households: [], privateDatabase: true))
  }
}

extension NodeWork {
  /// The transports that the node keeps.
  var transports: TransportList { TransportList(core: core) }
}
