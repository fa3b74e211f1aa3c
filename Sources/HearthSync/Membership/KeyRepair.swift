import HearthCRDT
import HearthCrypto
import HearthMembership

/// A key of a zone, by the id of its epoch.
private struct ZoneEpoch: Hashable {
  let zone: ZoneID
  let epoch: [UInt8]
}

/// A device that lacks keys, and the control zone's keys under which it can be reached.
private struct DeviceLackingKeys {
  let device: DeviceID
  /// The epochs whose keys the device has, oldest first.
  let reachedBy: [[UInt8]]
  let lacks: [ZoneEpoch]
}

/// Repair of missing keys.
///
/// Devices complain about keys that they cannot open, and others hand them on.
enum KeyRepair {
  /// Complaints about keys that this device received according to the log, but cannot open.
  ///
  /// A device complains again about a key that was handed on since and still does not open. If
  /// segments of the control zone stay closed, nobody can name their keys. The device then names
  /// its last key of that zone, and others hand on, under that key, every key that does not lead to
  /// it.
  static func complaints(in group: GroupID, by engine: Engine<some Store>) throws
    -> [ControlOperation]
  {
    let membership = engine.membership(of: group)
    var complaints = engine.zones.filter { $0.group == group }.flatMap { zone in
      let told = membership.keyHolders.toldKeys(
        of: zone.id, zone.kind, membership.keys.epochs(of: zone.id), by: engine.device)
      return membership.keys.epochs(of: zone.id).compactMap { epoch -> ControlOperation? in
        guard zone.epoch(id: epoch.grant.epoch) == nil, told.contains(epoch.grant.epoch) else {
          return nil
        }
        return .complaint(zone: zone.id, epoch: epoch.grant.epoch, isLast: false)
      }
    }
    if let last = try lastKey(in: group, membership, by: engine) { complaints.append(last) }
    Probe.keyComplained.hit(if: !complaints.isEmpty)
    return complaints
  }

  /// A complaint that names the last known key of the control zone, while segments under other keys
  /// are pending.
  private static func lastKey(
    in group: GroupID, _ membership: Membership, by engine: Engine<some Store>
  ) throws -> ControlOperation? {
    let control = try engine.controlZone(of: group)
    guard let epoch = control.currentEpoch?.id,
      try engine.store.pending.entries(in: control.id).contains(where: { $0.reason == .epoch }),
      membership.keyHolders.lastUsableEpoch(of: engine.device, in: control.id) != epoch
    else { return nil }
    return .complaint(zone: control.id, epoch: epoch, isLast: true)
  }

  /// The most devices that one change hands keys to: so many fit into a change.
  private static var maximumDevices: Int { 64 }

  /// Hands known keys to devices that may read and lack them.
  ///
  /// These are devices that complained, and devices that joined while others made the keys. A
  /// reader does so for further devices of its own person, and for keys that no writer has: their
  /// maker may be gone. The keys are handed on under a key that the recipient has; otherwise it
  /// could not open them. One change serves all devices that the same key reaches, so that a
  /// person's many devices cost hardly more than one.
  static func repair(
    in group: GroupID, by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let control = try engine.controlZone(of: group)
    var byKey: [[UInt8]: [DeviceLackingKeys]] = [:]
    for device in devicesLackingKeys(in: group, by: engine) {
      guard let key = device.reachedBy.last(where: { control.epoch(id: $0) != nil }) else {
        continue
      }
      byKey[key, default: []].append(device)
    }
    for (key, devices) in byKey.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      for start in stride(from: 0, to: devices.count, by: maximumDevices) {
        let operations = try handingKeys(
          to: devices[start...].prefix(maximumDevices), in: group, by: engine)
        guard !operations.isEmpty else { continue }
        Probe.keyHandedOn.hit()
        try write(
          operations, under: key, in: group, by: &engine, nowMilliseconds: nowMilliseconds)
      }
    }
  }

  /// The operations that give devices the keys that they lack and this device knows.
  private static func handingKeys(
    to devices: ArraySlice<DeviceLackingKeys>, in group: GroupID, by engine: Engine<some Store>
  ) throws -> [ControlOperation] {
    var order: [ZoneEpoch] = []
    var wraps: [ZoneEpoch: [ControlOperation.Wrap]] = [:]
    for recipient in devices {
      guard let card = engine.membership(of: group).device(recipient.device)?.card else { continue }
      let box = try BoxPublicKey(validating: card.boxKey)
      for lacking in recipient.lacks {
        guard let key = try engine.zone(lacking.zone).epoch(id: lacking.epoch) else { continue }
        if wraps[lacking] == nil { order.append(lacking) }
        wraps[lacking, default: []].append(
          .init(recipient: recipient.device, sealed: try key.sealKey(to: box)))
      }
    }
    return order.map { lacking in
      let sorted = (wraps[lacking] ?? []).sorted { $0.recipient < $1.recipient }
      return .wrapAdd(zone: lacking.zone, epoch: lacking.epoch, wraps: sorted)
    }
  }

  /// Writes operations and seals them under a certain key of the control zone.
  private static func write(
    _ operations: [ControlOperation], under key: [UInt8], in group: GroupID,
    by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    var draft = engine
    try engine.store.transaction {
      draft = engine
      // Due rotations and unsealed changes come first, under the current keys.
      try Rekeying.replaceOverEpochs(of: group, in: &draft, nowMilliseconds: nowMilliseconds)
      let control = try draft.controlZone(of: group)
      for author in control.heads.map(\.author) where author.device == engine.device {
        _ = try Sealing.sealChanges(of: author, in: control, by: draft)
      }
      try GroupOperations.perform(
        operations, in: group, by: &draft, nowMilliseconds: nowMilliseconds)
      var told = try draft.controlZone(of: group)
      told.writeEpoch = key
      _ = try Sealing.sealChanges(of: engine.author, in: told, by: draft)
    }
    engine = draft
  }

  private static func devicesLackingKeys(in group: GroupID, by engine: Engine<some Store>)
    -> [DeviceLackingKeys]
  {
    let membership = engine.membership(of: group)
    let own = engine.zones.filter { $0.group == group }.map {
      ($0, membership.keys.epochs(of: $0.id))
    }
    let isReader = membership.role(of: engine.device) == .reader
    let writers = isReader ? writersKeys(of: own, membership) : []
    let person = membership.person(of: engine.device)?.id
    return membership.devices.compactMap { candidate -> DeviceLackingKeys? in
      guard candidate.id != engine.device else { return nil }
      let isOthers = isReader && membership.person(of: candidate.id)?.id != person
      var lacks: [ZoneEpoch] = []
      var reachedBy: [[UInt8]] = []
      for (zone, epochs) in own {
        let told = membership.keyHolders.toldKeys(of: zone.id, zone.kind, epochs, by: candidate.id)
        for epoch in epochs {
          let id = epoch.grant.epoch
          if told.contains(id) {
            if zone.kind == .control { reachedBy.append(id) }
          } else if zone.epoch(id: id) != nil,
            membership.history.mayBeGiven(epoch, of: zone.kind, to: candidate.id),
            !isOthers || !writers.contains(id) && !Mutant.readersKeepKeys.isActive
          {
            lacks.append(ZoneEpoch(zone: zone.id, epoch: id))
          }
        }
      }
      return lacks.isEmpty
        ? nil
        : DeviceLackingKeys(
          device: candidate.id, reachedBy: reachedBy, lacks: Array(lacks.suffix(64)))
    }
  }

  /// The epochs whose keys at least one writer has.
  private static func writersKeys(
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
