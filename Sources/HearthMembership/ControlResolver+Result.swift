import HearthCRDT

// The state of a group once everything is resolved.
extension ControlResolver {
  var genesis: ControlOperation.Genesis? {
    guard let place = index.geneses.first(where: { isLive[$0] }),
      case .genesis(let genesis) = log.operation(place)
    else { return nil }
    return genesis
  }

  func people() -> (present: [Membership.Person], former: [Membership.Person]) {
    var people: (present: [Membership.Person], former: [Membership.Person]) = ([], [])
    for id in index.additions.keys.sorted() {
      let present = addition(of: id, .all)
      let beginnings = (index.additions[id] ?? []).filter { isLive[$0] && given($0) != nil }
      guard let first = present.flatMap({ beginning(of: id, through: $0) }) ?? beginnings.last
      else { continue }
      let person = Membership.Person(
        id: id, name: name(first), role: role(of: id, .all) ?? lastRole(of: id),
        since: log.items[first].version.time)
      if present == nil { people.former.append(person) } else { people.present.append(person) }
    }
    return people
  }

  /// The join that began a current member's membership, before their further devices.
  func beginning(of person: PersonID, through place: Int) -> Int? {
    index.additions[person]?.last { isLive[$0] && given($0) != nil && $0 <= place }
  }

  private func lastRole(of person: PersonID) -> Role {
    for place in (index.roles[person] ?? []).reversed() where isLive[place] {
      if case .acceptOwner = log.operation(place) { return .admin }
      if let role = given(place) { return role }
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

  func devices() -> [Membership.Device] {
    index.enrolments.keys.sorted().compactMap { id in
      let active = enrolment(of: id, .all)
      guard let place = active ?? index.enrolments[id]?.last(where: { isLive[$0] }),
        let card = log.operation(place).card, let person = enrolledPerson(place)
      else { return nil }
      return Membership.Device(
        id: id, person: person, card: card, since: log.items[place].version.time,
        isActive: active != nil)
    }
  }

  /// The keys that devices published, by the id that the keys hash to.
  func cards() -> [DeviceID: DeviceCard] {
    var cards: [DeviceID: DeviceCard] = [:]
    cards.reserveCapacity(index.enrolments.count)
    for (device, places) in index.enrolments {
      let shown = places.first { log.items[$0].shown == device }
      cards[device] = shown.flatMap { log.operation($0).card }
    }
    return cards
  }

  func invites() -> [Membership.Invite] {
    let found = index.invites.numbers.compactMap { index.invites[$0].first { isLive[$0] } }
    let ordered = found.sorted { log.items[$0].version < log.items[$1].version }
    return ordered.compactMap { place in
      guard case .inviteCreate(let operation) = log.operation(place) else { return nil }
      let uses = index.uses[log.invited[place]].filter { isLive[$0] }
      let closings = live.closings[log.invited[place]]
      let hasRemovedUser = !live.removalsOfUsers[place].isEmpty
      let isOver = operation.admission == .auto && hasRemovedUser
      let given = operation.person.flatMap { self.role(of: $0, .all) } ?? operation.role
      let rank = max(given.rank, Role.child.rank)
      let isEnded = closings.contains {
        operation.admission == .approve || person($0) == person(place) || standing($0) > rank
      }
      return Membership.Invite(
        operation: operation, creator: log.devices[place],
        version: log.items[place].version, isClosed: isOver || !closings.isEmpty,
        isEnded: isOver || isEnded, rank: rank, hasRemovedUser: hasRemovedUser,
        joins: uses.compactMap { enrolledPerson($0) })
    }
  }

  func offers() -> [Membership.Offer] {
    let owner = owner(.all)
    let taken = Set(
      index.acceptances.filter { isLive[$0] }.compactMap { place -> RecordID? in
        guard case .acceptOwner(let id) = log.operation(place) else { return nil }
        return id
      })
    let places = index.transfers.values.joined().sorted().filter {
      isLive[$0] && person($0) == owner && !taken.contains(log.items[$0].eventID)
    }
    return places.compactMap { place in
      guard case .transferOwner(let transfer) = log.operation(place), let owner,
        transfer.to != owner, addition(of: transfer.to, .all) != nil,
        !places.contains(where: { log.sees($0, place) })
      else { return nil }
      return Membership.Offer(
        id: log.items[place].eventID, from: owner, to: transfer.to,
        since: log.items[place].version.time)
    }
  }

  func voided() -> [VoidedOperation] {
    log.items.indices.compactMap { place in
      reason(place).map {
        VoidedOperation(
          id: log.items[place].id, version: log.items[place].version,
          operation: log.operation(place), reason: $0)
      }
    }
  }
}
