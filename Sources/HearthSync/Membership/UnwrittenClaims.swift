import HearthCRDT
import HearthMembership

/// Claims to have seen changes of this device that this device never wrote.
package struct UnwrittenClaims<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// The devices that claim to have seen changes of this incarnation that do not exist, by zone.
  ///
  /// A change with such a citation waits for ever, and nobody but this device can know that. Claims
  /// are pending changes and heartbeats: their authors have signed both.
  package func claims(in group: GroupID) throws -> [UnwrittenClaim] {
    let membership = engine.membership(of: group)
    let own = engine.zones.filter { $0.group == group }
    // Where another copy of this device has written, its log is not known whole here.
    let isWhole = own.allSatisfy {
      $0.forkEnds[engine.author] == nil && $0.head(of: engine.author).forkedAt == nil
    }
    guard membership.isActive(engine.device), isWhole else { return [] }
    var claims: [ZoneID: [DeviceID: UInt64]] = [:]
    func add(_ seen: Frontier, of zone: ZoneState?, by other: DeviceID) {
      guard let zone, other != engine.device, membership.isActive(other) else { return }
      let (claimed, written) = (seen[engine.author], zone.head(of: engine.author).sequence)
      guard claimed > written else { return }
      claims[zone.id, default: [:]][other] = max(
        claims[zone.id]?[other] ?? 0, claimed - written)
    }
    let control = own.first { $0.kind == .control }
    for zone in own {
      for entry in try engine.store.pending.entries(in: zone.id)
      where entry.reason == .cause || entry.reason == .gap {
        guard let other = entry.author(in: zone)?.device else { continue }
        add(entry.wait.seen, of: zone, by: other)
        add(entry.wait.controlSeen, of: control, by: other)
      }
    }
    let reports =
      try control.map { try DeviceReports.stored(of: $0.id, in: engine.store) } ?? DeviceReports()
    for other in membership.devices.map(\.id) {
      for said in reports.frontiers(of: other, in: membership) {
        add(said.frontier, of: own.first { $0.id == said.zone }, by: other)
      }
    }
    return own.map(\.id).flatMap { zone in
      (claims[zone] ?? [:]).sorted { $0.key < $1.key }.map {
        UnwrittenClaim(device: $0.key, zone: zone, count: $0.value)
      }
    }
  }

  /// Adds one notice per device and zone about claims to have seen what this device never wrote.
  func note(in group: GroupID, nowMilliseconds: UInt64) throws {
    for claim in try claims(in: group) {
      let fact = Fact(
        number: "unwritten.\(claim.zone.hex).\(claim.device.hex).\(engine.incarnation)")
      guard try !engine.store.facts.has(fact) else { continue }
      let text = words(for: claim, in: try engine.zone(claim.zone))
      try engine.store.transaction {
        try engine.store.facts.set(fact, to: nowMilliseconds)
        try engine.store.notices.add(
          Notice(
            kind: .falseClaim, zone: claim.zone, device: claim.device, text: text,
            milliseconds: nowMilliseconds))
      }
    }
  }

  /// A claim to have seen what this device never wrote, in words.
  ///
  /// The words leave room for a device that was put back together with all signs of it: others may
  /// then really have seen more than it knows.
  package func words(for claim: UnwrittenClaim, in zone: ZoneState) -> String {
    let name = DeviceNames(engine: engine).nameWithPerson(claim.device, in: zone)
    let changes = claim.count == 1 ? "1 change" : "\(claim.count) changes"
    return "\(name) claims to have seen \(changes) of this device that this device never wrote: no "
      + "honest program does that, unless this device was put back to an older copy unnoticed, or "
      + "a snapshot misled \(name). Changes that rest on this claim wait; all others count"
  }
}
