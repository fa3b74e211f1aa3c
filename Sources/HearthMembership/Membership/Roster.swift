import HearthCRDT

/// The people, devices, invitations and offers of a group once everything is resolved.
struct Roster {
  private let findings: Findings
  private let log: ControlLog

  init(_ findings: Findings) {
    self.findings = findings
    log = findings.log
  }

  func people() -> (present: [Member], former: [Member]) {
    var people: (present: [Member], former: [Member]) = ([], [])
    for id in findings.index.additions.keys.sorted() {
      let present = LogView.all.addition(of: id, in: findings)
      let beginnings = (findings.index.additions[id] ?? []).filter {
        findings.isLive[$0] && findings.given($0) != nil
      }
      guard
        let first = present.flatMap({ findings.beginning(of: id, through: $0) }) ?? beginnings.last
      else { continue }
      let person = Member(
        id: id, name: name(first), role: LogView.all.role(of: id, in: findings) ?? lastRole(of: id),
        since: log.items[first].version.time)
      if present == nil { people.former.append(person) } else { people.present.append(person) }
    }
    return people
  }

  private func lastRole(of person: PersonID) -> Role {
    for place in (findings.index.roles[person] ?? []).reversed() where findings.isLive[place] {
      if case .acceptOwner = log.operation(place) { return .admin }
      if let role = findings.given(place) { return role }
    }
    return .reader
  }

  private func name(_ place: Int) -> String {
    switch log.operation(place) {
    case .genesis(let genesis): genesis.founderName
    case .join(let join): join.personName
    case .admit(let admit): admit.join.personName
    default: ""
    }
  }

  func devices() -> [MemberDevice] {
    findings.index.enrolments.keys.sorted().compactMap { id in
      let active = LogView.all.enrolment(of: id, in: findings)
      guard
        let place = active ?? findings.index.enrolments[id]?.last(where: { findings.isLive[$0] }),
        let card = log.operation(place).card, let person = findings.enrolledPerson(place)
      else { return nil }
      return MemberDevice(
        id: id, person: person, card: card, since: log.items[place].version.time,
        isActive: active != nil)
    }
  }

  /// The keys that devices published, by the id that the keys hash to.
  func cards() -> [DeviceID: DeviceCard] {
    var cards: [DeviceID: DeviceCard] = [:]
    cards.reserveCapacity(findings.index.enrolments.count)
    for (device, places) in findings.index.enrolments {
      let shown = places.first { log.items[$0].shown == device }
      cards[device] = shown.flatMap { log.operation($0).card }
    }
    return cards
  }

  func invites() -> [InvitationRecord] {
    let found = findings.index.invites.numbers.compactMap {
      findings.index.invites[$0].first { findings.isLive[$0] }
    }
    let ordered = found.sorted { log.items[$0].version < log.items[$1].version }
    return ordered.compactMap { place in
      guard case .inviteCreate(let operation) = log.operation(place) else { return nil }
      let uses = findings.index.uses[log.invited[place]].filter { findings.isLive[$0] }
      let closings = findings.live.closings[log.invited[place]]
      let hasRemovedUser = !findings.live.removalsOfUsers[place].isEmpty
      let isOver = operation.admission == .auto && hasRemovedUser
      let given =
        operation.person.flatMap { LogView.all.role(of: $0, in: findings) } ?? operation.role
      let rank = max(given.rank, Role.child.rank)
      let isEnded = closings.contains {
        operation.admission == .approve || findings.person($0) == findings.person(place)
          || findings.standing($0) > rank
      }
      return InvitationRecord(
        operation: operation, creator: log.devices[place], version: log.items[place].version,
        isClosed: isOver || !closings.isEmpty, isEnded: isOver || isEnded, rank: rank,
        hasRemovedUser: hasRemovedUser, joins: uses.compactMap { findings.enrolledPerson($0) })
    }
  }

  func offers() -> [OwnershipOffer] {
    let owner = LogView.all.owner(in: findings)
    let taken = Set(
      findings.index.acceptances.filter { findings.isLive[$0] }.compactMap { place -> RecordID? in
        guard case .acceptOwner(let id) = log.operation(place) else { return nil }
        return id
      })
    let places = findings.index.transfers.values.joined().sorted().filter {
      findings.isLive[$0] && findings.person($0) == owner && !taken.contains(log.items[$0].eventID)
    }
    return places.compactMap { place in
      guard case .transferOwner(let transfer) = log.operation(place), let owner,
        transfer.to != owner, LogView.all.addition(of: transfer.to, in: findings) != nil,
        !places.contains(where: { log.sees($0, place) })
      else { return nil }
      return OwnershipOffer(
        id: log.items[place].eventID, from: owner, to: transfer.to,
        since: log.items[place].version.time)
    }
  }

  func voided() -> [VoidedOperation] {
    log.items.indices.compactMap { place in
      findings.reason(place).map {
        VoidedOperation(
          id: log.items[place].id, version: log.items[place].version,
          operation: log.operation(place), reason: $0)
      }
    }
  }
}
