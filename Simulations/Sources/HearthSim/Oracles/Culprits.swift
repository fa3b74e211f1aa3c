import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// Whether a device knows whose program is changed: what counts for nothing, or is held back, is
/// told with the device that wrote it, and what cannot have been seen does not count.
struct Culprits {
  private let world: World
  private let device: SimDevice

  init(_ world: World, _ device: SimDevice) {
    self.world = world
    self.device = device
  }

  func check() throws {
    guard !world.hostile.isEmpty, let home = device.home else { return }
    let engine = try device.engine()
    let membership = try device.membership()
    // Who began from a snapshot never met what is void before it, and cannot compare what lies
    // below it; a log with two histories is neither compared nor missed beyond their parting.
    guard try engine.store.snapshots.base(of: home) == nil, world.checker.forked.isEmpty else {
      return
    }
    let zone = try engine.zone(home)
    let roles = ChangeRoles(
      world.allChanges.filter { zone.frontier.covers($0.key) }, in: home,
      by: try PeopleLog(of: device, in: world))
    let notices = try engine.store.notices.all()
    for culprit in world.hostile {
      // What somebody who is out wrote beyond the cut is nobody's concern.
      guard membership.isActive(culprit.deviceID) else { continue }
      let told = Set(notices.filter { $0.device == culprit.deviceID }.map(\.kind))
      try liesAreHeldBack(culprit, zone, engine, told)
      guard roles.isWhole else { continue }
      let counted = world.hostileChanges.filter {
        $0.key.author.device == culprit.deviceID && zone.frontier.covers($0.key)
      }
      if counted.keys.contains(where: { roles.role($0) == nil }) {
        try expect(.void, culprit, told, "wrote what its role does not allow")
      }
      if isOverfull(counted.filter { roles.role($0.key) != nil }) {
        try expect(.limit, culprit, told, "put more into a record than one device may")
      }
    }
  }

  private func expect(
    _ kind: Notice.Kind, _ culprit: SimDevice, _ told: Set<Notice.Kind>, _ what: String
  ) throws {
    guard told.contains(kind) else {
      throw world.fail(.hostileBytes, device, "does not say that \(culprit.name) \(what)")
    }
    SimProbe.culpritNamed.hit()
  }

  private func liesAreHeldBack(
    _ culprit: SimDevice, _ zone: ZoneState, _ engine: Engine<ReplicaStore>,
    _ told: Set<Notice.Kind>
  ) throws {
    let waiting = try engine.store.pending.entries(in: zone.id)
    for lie in world.lies where lie.dot.author.device == culprit.deviceID {
      let head = zone.head(of: lie.dot.author)
      // A claim about what another liar's log never comes to here covers nothing that counts.
      let isAboutNothing = lie.cited.map { cited in
        world.hostile.contains { $0.deviceID == cited.author.device }
          && zone.head(of: cited.author).sequence < cited.sequence
      }
      if isAboutNothing == true { continue }
      guard head.sequence < lie.dot.sequence else {
        throw world.fail(
          .causality, device, "counts \(lie.dot), whose author cannot have seen what it says")
      }
      guard head.sequence + 1 == lie.dot.sequence,
        let entry = waiting.first(where: {
          $0.authorTag == zone.authorTag(of: lie.dot.author.device)
            && $0.incarnation == lie.dot.author.incarnation && $0.first <= lie.dot.sequence
            && lie.dot.sequence <= $0.last
        })
      else { continue }
      // What it cites may never have been written.
      let isHere = lie.cited.map { zone.head(of: $0.author).sequence >= $0.sequence } ?? true
      if entry.reason == .falseClaim || isHere && entry.reason == .cause {
        try expect(.falseClaim, culprit, told, "cites what it cannot have seen")
      }
    }
  }

  /// Whether somebody gave one set more elements than one author may.
  private func isOverfull(_ changes: [Dot: Change]) -> Bool {
    var counts: [Author: [RecordKey: UInt64]] = [:]
    for (dot, change) in changes {
      for operation in change.operations {
        guard case .include = operation.body else { continue }
        counts[dot.author, default: [:]][operation.key, default: 0] += 1
      }
    }
    return counts.contains { author, records in
      // A device has the full limit in its first incarnation, and a sixteenth in each later one.
      let most = author.isFirst ? Limits.maximumRecordUnits : Limits.maximumRecordUnits / 16
      return records.values.contains { $0 > most }
    }
  }
}
