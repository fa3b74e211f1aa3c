import HearthCRDT

/// The people, devices, invitations and offers of a group once everything is resolved.
struct ControlOutcome: Sendable {
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
    newcomers = NewcomerRules(findings)
    (people, formerPeople) = findings.members()
    allDevices = findings.memberDevices()
    devices = allDevices.filter(\.isActive)
    invites = findings.invitations()
    offers = findings.offers()
    voided = findings.voided()
    cards = findings.cards()
    minimumSuite = LogView.all.minimumSuite(in: findings)
    unknownOperations = findings.log.items.count {
      if case .unknown = $0.operation { return true }
      return false
    }
  }

  func device(_ id: DeviceID) -> MemberDevice? {
    let place = allDevices.partitionPoint { $0.id >= id }
    return place < allDevices.count && allDevices[place].id == id ? allDevices[place] : nil
  }

  func isActive(_ id: DeviceID) -> Bool { device(id)?.isActive ?? false }

  var openInvites: [InvitationRecord] {
    invites.filter { !$0.isClosed && $0.usesLeft > 0 && $0.operation.admission == .auto }
  }
}

extension Findings {
  /// The members and the former members, in order of id.
  fileprivate func members() -> (present: [Member], former: [Member]) {
    var people: (present: [Member], former: [Member]) = ([], [])
    for id in index.additions.keys.sorted() {
      let present = LogView.all.addition(of: id, in: self)
      guard let beginning = present ?? live.beginnings[log.people[id]].last else { continue }
      let person = Member(
        id: id, name: log.operation(beginning).personName,
        role: LogView.all.role(of: id, in: self) ?? lastRole(of: id),
        since: log.items[beginning].version.time)
      if present == nil { people.former.append(person) } else { people.present.append(person) }
    }
    return people
  }

  private func lastRole(of person: PersonID) -> Role {
    for place in live.roles[log.people[person]].reversed() {
      if case .acceptOwner = log.operation(place) { return .admin }
      if let role = given(place) { return role }
    }
    return .reader
  }

  fileprivate func memberDevices() -> [MemberDevice] {
    index.enrolments.keys.sorted().compactMap { id in
      let active = LogView.all.enrolment(of: id, in: self)
      guard let place = active ?? live.enrolments[log.deviceNames[id]].last,
        let card = log.operation(place).card, let person = enrolledPerson(place)
      else { return nil }
      return MemberDevice(
        id: id, person: person, card: card, since: log.items[place].version.time,
        isActive: active != nil)
    }
  }

  /// The keys that devices published, by the id that the keys hash to.
  fileprivate func cards() -> [DeviceID: DeviceCard] {
    index.enrolments.reduce(into: [:]) { cards, entry in
      let shown = entry.value.first { log.items[$0].shown == entry.key }
      cards[entry.key] = shown.flatMap { log.operation($0).card }
    }
  }

  fileprivate func invitations() -> [InvitationRecord] {
    let found = index.invites.lists.compactMap { $0.first { isLive[$0] } }
    let ordered = found.sorted { log.items[$0].version < log.items[$1].version }
    return ordered.compactMap { place in
      guard case .inviteCreate(let operation) = log.operation(place) else { return nil }
      let uses = index.uses[log.invited[place]].filter { isLive[$0] }
      let closings = live.closings[log.invited[place]]
      let hasRemovedUser = !live.removalsOfUsers[place].isEmpty
      let isOver = operation.admission == .auto && hasRemovedUser
      let own = operation.person.flatMap { LogView.all.role(of: $0, in: self) }
      let rank = max((own ?? operation.role).rank, Role.child.rank)
      let isEnded = closings.contains {
        operation.admission == .approve || person($0) == person(place) || standing($0) > rank
      }
      return InvitationRecord(
        operation: operation, creator: log.devices[place], version: log.items[place].version,
        isClosed: isOver || !closings.isEmpty, isEnded: isOver || isEnded, rank: rank,
        hasRemovedUser: hasRemovedUser, joins: uses.compactMap { enrolledPerson($0) })
    }
  }

  fileprivate func offers() -> [OwnershipOffer] {
    let owner = LogView.all.owner(in: self)
    let taken = Set(
      live.acceptances.compactMap { offer(takenBy: $0) }.map { log.items[$0].eventID })
    let places = live.transfers.filter {
      person($0) == owner && !taken.contains(log.items[$0].eventID)
    }
    return places.compactMap { place in
      guard case .transferOwner(let heir, _) = log.operation(place), let owner,
        heir != owner, LogView.all.addition(of: heir, in: self) != nil,
        !places.contains(where: { log.sees($0, place) })
      else { return nil }
      return OwnershipOffer(
        id: log.items[place].eventID, from: owner, to: heir,
        since: log.items[place].version.time)
    }
  }

  fileprivate func voided() -> [VoidedOperation] {
    log.items.indices.compactMap { place in
      reason(place).map {
        VoidedOperation(
          id: log.items[place].id, version: log.items[place].version,
          operation: log.operation(place), reason: $0)
      }
    }
  }
}
