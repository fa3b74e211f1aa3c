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

  /// An operation that left keys with a person who may no longer read.
  package struct Exposure: Sendable {
    package let operation: ControlOperation
    /// The person whose device wrote it, or who joined without effect.
    package let person: PersonID?
  }
}

extension Membership {
  /// Every operation of the control log in causal order, with author, time and device.
  package func audit() -> [AuditEntry] {
    let voided = Dictionary(voided.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let exposures = exposures(in: resolver)
    return resolver.log.items.indices.map { place in
      let item = resolver.log.items[place]
      return AuditEntry(
        id: item.id, time: item.version.time, device: item.device,
        person: resolver.person(place) ?? device(item.device)?.person,
        operation: item.operation, history: item.branch.map { history($0) }, void: voided[item.id],
        exposures: exposures[place] ?? [], confirmed: confirmed(by: place, in: resolver),
        end: resolver.end(closedBy: place))
    }
  }

  /// The devices whose joins were pending on an operation that a reader had not seen, so that the
  /// reader left out their changes.
  package func devicesBelonging(since known: Frontier) -> Set<DeviceID> {
    let late = resolver.index.enrolments.filter { $0.value.contains { resolver.isLate($0, known) } }
    return Set(late.keys)
  }

  private func confirmed(
    by place: Int, in resolver: ControlResolver
  ) -> [AuditEntry.Confirmed] {
    guard case .confirm(let targets) = resolver.log.operation(place) else { return [] }
    return resolver.log.items.indices.prefix(place).compactMap { entry in
      guard targets.contains(resolver.log.items[entry].id),
        case .join(let join) = resolver.log.operation(entry)
      else { return nil }
      return AuditEntry.Confirmed(
        personName: join.personName, device: resolver.log.devices[entry],
        deviceName: join.device.name,
        hasWaited: resolver.hadToWait(entry, for: place))
    }
  }

  /// For each new key: the exposures that its author had seen and no earlier key covers.
  private func exposures(in resolver: ControlResolver) -> [Int: [AuditEntry.Exposure]] {
    let all = resolver.exposures(of: .data)
    var covered: [ZoneID: Set<Int>] = [:]
    var found: [Int: [AuditEntry.Exposure]] = [:]
    for (place, item) in resolver.log.items.enumerated() where !all.isEmpty {
      guard case .epoch(let grant) = item.operation else { continue }
      for exposure in all where resolver.log.sees(place, exposure) {
        guard covered[grant.zone, default: []].insert(exposure).inserted else { continue }
        found[place, default: []].append(
          .init(
            operation: resolver.log.operation(exposure),
            person: resolver.person(exposure)))
      }
    }
    return found
  }

  private func history(_ run: Int) -> Int {
    let life = forks.runs[run].life
    return forks.runs[...run].count { $0.life == life }
  }

  /// The last frontiers that a device reported, with the time; nil if it never reported any.
  package func lastHeard(of device: DeviceID) -> (
    time: HybridTime, frontiers: [ControlOperation.ZoneFrontier]
  )? {
    for place in resolver.index.writings[resolver.log.deviceNames[device]].reversed()
    where resolver.isLive[place] {
      if case .heartbeat(let frontiers) = resolver.log.operation(place) {
        return (resolver.log.items[place].version.time, frontiers)
      }
    }
    return nil
  }
}

extension ControlResolver {
  /// Why an invitation had ended before its close; devices close such invitations automatically.
  fileprivate func end(closedBy place: Int) -> AuditEntry.InvitationEnd? {
    guard case .inviteClose = log.operation(place),
      let made = invite(log.invited[place], .past(place)), let invite = log.terms(made)
    else { return nil }
    let uses = live.uses[log.invited[place]].count { holds($0, .past(place)) }
    if uses >= invite.maximumUses { return .usedUp }
    let time = log.items[place].version.time.milliseconds
    if time > invite.expiresMilliseconds { return .expired }
    return live.removalsOfUsers[made].contains { holds($0, .past(place)) } ? .userRemoved : nil
  }

  fileprivate func isLate(_ entry: Int, _ known: Frontier) -> Bool {
    guard isLive[entry], case .join = log.operation(entry), let place = confirmations[entry],
      !known.covers(log.items[place].version.dot)
    else { return false }
    return hadToWait(entry, for: place)
  }

  /// Whether a join was contested before it was made final: by its own past, by an invitation close
  /// that had not seen it, or by the maximum number of other joins by its invitation.
  fileprivate func hadToWait(_ entry: Int, for confirmation: Int) -> Bool {
    if verdicts[entry].refusal != nil { return true }
    func isKnown(_ place: Int) -> Bool { isLive[place] && log.sees(confirmation, place) }
    let closings = index.closings[log.invited[entry]].filter {
      isKnown($0) && !log.sees($0, entry) && !log.sees(entry, $0)
    }
    if !closings.isEmpty { return true }
    guard let made = verdicts[entry].invite, let invite = log.terms(made) else { return false }
    // A use that was itself pending and was confirmed only later had not consumed a use yet.
    let others = index.uses[log.invited[entry]].filter { use in
      use != entry && isKnown(use)
        && confirmations[use].map { log.sees(confirmation, $0) } ?? false
    }
    return others.count >= invite.maximumUses
  }
}
