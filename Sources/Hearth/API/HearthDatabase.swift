import HearthCRDT
import HearthMembership
import HearthSync

/// The private or the shared database of a node.
public struct HearthDatabase: Sendable {
  let node: Node
  let kind: DatabaseKind

  /// Creates a shared zone for this application; the private database has its single zone from the
  /// start.
  public func createZone(named name: String) async throws(HearthError) -> HearthZone {
    try await reported {
      guard kind == .shared else {
        throw HearthError(.invalid, "the private database has one zone: use zones()")
      }
      let zone = try await node.working { try ZoneFounding(core: $0).found(name) }
      return HearthZone(node: node, zone: zone, name: name)
    }
  }

  /// Returns the zones, in order of name.
  public func zones() async -> [HearthZone] {
    await node.dataZones().filter { $0.database == kind }
      .map { HearthZone(node: node, zone: $0.id, name: $0.name) }
  }

  /// Returns the first zone with a name.
  ///
  /// - Parameter create: whether it is created if there is none.
  /// - Throws: `notFound` if there is none.
  public func zone(named name: String, create: Bool = false) async throws(HearthError) -> HearthZone
  {
    guard create, kind == .shared else {
      if let zone = await zones().first(where: { $0.name == name }) { return zone }
      if create { return try await createZone(named: name) }
      throw HearthError(.notFound, "there is no zone named \(printable(name))")
    }
    // In one turn: two calls at the same time get one zone.
    return try await reported {
      let zone = try await node.working { core in
        try core.dataZones().first { $0.database == .shared && $0.name == name }?.id
          ?? ZoneFounding(core: core).found(name)
      }
      return HearthZone(node: node, zone: zone, name: name)
    }
  }
}

/// Creates shared zones that belong to the node's application.
private struct ZoneFounding: NodeWork {
  let core: NodeCore

  func found(_ name: String) throws -> ZoneID {
    let created = try GroupCreation.create(
      GroupFounding(
        database: .shared, zoneNames: [name], person: person, personName: profile.personName,
        deviceName: profile.deviceName), in: &engine, nowMilliseconds: now())
    guard let zone = created.zones.first else {
      throw HearthError(.corrupt, "the group has no zone")
    }
    announce()
    return zone
  }
}
