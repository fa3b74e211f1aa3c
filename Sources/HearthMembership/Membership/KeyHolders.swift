import HearthCRDT
import HearthCrypto

/// The devices that hold the keys of a zone's epochs, according to the log.
package struct KeyHolders: ResolvedPart {
  let resolved: ResolvedControl

  private var history: HistoryAccess { HistoryAccess(resolved: resolved) }

  /// The epochs of a zone whose keys a device received and has not complained about since.
  ///
  /// The keys came with the epoch, a later wrap or the invitation. A control epoch counts as
  /// delivered only to devices that hold its predecessors, since its operation is sealed under
  /// those keys. O(e·(log w + c)) for e epochs of w wraps, with c complaints.
  package func toldKeys(
    of zone: ZoneID, _ kind: ZoneKind, _ epochs: [EpochRecord], by device: DeviceID
  ) -> Set<[UInt8]> {
    let complaints = complaints(of: device, in: zone)
    let last = complaints.last { $0.isLast }
    let enough = last.map { ancestors(of: $0.epoch, epochs) }
    func stands(_ place: Int, _ epoch: [UInt8]) -> Bool {
      if let last, enough?.contains(epoch) == false, !log.sees(place, last.place) { return false }
      return !complaints.contains {
        !$0.isLast && $0.epoch == epoch && log.sees($0.place, place)
      }
    }
    let added = wrapAdds(in: zone).filter { place, _, wraps in
      findings.isLive[place] && wraps.contains { $0.recipient == device }
    }
    let gathered = findings.live.enrolments[log.deviceNames[device]]
    var told: Set<[UInt8]> = []
    for epoch in epochs where history.mayBeGiven(epoch, of: kind, to: device) {
      let id = epoch.grant.epoch
      let isWrapped =
        epoch.grant.wraps.contains { $0.recipient == device } && stands(epoch.place, id)
        && (kind == .data || epoch.maker == device
          || epoch.grant.previous.allSatisfy(told.contains))
      // A later key of the device includes this one, if newcomers may read earlier history.
      let isGathered = gathered.contains { enrolment in
        (log.sees(history.keysGathered(for: enrolment), epoch.place)
          || kind == .data && history.came(enrolment, with: epoch)) && stands(enrolment, id)
      }
      let isAdded = added.contains { $0.epoch == id && stands($0.place, id) }
      guard isWrapped || isGathered || isAdded || enough?.contains(id) == true else { continue }
      told.insert(id)
      for earlier in epoch.grant.history
      where history.follows(epoch, toKey: earlier.epoch, of: kind, epochs) {
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

  /// Whether the log assigns a known epoch's key to no current device.
  package func isLost(keyTagged tag: Bytes16, of zone: ZoneID, _ kind: ZoneKind) -> Bool {
    let all = ZoneKeys(resolved: resolved).epochs(of: zone)
    guard let made = all.first(where: { (try? EpochKey.tag(ofID: $0.grant.epoch)) == tag })
    else { return false }
    return !outcome.devices.contains {
      toldKeys(of: zone, kind, all, by: $0.id).contains(made.grant.epoch)
    }
  }

  /// The epoch of the last usable key of a device, as the device last complained.
  package func lastUsableEpoch(of device: DeviceID, in zone: ZoneID) -> [UInt8]? {
    complaints(of: device, in: zone).last { $0.isLast }?.epoch
  }

  /// The keys of an epoch that anybody handed on later.
  package func addedWraps(of epoch: [UInt8], zone: ZoneID) -> [ControlOperation.Wrap] {
    wrapAdds(in: zone).filter { $0.epoch == epoch }.flatMap(\.wraps)
  }

  private func complaints(
    of device: DeviceID, in zone: ZoneID
  ) -> [(place: Int, epoch: [UInt8], isLast: Bool)] {
    findings.index[.complaint].compactMap { place in
      guard findings.isLive[place], log.devices[place] == device,
        case .complaint(zone, let epoch, let isLast) = log.operation(place)
      else { return nil }
      return (place, epoch, isLast)
    }
  }

  private func wrapAdds(
    in zone: ZoneID
  ) -> [(place: Int, epoch: [UInt8], wraps: [ControlOperation.Wrap])] {
    findings.index[.wrapAdd].compactMap { place in
      guard case .wrapAdd(zone, let epoch, let wraps) = log.operation(place) else { return nil }
      return (place, epoch, wraps)
    }
  }
}
