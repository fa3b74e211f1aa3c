import HearthCRDT
import HearthCrypto
import HearthMembership

/// What ends with a removal: the logs of devices, and invitations.
struct RemovalCuts<S: Store> {
  let engine: Engine<S>

  /// The closings of the open invitations that end together with another operation.
  func closings(
    in group: GroupID, _ isOver: (InvitationRecord) -> Bool
  ) -> [ControlOperation] {
    engine.membership(of: group).invites.filter { !$0.isClosed && isOver($0) }
      .map { .inviteClose(invite: $0.operation.invite) }
  }

  /// The devices whose logs a cut of a person names, including the person's former devices.
  ///
  /// A log that a cut does not name ends at its beginning. Without the former devices, everything
  /// that the person wrote on a phone lost long ago would become void when the person leaves.
  func logs(of person: PersonID, in membership: Membership) -> Set<DeviceID> {
    let devices = Mutant.cutsOnlyPresent.isActive ? membership.devices : membership.allDevices
    return Set(devices.filter { $0.person == person }.map(\.id))
  }

  /// How far this node has applied the logs of devices, in every data zone.
  func cut(of devices: Set<DeviceID>, in group: GroupID) -> Cut {
    let entries = engine.zones.filter { $0.group == group && $0.kind == .data }
      .flatMap { zone in
        zone.heads.filter { devices.contains($0.author.device) && $0.sequence > 0 }.map {
          Cut.Entry(zone: zone.id, author: $0.author, sequence: $0.sequence, hash: $0.hash)
        }
      }
    guard entries.count > ControlLimits.maximumItems else {
      return Cut(entries: entries.sorted { ($0.zone, $0.author) < ($1.zone, $1.author) })
    }
    // A cut has limited space: logs that can still continue come first, then the newest ended ones.
    let present = Set(engine.membership(of: group).devices.map(\.id))
    func isLess(_ left: Cut.Entry, _ right: Cut.Entry) -> Bool {
      let isPresent = (
        present.contains(left.author.device), present.contains(right.author.device)
      )
      if isPresent.0 != isPresent.1 { return isPresent.1 }
      return (left.author.incarnation, left.zone, left.author)
        < (right.author.incarnation, right.zone, right.author)
    }
    let kept = entries.sorted(by: isLess).suffix(ControlLimits.maximumItems)
    return Cut(entries: kept.sorted { ($0.zone, $0.author) < ($1.zone, $1.author) })
  }
}
