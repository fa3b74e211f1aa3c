import HearthCRDT

// Which keys are with whom, as far as the log says.
extension Membership {
  /// The keys of an epoch that were handed on once more, by anybody.
  package func addedWraps(of epoch: [UInt8], zone: ZoneID) -> [ControlOperation.Wrap] {
    resolver.index.wrapAdds.flatMap { place -> [ControlOperation.Wrap] in
      guard case .wrapAdd(let added) = resolver.log.operation(place), added.zone == zone,
        added.epoch == epoch
      else { return [] }
      return added.wraps
    }
  }

  /// Whether an epoch is over by what is known here.
  package func isKnownOver(_ epoch: [UInt8], of zone: ZoneID) -> Bool {
    isOver(epoch, of: zone, in: .all)
  }

  /// The key of the control zone with which an invitation's holder begins, if it lets in at once
  /// and the key is held.
  ///
  /// - Parameter held: the epochs whose keys are held.
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

  /// The epochs of a zone whose keys a device was given, as far as the log says: by an epoch, by
  /// what was handed on later, or with its invitation, and it has not complained since.
  ///
  /// A key of the control zone counts as given by its epoch only to who has the keys that this one
  /// follows, as its operation is sealed under those. O(e·(log w + c)) for e epochs of w wraps.
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
      // A later key that it has holds this one, where newcomers may read what was before.
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

  /// An epoch and those before it.
  private func ancestors(of epoch: [UInt8], _ epochs: [EpochRecord]) -> Set<[UInt8]> {
    var found: Set<[UInt8]> = [epoch]
    for record in epochs.reversed() where found.contains(record.grant.epoch) {
      for earlier in record.grant.history { found.insert(earlier.epoch) }
    }
    return found
  }

  /// What a device said last about the last key that it has.
  package func lastComplaint(of device: DeviceID, in zone: ZoneID) -> ControlOperation.Complaint? {
    resolver.complaints(of: device, in: zone).last { $0.complaint.isLast }?.complaint
  }
}

extension ControlResolver {
  /// A device's complaints about keys of a zone, in the log's order.
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

  /// The epochs of a zone whose keys were handed on to a device, in the log's order.
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
  /// The operation with which the keys were gathered that came with an enrolment.
  ///
  /// Who joins has the keys of the invitation, however much of the log it had read since: the
  /// keys that were made in between were handed to others only.
  func keysGathered(for enrolment: Int) -> Int {
    guard case .join = log.operation(enrolment) else { return enrolment }
    return invite(log.invited[enrolment], .past(enrolment)) ?? enrolment
  }
}
