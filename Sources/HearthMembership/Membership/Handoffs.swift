import HearthCRDT

/// A device or invitation that is concurrent with an epoch of the control zone.
///
/// Two devices that each know a part of the household can make keys and admit people at the same
/// time. If the relay's access keys follow such an epoch, the device that changed them left no
/// rekey handoff for this recipient, who cannot get access.
package struct PassedBy: Hashable, Comparable, Sendable {
  /// The device or invitation.
  package let recipient: Identifier
  /// The id of the epoch that omitted it.
  package let epoch: [UInt8]
  /// The id of the newest epoch that it received at the start, whose rekey handoff it looks for.
  package let behind: [UInt8]

  /// All three ids, by which a device remembers the handoffs that it has already made.
  package var bytes: [UInt8] { recipient.bytes + epoch + behind }

  package static func < (left: PassedBy, right: PassedBy) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

/// The recipients of the rekey handoffs of the control zone.
package struct Handoffs: ResolvedPart {
  let resolved: ResolvedControl

  /// The devices and automatic invitations that control epochs omitted, in order of recipient.
  ///
  /// - Parameters:
  ///   - held: the epochs whose keys this device holds and can hand on.
  ///   - latest: the number of epochs to examine, counted from the last.
  package func passedBy(in control: ZoneID, held: Set<[UInt8]>, latest: Int) -> [PassedBy] {
    let epochs = ZoneKeys(resolved: resolved).epochs(of: control).suffix(latest)
    var found: [PassedBy] = []
    for entrance in entrances {
      let missed = epochs.filter { log.areConcurrent($0.place, entrance.place) }
      guard !missed.isEmpty,
        let behind = epochs.last(where: {
          log.sees(entrance.keys, $0.place) && held.contains($0.grant.epoch)
        })
      else { continue }
      found += missed.map {
        PassedBy(recipient: entrance.id, epoch: $0.grant.epoch, behind: behind.grant.epoch)
      }
    }
    return found.sorted()
  }

  /// Each possible recipient of a rekey handoff, with the operation that gathered its keys.
  private var entrances: [(id: Identifier, place: Int, keys: Int)] {
    let history = HistoryAccess(resolved: resolved)
    let devices = outcome.devices.map(\.id).compactMap { id in
      LogView.all.enrolment(of: id, in: findings).map { (id, $0, history.keysGathered(for: $0)) }
    }
    let invites = outcome.openInvites.map(\.operation.invite).compactMap { id in
      LogView.all.invite(id, in: findings).map { (id, $0, $0) }
    }
    return devices + invites
  }
}
