/// Which joinings are certain, possible or out of the question.
extension Truth {
  /// The newcomer and the link of an entry by a link.
  func entry(_ time: Int) -> (device: Int, link: Int, person: Int)? {
    switch ledger.moves[time] {
    case .join(let link, let person): (ledger.device[time], link, person)
    case .admit(let link, let device, let person): (device, link, person)
    default: nil
    }
  }

  mutating func judgeEntries() {
    owned = ownersWord()
    var sponsored = Array(repeating: false, count: ledger.deviceIDs.count)
    var vouched = sponsored
    defer { self.sponsored = sponsored }
    for time in 0..<ledger.count {
      if case .admit(_, let device, _) = ledger.moves[time], reach[time] >= 3 {
        sponsored[device] = true
      }
      if case .setRole(let person, _) = ledger.moves[time], reach[time] >= 3 {
        sponsor(person, time, &sponsored)
      }
      // A key sealed to a device may be taken to accept it.
      if case .seal(let devices) = ledger.moves[time] {
        for device in devices where mayAccept(time, device) { sponsored[device] = true }
      }
      guard case .confirm(let device) = ledger.moves[time] else { continue }
      if (armed[time] || confirmsOwn(time)) && device != ledger.device[time] {
        sponsored[device] = true
      }
      if isVouching(time, device) { vouched[device] = true }
    }
    for time in 0..<ledger.count {
      if case .recover = ledger.moves[time] {
        firm[time] = isFirmRecovery(time)
      } else if let entry = entry(time) {
        firm[time] = isFirm(time, entry, vouched, sponsored)
      }
    }
    for time in 0..<ledger.count {
      guard let entry = entry(time) else { continue }
      let isLate = isOverdue(time, entry, sponsored)
      let isOut = isLate || isExcluded(time, entry, sponsored)
      late[time] = isLate
      excluded[time] = isOut
    }
  }

  private func mayAccept(_ time: Int, _ device: Int) -> Bool {
    guard device != ledger.device[time] else { return false }
    let isOwn = ledger.owner[device] == ledger.owner[ledger.device[time]]
    return reach[time] >= 3 || (reach[time] > 0 && isOwn)
  }

  /// Who gives somebody a role may be taken to accept the joining.
  func sponsor(_ person: Int, _ time: Int, _ sponsored: inout [Bool]) {
    ledger.past[time].forEach {
      guard let entry = entry($0), entry.person == person, entry.link >= 0,
        ledger.links[entry.link].forPerson == nil
      else { return }
      sponsored[entry.device] = true
    }
  }

  /// A device of the same person may confirm a further device: for the owner nobody else could.
  func confirmsOwn(_ time: Int) -> Bool {
    guard case .confirm(let device) = ledger.moves[time] else { return false }
    return reach[time] > 0 && ledger.owner[device] == ledger.owner[ledger.device[time]]
  }

  /// A settled confirmation by a higher rank of another person.
  private func isVouching(_ time: Int, _ device: Int) -> Bool {
    guard settled[time], backing[time] else { return false }
    let author = ledger.owner[ledger.device[time]]
    let person = ledger.owner[device]
    guard author >= 0, person >= 0, author != person else { return false }
    return !hasSeenClosing(time, device)
  }

  /// A confirmation by somebody who had seen a closing that did not know the joining.
  ///
  /// An honest device writes none by itself, so it is neither promised to count nor not to count.
  private func hasSeenClosing(_ time: Int, _ device: Int) -> Bool {
    ledger.past[time].contains { other in
      (0..<time).contains {
        guard let entry = entry($0), entry.device == device, entry.link >= 0 else { return false }
        var isClosing = ends(other, entry.link)
        if case .close(entry.link) = ledger.moves[other] { isClosing = true }
        return isClosing && !ledger.sees(other, $0)
      }
    }
  }

  /// Does the act, if it counts, end a link.
  ///
  /// The design says that a link ends with its maker's device and with the maker's rank, and with
  /// the removal of anybody who came by it: a joining by it that the act had not seen then waits
  /// until somebody confirms it.
  private func ends(_ time: Int, _ link: Int) -> Bool {
    let facts = ledger.links[link]
    let host = ledger.device[facts.issue]
    let maker = ledger.owner[host]
    switch ledger.moves[time] {
    case .revoke(let device): return device == host
    case .setRole(let whom, let role):
      return whom == maker && facts.forPerson != maker
        && (role.rank < 3 || role.rank <= facts.role.rank)
    case .leave: return ledger.owner[ledger.device[time]] == maker
    case .recover(let whom, _, let others):
      return others && whom == maker && ledger.device[time] != host
    case .accept(let offer):
      return offer >= 0 && ledger.owner[ledger.device[offer]] == maker
    case .remove(let whom):
      if whom == maker { return true }
      return (0..<ledger.count).contains {
        guard let entry = entry($0), entry.link == link else { return false }
        return entry.person == whom && facts.forPerson == nil
      }
    default: return false
    }
  }

  private func rivals(_ link: Int) -> [(time: Int, device: Int)] {
    var result: [(time: Int, device: Int)] = []
    for time in 0..<ledger.count where ledger.closed[time] {
      guard let entry = entry(time), entry.link == link else { continue }
      if !result.contains(where: { $0.device == entry.device }) {
        result.append((time, entry.device))
      }
    }
    return result
  }

  private func isFirm(
    _ time: Int, _ entry: (device: Int, link: Int, person: Int), _ vouched: [Bool],
    _ sponsored: [Bool]
  ) -> Bool {
    guard entry.link >= 0, settled[time] else { return false }
    let link = ledger.links[entry.link]
    let all = rivals(entry.link)
    if link.forPerson == nil && namesakes(time, entry, vouched, sponsored) { return false }
    if vouched[entry.device] {
      let backed = all.count { sponsored[$0.device] || vouched[$0.device] }
      if backed <= link.uses { return true }
    }
    guard all.count <= link.uses, ledger.acts[time].time <= link.expires else { return false }
    for other in 0..<ledger.count where other != time && (armed[other] || sound[other]) {
      if ends(other, entry.link), !ledger.sees(other, time) {
        if armed[other] || ledger.owner[ledger.device[other]] == entry.person { return false }
      }
      guard case .close(let closed) = ledger.moves[other], closed == entry.link else {
        continue
      }
      // The newcomer itself may be why the own person's closing counts no more.
      let isOwn = ledger.owner[ledger.device[other]] == entry.person
      if !armed[other] && !isOwn { continue }
      if !ledger.sees(other, time) { return false }
    }
    return true
  }

  /// Does anybody else come, or may come, under the same person's number.
  private func namesakes(
    _ time: Int, _ entry: (device: Int, link: Int, person: Int), _ vouched: [Bool],
    _ sponsored: [Bool]
  ) -> Bool {
    for other in 0..<ledger.count where other != time && ledger.closed[other] {
      guard let rival = self.entry(other), rival.person == entry.person,
        rival.device != entry.device, rival.link >= 0,
        ledger.links[rival.link].forPerson == nil
      else { continue }
      if keepsNumber(time, against: other) { continue }
      if isMakers(other, beside: time) { return true }
      if !vouched[entry.device] || sponsored[rival.device] { return true }
    }
    return false
  }

  /// Nobody who may confirm did so, and the link was closed, used up, wrong or no link at all.
  private func isExcluded(
    _ time: Int, _ entry: (device: Int, link: Int, person: Int), _ sponsored: [Bool]
  ) -> Bool {
    if !ledger.closed[time] || entry.link < 0 || isInVain(time) { return true }
    if sponsored[entry.device] { return false }
    let link = ledger.links[entry.link]
    if !armed[link.issue] && link.issue < time { return true }
    if case .admit = ledger.moves[time] { return false }
    if link.approval || !ledger.sees(time, link.issue) { return true }
    if let whom = link.forPerson, whom != entry.person { return true }
    for other in 0..<time where isCertain[other] {
      if case .close(let closed) = ledger.moves[other], closed == entry.link { return true }
    }
    let taken = rivals(entry.link).count {
      $0.device != entry.device && firm[$0.time] && sponsored[$0.device]
    }
    if taken >= link.uses { return true }
    guard link.forPerson == nil else { return false }
    return (0..<ledger.count).contains { other in
      guard other != time, firm[other], let rival = self.entry(other), rival.link >= 0,
        ledger.links[rival.link].forPerson == nil
      else { return false }
      return rival.person == entry.person && rival.device != entry.device
        && (isCertain[other] || !isMakers(other, beside: time))
    }
  }

  /// Does the act see, for an entry on which it rests, a rival or a closing that did not know the
  /// entry, and nobody's confirmation.
  ///
  /// Then its own past does not tell who is in. What a confirmation confirms is no dispute: it says
  /// who is in.
  func restsOnDispute(_ time: Int) -> Bool {
    var chosen = -1
    if case .confirm(let device) = ledger.moves[time] { chosen = device }
    if isDisputed(time, seenBy: time, chosen) { return true }
    return basis[time].contains { isDisputed($0, seenBy: time, chosen) }
  }

  private func isDisputed(_ entered: Int, seenBy time: Int, _ chosen: Int) -> Bool {
    guard let entry = entry(entered), entry.link >= 0, entry.device != chosen else {
      return false
    }
    let link = ledger.links[entry.link]
    var rivals = 1
    var isDisputed = false
    var isConfirmed = false
    ledger.past[time].forEach { other in
      if case .confirm(let device) = ledger.moves[other], device == entry.device,
        settled[other], backing[other]
      {
        isConfirmed = true
      }
      if case .close(let closed) = ledger.moves[other], closed == entry.link,
        !ledger.sees(other, entered)
      {
        isDisputed = true
      }
      guard let rival = self.entry(other), rival.device != entry.device else { return }
      if rival.link == entry.link { rivals += 1 }
      if link.forPerson == nil, rival.person == entry.person, rival.link >= 0,
        ledger.links[rival.link].forPerson == nil, !keepsNumber(entered, against: other)
      {
        isDisputed = true
      }
    }
    return (isDisputed || rivals > link.uses) && !isConfirmed
  }

  private func isFirmRecovery(_ time: Int) -> Bool {
    guard settled[time], case .recover(let person, _, _) = ledger.moves[time] else {
      return false
    }
    for other in 0..<ledger.count where other != time && armed[other] {
      guard ledger.areConcurrent(time, other) else { continue }
      if case .recover(let whom, _, _) = ledger.moves[other], whom == person { return false }
      if case .setWords = ledger.moves[other],
        ledger.owner[ledger.device[other]] == person
      {
        return false
      }
    }
    return true
  }
}
