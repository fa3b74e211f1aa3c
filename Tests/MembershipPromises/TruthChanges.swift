/// How removals, roles, revocations, recoveries and hand-overs move the intervals.
extension Truth {
  mutating func remove(
    _ time: Int, _ whom: Int, _ isSure: Bool, _ now: inout Standings
  ) {
    arm(time, reach[time] > now.floor(whom))
    if isSure && rank[time] >= 3 && rank[time] > now.people[whom].highest
      && now.people[whom].mayBeIn
    {
      isCertain[time] = true
      out(whom, time, &now)
      now.leaving[whom] = -1
    } else if armed[time] {
      widen(whom, .out, &now)
    }
  }

  private mutating func out(_ person: Int, _ time: Int, _ now: inout Standings) {
    if now.people[person].mayBeIn { now.before[person] = now.people[person] }
    now.people[person] = .out
    cause[person] = time
  }

  private func widen(_ person: Int, _ standing: Standing, _ now: inout Standings) {
    if standing.isOut && now.people[person].mayBeIn {
      now.before[person] = now.people[person]
    }
    now.people[person].add(standing)
  }

  mutating func setRole(
    _ time: Int, _ whom: Int, _ role: Role, _ author: Int, _ isSure: Bool,
    _ now: inout Standings
  ) {
    guard role != .owner else { return }
    lowers[time] = role.rank < now.peak[whom]
    if whom == author {
      lowerOwn(time, whom, role, isSure, &now)
      return
    }
    arm(time, reach[time] > now.floor(whom) && reach[time] > role.rank)
    if isSure && rank[time] >= 3 && rank[time] > now.people[whom].highest
      && rank[time] > role.rank && !now.people[whom].mayBeOut
    {
      isCertain[time] = true
      now.people[whom] = Standing(role)
      cause[whom] = time
    } else if armed[time] {
      widen(whom, Standing(role), &now)
    }
  }

  /// Everybody but the owner may lower their own role.
  private mutating func lowerOwn(
    _ time: Int, _ whom: Int, _ role: Role, _ isSure: Bool, _ now: inout Standings
  ) {
    let present = now.people[whom]
    guard reach[time] > 0, present.mayBeLowered(to: role) || now.lowered[whom] > role.rank else {
      return
    }
    arm(time, true)
    now.lowered[whom] = max(now.lowered[whom], present.highest)
    if isSure, let old = present.role, old != .owner, role.rawValue < old.rawValue {
      isCertain[time] = true
      now.people[whom] = Standing(role)
      cause[whom] = time
    } else {
      widen(whom, Standing(role), &now)
    }
  }

  mutating func revoke(
    _ time: Int, _ device: Int, _ person: Int, _ isSure: Bool, _ now: inout Standings
  ) {
    let whom = ledger.owner[device]
    guard whom >= 0, device != ledger.device[time] else { return }
    let isOwn = whom == person
    let isOutranking = reach[time] > now.floor(whom) || missesPromotion(time, whom)
    arm(time, reach[time] > 0 && (isOwn || isOutranking))
    let mayAct = rank[time] >= 3 && rank[time] > now.people[whom].highest
    if isSure && (isOwn ? rank[time] > 0 : mayAct) {
      isCertain[time] = true
      if isOwn {
        if now.mayBeIn[device] { now.ghost[device] = time }
      } else {
        now.ghost[device] = -1
      }
      now.mayBeIn[device] = false
      now.mayBeOut[device] = true
      deviceCause[device] = time
    } else if armed[time] {
      now.mayBeOut[device] = true
    }
  }

  /// An honest revocation that did not know of a promotion.
  ///
  /// Before the promotion it would have to count, after it not, and no resolver can tell: nothing
  /// is promised about the device.
  private func missesPromotion(_ time: Int, _ whom: Int) -> Bool {
    guard sound[time], reach[time] >= 3 else { return false }
    return (0..<time).contains { other in
      guard armed[other], !ledger.sees(time, other) else { return false }
      if case .setRole(whom, _) = ledger.moves[other] { return true }
      return false
    }
  }

  mutating func leave(_ time: Int, _ person: Int, _ isSure: Bool, _ now: inout Standings) {
    guard reach[time] > 0, !now.people[person].isOwner else { return }
    arm(time, true)
    if isSure && !now.people[person].allows(.owner) {
      isCertain[time] = true
      out(person, time, &now)
      now.leaving[person] = time
    } else {
      widen(person, .out, &now)
    }
  }

  mutating func recover(_ time: Int, _ now: inout Standings) {
    guard case .recover(let person, let words, let others) = ledger.moves[time] else { return }
    let device = ledger.device[time]
    guard mayHold(words, person, time, now) else { return }
    let left = now.leaving[person]
    if left >= 0, !ledger.sees(time, left) {
      // A thief's leave and the recovery of whom the phone was stolen: either may hold.
      now.people[person].add(now.before[person])
    }
    guard now.people[person].mayBeIn else { return }
    arm(time, true)
    let isFirm =
      firm[time] && now.words[person] == [words] && !now.wasActive[device]
      && !now.people[person].mayBeOut
    now.wasActive[device] = true
    isCertain[time] = isFirm
    now.mayBeIn[device] = true
    if isFirm {
      now.mayBeOut[device] = false
      deviceCause[device] = time
    }
    guard others else { return }
    for other in ledger.owner.indices where ledger.owner[other] == person && other != device {
      now.mayBeOut[other] = true
      // Nobody ends what they had not seen: a device that somebody confirmed may stay.
      guard isFirm, !mayOutlive(time, other) else { continue }
      if now.mayBeIn[other] {
        now.ghost[other] = time
        deviceCause[other] = time
      }
      now.mayBeIn[other] = false
    }
  }

  /// An entry that a recovery had not seen stays if somebody confirmed it, or if the device that
  /// issued its link stays.
  private func mayOutlive(_ time: Int, _ device: Int, _ depth: Int = 8) -> Bool {
    if seesEntry(time, of: device) || depth == 0 { return false }
    if sponsored[device] { return true }
    return (0..<ledger.count).contains {
      guard let entry = entry($0), entry.device == device, entry.link >= 0 else { return false }
      return mayOutlive(time, ledger.device[ledger.links[entry.link].issue], depth - 1)
    }
  }

  private func seesEntry(_ time: Int, of device: Int) -> Bool {
    ledger.past[time].contains {
      if case .admit(_, device, _) = ledger.moves[$0] { return true }
      return ledger.device[$0] == device
    }
  }

  /// The words may be the person's.
  ///
  /// Older words may still do if the author did not see the newer ones: in one world a thief of a
  /// phone named the newer ones, in another the older ones leaked.
  func mayHold(_ words: Int, _ person: Int, _ time: Int, _ now: Standings) -> Bool {
    if now.words[person].contains(words) { return true }
    var newest = -1
    ledger.past[time].forEach { other in
      guard case .setWords(let named, _) = ledger.moves[other], armed[other],
        ledger.owner[ledger.device[other]] == person
      else { return }
      if named == words || (newest >= 0 && isCertain[other] && ledger.sees(other, newest)) {
        newest = named == words ? other : -1
      }
    }
    return newest >= 0
  }

  /// The hand-over may have happened; only `confirmHandover` makes it certain.
  mutating func accept(
    _ time: Int, _ offer: Int, _ person: Int, _ now: inout Standings
  ) {
    guard offer >= 0, offer < time, armed[offer], reach[time] > 0,
      case .offer(let whom, _) = ledger.moves[offer], whom == person
    else { return }
    let former = ledger.owner[ledger.device[offer]]
    guard former >= 0, now.people[former].allows(.owner) else { return }
    arm(time, true)
    widen(person, Standing(.owner), &now)
    widen(former, .formerOwner, &now)
  }

  mutating func confirmHandover(
    _ time: Int, _ accept: Int, _ person: Int, _ isSure: Bool, _ now: inout Standings
  ) {
    guard accept >= 0, accept < time, ledger.sees(time, accept),
      case .accept(let offer) = ledger.moves[accept], offer >= 0
    else { return }
    let heir = ledger.owner[ledger.device[accept]]
    let former = ledger.owner[ledger.device[offer]]
    guard heir >= 0, former >= 0 else { return }
    let isParty = person == former && now.people[former].allows(.owner)
    guard reach[time] >= 3 || isParty else { return }
    arm(time, true)
    let isEnough = rank[time] >= 3 || (person == former && rank[time] > 0)
    if isSure && isEnough && person != heir && isLasting(accept, offer, person == former) {
      guard now.people[heir].allows(.owner), now.people[former].allows(.owner),
        !now.people[heir].mayBeOut
      else { return }
      isCertain[time] = true
      isCertain[accept] = true
      now.people[heir] = Standing(.owner)
      let mayBeOut = now.people[former].mayBeOut
      now.people[former] = .formerOwner
      if mayBeOut { now.people[former].add(.out) }
      cause[heir] = time
      cause[former] = time
      handOn(accept, before: time, &now)
    } else if !armed[accept] {
      widen(heir, Standing(.owner), &now)
      widen(former, .formerOwner, &now)
    }
  }

  /// What may have been handed on by the time a hand-over is confirmed.
  ///
  /// That it stays says that the former owner does not get the group back by what was before it. An
  /// heir owns the group from the acceptance on, though, and may have given it away again, to the
  /// former owner too: whoever confirms says nothing about hand-overs that came after.
  private func handOn(_ accept: Int, before time: Int, _ now: inout Standings) {
    for later in accept + 1..<time where armed[later] && ledger.sees(later, accept) {
      guard case .accept(let offer) = ledger.moves[later], offer >= 0 else { continue }
      let giver = ledger.owner[ledger.device[offer]]
      guard now.people[giver].allows(.owner) else { continue }
      widen(ledger.owner[ledger.device[later]], Standing(.owner), &now)
      widen(giver, .formerOwner, &now)
    }
  }

  /// The offer and the acceptance are settled and nothing armed speaks against them.
  private func isLasting(_ accept: Int, _ offer: Int, _ byParty: Bool) -> Bool {
    guard settled[offer], settled[accept], sound[accept], !contested[accept],
      isCertain[offer], rank[accept] > 0
    else { return false }
    let former = ledger.owner[ledger.device[offer]]
    for other in 0..<ledger.count where armed[other] && other != accept && other != offer {
      let author = ledger.owner[ledger.device[other]]
      switch ledger.moves[other] {
      case .withdraw where author == former:
        if !ledger.sees(offer, other) { return false }
      case .offer where author == former:
        if !ledger.sees(offer, other) && !ledger.sees(other, accept) { return false }
      case .accept(let rival):
        guard rival >= 0, ledger.owner[ledger.device[rival]] == former else { continue }
        if !ledger.sees(offer, other) && !ledger.sees(other, accept) { return false }
      default: continue
      }
    }
    return true
  }

  /// Somebody else knows: from now on what the revoked device writes counts no more.
  mutating func witness(_ time: Int, _ person: Int, _ now: inout Standings) {
    for device in now.ghost.indices where now.ghost[device] >= 0 {
      let cause = now.ghost[device]
      let whom = ledger.owner[device]
      guard whom != person, settled[cause], ledger.sees(time, cause) else { continue }
      // Whom the recovered device let in is no witness of the recovery: a thief lets in helpers.
      if isLetIn(ledger.device[time], after: cause) { continue }
      if case .recover = ledger.moves[cause] {
        let isHigher = rank[time] > now.peak[whom]
        let isEnough = isHigher || strictness.contains(.recovery)
        if rank[time] >= 3 && isEnough && !isDisputed(time, device) { now.ghost[device] = -1 }
      } else if rank[time] > now.peak[whom],
        rank[time] >= 3, !isDisputed(time, device)
      {
        now.ghost[device] = -1
      }
    }
    guard strictness.contains(.leaving) else { return }
    for whom in now.leaving.indices where now.leaving[whom] >= 0 {
      guard whom != person, ledger.sees(time, now.leaving[whom]) else { continue }
      if rank[time] >= 3 && rank[time] > now.peak[whom] { now.leaving[whom] = -1 }
    }
  }

  /// Whether an entry of the device rests on the act.
  private func isLetIn(_ device: Int, after cause: Int) -> Bool {
    (0..<ledger.count).contains { basis[$0][cause] && entry($0)?.device == device }
  }

  /// Somebody else of rank, who does not know the witness, has seen later acts of the device.
  private func isDisputed(_ time: Int, _ device: Int) -> Bool {
    (time + 1..<ledger.count).contains { other in
      guard reach[other] >= 3, ledger.owner[ledger.device[other]] != ledger.owner[device],
        !ledger.sees(other, time)
      else { return false }
      return ledger.past[other].contains { $0 > time && ledger.device[$0] == device }
    }
  }
}
