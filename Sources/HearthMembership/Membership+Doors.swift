import HearthCRDT

/// Somebody of whom the maker of an epoch had not heard, and who had not heard of the epoch.
///
/// Two devices that each know a part of the household can make keys and let people in at the same
/// time. Where the access keys of a relay then follow such an epoch, whoever changed them left
/// nothing for this recipient: it stands before a door that is empty for it.
package struct PassedBy: Hashable, Comparable, Sendable {
  /// The device or invitation.
  package let recipient: Identifier
  /// The id of the epoch that passed it by.
  package let epoch: [UInt8]
  /// The id of the newest epoch that it was given at the start: the key behind whose door it waits.
  package let behind: [UInt8]

  /// All three, by which a device remembers what it has done about it.
  package var bytes: [UInt8] { recipient.bytes + epoch + behind }

  package static func < (left: PassedBy, right: PassedBy) -> Bool {
    if left.recipient != right.recipient { return left.recipient < right.recipient }
    if left.epoch != right.epoch { return left.epoch.lexicographicallyPrecedes(right.epoch) }
    return left.behind.lexicographicallyPrecedes(right.behind)
  }
}

extension Membership {
  /// The devices and the invitations that let in at once, as far as epochs of the control zone
  /// passed them by, in order of recipient.
  ///
  /// - Parameters:
  ///   - held: the epochs whose keys are at hand; behind another nobody here finds a door.
  ///   - latest: how many epochs are looked at, the last ones.
  package func passedBy(in control: ZoneID, held: Set<[UInt8]>, latest: Int) -> [PassedBy] {
    let epochs = epochs(of: control).suffix(latest)
    let entrances = entrances(in: resolver)
    var found: [PassedBy] = []
    for entrance in entrances {
      let missed = epochs.filter { resolver.log.areConcurrent($0.place, entrance.place) }
      guard !missed.isEmpty,
        let behind = epochs.last(where: {
          resolver.log.sees(entrance.keys, $0.place) && held.contains($0.grant.epoch)
        })
      else { continue }
      found += missed.map {
        PassedBy(recipient: entrance.id, epoch: $0.grant.epoch, behind: behind.grant.epoch)
      }
    }
    return found.sorted()
  }

  /// Where each recipient of doors comes into the log, and the operation with which the keys were
  /// gathered that it was given.
  private func entrances(
    in resolver: ControlResolver
  ) -> [(id: Identifier, place: Int, keys: Int)] {
    let devices = devices.compactMap { device -> (id: Identifier, place: Int, keys: Int)? in
      guard let place = resolver.enrolment(of: device.id, .all) else { return nil }
      return (device.id, place, resolver.keysGathered(for: place))
    }
    let invites = openInvites.compactMap { invite -> (id: Identifier, place: Int, keys: Int)? in
      guard let place = resolver.invite(invite.operation.invite, .all) else { return nil }
      return (invite.operation.invite, place, place)
    }
    return devices + invites
  }

  /// The invitations that still let somebody in at once.
  package var openInvites: [Invite] {
    invites.filter { !$0.isClosed && $0.usesLeft > 0 && $0.operation.admission == .auto }
  }
}
