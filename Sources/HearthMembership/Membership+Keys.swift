import HearthCRDT

// Which device holds which keys, according to the log.
extension Membership {
  /// The keys of an epoch that anybody handed on later.
  package func addedWraps(of epoch: [UInt8], zone: ZoneID) -> [ControlOperation.Wrap] {
    resolver.index.wrapAdds.flatMap { place -> [ControlOperation.Wrap] in
      guard case .wrapAdd(let added) = resolver.log.operation(place), added.zone == zone,
        added.epoch == epoch
      else { return [] }
      return added.wraps
    }
  }

  /// Whether an epoch is over by everything that this device knows.
  package func isKnownOver(_ epoch: [UInt8], of zone: ZoneID) -> Bool {
    isOver(epoch, of: zone, in: .all)
  }

  /// The control key that an automatic invitation's holder starts with; nil if it is not held.
  package func controlEpoch(
    of invite: Identifier, in control: ZoneID, held: Set<[UInt8]>
  ) -> [UInt8]? {
    guard let made = resolver.invite(invite, .all),
      resolver.log.terms(made)?.admission == .auto
    else { return nil }
    return epochs(of: control)
      .filter { resolver.log.sees(made, $0.place) && held.contains($0.grant.epoch) }
      .max { $0.depth < $1.depth }?.grant.epoch
  }

  /// The epochs of a zone whose keys a device received and has not complained about since.
  ///
  /// The keys came with the epoch, a later wrap or the invitation. A control epoch counts as
  /// delivered only to devices that hold its predecessors, since its operation is sealed under
  /// those keys. O(e·(log w + c)) for e epochs of w wraps, with c complaints.
  package func toldKeys(
    of zone: ZoneID, _ kind: ZoneKind, _ epochs: [EpochRecord], by device: DeviceID
  ) -> Set<[UInt8]> {
    let complaints = resolver.complaints(of: device, in: zone)
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
    let added = resolver.addedWraps(for: device, in: zone)
    let gathered = resolver.index.enrolments[device]?.filter { resolver.isLive[$0] } ?? []
    var told: Set<[UInt8]> = []
    for epoch in epochs where mayBeGiven(epoch, of: kind, to: device) {
      let id = epoch.grant.epoch
      let isWrapped =
        epoch.grant.wraps.contains { $0.recipient == device } && stands(epoch.place, id)
        && (kind == .data || epoch.maker == device
          || epoch.grant.previous.allSatisfy(told.contains))
      // A later key of the device includes this one, if newcomers may read earlier history.
      let isGathered = gathered.contains { enrolment in
        (resolver.log.sees(resolver.keysGathered(for: enrolment), epoch.place)
          || kind == .data && came(enrolment, with: epoch)) && stands(enrolment, id)
      }
      let isAdded = added.contains { $0.epoch == id && stands($0.place, id) }
      guard isWrapped || isGathered || isAdded || enough?.contains(id) == true else { continue }
      told.insert(id)
      for earlier in epoch.grant.history
      where follows(epoch, toKey: earlier.epoch, of: kind, epochs) {
        told.insert(earlier.epoch)
      }
    }
    return told
  }

  private func ancestors(of epoch: [UInt8], _ epochs: [EpochRecord]) -> Set<[UInt8]> {
    var found: Set<[UInt8]> = [epoch]
    for record in epochs.reversed() where found.contains(record.grant.epoch) {
      for earlier in record.grant.history { found.insert(earlier.epoch) }
    }
    return found
  }

  /// The last complaint of a device about the last key that it has.
  package func lastComplaint(of device: DeviceID, in zone: ZoneID) -> ControlOperation.Complaint? {
    resolver.complaints(of: device, in: zone).last { $0.complaint.isLast }?.complaint
  }
}

extension ControlResolver {
  func complaints(
    of device: DeviceID, in zone: ZoneID
  ) -> [(place: Int, complaint: ControlOperation.Complaint)] {
    index.complaints.compactMap { place in
      guard isLive[place], log.devices[place] == device,
        case .complaint(let complaint) = log.operation(place), complaint.zone == zone
      else { return nil }
      return (place, complaint)
    }
  }

  func addedWraps(for device: DeviceID, in zone: ZoneID) -> [(place: Int, epoch: [UInt8])] {
    index.wrapAdds.compactMap { place in
      guard isLive[place], case .wrapAdd(let added) = log.operation(place),
        added.zone == zone, added.wraps.contains(where: { $0.recipient == device })
      else { return nil }
      return (place, added.epoch)
    }
  }
}

extension ControlResolver {
  /// The operation that gathered the keys of an enrolment.
  ///
  /// A joining device has the keys of the invitation, however much of the log it had read since.
  /// The keys made in between were handed only to others.
  func keysGathered(for enrolment: Int) -> Int {
    guard case .join = log.operation(enrolment) else { return enrolment }
    return invite(log.invited[enrolment], .past(enrolment)) ?? enrolment
  }
}
