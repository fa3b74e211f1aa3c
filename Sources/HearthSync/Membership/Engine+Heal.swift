import HearthCRDT
import HearthCrypto
import HearthMembership

// What makes devices whole that cannot open a key: they say so, and others hand it on.
extension Engine {
  /// Complaints about keys that this device was given, as far as the log says, and cannot open.
  ///
  /// Said again about whatever was handed on since and does not open either. Where segments of the
  /// control zone stay closed nobody can name their keys: then the last key that is held is named,
  /// and whatever does not lead to it is given anew under that.
  func complaints(in group: GroupID) throws -> [ControlOperation] {
    let membership = membership(of: group)
    var complaints = zones.filter { $0.group == group }.flatMap { zone in
      let told = membership.toldKeys(
        of: zone.id, zone.kind, membership.epochs(of: zone.id), by: device)
      return membership.epochs(of: zone.id).compactMap { epoch -> ControlOperation? in
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

  /// Says which key of the control zone is the last, while there are segments under others.
  private func lastKey(
    in group: GroupID, _ membership: Membership
  ) throws -> ControlOperation? {
    let control = try controlZone(of: group)
    guard let epoch = control.currentEpoch?.id,
      try store.pendingEntries(in: control.id).contains(where: { $0.reason == .epoch }),
      membership.lastComplaint(of: device, in: control.id)?.epoch != epoch
    else { return nil }
    return .complaint(.init(zone: control.id, epoch: epoch, isLast: true))
  }

  /// A device that lacks keys, and the keys of the control zone under which it can be told.
  private struct Patient {
    let device: DeviceID
    /// Oldest first.
    let reachedBy: [[UInt8]]
    let lacks: [(zone: ZoneID, epoch: [UInt8])]
  }

  /// Hands keys that are held here to devices that read and lack them.
  ///
  /// Those that complained, and those that joined while others made the keys. A reader does so for
  /// further devices of its own, and where nobody who writes has the key: its maker may be gone.
  /// What is handed on goes under a key that the device has, or it could not open it.
  mutating func heal(in group: GroupID, nowMilliseconds: UInt64) throws {
    for patient in patients(in: group) {
      guard let card = membership(of: group).device(patient.device)?.card else { continue }
      let box = try BoxPublicKey(validating: card.boxKey)
      let control = try controlZone(of: group)
      guard let reached = patient.reachedBy.last(where: { control.epoch(id: $0) != nil }) else {
        continue
      }
      let operations = try patient.lacks.compactMap { zone, epoch -> ControlOperation? in
        guard let key = try self.zone(zone).epoch(id: epoch) else { return nil }
        return .wrapAdd(
          .init(
            zone: zone, epoch: epoch,
            wraps: [.init(recipient: patient.device, sealed: try key.sealKey(to: box))]))
      }
      guard !operations.isEmpty else { continue }
      Probe.keyHandedOn.hit()
      var draft = self
      try store.transaction {
        draft = self
        // What is due anyway, before and under the keys of today.
        try draft.replaceOverEpochs(of: group, nowMilliseconds: nowMilliseconds)
        let control = try draft.controlZone(of: group)
        for author in control.heads.map(\.author) where author.device == device {
          _ = try draft.sealChanges(of: author, in: control)
        }
        try draft.perform(operations, in: group, nowMilliseconds: nowMilliseconds)
        var told = try draft.controlZone(of: group)
        told.writeEpoch = reached
        _ = try draft.sealChanges(of: author, in: told)
      }
      self = draft
    }
  }

  private func patients(in group: GroupID) -> [Patient] {
    let membership = membership(of: group)
    let own = zones.filter { $0.group == group }.map { ($0, membership.epochs(of: $0.id)) }
    let isReader = membership.role(of: device) == .reader
    let writers = isReader ? writersKeys(of: own, membership) : []
    let person = membership.person(of: device)?.id
    return membership.devices.compactMap { ill -> Patient? in
      guard ill.id != device else { return nil }
      let isOthers = isReader && membership.person(of: ill.id)?.id != person
      var lacks: [(zone: ZoneID, epoch: [UInt8])] = []
      var reachedBy: [[UInt8]] = []
      for (zone, epochs) in own {
        let told = membership.toldKeys(of: zone.id, zone.kind, epochs, by: ill.id)
        for epoch in epochs {
          let id = epoch.grant.epoch
          if told.contains(id) {
            if zone.kind == .control { reachedBy.append(id) }
          } else if zone.epoch(id: id) != nil,
            membership.mayBeGiven(epoch, of: zone.kind, to: ill.id),
            !isOthers || !writers.contains(id) && !Mutant.readersKeepKeys.isActive
          {
            lacks.append((zone.id, id))
          }
        }
      }
      return lacks.isEmpty
        ? nil : Patient(device: ill.id, reachedBy: reachedBy, lacks: Array(lacks.suffix(64)))
    }
  }
}

extension Engine {
  /// The epochs whose keys somebody has who writes.
  private func writersKeys(
    of zones: [(ZoneState, [EpochRecord])], _ membership: Membership
  ) -> Set<[UInt8]> {
    var known: Set<[UInt8]> = []
    for writer in membership.devices where membership.role(of: writer.id) != .reader {
      for (zone, epochs) in zones {
        known.formUnion(membership.toldKeys(of: zone.id, zone.kind, epochs, by: writer.id))
      }
    }
    return known
  }
}
