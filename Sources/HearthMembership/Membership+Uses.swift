import HearthCRDT

// Queries of an engine that acts on the log.
extension Membership {
  /// The device that approved another one; nil if no approval was needed.
  package func approver(of device: DeviceID) -> DeviceID? {
    guard let place = resolver.enrolment(of: device, .all),
      case .admit = resolver.log.operation(place)
    else { return nil }
    return resolver.log.devices[place]
  }

  /// Whether a device belongs to the group by an approval of an invitation's use.
  package func isAdmitted(_ device: DeviceID, by invite: Identifier) -> Bool {
    if Mutant.settlesByAnyWayIn.isActive { return isActive(device) }
    return (resolver.index.enrolments[device] ?? []).contains { place in
      guard case .admit(let admit) = resolver.log.operation(place),
        admit.join.invite == invite
      else { return false }
      return resolver.holds(place, .all)
        && resolver.ending(of: device, enrolledBy: place, .all) == nil
    }
  }

  /// Whether a person has only one device and no recovery words, so that the loss of the device
  /// loses everything that no other person keeps.
  package func isAtRisk(_ person: PersonID) -> Bool {
    recoveryKeys(of: person) == nil && devices.count { $0.person == person } == 1
  }

  /// The operation by which a device belongs to the group; nil for a device that does not belong.
  package func entry(of device: DeviceID) -> ControlOperation? {
    resolver.enrolment(of: device, .all).map { resolver.log.operation($0) }
  }

  /// The person who made the invitation of a device; nil for a device without an invitation.
  package func inviter(of device: DeviceID) -> PersonID? {
    guard let invite = resolver.enrolment(of: device, .all).flatMap(resolver.inviter)
    else { return nil }
    return resolver.person(invite)
  }

  /// The people who invited or approved a person, in order of id; empty for a founder.
  package func whoLetIn(_ person: PersonID) -> [PersonID] {
    guard let addition = resolver.addition(of: person, .all)
    else { return [] }
    return resolver.whoLetIn(by: addition).sorted()
  }
}

/// An effective operation that uses or changes a person's recovery words.
package struct RecoveryUse: Sendable {
  /// The id of its operation.
  package let id: RecordID
  /// The owner of the recovery words.
  package let person: PersonID
  /// The device that wrote it.
  package let device: DeviceID
  package let operation: ControlOperation
  /// The number of earlier uses of the person's words by this device.
  package let earlierUses: Int
  let place: Int
}

extension Membership {
  /// The uses of recovery words, by person in order of id, then in log order.
  package func recoveryUses() -> [RecoveryUse] {
    let uses = resolver.index.recovered.merging(resolver.index.words) { $0 + $1 }
    return uses.sorted { $0.key < $1.key }.flatMap { person, places in
      places.sorted().filter { resolver.isLive[$0] }.map { place in
        let item = resolver.log.items[place]
        let earlier = (resolver.index.recovered[person] ?? []).count {
          $0 < place && resolver.isLive[$0] && resolver.log.devices[$0] == item.device
        }
        return RecoveryUse(
          id: item.id, person: person, device: item.device, operation: item.operation,
          earlierUses: earlier, place: place)
      }
    }
  }

  /// Whether a device joined the group with this use of recovery words in its past.
  package func came(_ device: DeviceID, after use: RecoveryUse) -> Bool {
    return resolver.index.enrolments[device]?.contains {
      resolver.isLive[$0] && resolver.log.sees($0, use.place)
    } ?? false
  }
}

extension ControlResolver {
  /// The people who invited or approved the person or device of an operation.
  func whoLetIn(by place: Int) -> Set<PersonID> {
    guard log.comers[place] != nil else { return [] }
    let inviter = invite(log.invited[place], .all).flatMap { person($0) }
    var approver: PersonID?
    if case .admit = log.operation(place) { approver = person(place) }
    return Set([inviter, approver].compactMap { $0 })
  }
}
