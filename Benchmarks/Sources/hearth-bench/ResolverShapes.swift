import HearthCRDT
import HearthMembership

/// Control logs that cost the most, each written by somebody who wants that.
struct ResolverShapes {
  /// How many operations a log gets, at most.
  let operations: Int

  /// All of them by name.
  var all: [(name: String, write: (inout ResolverLog) -> Void)] {
    [
      ("roles by the owner", benign), ("two joinings by each of a reader's invitations", reader),
      ("joinings on one link", flood), ("admins remove each other", removals),
      ("two sides that do not hear of each other", partition),
      ("come and go", comeAndGo), ("come and go with new devices", comeAndGoAnew),
      ("one lie each", lies), ("roles at once", rolesAtOnce), ("recoveries", recoveries),
      ("mutual revocations", mutualRevocations), ("hand-overs", handOvers),
      ("hand-overs that nobody confirms", unconfirmedHandOvers),
      ("each closing rests on another", closings),
      ("each own confirmation rests on another", ownConfirmations),
      ("removed by everybody", removedByAll),
      ("a link for everybody", link), ("words that come too late", words),
      ("rules at once", rules),
    ]
  }

  private func benign(_ log: inout ResolverLog) {
    for person in 1...9 { log.bring(person, .member) }
    while log.items.count < operations {
      let turn = log.items.count
      log.setRole(0, turn % 9 + 1, turn / 9 % 2 == 0 ? .admin : .member)
    }
  }

  private func reader(_ log: inout ResolverLog) {
    log.bring(1, .reader)
    var next = 10
    while log.items.count + 3 <= operations {
      let invite = log.invite(1, .reader, for: 1)
      let seen = log.seen
      for device in [next, next + 1] { log.join(device, as: 1, by: invite, seen: seen) }
      log.seen = seen
      next += 2
    }
  }

  private func flood(_ log: inout ResolverLog) {
    let invite = log.invite(0, .member, uses: 3)
    let seen = log.seen
    for device in 1...(operations * 9 / 10) { log.join(device, as: device, by: invite, seen: seen) }
    log.seen = seen
    while log.items.count < operations { log.write(0, .heartbeat([])) }
  }

  private func removals(_ log: inout ResolverLog) {
    for person in 1...40 { log.bring(person, .admin) }
    let seen = log.seen
    while log.items.count < operations {
      let turn = log.items.count
      log.remove(turn % 40 + 1, (turn / 40 + turn + 1) % 40 + 1, seen: seen)
    }
  }

  private func partition(_ log: inout ResolverLog) {
    for person in 1...40 { log.bring(person, person <= 20 ? .admin : .member) }
    var sides = [log.seen, log.seen]
    while log.items.count < operations {
      let turn = log.items.count
      let side = turn % 2
      let hand = 1 + turn * 7 % 20 / 2 * 2 + side
      if turn % 5 == 0 {
        log.setRole(hand, 1 + turn * 13 % 40, .child, seen: sides[side])
      } else {
        log.write(hand, .heartbeat([]), seen: sides[side])
      }
      let author = log.author(hand)
      sides[side].advance(author, to: log.seen[author])
    }
  }
}

// MARK: - People who come and go

extension ResolverShapes {
  /// The owner removes one person again and again, who comes back with the same device.
  private func comeAndGo(_ log: inout ResolverLog) {
    while log.items.count + 3 <= operations {
      let invite = log.invite(0, .member, for: 1)
      log.join(1, as: 1, by: invite)
      log.remove(0, 1)
    }
  }

  /// The same with 200 devices in turn, and some work in between.
  private func comeAndGoAnew(_ log: inout ResolverLog) {
    while log.items.count + 4 <= operations {
      let device = log.items.count / 4 % 200 + 1
      let invite = log.invite(0, .admin, for: 1)
      log.join(device, as: 1, by: invite)
      log.write(device, .heartbeat([]))
      log.remove(0, 1)
    }
  }

  /// Admins whom the owner removed write one operation each as if that had not happened.
  private func lies(_ log: inout ResolverLog) {
    let count = operations / 4
    let invites = (0..<count).map { _ in log.invite(0, .admin) }
    let before = log.seen
    for member in 1...count {
      log.join(member, as: member, by: invites[member - 1], seen: before)
    }
    let joined = log.seen
    for member in 1...count { log.remove(0, member, seen: joined) }
    for member in 1...count {
      if member % 2 == 0 {
        log.remove(member, member % count + 1, seen: joined)
      } else {
        _ = log.invite(member, .member, seen: before)
      }
    }
  }

  /// Many admins remove one person at once, who goes on as if nobody had.
  private func removedByAll(_ log: inout ResolverLog) {
    let count = operations / 8
    log.bring(1, .member)
    let invites = (0..<count).map { _ in log.invite(0, .admin) }
    let before = log.seen
    for member in 2...(count + 1) {
      log.join(member, as: member, by: invites[member - 2], seen: before)
    }
    let joined = log.seen
    for member in 2...(count + 1) { log.remove(member, 1, seen: joined) }
    while log.items.count < operations { log.write(1, .heartbeat([]), seen: joined) }
  }

  /// Members whose devices each close the link of the next one, so that who is in changes from
  /// device to device.
  private func closings(_ log: inout ResolverLog) {
    let count = 60
    var person = 1
    while log.items.count + 3 * count + 2 < max(operations, 3 * count + 10) {
      log.bring(person, .member)
      let invites = (0..<count).map { _ in log.invite(person, .reader, for: person) }
      let before = log.seen
      for number in 0..<count {
        let device = 100 + person * count + number
        log.join(device, as: person, by: invites[number], seen: before)
        guard number + 1 < count else { continue }
        log.write(device, .inviteClose(invite: invites[number + 1]), seen: before)
      }
      log.write(person, .inviteClose(invite: invites[0]), seen: before)
      log.seen = before
      log.seen.advance(log.author(person), to: UInt64(count) + 2)
      person += 1
    }
  }

  /// Members whose devices each come by a link that was closed, and are confirmed by the one
  /// before, so that each is in only if that one is: of every second member the first one is not.
  private func ownConfirmations(_ log: inout ResolverLog) {
    let count = 60
    var person = 1
    while log.items.count + 4 * count + 2 <= operations {
      log.bring(person, .member)
      let before = log.seen
      for number in 0..<count {
        let device = 100 + person * count + number
        let invite = log.invite(person, .reader, for: person)
        let open = log.seen
        log.write(person, .inviteClose(invite: invite))
        // The first of a chain that falls did not know, and nobody confirms it.
        let isFalling = person % 2 == 0
        log.join(device, as: person, by: invite, seen: isFalling ? open : nil)
        let joining = log.items[log.items.count - 1].id
        guard number > 0 || !isFalling else { continue }
        log.write(number == 0 ? person : device - 1, .confirm([joining]))
      }
      log.seen = before
      person += 1
    }
    while log.items.count < operations { log.write(0, .heartbeat([])) }
  }
}

// MARK: - Roles, words and owners

extension ResolverShapes {
  /// Twenty admins set roles of the same people without knowing of each other.
  private func rolesAtOnce(_ log: inout ResolverLog) {
    for person in 1...20 { log.bring(person, .admin) }
    for person in 21...40 { log.bring(person, .member) }
    let seen = log.seen
    let roles: [Role] = [.reader, .child, .member]
    while log.items.count < operations {
      let turn = log.items.count
      let subject = turn % 3 == 0 ? 21 : 21 + turn / 7 % 20
      log.setRole(turn % 20 + 1, subject, roles[turn / 20 % 3], seen: seen)
    }
  }

  /// A person recovers with one device after the other, each of which revokes the others.
  private func recoveries(_ log: inout ResolverLog) {
    log.bring(1, .admin)
    log.setWords(1)
    var turn = 0
    while log.items.count + 4 <= operations {
      let seen = log.seen
      let device = 2 + turn % 60
      log.recover(device, as: 1, seen: seen)
      if turn % 5 == 0 { log.recover(62 + turn / 5 % 20, as: 1, seen: seen) }
      if turn % 3 == 0 { log.write(device, .heartbeat([])) }
      if turn % 7 == 0 { log.write(device, .heartbeat([]), seen: seen) }
      turn += 1
    }
  }

  /// Devices of the owner, of admins and of members revoke each other at the same time.
  private func mutualRevocations(_ log: inout ResolverLog) {
    var devices: [[Int]] = []
    for person in 0..<6 {
      if person > 0 { log.bring(person, person < 3 ? .admin : .member) }
      var own = [person]
      for number in 0..<40 {
        let device = 100 * (person + 1) + number
        log.join(device, as: person, by: log.invite(person, .reader, for: person))
        own.append(device)
      }
      devices.append(own)
    }
    let seen = log.seen
    var turn = 0
    while log.items.count < operations, turn < 40 * 41 {
      for own in devices where log.items.count < operations {
        let (one, other) = (turn % 41, (turn % 41 + turn / 41 + 1) % 41)
        log.revoke(own[one], own[other], seen: seen)
      }
      turn += 1
    }
  }

  /// The group goes from hand to hand, at times to two heirs at once, of whom one is confirmed.
  private func handOvers(_ log: inout ResolverLog) {
    for person in 1...5 { log.bring(person, .admin) }
    for person in 0...5 { log.setWords(person) }
    var owner = 0
    while log.items.count + 6 <= operations {
      let (heir, other) = ((owner + 1) % 6, (owner + 2) % 6)
      let isForked = log.items.count % 5 == 0
      let offer = log.offer(owner, to: heir)
      let offered = log.seen
      let rival = isForked ? log.offer(owner, to: other) : nil
      let both = log.seen
      log.accept(heir, offer, seen: offered)
      log.write(owner, .heartbeat([]))
      if let rival { log.accept(other, rival, seen: both) }
      owner = heir
    }
  }

  /// The group goes to somebody else each time, and nobody who had it writes any more.
  private func unconfirmedHandOvers(_ log: inout ResolverLog) {
    let count = max(1, operations / 25)
    for person in 1...count { log.join(person, as: person, by: log.invite(0, .admin)) }
    for person in 0...count { log.setWords(person) }
    for person in 0..<count {
      let seen = log.seen
      let offer = log.offer(person, to: person + 1)
      // Withdrawn at the same time, which nobody else saw.
      _ = log.offer(person, to: person)
      var taken = seen
      taken.advance(log.author(person), to: log.seen[log.author(person)] - 1)
      log.accept(person + 1, offer, seen: taken)
    }
    while log.items.count < operations { log.write(count, .heartbeat([])) }
  }
}

// MARK: - What looks through everything of its kind

extension ResolverShapes {
  /// One link by which everybody may come, and does.
  private func link(_ log: inout ResolverLog) {
    let invite = log.invite(0, .member, uses: operations)
    let seen = log.seen
    for device in 1..<(operations - 1) { log.join(device, as: device, by: invite, seen: seen) }
    log.seen = seen
  }

  /// New words again and again by somebody who has none, then words.
  private func words(_ log: inout ResolverLog) {
    for person in 1...2 { log.bring(person, .member) }
    let seen = log.seen
    while log.items.count + 2 < operations {
      log.rotate(1, nil, seen: seen)
      log.rotate(2, 1, seen: seen)
    }
    log.setWords(1, seen: seen)
  }

  /// Admins set the rules without knowing of each other, one of whom asks for most.
  private func rules(_ log: inout ResolverLog) {
    for person in 1...20 { log.bring(person, .admin) }
    let seen = log.seen
    while log.items.count < operations {
      let turn = log.items.count
      let policy = ControlOperation.setPolicy(
        minimumSuite: turn % 20 == 7 ? 9 : 1, newcomers: turn % 3 == 0 ? .fromJoin : .full)
      log.write(turn % 20 + 1, policy, seen: seen)
    }
  }
}
