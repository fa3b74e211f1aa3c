/// One reading of the timeline with what is settled so far.
extension Truth {
  mutating func run() {
    var now = Standings(ledger)
    cause = Array(repeating: -1, count: cause.count)
    deviceCause = Array(repeating: -1, count: deviceCause.count)
    for time in 0..<ledger.count where ledger.closed[time] {
      let device = ledger.device[time]
      let person = ledger.owner[device]
      let author = authority(now, device, person)
      rank[time] = sound[time] ? author.least : 0
      reach[time] = author.most
      isCertain[time] = false
      let isSure = settled[time] && !contested[time] && sound[time]
      for whom in now.peak.indices {
        now.peak[whom] = max(now.peak[whom], now.people[whom].highest)
      }
      apply(time, person, isSure, &now)
      if backing[time] { backing[time] = backs(time, now) }
      if isSure && rank[time] > 0 { witness(time, person, &now) }
    }
    final = now
  }

  /// The least and the most rank that the device's acts carry now.
  private func authority(
    _ now: Standings, _ device: Int, _ person: Int
  ) -> (least: Int, most: Int) {
    guard person >= 0 else { return (0, 0) }
    let speaks = now.mayBeIn[device] || now.ghost[device] >= 0
    guard speaks else { return (0, 0) }
    var most = now.people[person].highest
    if now.leaving[person] >= 0 { most = max(most, now.before[person].highest) }
    if most > 0 { most = max(most, now.lowered[person]) }
    let isIn = !now.mayBeOut[device] && !now.people[person].mayBeOut
    return (isIn ? now.people[person].lowest : 0, most)
  }

  private func backs(_ time: Int, _ now: Standings) -> Bool {
    guard case .confirm(let device) = ledger.moves[time] else { return true }
    let person = ledger.owner[device]
    guard person >= 0, rank[time] >= 3 else { return false }
    // The device came in when the person may have been more than now.
    var granted = max(now.people[person].highest, now.peak[person])
    for entered in 0..<ledger.count {
      if let entry = entry(entered), entry.device == device, entry.link >= 0,
        ledger.links[entry.link].forPerson == nil
      {
        granted = max(granted, ledger.links[entry.link].role.rank)
      }
    }
    return rank[time] > granted
  }

  private mutating func apply(
    _ time: Int, _ person: Int, _ isSure: Bool, _ now: inout Standings
  ) {
    let isSure = isSure && rank[time] > 0
    switch ledger.moves[time] {
    case .found: found(time, &now)
    case .join, .admit: enter(time, isSure, &now)
    case .recover: recover(time, &now)
    case .invite(let link): invite(time, link, person, isSure, &now)
    case .close(let link):
      let issuer = link < 0 ? -1 : ledger.owner[ledger.device[ledger.links[link].issue]]
      arm(time, reach[time] >= 3 || (reach[time] > 0 && issuer == person))
      isCertain[time] =
        isSure && (issuer == person || (rank[time] >= 3 && rank[time] > granted(link, now)))
    case .confirm:
      arm(time, reach[time] >= 3 || confirmsOwn(time))
      isCertain[time] = isSure && rank[time] >= 3
    case .remove(let whom): remove(time, whom, isSure, &now)
    case .setRole(let whom, let role): setRole(time, whom, role, person, isSure, &now)
    case .revoke(let device): revoke(time, device, person, isSure, &now)
    case .leave: leave(time, person, isSure, &now)
    case .setWords(let words, let consent):
      setWords(time, person, words, consent, isSure, &now)
    case .offer(_, let words):
      arm(
        time,
        reach[time] > 0 && now.people[person].allows(.owner)
          && mayHold(words, person, time, now))
      isCertain[time] = isSure && rank[time] == 4 && now.words[person] == [words]
    case .accept(let offer): accept(time, offer, person, &now)
    case .confirmHandover(let accept): confirmHandover(time, accept, person, isSure, &now)
    case .withdraw, .seal, .heartbeat:
      arm(time, reach[time] > 0)
      isCertain[time] = isSure
    }
  }

  /// The rank that a link gives, or the rank of whom it gives a device.
  private func granted(_ link: Int, _ now: Standings) -> Int {
    guard link >= 0 else { return 9 }
    return ledger.links[link].forPerson.map { max(now.people[$0].highest, now.peak[$0]) }
      ?? ledger.links[link].role.rank
  }

  mutating func arm(_ time: Int, _ may: Bool) {
    if may { armed[time] = true }
  }

  private mutating func found(_ time: Int, _ now: inout Standings) {
    let device = ledger.device[time]
    guard ledger.deviceIDs[device] == 0, ledger.acts[time].sequence == 0 else { return }
    arm(time, true)
    isCertain[time] = true
    now.people[0] = Standing(.owner)
    now.mayBeIn[device] = true
    now.mayBeOut[device] = false
    cause[0] = time
    deviceCause[device] = time
  }

  private mutating func invite(
    _ time: Int, _ link: Int, _ person: Int, _ isSure: Bool, _ now: inout Standings
  ) {
    guard link >= 0, ledger.links[link].issue == time else { return }
    let facts = ledger.links[link]
    if let whom = facts.forPerson {
      arm(time, reach[time] > 0 && (whom == person || reach[time] > now.floor(whom)))
      let isOwn = whom == person && rank[time] > 0
      now.issued[link] =
        isSure && (isOwn || (rank[time] >= 3 && rank[time] > now.people[whom].highest))
    } else {
      arm(time, reach[time] > facts.role.rank)
      now.issued[link] = isSure && rank[time] >= 3 && rank[time] > facts.role.rank
    }
    isCertain[time] = now.issued[link]
  }

  private mutating func enter(_ time: Int, _ isSure: Bool, _ now: inout Standings) {
    guard let entry = entry(time), !excluded[time], entry.link >= 0 else { return }
    let link = ledger.links[entry.link]
    if case .admit = ledger.moves[time] {
      guard reach[time] > 0 else { return }
      let isBacked = isSure && rank[time] >= 3
      enter(time, entry, link, isBacked && firm[time], &now)
    } else {
      enter(time, entry, link, firm[time] && settled[time] && !contested[time], &now)
    }
  }

  private mutating func enter(
    _ time: Int, _ entry: (device: Int, link: Int, person: Int), _ link: Ledger.Link,
    _ isFirm: Bool, _ now: inout Standings
  ) {
    arm(time, true)
    let isFirm = isFirm && now.issued[entry.link] && !now.wasActive[entry.device]
    now.wasActive[entry.device] = true
    isCertain[time] = isFirm
    now.mayBeIn[entry.device] = true
    if isFirm {
      now.mayBeOut[entry.device] = false
      deviceCause[entry.device] = time
    }
    guard link.forPerson == nil else {
      // Whoever is out, and is let in with a device, comes in again with the least role.
      if now.people[entry.person].mayBeOut, sponsored[entry.device] {
        now.people[entry.person].add(Standing(.reader))
      }
      return
    }
    if isFirm && now.people[entry.person].isOut && now.before[entry.person].isOut {
      now.people[entry.person] = Standing(link.role)
      cause[entry.person] = time
    } else {
      now.people[entry.person].add(Standing(link.role))
    }
  }

  private mutating func setWords(
    _ time: Int, _ person: Int, _ words: Int, _ consent: Int?, _ isSure: Bool,
    _ now: inout Standings
  ) {
    guard reach[time] > 0 else { return }
    if let consent {
      guard mayHold(consent, person, time, now) else { return }
    } else {
      // Whoever holds an unlocked device does not replace words that are known to stand.
      let hasSeenWords = ledger.past[time].contains { isNaming($0, person) && isCertain[$0] }
      guard !hasSeenWords else { return }
    }
    arm(time, true)
    let before = consent ?? Standings.noWords
    isCertain[time] = isSure && now.words[person] == [before] && !hasRivalWords(time, person)
    if isCertain[time] {
      now.words[person] = [words]
    } else if !now.words[person].contains(words) {
      now.words[person].append(words)
    }
  }

  /// Words that do not know each other: nobody says which hold, or whether any of them do.
  private func hasRivalWords(_ time: Int, _ person: Int) -> Bool {
    (0..<ledger.count).contains {
      armed[$0] && isNaming($0, person) && ledger.areConcurrent(time, $0)
    }
  }

  func isNaming(_ time: Int, _ person: Int) -> Bool {
    guard case .setWords = ledger.moves[time] else { return false }
    return ledger.owner[ledger.device[time]] == person
  }
}
