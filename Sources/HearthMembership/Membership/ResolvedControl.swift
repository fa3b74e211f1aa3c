import HearthCRDT

/// A resolved control log and its outcome, shared by the copies of a membership.
final class ResolvedControl: Sendable {
  let resolver: ControlResolver
  let outcome: Outcome

  struct Outcome: Sendable {
    let newcomers: NewcomerRules
    let people: [Member]
    let formerPeople: [Member]
    let devices: [MemberDevice]
    let allDevices: [MemberDevice]
    let invites: [InvitationRecord]
    let offers: [OwnershipOffer]
    let voided: [VoidedOperation]
    let cards: [DeviceID: DeviceCard]
    let minimumSuite: UInt8
    let unknownOperations: Int

    init(_ findings: Findings) {
      let roster = Roster(findings)
      newcomers = NewcomerRules(findings)
      (people, formerPeople) = roster.people()
      allDevices = roster.devices()
      devices = allDevices.filter(\.isActive)
      invites = roster.invites()
      offers = roster.offers()
      voided = roster.voided()
      cards = roster.cards()
      minimumSuite = LogView.all.minimumSuite(in: findings)
      unknownOperations = findings.log.items.count {
        if case .unknown = $0.operation { return true }
        return false
      }
    }

    /// The device, if it belongs or belonged to the group.
    func device(_ id: DeviceID) -> MemberDevice? {
      let place = allDevices.partitionPoint { $0.id >= id }
      return place < allDevices.count && allDevices[place].id == id ? allDevices[place] : nil
    }

    /// Whether a device currently belongs to the group.
    func isActive(_ id: DeviceID) -> Bool { device(id)?.isActive ?? false }

    /// The invitations that still admit somebody automatically.
    var openInvites: [InvitationRecord] {
      invites.filter { !$0.isClosed && $0.usesLeft > 0 && $0.operation.admission == .auto }
    }
  }

  var findings: Findings { resolver.findings }

  /// The operation that created the group; nil before it has arrived.
  var genesis: ControlOperation.Genesis? {
    guard let place = findings.index.geneses.first(where: { findings.isLive[$0] }),
      case .genesis(let genesis) = findings.log.operation(place)
    else { return nil }
    return genesis
  }

  init(_ resolver: ControlResolver, _ outcome: Outcome? = nil) {
    self.resolver = resolver
    self.outcome = outcome ?? Outcome(resolver.findings)
  }

  /// The resolved log after additions by ``ControlResolver/add(_:)``.
  ///
  /// Keys, heartbeats, attestations, digests and confirmations with effect change nobody's status
  /// there, so the outcome is then reused.
  func grown(to resolver: ControlResolver) -> ResolvedControl {
    let added = resolver.findings.log.items.indices.dropFirst(findings.log.items.count)
    let isQuiet = added.allSatisfy {
      guard resolver.findings.isLive[$0] else { return false }
      switch resolver.findings.log.operation($0) {
      case .heartbeat, .epoch, .wrapAdd, .complaint, .confirm, .snapshotAttest, .zoneDigest:
        return true
      default: return false
      }
    }
    return ResolvedControl(resolver, isQuiet ? outcome : nil)
  }
}
