/// What honest people do: only what their own view allows.
extension Story {
  /// Somebody comes by a fresh link of `host`; false if the host may not invite.
  @discardableResult
  mutating func welcome(_ role: Role, host: Int, confirm: Bool, liar: Bool) -> Bool {
    let view = view(host)
    guard let own = person(host).flatMap({ self.role($0, view) }), own.rank >= 3,
      own.rank > role.rank, isActive(host, view)
    else { return false }
    let number = world.newInvite()
    let uses = random.chance(60) ? 1 : 2 + random.below(2)
    let expires = expiry()
    write(
      host,
      .invite(
        id: number, role: role, forPerson: nil, uses: uses, needsApproval: false,
        expires: expires))
    if random.chance(50) { found.append(number) }
    if random.chance(40) { spread(host) }
    enter(number, person: newPerson(), isNew: true, host: host, liar: liar)
    if confirm, let newest = devices.last, !isFull {
      sync(newest, host)
      if !isLiar(host) { review(host) } else { write(host, .confirm(device: newest)) }
    }
    return true
  }

  mutating func enter(
    _ number: Int, person: Int, isNew: Bool = false, host: Int, liar: Bool
  ) {
    let device = newDevice()
    let person = isNew ? makers.number(person, of: device) : person
    sync(host, device)
    write(device, .join(invite: number, person: person))
    add(device)
    if liar { corrupt(device) }
    if random.chance(70) { sync(device, host) }
    if random.chance(50) { sync(host, device) }
  }

  mutating func spread(_ device: Int) {
    for other in devices where other != device && random.chance(50) {
      sync(device, other)
    }
  }

  /// A further device of the host's person.
  mutating func double(_ host: Int, liar: Bool) {
    guard let person = person(host), isActive(host, view(host)) else { return }
    let number = world.newInvite()
    let expires = expiry()
    write(
      host,
      .invite(
        id: number, role: .member, forPerson: person, uses: 1, needsApproval: false,
        expires: expires))
    if random.chance(30) { found.append(number) }
    enter(number, person: person, host: host, liar: liar)
  }

  /// One sensible act of an honest device.
  mutating func honest(_ device: Int) {
    let view = view(device)
    guard let person = person(device), let role = role(person, view), isActive(device, view)
    else { return }
    if acceptsOffer(device, person, view) { return }
    let dice = random.below(100)
    if role.rank >= 3 && dice < 62 {
      lead(device, person, role, view)
    } else if dice < 70 {
      double(device, liar: random.chance(15))
    } else if dice < 78 {
      revokeOwn(device, person, view)
    } else if dice < 82 {
      step(back: person, device, role)
    } else if dice < 88 {
      nameWords(device, person)
    } else if dice < 95 && role.rank >= 2 {
      seal(device, to: active(view))
    } else {
      write(device, .heartbeat)
    }
  }

  /// A new key for these devices.
  mutating func seal(_ device: Int, to devices: [Int], _ claim: Claim = .everything) {
    write(device, .seal(key: nextKey, devices: devices.sorted()), claim)
    nextKey += 1
  }

  /// Who does not want to lead any more says so or leaves.
  private mutating func step(back person: Int, _ device: Int, _ role: Role) {
    guard role != .owner else { return }
    let lower = Role.allCases.filter { $0.rawValue < role.rawValue }
    if random.chance(30), let new = random.pick(lower) {
      write(device, .setRole(person: person, role: new))
    } else {
      write(device, .leave)
    }
  }

  mutating func nameWords(_ device: Int, _ person: Int) {
    let present = ledger.place(ofPerson: person).flatMap { place -> Int? in
      let view = view(device)
      return place < view.words.count ? view.words[place] : nil
    }
    write(device, .setWords(words: nextWords, consent: present))
    words[person] = nextWords
    nextWords += 1
  }

  private mutating func acceptsOffer(_ device: Int, _ person: Int, _ view: View) -> Bool {
    for offer in view.offers {
      guard case .offer(let whom, _) = ledger.acts[offer].deed, whom == person,
        random.chance(70)
      else { continue }
      let giver = ledger.owner[ledger.device[offer]]
      guard view.roles[giver] == .owner else { continue }
      write(device, .accept(offer: ledger.acts[offer].id))
      if random.chance(60) { spread(device) }
      return true
    }
    return false
  }

  private mutating func revokeOwn(_ device: Int, _ person: Int, _ view: View) {
    let own = active(view).filter { $0 != device && self.person($0) == person }
    if let other = random.pick(own) { write(device, .revoke(device: other)) }
  }

  /// What owners and admins do.
  private mutating func lead(_ device: Int, _ person: Int, _ role: Role, _ view: View) {
    let lower = people(view).filter { (self.role($0, view)?.rank ?? 9) < role.rank }
    switch random.below(100) {
    case 0..<26: invite(device, role)
    case 26..<38:
      if let link = random.pick(openLinks(view)) { write(device, .close(invite: link)) }
    case 38..<54:
      guard let whom = random.pick(lower) else { break }
      write(device, .remove(person: whom))
      if random.chance(30) { seal(device, to: active(self.view(device))) }
    case 54..<66:
      let roles: [Role] =
        role == .owner
        ? [.admin, .admin, .member, .child, .reader] : [.member, .child, .reader]
      if let whom = random.pick(lower), let new = random.pick(roles) {
        write(device, .setRole(person: whom, role: new))
      }
    case 66..<74:
      let others = active(view).filter { lower.contains(self.person($0) ?? -1) }
      if let other = random.pick(others) { write(device, .revoke(device: other)) }
    case 74..<90: handOver(device, person, role, view)
    default: admitSomebody(device, role, view)
    }
    if random.chance(40) { spread(device) }
  }

  private mutating func invite(_ device: Int, _ role: Role) {
    let roles: [Role] =
      role == .owner
      ? [.admin, .member, .member, .child, .reader] : [.member, .child, .reader]
    guard let new = random.pick(roles) else { return }
    _ = welcome(new, host: device, confirm: random.chance(50), liar: random.chance(15))
  }

  private mutating func handOver(_ device: Int, _ person: Int, _ role: Role, _ view: View) {
    guard role == .owner else {
      write(device, .heartbeat)
      return
    }
    guard let place = ledger.place(ofPerson: person), let key = view.words[place] else {
      nameWords(device, person)
      return
    }
    if !view.offers.isEmpty && random.chance(30) {
      write(device, .withdraw)
      return
    }
    let admins = people(view).filter { self.role($0, view) == .admin }
    if let heir = random.pick(admins) { write(device, .offer(person: heir, words: key)) }
  }

  private mutating func admitSomebody(_ device: Int, _ role: Role, _ view: View) {
    let number = world.newInvite()
    let new: Role = role == .owner && random.chance(30) ? .admin : .member
    let expires = expiry()
    write(
      device,
      .invite(
        id: number, role: new, forPerson: nil, uses: 1, needsApproval: true, expires: expires))
    let newcomer = newDevice()
    let person = makers.number(newPerson(), of: newcomer)
    write(device, .admit(invite: number, device: newcomer, person: person))
    sync(device, newcomer)
    add(newcomer)
    if random.chance(20) { corrupt(newcomer) }
    if random.chance(70) { write(newcomer, .heartbeat) }
  }

  /// A new device of a person who lost the others, or says so.
  mutating func recover() {
    let view = trueView()
    let holders = people(view).filter { person in
      guard let place = ledger.place(ofPerson: person) else { return false }
      return words[person] != nil && view.words[place] == words[person]
    }
    guard let person = random.pick(holders), let key = words[person] else { return }
    let helpers = active(view).filter { self.person($0) != person && !isLiar($0) }
    guard let helper = random.pick(helpers) else { return }
    let seen = self.view(helper)
    guard let place = ledger.place(ofPerson: person), place < seen.words.count,
      seen.words[place] == key, seen.roles[place] != nil
    else { return }
    let device = newDevice()
    sync(helper, device)
    write(
      device, .recover(person: person, words: key, revokingOthers: random.chance(75)))
    add(device)
    sync(device, helper)
    review(helper)
    if random.chance(50) { spread(helper) }
  }
}
