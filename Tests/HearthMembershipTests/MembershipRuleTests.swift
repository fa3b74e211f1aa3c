import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

private typealias World = MembershipWorld

@Suite("Membership: who may what")
struct MembershipRuleTests {
  /// Writes, then compares why it has no effect.
  private func expect(
    _ world: inout MembershipWorld, _ reason: VoidReason?,
    at location: SourceLocation = #_sourceLocation,
    _ write: (inout MembershipWorld) -> RecordID
  ) {
    let id = write(&world)
    #expect(world.reason(id) == reason, sourceLocation: location)
  }

  @Test("Nobody grants a rank that is not below their own, or touches one that is not")
  func ranks() throws {
    var world = World()
    let admin = world.member(.admin, by: .auto)
    let other = world.member(.admin, by: .approved)
    let member = world.member(.member, by: .auto)
    let child = world.member(.child, by: .auto)
    let hands = world.hands
    _ = world.invite(admin, .admin)
    #expect(world.reason(try #require(world.items.last?.id)) == .grantsTooMuch)
    expect(&world, .grantsTooMuch) { $0.setRole(admin, hands[member].person, .admin) }
    expect(&world, .notBelow) { $0.remove(admin, hands[other].person) }
    expect(&world, .notBelow) { $0.remove(admin, hands[0].person) }
    expect(&world, .grantsTooMuch) { $0.setRole(admin, hands[admin].person, .owner) }
    expect(&world, .grantsTooMuch) { $0.setRole(0, hands[admin].person, .owner) }
    expect(&world, .needs(.admin)) { $0.remove(member, hands[child].person) }
    expect(&world, .needs(.owner)) { $0.transfer(admin, to: hands[member].person) }
    expect(&world, .needs(.admin)) { $0.revoke(member, child) }
    expect(&world, .ownerStays) { $0.write(0, .leave(Cut(entries: []))) }
    expect(&world, .ownerStays) { $0.setRole(0, hands[0].person, .admin) }
    #expect(world.fold().people.count == 5)
    #expect(world.fold().voided.count == 11)
  }

  @Test("One invites oneself in any role; a further device of others needs a higher rank")
  func oneself() throws {
    var world = World()
    let child = world.member(.child, by: .auto)
    let second = world.second(of: child)
    #expect(world.fold().role(of: world.hands[second].id) == .child)
    let member = world.member(.member, by: .auto)
    _ = world.invite(member, .child, person: world.hands[child].person)
    #expect(world.reason(try #require(world.items.last?.id)) == .needs(.admin))
    let admin = world.member(.admin, by: .auto)
    _ = world.invite(admin, .child, person: world.hands[0].person)
    #expect(world.reason(try #require(world.items.last?.id)) == .notBelow)
    // For a lost phone: the same person, with the role that it has.
    let enrolment = world.invite(admin, .reader, person: world.hands[child].person)
    let phone = world.addHand(person: Int(world.hands[child].person.low))
    world.settle()
    expect(&world, nil) { $0.join(phone, enrolment) }
    #expect(world.fold().role(of: world.hands[phone].id) == .child)
    #expect(world.fold().person(of: world.hands[phone].id)?.id == world.hands[child].person)
    // A present person's name does not come in by an invitation for anybody.
    let invite = world.invite(0, .member)
    let thief = world.addHand(person: Int(world.hands[child].person.low))
    world.settle()
    expect(&world, .alreadyThere) { $0.join(thief, invite) }
  }

  @Test(
    "Of n + 1 who join at the same time exactly n are in, whatever the order", arguments: 0..<20)
  func uses(seed: Int) throws {
    var world = World()
    let invite = world.invite(0, .member, uses: 3)
    world.settle()
    let hands = (0..<5).map { _ in world.addHand(person: world.hands.count) }
    for hand in hands {
      world.hands[hand].seen = world.hands[0].seen
      world.join(hand, invite)
    }
    var random = SplitMix64(seed: UInt64(seed))
    let membership = world.fold(shuffled: &random)
    #expect(membership.people.count == 4)
    #expect(membership.invites[0].usesLeft == 0)
    #expect(membership.summary == world.fold().summary)
    #expect(
      membership.voided.allSatisfy {
        if case .overruled(_, .invitationUsedUp) = $0.reason { return true }
        return false
      })
  }

  @Test("A closing ends joinings of the same time, an expiry those that are late")
  func closing() throws {
    var world = World()
    let invite = world.invite(0, .member, uses: 9)
    world.settle()
    let early = world.addHand(person: 50)
    world.settle()
    let joined = world.join(early, invite)
    world.settle()
    let meanwhile = world.addHand(person: 51)
    world.hands[meanwhile].seen = world.hands[0].seen
    world.write(0, .inviteClose(invite: invite))
    let concurrent = world.join(meanwhile, invite)
    let late = world.addHand(person: 52)
    world.settle()
    let after = world.join(late, invite)
    #expect(world.reason(joined) == nil)
    #expect(world.rule(concurrent) == .invitationClosed)
    #expect(world.reason(after) == .closed)
    let brief = world.invite(0, .member, expires: world.clock + 3)
    world.settle()
    world.clock += 10
    let tardy = world.addHand(person: 53)
    world.settle()
    expect(&world, .expired) { $0.join(tardy, brief) }
  }

  @Test("Who joins knowing that the inviter may not invite any more is not in")
  func endedInviter() throws {
    var world = World()
    let admin = world.member(.admin, by: .auto)
    let second = world.second(of: admin)
    let invites = [world.invite(admin, .member), world.invite(second, .child)]
    world.settle()
    world.revoke(0, admin)
    world.settle()
    let late = world.addHand(person: 54)
    world.settle()
    expect(&world, .closed) { $0.join(late, invites[0]) }
    world.setRole(0, world.hands[admin].person, .child)
    let tardy = world.addHand(person: 55)
    world.settle()
    expect(&world, .closed) { $0.join(tardy, invites[1]) }
  }

  @Test("A removed person comes back only by what has seen the removal")
  func returning() throws {
    var world = World()
    let admin = world.member(.admin, by: .approved)
    let subject = world.member(.member, by: .auto)
    let invite = world.invite(0, .member, uses: 5, person: nil)
    world.settle()
    world.remove(0, world.hands[subject].person)
    // An invitation of the same time, used without having seen the removal.
    let again = world.addHand(person: Int(world.hands[subject].person.low))
    world.hands[again].seen = world.hands[admin].seen
    expect(&world, .alreadyThere) { $0.join(again, invite) }
    #expect(world.fold().person(of: world.hands[subject].id)?.role == .member)
    #expect(world.fold().role(of: world.hands[subject].id) == nil)
    world.settle()
    // Somebody else may not take the name.
    let thief = world.addHand(person: Int(world.hands[subject].person.low))
    world.settle()
    expect(&world, .alreadyThere) { $0.join(thief, invite) }
    // Nor does the device that was theirs come back by an invitation from before the removal.
    let early = world.join(subject, invite)
    #expect(world.reason(early) == .closed)
    #expect(world.fold().role(of: world.hands[subject].id) == nil)
    let later = world.invite(0, .member)
    world.settle()
    let back = world.join(subject, later)
    #expect(world.reason(back) == nil)
    #expect(world.fold().role(of: world.hands[subject].id) == .member)
  }

  @Test(
    "A key or a role confirms no joining that its author knew to wait", arguments: [true, false])
  func confirmedByMistake(isKey: Bool) throws {
    var world = World()
    let admin = world.member(.admin, by: .auto)
    let subject = world.addHand(person: 70)
    world.settle()
    // A removed admin's link, which lets in a member.
    world.remove(0, world.hands[admin].person)
    let link = world.invite(admin, .member)
    world.tell(subject, admin)
    let waiting = world.join(subject, link)
    world.settle()
    #expect(world.reason(waiting) == .closed)
    // The owner's link lets in the same device as a child, and a key or role follows.
    let other = world.invite(0, .child)
    world.settle()
    let joined = world.join(subject, other)
    world.settle()
    if isKey {
      let wrap = ControlOperation.Wrap(
        recipient: world.hands[subject].id, sealed: [UInt8](repeating: 1, count: 80))
      world.write(
        0,
        .epoch(
          .init(
            zone: Identifier(high: 2, low: 2), epoch: [UInt8](repeating: 3, count: 32),
            previous: [], wraps: [wrap])))
    } else {
      world.setRole(0, world.hands[subject].person, .reader)
    }
    #expect(world.reason(waiting) == .closed)
    #expect(world.reason(joined) == nil)
    #expect(world.fold().role(of: world.hands[subject].id) == (isKey ? .child : .reader))
  }

  @Test("Who writes down uses of a link without the right to keeps nobody out")
  func forgedUses() throws {
    var world = World()
    let child = world.member(.child, by: .auto)
    let invite = world.invite(0, .member, .approve)
    world.settle()
    for number in 100..<140 {
      let nobody = world.addHand(person: number)
      let forged = world.write(
        child,
        .admit(
          .init(
            join: world.request(nobody, invite), possession: [UInt8](repeating: 1, count: 64))))
      if number == 100 { #expect(world.reason(forged) == .needs(.admin)) }
    }
    world.settle()
    let newcomer = world.addHand(person: 90)
    let admitted = world.write(
      0,
      .admit(
        .init(
          join: world.request(newcomer, invite), possession: [UInt8](repeating: 1, count: 64))))
    #expect(world.reason(admitted) == nil)
    #expect(world.fold().role(of: world.hands[newcomer].id) == .member)
  }

  @Test("Two people under one name: the first in order is in")
  func doubles() throws {
    var world = World()
    let invites = [world.invite(0, .member), world.invite(0, .child)]
    world.settle()
    let hands = [world.addHand(person: 60), world.addHand(person: 60)]
    for hand in hands { world.hands[hand].seen = world.hands[0].seen }
    let joined = zip(hands, invites).map { world.join($0, $1) }
    #expect(joined.filter { world.reason($0) == nil }.count == 1)
    #expect(joined.filter { world.rule($0) == .samePerson }.count == 1)
  }

  @Test("New words end the old ones, also for those who write as if before")
  func rotation() throws {
    var world = World()
    let member = world.member(.member, by: .auto)
    world.write(member, .setRecovery(World.words))
    world.settle()
    let thief = world.addHand(person: Int(world.hands[member].person.low))
    world.tell(thief, member)
    let rotated = world.rotate(member)
    let recovered = world.recover(thief, revokesOthers: true)
    #expect(world.reason(rotated) == nil)
    #expect(world.rule(recovered) == .wordsReplaced)
    #expect(world.fold().isActive(world.hands[member].id))
  }

  @Test("A second device's consent counts if it came before the words, and not by the asking one")
  func consent() throws {
    var world = World()
    let first = world.member(.admin, by: .auto)
    let second = world.second(of: first)
    world.nameWords(first)
    // A thief of either device lets further ones in, which agree to anything.
    let puppets = [world.second(of: first), world.second(of: second)]
    for puppet in puppets {
      for asking in [first, second] {
        expect(&world, .notIndependent) { $0.rotate(asking, byWords: false, second: puppet) }
        expect(&world, .notIndependent) { $0.rotate(puppet, byWords: false, second: asking) }
      }
    }
    expect(&world, .notIndependent) {
      $0.rotate(puppets[0], byWords: false, second: puppets[1])
    }
    expect(&world, .notIndependent) { $0.rotate(first, byWords: false, second: second) }
    // Leaving and coming back by the own puppet is no way around it.
    world.revoke(puppets[0], first)
    let back = world.invite(puppets[0], .reader, person: world.hands[first].person)
    world.settle()
    let returned = world.join(first, back)
    #expect(world.reason(returned) == nil)
    world.settle()
    expect(&world, .notIndependent) { $0.rotate(first, byWords: false, second: puppets[0]) }
    world.settle()
    expect(&world, .notIndependent) { $0.rotate(first, byWords: false, second: second) }
    var other = World()
    let one = other.member(.admin, by: .auto)
    let two = other.second(of: one)
    other.nameWords(one)
    // Who has the leaked words recovers as if before: the two devices go before.
    let thief = other.addHand(person: Int(other.hands[one].person.low))
    other.tell(thief, one)
    let rotated = other.rotate(two, byWords: false, second: one)
    let recovered = other.recover(thief, revokesOthers: true)
    #expect(other.reason(rotated) == nil)
    #expect(other.rule(recovered) == .wordsReplaced)
    #expect(other.fold().isActive(other.hands[two].id))
  }

  @Test("A recovered device brings back nothing of a removed person, and needs words")
  func recovery() throws {
    var world = World()
    let member = world.member(.member, by: .auto)
    let bare = world.addHand(person: Int(world.hands[member].person.low))
    world.settle()
    expect(&world, .badProof) { $0.recover(bare, revokesOthers: false) }
    world.write(member, .setRecovery(World.words))
    world.settle()
    expect(&world, .alreadyThere) { $0.write(member, .setRecovery(World.words)) }
    world.remove(0, world.hands[member].person)
    world.settle()
    let other = world.addHand(person: Int(world.hands[member].person.low))
    world.settle()
    expect(&world, .noSubject) { $0.recover(other, revokesOthers: false) }
  }

  @Test("An offer ends with a later one, and with its maker's ownership")
  func offers() throws {
    var world = World()
    let one = world.member(.admin, by: .auto)
    let other = world.member(.child, by: .auto)
    expect(&world, .noWords) { $0.transfer(0, to: $0.hands[one].person) }
    world.nameWords(0)
    let first = world.transfer(0, to: world.hands[one].person)
    let second = world.transfer(0, to: world.hands[other].person)
    world.settle()
    #expect(world.fold().offers.map(\.id) == [second])
    expect(&world, .expired) { $0.write(one, .acceptOwner(transfer: first)) }
    expect(&world, .noSubject) { $0.write(one, .acceptOwner(transfer: second)) }
    expect(&world, nil) { $0.write(other, .acceptOwner(transfer: second)) }
    #expect(world.fold().offers.isEmpty)
    #expect(world.fold().owner == world.hands[other].person)
    world.settle()
    expect(&world, .expired) { $0.write(one, .acceptOwner(transfer: first)) }
  }

  @Test("An offer is withdrawn by one to oneself, which nobody takes")
  func withdrawing() throws {
    var world = World()
    let one = world.member(.admin, by: .auto)
    world.nameWords(0)
    let first = world.transfer(0, to: world.hands[one].person)
    world.settle()
    let none = world.transfer(0, to: world.hands[0].person)
    world.settle()
    #expect(world.fold().offers.isEmpty)
    expect(&world, .expired) { $0.write(one, .acceptOwner(transfer: first)) }
    expect(&world, .noSubject) { $0.write(one, .acceptOwner(transfer: none)) }
    expect(&world, .noSubject) { $0.write(0, .acceptOwner(transfer: none)) }
    #expect(world.fold().owner == world.hands[0].person)
    // And a later one is a new one.
    let again = world.transfer(0, to: world.hands[one].person)
    world.settle()
    #expect(world.fold().offers.map(\.id) == [again])
    expect(&world, nil) { $0.write(one, .acceptOwner(transfer: again)) }
  }

  @Test("A hand-over is confirmed by the former owner or who was an admin before, by nobody later")
  func confirmingHandOver() throws {
    var world = World()
    let heir = world.member(.admin, by: .auto)
    let admin = world.member(.admin, by: .auto)
    let later = world.member(.member, by: .auto)
    world.nameWords(0)
    let offer = world.transfer(0, to: world.hands[heir].person)
    world.settle()
    let taken = world.write(heir, .acceptOwner(transfer: offer))
    world.settle()
    world.setRole(heir, world.hands[later].person, .admin)
    world.settle()
    let membership = world.fold()
    #expect(membership.role(of: world.hands[later].id) == .admin)
    for (hand, isAsked) in [(0, true), (admin, true), (heir, false), (later, false)] {
      let asked = membership.entries.unconfirmed(by: world.hands[hand].id)
      #expect(asked.contains(taken) == isAsked, "hand \(hand)")
    }
  }

  @Test("The least suite only rises")
  func policy() throws {
    var world = World()
    world.write(0, .setPolicy(minimumSuite: 2, newcomers: .fromJoin))
    #expect(world.fold().minimumSuite == 2)
    let lower = world.write(0, .setPolicy(minimumSuite: 1, newcomers: .full))
    #expect(world.reason(lower) == .grantsTooMuch)
    #expect(world.fold().minimumSuite == 2)
    #expect(world.fold().newcomers == .fromJoin)
  }

  @Test("Causes that lie in a circle have no effect and end the fold")
  func circle() throws {
    var world = World()
    let member = world.member(.member, by: .auto)
    let authors = [world.hands[0].author, world.hands[member].author]
    let marks = authors.map { world.hands[0].seen[$0] }
    // Each claims to have seen what the other writes next.
    world.hands[0].seen.advance(authors[1], to: marks[1] + 1)
    world.hands[member].seen.advance(authors[0], to: marks[0] + 1)
    world.write(0, .heartbeat([]))
    world.write(member, .heartbeat([]))
    var random = SplitMix64(seed: 4)
    let summary = world.fold().summary
    for _ in 0..<10 { #expect(world.fold(shuffled: &random).summary == summary) }
    #expect(world.fold().people.count == 2)
  }
}
