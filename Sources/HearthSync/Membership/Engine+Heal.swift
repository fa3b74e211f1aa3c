import HearthCRDT
import HearthCrypto

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
      let told = membership.toldKeys(of: zone, membership.epochs(of: zone.id), by: device)
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
      try store.pending(in: control.id).contains(where: { $0.reason == .epoch }),
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
        let told = membership.toldKeys(of: zone, epochs, by: ill.id)
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
        known.formUnion(membership.toldKeys(of: zone, epochs, by: writer.id))
      }
    }
    return known
  }
}

extension Membership {
  /// The epochs of a zone whose keys a device was given, as far as the log says: by an epoch, by
  /// what was handed on later, or with its invitation, and it has not complained since.
  ///
  /// A key of the control zone counts as given by its epoch only to who has the keys that this one
  /// follows, as its operation is sealed under those. O(e·(log w + c)) for e epochs of w wraps.
  func toldKeys(
    of zone: ZoneState, _ epochs: [EpochRecord], by device: DeviceID
  ) -> Set<[UInt8]> {
    guard let resolver = resolved?.resolver else { return [] }
    let complaints = resolver.complaints(of: device, in: zone.id)
    let last = complaints.last { $0.complaint.isLast }
    let enough = last.map { ancestors(of: $0.complaint.epoch, epochs) }
    func stands(_ place: Int, _ epoch: [UInt8]) -> Bool {
      if let last, enough?.contains(epoch) == false, !resolver.log.sees(place, last.place) {
        return false
      }
      return !complaints.contains {
        !$0.complaint.isLast && $0.complaint.epoch == epoch && resolver.log.sees($0.place, place)
      }
    }
    let added = resolver.addedWraps(for: device, in: zone.id)
    let gathered = resolver.index.enrolments[device]?.filter { resolver.isLive[$0] } ?? []
    var told: Set<[UInt8]> = []
    for epoch in epochs where mayBeGiven(epoch, of: zone.kind, to: device) {
      let id = epoch.grant.epoch
      let isWrapped =
        epoch.grant.wraps.contains { $0.recipient == device } && stands(epoch.place, id)
        && (zone.kind == .data || epoch.maker == device
          || epoch.grant.previous.allSatisfy(told.contains))
      // A later key that it has holds this one, where newcomers may read what was before.
      let isGathered = gathered.contains { enrolment in
        (resolver.log.sees(resolver.keysGathered(for: enrolment), epoch.place)
          || zone.kind == .data && came(enrolment, with: epoch)) && stands(enrolment, id)
      }
      let isAdded = added.contains { $0.epoch == id && stands($0.place, id) }
      guard isWrapped || isGathered || isAdded || enough?.contains(id) == true else { continue }
      told.insert(id)
      for earlier in epoch.grant.history
      where follows(epoch, toKey: earlier.epoch, of: zone, epochs) {
        told.insert(earlier.epoch)
      }
    }
    return told
  }

  /// An epoch and those before it.
  private func ancestors(of epoch: [UInt8], _ epochs: [EpochRecord]) -> Set<[UInt8]> {
    var found: Set<[UInt8]> = [epoch]
    for record in epochs.reversed() where found.contains(record.grant.epoch) {
      for earlier in record.grant.history { found.insert(earlier.epoch) }
    }
    return found
  }

  /// What a device said last about the last key that it has.
  func lastComplaint(of device: DeviceID, in zone: ZoneID) -> ControlOperation.Complaint? {
    resolved?.resolver.complaints(of: device, in: zone).last { $0.complaint.isLast }?.complaint
  }
}

extension ControlResolver {
  /// A device's complaints about keys of a zone, in the log's order.
  func complaints(
    of device: DeviceID, in zone: ZoneID
  ) -> [(place: Int, complaint: ControlOperation.Complaint)] {
    index.complaints.compactMap { place in
      guard isLive[place], log.items[place].device == device,
        case .complaint(let complaint) = log.items[place].operation, complaint.zone == zone
      else { return nil }
      return (place, complaint)
    }
  }

  /// The epochs of a zone whose keys were handed on to a device, in the log's order.
  func addedWraps(for device: DeviceID, in zone: ZoneID) -> [(place: Int, epoch: [UInt8])] {
    index.wrapAdds.compactMap { place in
      guard isLive[place], case .wrapAdd(let added) = log.items[place].operation,
        added.zone == zone, added.wraps.contains(where: { $0.recipient == device })
      else { return nil }
      return (place, added.epoch)
    }
  }
}

extension ControlResolver {
  /// The operation with which the keys were gathered that came with an enrolment.
  ///
  /// Who joins has the keys of the invitation, however much of the log it had read since: the
  /// keys that were made in between were handed to others only.
  func keysGathered(for enrolment: Int) -> Int {
    guard case .join(let join) = log.items[enrolment].operation,
      let invite = invite(join.invite, .past(enrolment))
    else { return enrolment }
    return invite.place
  }
}
