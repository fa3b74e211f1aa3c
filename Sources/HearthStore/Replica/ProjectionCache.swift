import HearthCRDT
import HearthMembership
import HearthSync

/// What the views of a replica's projections share: its tables, the texts of queries, and the last
/// memberships.
final class ProjectionCache {
  let connection: Connection
  let zones: SQLiteZones
  let records: SQLiteRecords
  /// The range queries requested so far; there are few.
  private var queries: [RangeShape: RangeQuery] = [:]
  private var tables: [String: [ProjectedTable]] = [:]
  /// Each group's last fold, so that the next one does not verify the same signatures again.
  private(set) var lastMemberships: [GroupID: Membership] = [:]

  init(connection: Connection, zones: SQLiteZones, records: SQLiteRecords) {
    self.connection = connection
    self.zones = zones
    self.records = records
  }

  /// Returns the query of a shape, created on first use.
  func query(_ shape: RangeShape, _ make: () throws -> RangeQuery) rethrows -> RangeQuery {
    if let present = queries[shape] { return present }
    let query = try make()
    queries[shape] = query
    return query
  }

  /// Returns the tables of a projection; their statements' texts are created on first use.
  func tables(of projection: any Projection) -> [ProjectedTable] {
    if let present = tables[projection.name] { return present }
    let made = projection.tables.map { ProjectedTable(projection, $0) }
    tables[projection.name] = made
    return made
  }

  /// Takes over a fold of a group's control log: the views extend it instead of folding all again.
  ///
  /// Views know no forked logs, so a fold with some is of no use to them.
  func take(_ membership: Membership, of group: GroupID) {
    guard membership.forks.ends.isEmpty else { return }
    lastMemberships[group] = membership
  }

  /// Returns the membership of a zone's group; an empty one if the group has no control zone.
  func membership(around zone: ZoneID) throws -> Membership {
    let zones = try zones.all()
    guard let own = zones.first(where: { $0.id == zone })?.group,
      let control = zones.first(where: { $0.group == own && $0.kind == .control })
    else { return Membership() }
    let membership = Membership(
      group: own, events: try records.events(of: ControlOperation.type, in: control.id),
      known: lastMemberships[own])
    lastMemberships[own] = membership
    return membership
  }
}
