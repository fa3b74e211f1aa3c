import HearthCRDT

/// One operation of a group's control log, as an audit lists it.
package struct AuditEntry: Sendable {
  /// The id of its event.
  package let id: RecordID
  /// When it was written, by the clock of the device that wrote it.
  package let time: HybridTime
  /// The device that wrote it.
  package let device: DeviceID
  /// The person who owned the device at that time; nil for a stranger.
  package let person: PersonID?
  package let operation: ControlOperation
  /// The number of the branch of a forked log that holds it, from 1; nil in a log without forks.
  package let history: Int?
  /// The reason why it has no effect; nil if it has effect.
  package let void: VoidedOperation?
  /// For a new key: the operations that left the previous keys with a person without read access.
  package let exposures: [Exposure]
  /// The joins that it makes final; empty for every operation that is not a confirmation.
  package let confirmed: [Confirmed]
  /// Why the invitation had ended before this operation; nil if a person chose to close it.
  package let end: InvitationEnd?

  /// The reason why an invitation ended without anybody's decision.
  package enum InvitationEnd: Sendable { case usedUp, expired, userRemoved }

  /// A join that was made final.
  package struct Confirmed: Sendable {
    package let personName: String
    package let device: DeviceID
    package let deviceName: String
    /// Whether the join was contested and therefore pending until a person decided.
    package let hasWaited: Bool
  }

  /// An operation that left keys with a person who may no longer read, and the person whose device
  /// wrote it, or who joined without effect.
  package typealias Exposure = (operation: ControlOperation, person: PersonID?)
}

/// Every operation of a control log, as an audit lists it.
struct AuditTrail: ResolvedPart {
  let resolved: ResolvedControl
  let forks: ControlForks

  func entries() -> [AuditEntry] {
    let voided = Dictionary(
      outcome.voided.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let exposures = exposures()
    return findings.log.items.indices.map { place in
      let item = findings.log.items[place]
      return AuditEntry(
        id: item.id, time: item.version.time, device: item.device,
        person: findings.person(place) ?? outcome.device(item.device)?.person,
        operation: item.operation, history: item.branch.map { history($0) }, void: voided[item.id],
        exposures: exposures[place] ?? [], confirmed: confirmed(by: place),
        end: end(closedBy: place))
    }
  }

  private func confirmed(by place: Int) -> [AuditEntry.Confirmed] {
    guard case .confirm(let targets) = findings.log.operation(place) else { return [] }
    return findings.log.items.indices.prefix(place).compactMap { entry in
      guard targets.contains(findings.log.items[entry].id),
        case .join(let join) = findings.log.operation(entry)
      else { return nil }
      return AuditEntry.Confirmed(
        personName: join.personName, device: findings.log.devices[entry],
        deviceName: join.device.name,
        hasWaited: EntryRecords(resolved: resolved).hadToWait(entry, for: place))
    }
  }

  /// For each new key: the exposures that its author had seen and no earlier key covers.
  private func exposures() -> [Int: [AuditEntry.Exposure]] {
    let all = ZoneKeys(resolved: resolved).exposures(of: .data)
    var covered: [ZoneID: Set<Int>] = [:]
    var found: [Int: [AuditEntry.Exposure]] = [:]
    for (place, item) in findings.log.items.enumerated() where !all.isEmpty {
      guard case .epoch(let grant) = item.operation else { continue }
      for exposure in all where findings.log.sees(place, exposure) {
        guard covered[grant.zone, default: []].insert(exposure).inserted else { continue }
        found[place, default: []].append(
          (findings.log.operation(exposure), findings.person(exposure)))
      }
    }
    return found
  }

  private func history(_ run: Int) -> Int {
    let life = forks.runs[run].life
    return forks.runs[...run].count { $0.life == life }
  }

  /// Why an invitation had ended before its close; devices close such invitations automatically.
  private func end(closedBy place: Int) -> AuditEntry.InvitationEnd? {
    guard case .inviteClose = findings.log.operation(place),
      let made = LogView.past(place).invite(findings.log.invited[place], in: findings),
      let invite = findings.log.terms(made)
    else { return nil }
    let uses = findings.live.uses[findings.log.invited[place]].count {
      LogView.past(place).holds($0, in: findings)
    }
    if uses >= invite.maximumUses { return .usedUp }
    let time = findings.log.items[place].version.time.milliseconds
    if time > invite.expiresMilliseconds { return .expired }
    return findings.live.removalsOfUsers[made].contains {
      LogView.past(place).holds($0, in: findings)
    } ? .userRemoved : nil
  }
}
