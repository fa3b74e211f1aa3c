import HearthCRDT
import HearthCrypto
import HearthMembership

/// A key of a zone, by the id of its epoch.
private struct ZoneEpoch: Hashable {
  let zone: ZoneID
  let epoch: [UInt8]
}

// Repair of missing keys: devices complain about keys that they cannot open, and others hand them
// on.
extension Engine {
  /// Complaints about keys that this device received according to the log, but cannot open.
  ///
  /// A device complains again about a key that was handed on since and still does not open. If
  /// segments of the control zone stay closed, nobody can name their keys. The device then names
  /// its last key of that zone, and others hand on, under that key, every key that does not lead to
  /// it.
  func complaints(in group: GroupID) throws -> [ControlOperation] {
    let membership = membership(of: group)
    var complaints = zones.filter { $0.group == group }.flatMap { zone in
      let told = membership.keyHolders.toldKeys(
        of: zone.id, zone.kind, membership.keys.epochs(of: zone.id), by: device)
      return membership.keys.epochs(of: zone.id).compactMap { epoch -> ControlOperation? in
        guard zone.epoch(id: epoch.grant.epoch) == nil, told.contains(epoch.grant.epoch) else {
          return nil
        }
        return .complaint(.init(zone: zone.id, epoch: epoch.grant.epoch, isLast: false))
      }
    }
    if let last = try lastKey(in: group, membership) { complaints.append(last) }
    Probe.keyComplained.hit(if: !complaints.isEmpty)
    return complaints
  }

  /// A complaint that names the last known key of the control zone, while segments under other keys
  /// are pending.
  private func lastKey(
    in group: GroupID, _ membership: Membership
  ) throws -> ControlOperation? {
    let control = try controlZone(of: group)
    guard let epoch = control.currentEpoch?.id,
      try store.pending.entries(in: control.id).contains(where: { $0.reason == .epoch }),
      membership.keyHolders.lastComplaint(of: device, in: control.id)?.epoch != epoch
    else { return nil }
    return .complaint(.init(zone: control.id, epoch: epoch, isLast: true))
  }

  /// A device that lacks keys, and the control zone's keys under which it can be reached.
  private struct Patient {
    let device: DeviceID
    /// The epochs whose keys the device has, oldest first.
    let reachedBy: [[UInt8]]
    let lacks: [ZoneEpoch]
  }

  /// The most devices that one change hands keys to: so many fit into a change.
  private static var maximumPatients: Int { 64 }

  /// Hands known keys to devices that may read and lack them.
  ///
  /// These are devices that complained, and devices that joined while others made the keys. A
  /// reader does so for further devices of its own person, and for keys that no writer has: their
  /// maker may be gone. The keys are handed on under a key that the recipient has; otherwise it
  /// could not open them. One change serves all devices that the same key reaches, so that a
  /// person's many devices cost hardly more than one.
  mutating func heal(in group: GroupID, nowMilliseconds: UInt64) throws {
    let control = try controlZone(of: group)
    var byKey: [[UInt8]: [Patient]] = [:]
    for patient in patients(in: group) {
      guard let key = patient.reachedBy.last(where: { control.epoch(id: $0) != nil }) else {
        continue
      }
      byKey[key, default: []].append(patient)
    }
    for (key, patients) in byKey.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      for start in stride(from: 0, to: patients.count, by: Self.maximumPatients) {
        let some = patients[start...].prefix(Self.maximumPatients)
        let operations = try handingKeys(to: some, in: group)
        guard !operations.isEmpty else { continue }
        Probe.keyHandedOn.hit()
        try write(operations, under: key, in: group, nowMilliseconds: nowMilliseconds)
      }
    }
  }

  /// The operations that give devices the keys that they lack and this device knows.
  private func handingKeys(
    to patients: ArraySlice<Patient>, in group: GroupID
  ) throws -> [ControlOperation] {
    var order: [ZoneEpoch] = []
    var wraps: [ZoneEpoch: [ControlOperation.Wrap]] = [:]
    for patient in patients {
      guard let card = membership(of: group).device(patient.device)?.card else { continue }
      let box = try BoxPublicKey(validating: card.boxKey)
      for lacking in patient.lacks {
        guard let key = try zone(lacking.zone).epoch(id: lacking.epoch) else { continue }
        if wraps[lacking] == nil { order.append(lacking) }
        wraps[lacking, default: []].append(
          .init(recipient: patient.device, sealed: try key.sealKey(to: box)))
      }
    }
    return order.map { lacking in
      let sorted = (wraps[lacking] ?? []).sorted { $0.recipient < $1.recipient }
      return .wrapAdd(.init(zone: lacking.zone, epoch: lacking.epoch, wraps: sorted))
    }
  }

  /// Writes operations and seals them under a certain key of the control zone.
  private mutating func write(
    _ operations: [ControlOperation], under key: [UInt8], in group: GroupID,
    nowMilliseconds: UInt64
  ) throws {
    var draft = self
    try store.transaction {
      draft = self
      // Due rotations and unsealed changes come first, under the current keys.
      try draft.replaceOverEpochs(of: group, nowMilliseconds: nowMilliseconds)
      let control = try draft.controlZone(of: group)
      for author in control.heads.map(\.author) where author.device == device {
        _ = try draft.sealChanges(of: author, in: control)
      }
      try draft.perform(operations, in: group, nowMilliseconds: nowMilliseconds)
      var told = try draft.controlZone(of: group)
      told.writeEpoch = key
      _ = try draft.sealChanges(of: author, in: told)
    }
    self = draft
  }

  private func patients(in group: GroupID) -> [Patient] {
    let membership = membership(of: group)
    let own = zones.filter { $0.group == group }.map { ($0, membership.keys.epochs(of: $0.id)) }
    let isReader = membership.role(of: device) == .reader
    let writers = isReader ? writersKeys(of: own, membership) : []
    let person = membership.person(of: device)?.id
    return membership.devices.compactMap { ill -> Patient? in
      guard ill.id != device else { return nil }
      let isOthers = isReader && membership.person(of: ill.id)?.id != person
      var lacks: [ZoneEpoch] = []
      var reachedBy: [[UInt8]] = []
      for (zone, epochs) in own {
        let told = membership.keyHolders.toldKeys(of: zone.id, zone.kind, epochs, by: ill.id)
        for epoch in epochs {
          let id = epoch.grant.epoch
          if told.contains(id) {
            if zone.kind == .control { reachedBy.append(id) }
          } else if zone.epoch(id: id) != nil,
            membership.history.mayBeGiven(epoch, of: zone.kind, to: ill.id),
            !isOthers || !writers.contains(id) && !Mutant.readersKeepKeys.isActive
          {
            lacks.append(ZoneEpoch(zone: zone.id, epoch: id))
          }
        }
      }
      return lacks.isEmpty
        ? nil : Patient(device: ill.id, reachedBy: reachedBy, lacks: Array(lacks.suffix(64)))
    }
  }
}

extension Engine {
  /// The epochs whose keys at least one writer has.
  private func writersKeys(
    of zones: [(ZoneState, [EpochRecord])], _ membership: Membership
  ) -> Set<[UInt8]> {
    var known: Set<[UInt8]> = []
    for writer in membership.devices where membership.role(of: writer.id) != .reader {
      for (zone, epochs) in zones {
        known.formUnion(
          membership.keyHolders.toldKeys(of: zone.id, zone.kind, epochs, by: writer.id))
      }
    }
    return known
  }
}
