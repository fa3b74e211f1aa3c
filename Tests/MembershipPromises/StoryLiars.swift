/// What liars do: the known attacks and variations of them.
extension Story {
  /// A past that suits the liar.
  mutating func lie(_ device: Int, about id: Int?) -> Claim {
    switch random.below(100) {
    case 0..<20: return .everything
    case 20..<35: return .nothingNew
    case 35..<60:
      if let id { return .asOf(id) }
      return oldPast(device)
    case 60..<85: return oldPast(device)
    default: return openPast(device)
    }
  }

  private mutating func oldPast(_ device: Int) -> Claim {
    var known = ledger.bits(world.received[device] ?? [:])
    for liar in liars { known.add(ledger.bits(world.received[liar] ?? [:])) }
    var all: [Int] = []
    known.forEach { all.append($0) }
    guard let time = random.pick(all) else { return .nothingNew }
    return .asOf(ledger.acts[time].id)
  }

  /// Claims without a cause of something claimed.
  private mutating func openPast(_ device: Int) -> Claim {
    var counts = world.received[device] ?? [:]
    for liar in liars {
      counts = World.union(counts, world.received[liar] ?? [:])
    }
    counts[device] = nil
    let others = counts.keys.sorted().filter { (counts[$0] ?? 0) > 0 }
    for _ in 0..<(1 + random.below(2)) {
      guard let less = random.pick(others) else { break }
      counts[less] = random.below(counts[less] ?? 1)
    }
    return .exactly(counts.filter { $0.value > 0 })
  }

  /// One act of a liar who is, or was, somebody here.
  mutating func attack(_ device: Int) {
    let truth = trueView()
    switch random.below(100) {
    case 0..<14: closeSome(device)
    case 14..<30: strike(device, truth)
    case 30..<38: promote(device, truth)
    case 38..<52: smuggle(device, truth)
    case 52..<60: vouch(device)
    case 60..<70: seize(device)
    case 70..<76: rename(device)
    case 76..<86: find()
    case 86..<92: again(device)
    case 92..<95: write(device, .leave, lie(device, about: nil))
    case 95..<97:
      let others = devices.filter { _ in random.chance(50) }
      seal(device, to: Array(Set(others + liars)), lie(device, about: nil))
    default: write(device, .heartbeat, lie(device, about: nil))
    }
    if random.chance(50), let last = world.acts.last, let hearer = random.pick(devices) {
      deliver(last.id, to: hearer)
      review(hearer)
    }
  }

  private mutating func closeSome(_ device: Int) {
    var links: [(Int, Int)] = []
    for act in world.acts {
      if case .invite(let id, _, _, _, _, _) = act.deed { links.append((id, act.id)) }
    }
    guard let (link, issue) = random.pick(links) else { return }
    write(device, .close(invite: link), lie(device, about: issue))
  }

  private mutating func strike(_ device: Int, _ truth: View) {
    if random.chance(50), let other = random.pick(devices), other != device {
      write(device, .revoke(device: other), lie(device, about: firstAct(other)))
      return
    }
    let own = person(device)
    let all = people(truth).filter { $0 != own }
    if let whom = random.pick(all) {
      write(device, .remove(person: whom), lie(device, about: entryAct(whom)))
    }
  }

  func firstAct(_ device: Int) -> Int? { world.logs[device]?.first }

  func entryAct(_ person: Int) -> Int? {
    devices.first { self.person($0) == person }.flatMap { firstAct($0) }
  }

  private mutating func promote(_ device: Int, _ truth: View) {
    guard let whom = random.pick(people(truth)),
      let role = random.pick([Role.admin, .member, .child, .reader])
    else { return }
    write(device, .setRole(person: whom, role: role), lie(device, about: entryAct(whom)))
  }

  /// A link for an accomplice, or for a further own device, with the joining.
  private mutating func smuggle(_ device: Int, _ truth: View) {
    guard let own = person(device) else { return }
    let number = world.newInvite()
    let isOwn = random.chance(40)
    let role = random.pick([Role.admin, .member, .reader]) ?? .member
    let expires = expiry()
    let issue = write(
      device,
      .invite(
        id: number, role: role, forPerson: isOwn ? own : nil, uses: 1 + random.below(2),
        needsApproval: false, expires: expires), lie(device, about: nil))
    found.append(number)
    guard !isFull else { return }
    let fresh = newDevice()
    corrupt(fresh)
    write(
      fresh,
      .join(invite: number, person: isOwn ? own : makers.number(newPerson(), of: fresh)),
      .asOf(issue))
    add(fresh)
    if random.chance(50), !isFull { attack(fresh) }
  }

  private mutating func vouch(_ device: Int) {
    guard let friend = random.pick(liars), let entry = firstAct(friend) else { return }
    write(device, .confirm(device: friend), lie(device, about: entry))
  }

  /// An old offer, a second offer, an acceptance, a confirmation.
  private mutating func seize(_ device: Int) {
    var offers: [Int] = []
    var accepts: [Int] = []
    for act in world.acts {
      if case .offer(let whom, _) = act.deed, whom == person(device) { offers.append(act.id) }
      if case .accept = act.deed, isLiar(act.device) { accepts.append(act.id) }
    }
    if let offer = random.pick(offers), random.chance(60) {
      write(device, .accept(offer: offer), lie(device, about: offer))
    } else if let accept = random.pick(accepts), random.chance(60) {
      write(device, .confirmHandover(accept: accept), lie(device, about: accept))
    } else if let own = person(device), let key = words[own],
      let friend = random.pick(liars.compactMap { self.person($0) }.filter { $0 != own })
    {
      write(device, .offer(person: friend, words: key), lie(device, about: nil))
    } else {
      write(device, .withdraw, lie(device, about: nil))
    }
  }

  private mutating func rename(_ device: Int) {
    guard let own = person(device) else { return }
    // A thief of a phone has no words; a lying person has.
    let consent = random.chance(40) ? words[own] : nil
    write(device, .setWords(words: nextWords, consent: consent), lie(device, about: nil))
    let stolen = nextWords
    nextWords += 1
    guard random.chance(50), !isFull else { return }
    let fresh = newDevice()
    corrupt(fresh)
    let naming = world.acts.count - 1
    write(
      fresh, .recover(person: own, words: stolen, revokingOthers: random.chance(70)),
      .asOf(naming))
    add(fresh)
  }

  /// A stranger finds a link and claims the past that suits.
  mutating func find() {
    guard let number = random.pick(found), let link = link(number) else { return }
    let facts = ledger.links[link]
    let issue = ledger.acts[facts.issue].id
    let fresh = newDevice()
    corrupt(fresh)
    world.deliver(issue, to: fresh)
    var person = newPerson()
    if let whom = facts.forPerson {
      person = ledger.personIDs[whom]
    } else if random.chance(15), let victim = random.pick(people(trueView())) {
      person = victim
    }
    let stolen = facts.forPerson == nil ? stolenNumber() : nil
    let claim: Claim = random.chance(70) ? .asOf(issue) : lie(fresh, about: issue)
    let joining = write(fresh, .join(invite: number, person: stolen ?? person), claim)
    add(fresh)
    if stolen != nil { abet(fresh, joining) }
  }

  /// A removed person comes again by the old link with a new device.
  private mutating func again(_ device: Int) {
    var links: [Int] = []
    for act in world.acts where act.device == device {
      if case .join(let number, _) = act.deed { links.append(number) }
    }
    guard let number = links.first, let own = person(device), let link = link(number) else {
      write(device, .heartbeat, lie(device, about: nil))
      return
    }
    let issue = ledger.acts[ledger.links[link].issue].id
    let fresh = newDevice()
    corrupt(fresh)
    write(fresh, .join(invite: number, person: own), .asOf(issue))
    add(fresh)
  }
}
