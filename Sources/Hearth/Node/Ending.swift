import HearthCRDT
import HearthMembership
import HearthSync

/// The end of a device's or person's membership in a group.
package struct Ending: Equatable, Sendable {
  /// The kind of end.
  package enum Kind: String, Sendable {
    /// Somebody removed the person.
    case removed
    /// Somebody revoked the device.
    case revoked
    /// The person left.
    case left
    /// The person's recovery words replaced all devices.
    case recovered
    /// The operation that admitted this device has no effect any more.
    case overruled
  }

  package let kind: Kind
  /// The person who caused it.
  package let personName: String
  package let milliseconds: UInt64
  /// The reason, if the kind does not say it.
  package let reason: String?

  init(kind: Kind, personName: String, milliseconds: UInt64, reason: String? = nil) {
    self.kind = kind
    self.personName = personName
    self.milliseconds = milliseconds
    self.reason = reason
  }
}

extension Ending {
  /// Finds the end of a device's membership in a group; nil while it is a member.
  init?(of device: DeviceID, in membership: Membership) {
    guard !membership.isActive(device) else { return nil }
    guard let own = membership.device(device) else {
      guard let overruling = Ending.overruling(of: device, in: membership) else { return nil }
      self = overruling
      return
    }
    for entry in membership.audit().reversed() where entry.void == nil {
      let kind: Ending.Kind? =
        switch entry.operation {
        case .removeMember(own.person, _): .removed
        case .revokeDevice(device, _): .revoked
        case .leave where entry.person == own.person: .left
        case .recover(let recover) where recover.person == own.person && recover.revokesOthers:
          .recovered
        default: nil
        }
      if let kind {
        self.init(
          kind: kind,
          personName: entry.person.flatMap { membership.person($0)?.name } ?? "somebody",
          milliseconds: entry.time.milliseconds)
        return
      }
    }
    return nil
  }

  /// Returns why a device's admission has no effect; nil if nothing ever admitted it.
  private static func overruling(of device: DeviceID, in membership: Membership) -> Ending? {
    for entry in membership.audit().reversed() {
      guard let void = entry.void else { continue }
      let card: DeviceCard? =
        switch entry.operation {
        case .join(let join): join.device
        case .admit(let admit): admit.join.device
        case .recover(let recover): recover.device
        default: nil
        }
      guard let card, ControlIdentity.deviceID(of: card) == device else { continue }
      return Ending(
        kind: .overruled, personName: "somebody", milliseconds: entry.time.milliseconds,
        reason: membership.words(for: void))
    }
    return nil
  }
}
