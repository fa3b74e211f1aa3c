import HearthCRDT

/// A resolved control log and its outcome, shared by the copies of a membership.
final class ResolvedControl: Sendable {
  let resolver: ControlResolver
  let outcome: Outcome

  struct Outcome: Sendable {
    /// The operations that changed what newcomers may read, in log order.
    let ruleChanges: [Int]
    /// The history boundaries, in log order: after each of them newcomers need new keys.
    let thresholds: [Int]
    let people: [Membership.Person]
    let formerPeople: [Membership.Person]
    let devices: [Membership.Device]
    let allDevices: [Membership.Device]
    let invites: [Membership.Invite]
    let offers: [Membership.Offer]
    let voided: [VoidedOperation]
    let cards: [DeviceID: DeviceCard]
    let minimumSuite: UInt8
    let unknownOperations: Int

    init(_ resolver: ControlResolver) {
      ruleChanges = resolver.ruleChanges()
      thresholds = resolver.thresholds(ruleChanges)
      (people, formerPeople) = resolver.people()
      allDevices = resolver.devices()
      devices = allDevices.filter(\.isActive)
      invites = resolver.invites()
      offers = resolver.offers()
      voided = resolver.voided()
      cards = resolver.cards()
      minimumSuite = resolver.minimumSuite(.all)
      unknownOperations = resolver.log.items.count {
        if case .unknown = $0.operation { return true }
        return false
      }
    }
  }

  init(_ resolver: ControlResolver, _ outcome: Outcome? = nil) {
    self.resolver = resolver
    self.outcome = outcome ?? Outcome(resolver)
  }

  /// The resolved log after additions by ``ControlResolver/add(_:)``.
  ///
  /// Keys, heartbeats, attestations, digests and confirmations with effect change nobody's status
  /// there, so the outcome is then reused.
  func grown(to resolver: ControlResolver) -> ResolvedControl {
    let added = resolver.log.items.indices.dropFirst(self.resolver.log.items.count)
    let isQuiet = added.allSatisfy {
      guard resolver.isLive[$0] else { return false }
      switch resolver.log.operation($0) {
      case .heartbeat, .epoch, .wrapAdd, .complaint, .confirm, .snapshotAttest, .zoneDigest:
        return true
      default: return false
      }
    }
    return ResolvedControl(resolver, isQuiet ? outcome : nil)
  }
}
