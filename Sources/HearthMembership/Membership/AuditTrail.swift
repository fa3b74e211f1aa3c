import HearthCRDT

/// Every operation of a control log, as an audit lists it.
struct AuditTrail {
  let resolved: ResolvedControl
  let forks: ControlForks

  private var findings: Findings { resolved.findings }

  /// Every operation of the control log in causal order, with author, time and device.
  func entries() -> [AuditEntry] {
    let voided = Dictionary(
      resolved.outcome.voided.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let exposures = exposures()
    return findings.log.items.indices.map { place in
      let item = findings.log.items[place]
      return AuditEntry(
        id: item.id, time: item.version.time, device: item.device,
        person: findings.person(place) ?? resolved.outcome.device(item.device)?.person,
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
          .init(operation: findings.log.operation(exposure), person: findings.person(exposure)))
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
