import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

/// What contradicting itself gives a device: nothing that others lose by.
@Suite("Forks of the control zone: rules")
struct ControlForkRuleTests {
  private static let none = Cut(entries: [])

  /// A founder (hand 0) whose change 2 is an invitation, by which two came (1 and 2).
  ///
  /// The first of them is an admin, who let in a fourth (3).
  private func household() -> (world: MembershipWorld, invite: Identifier) {
    var world = MembershipWorld()
    let invite = world.invite(0, .member, uses: 5)
    for person in 1...2 {
      let hand = world.addHand(person: person)
      world.tell(hand, 0)
      world.join(hand, invite)
      world.tell(0, hand)
    }
    world.setRole(0, world.hands[1].person, .admin)
    world.tell(1, 0)
    let second = world.invite(1, .member)
    _ = world.addHand(person: 3)
    world.tell(3, 1)
    world.join(3, second)
    world.tell(1, 3)
    world.write(1, .heartbeat([]))
    world.tell(0, 1)
    world.write(0, .heartbeat([]))
    world.settle()
    return (world, invite)
  }

  /// That nothing is void which devices did that have one history.
  private func expectNothingLost(
    _ world: MembershipWorld, _ name: String, but forked: Int = 0,
    location: SourceLocation = #_sourceLocation
  ) {
    let membership = world.fold()
    let lost = membership.voided.filter {
      $0.version.dot.author.device != world.hands[forked].id
    }
    #expect(lost.isEmpty, "\(name): \(membership.summary)", sourceLocation: location)
    var random = SplitMix64(seed: 1)
    #expect(
      world.fold(shuffled: &random).summary == membership.summary, "\(name)",
      sourceLocation: location)
  }

  /// What a thief may write in a second history of the founder's device, from a change on.
  private static let attacks:
    [(String, UInt64, @Sendable (inout MembershipWorld, Int, Identifier) -> Void)] = [
      (
        "the same invitation for one use", 2,
        { world, thief, invite in
          let key = [UInt8](repeating: 9, count: 32)
          world.write(
            thief,
            .inviteCreate(
              .init(
                invite: invite, signKey: key, boxKey: key, role: .member, maximumUses: 1,
                expiresMilliseconds: .max)))
        }
      ),
      (
        "the invitation made and closed", 2,
        { world, thief, invite in
          let key = [UInt8](repeating: 9, count: 32)
          world.write(
            thief,
            .inviteCreate(
              .init(
                invite: invite, signKey: key, boxKey: key, role: .member, maximumUses: 1,
                expiresMilliseconds: .max)))
          world.write(thief, .inviteClose(invite: invite))
        }
      ),
      (
        "the invitation closed before anybody came", 3,
        { world, thief, invite in world.write(thief, .inviteClose(invite: invite)) }
      ),
      (
        "an admin removed before it did anything", 3,
        { world, thief, _ in
          // What their joinings were is known, and nothing since.
          for hand in 1...2 {
            let join = world.written.first { $0.hand == hand }
            world.hands[thief].seen.advance(world.hands[hand].author, to: 1)
            world.hands[thief].contents[world.hands[hand].author] = join?.hash
          }
          world.remove(thief, MembershipWorld.person(1))
        }
      ),
      (
        "the admin made a reader before it let anybody in", 4,
        { world, thief, _ in world.setRole(thief, MembershipWorld.person(1), .reader) }
      ),
      (
        "the beginning again, and nothing else", 1,
        { world, thief, _ in
          world.write(thief, world.items[0].operation)
          world.write(thief, .heartbeat([]))
        }
      ),
      (
        "another group", 1,
        { world, thief, _ in
          world.write(
            thief,
            .genesis(
              .init(
                nonce: Identifier(high: 6, low: 6), database: .shared,
                controlZone: Identifier(high: 2, low: 2), zones: [],
                founder: MembershipWorld.person(9), founderName: "P9",
                device: world.hands[thief].card, createdMilliseconds: 0)))
          world.write(thief, .heartbeat([]))
        }
      ),
    ]

  @Test(
    "A stolen founder's device contradicts its first changes: nothing of what others did is void",
    arguments: 0..<attacks.count, [(false, false), (false, true), (true, false), (true, true)])
  func stolen(attack: Int, how: (isHelped: Bool, isFirst: Bool)) {
    let (name, sequence, write) = ControlForkRuleTests.attacks[attack]
    var (world, invite) = household()
    let before = world.fold()
    let thief = world.fork(0, at: sequence, isFirst: how.isFirst)
    write(&world, thief, invite)
    if how.isHelped {
      // A member has seen the second history only, and says so first.
      let helper = world.fork(2, at: 2)
      world.hands[helper].origin = helper
      world.hands[2] = world.hands[helper]
      world.hands.removeLast()
      world.tell(2, thief)
      world.write(2, .heartbeat([]))
    }
    expectNothingLost(world, name)
    let after = world.fold()
    #expect(after.owner == before.owner)
    if attack != 3 {
      #expect(after.people.map(\.id) == before.people.map(\.id), "\(name): \(after.summary)")
      #expect(after.devices.map(\.id) == before.devices.map(\.id), "\(name)")
    } else {
      // As if it had been removed today.
      #expect(after.people.map(\.id.low) == [0, 2, 3], "\(name)")
    }
    // And when honest members have shown it to each other.
    world.show(thief, by: 1)
    world.settle()
    world.write(3, .heartbeat([]))
    let shown = world.fold()
    #expect(shown.people == after.people || attack == 3, "\(name)")
  }

  @Test("An invitation that another history closes, or makes for less, lets in whom it let in")
  func unseen() {
    let key = [UInt8](repeating: 9, count: 32)
    for isClosed in [false, true] {
      var world = MembershipWorld()
      let invite = world.invite(0, .member, uses: 3)
      // The founder has seen nobody come.
      for person in 1...3 {
        let hand = world.addHand(person: person)
        let entry = world.written[1]
        world.hands[hand].seen = entry.item.cause
        world.hands[hand].seen.advance(world.hands[0].author, to: 2)
        world.hands[hand].contents = [world.hands[0].author: entry.hash]
        world.join(hand, invite)
      }
      let thief = world.fork(0, at: 2, isFirst: true)
      world.write(
        thief,
        .inviteCreate(
          .init(
            invite: invite, signKey: key, boxKey: key, role: .member,
            maximumUses: isClosed ? 1 : 3, expiresMilliseconds: .max)))
      if isClosed {
        world.write(thief, .inviteClose(invite: invite))
      } else {
        for person in 4...6 {
          let hand = world.addHand(person: person)
          world.tell(hand, thief)
          world.join(hand, invite)
        }
      }
      expectNothingLost(world, "closed \(isClosed)")
      #expect(world.fold().people.count == (isClosed ? 4 : 7))
    }
  }

  @Test("An invitation for one is used up in each history by itself")
  func usedUp() {
    var (world, _) = household()
    let invite = world.invite(1, .child, .approve)
    let copy = world.fork(1, at: world.hands[1].seen[world.hands[1].author] + 1)
    for (number, hand) in [1, copy].enumerated() {
      let newcomer = world.addHand(person: 20 + number)
      world.write(
        hand,
        .admit(
          .init(
            join: world.request(newcomer, invite),
            possession: [UInt8](repeating: 1, count: 64))))
    }
    #expect(world.fold().voided.isEmpty, "\(world.fold().summary)")
    #expect(world.fold().people.count == 6)
  }

  @Test("Who was let in by one history, and who by the other, are both in")
  func both() {
    var (world, _) = household()
    let copy = world.fork(1, at: 2)
    world.tell(copy, 0)
    world.tell(1, 0)
    var newcomers: [Int] = []
    for (hand, admission) in [
      (1, ControlOperation.Admission.auto), (copy, .auto), (copy, .approve),
    ] {
      let invite = world.invite(hand, .child, admission)
      let hand2 = world.addHand(person: 10 + newcomers.count)
      newcomers.append(hand2)
      if admission == .auto {
        world.tell(hand2, hand)
        world.join(hand2, invite)
      } else {
        world.write(
          hand,
          .admit(
            .init(
              join: world.request(hand2, invite),
              possession: [UInt8](repeating: 1, count: 64))))
      }
    }
    expectNothingLost(world, "both")
    let membership = world.fold()
    for hand in newcomers { #expect(membership.isActive(world.hands[hand].id)) }
    #expect(membership.voided.isEmpty, "\(membership.summary)")
    #expect(Set(membership.audit().compactMap(\.history)).count == 2)
    // Who was shown the other history has seen whom it let in.
    world.show(copy, by: 1)
    world.tell(0, 1)
    let removal = world.remove(0, world.hands[newcomers[2]].person)
    #expect(world.reason(removal) == nil)
    #expect(!world.fold().isActive(world.hands[newcomers[2]].id))
  }

  @Test("A removed device's second history counts nowhere, and the first loses nothing")
  func removed() {
    for (sequence, isFirst) in [(1, true), (1, false), (2, true), (3, false)] as [(UInt64, Bool)] {
      var (world, _) = household()
      world.tell(0, 1)
      world.remove(0, world.hands[1].person)
      let copy = world.fork(1, at: sequence, isFirst: isFirst)
      if sequence == 1 {
        // It joins once more, as somebody else.
        world.tell(copy, 2)
        world.hands[copy] = renamed(world.hands[copy], to: 50)
        world.join(copy, world.invitations(by: 0))
      }
      let invite = world.invite(copy, .member)
      let accomplice = world.addHand(person: 60)
      world.tell(accomplice, copy)
      world.join(accomplice, invite)
      world.setRole(copy, world.hands[2].person, .reader)
      world.remove(copy, world.hands[3].person)
      let membership = world.fold()
      let name = "from \(sequence): \(membership.summary)"
      #expect(!membership.isActive(world.hands[copy].id), "\(name)")
      #expect(!membership.isActive(world.hands[accomplice].id), "\(name)")
      #expect(membership.isActive(world.hands[3].id), "\(name)")
      #expect(membership.person(world.hands[2].person)?.role == .member, "\(name)")
      #expect(!membership.people.contains { $0.id == MembershipWorld.person(50) }, "\(name)")
      let live = membership.audit().filter {
        $0.void == nil && $0.device == world.hands[copy].id
      }
      let isFirst = live.allSatisfy { entry in
        world.written.contains { $0.item.id == entry.id && $0.hand == 1 }
      }
      #expect(isFirst || sequence == 1, "\(name)")
    }
  }

  private func renamed(_ hand: MembershipWorld.Hand, to person: Int) -> MembershipWorld.Hand {
    MembershipWorld.Hand(
      number: hand.number, card: hand.card, id: hand.id, person: MembershipWorld.person(person),
      seen: hand.seen, life: hand.life, origin: hand.origin, contents: hand.contents)
  }

  @Test("A history written as before a demotion that the other one knew has no effect")
  func backDated() {
    var (world, _) = household()
    world.setRole(0, world.hands[1].person, .member)
    world.tell(1, 0)
    world.write(1, .heartbeat([]))
    let copy = world.fork(1, at: 3)
    let invite = world.invite(copy, .member)
    world.remove(copy, world.hands[2].person)
    let friend = world.addHand(person: 70)
    world.tell(friend, copy)
    world.join(friend, invite)
    let membership = world.fold()
    #expect(!membership.isActive(world.hands[friend].id), "\(membership.summary)")
    #expect(membership.isActive(world.hands[2].id), "\(membership.summary)")
    #expect(membership.isActive(world.hands[3].id), "\(membership.summary)")
  }

  @Test("Records count by the history that the logs they cite had seen by content")
  func records() {
    var (world, _) = household()
    world.setRole(0, world.hands[3].person, .reader)
    for hand in [1, 3] { world.tell(hand, 0) }
    let copy = world.fork(1, at: world.hands[1].seen[world.hands[1].author] + 1, isFirst: true)
    world.write(copy, .heartbeat([]))
    world.setRole(1, world.hands[3].person, .member)
    world.tell(3, 1)
    let zone = Identifier(high: 9, low: 9)
    let dot = Dot(author: world.hands[3].author, sequence: 1)
    let before = world.hands[3].seen
    world.write(3, .heartbeat([]))
    let membership = world.fold()
    #expect(membership.changes.judge(dot, in: zone, at: world.hands[3].seen) == .counts(.member))
    // A number alone does not say which history it means.
    #expect(membership.changes.judge(dot, in: zone, at: before) == .counts(.reader))
    // But whose own joining is in question is somebody.
    var joined = household().world
    let again = joined.fork(1, at: 1)
    joined.tell(again, 0)
    joined.join(again, joined.invitations(by: 0))
    let heads = Frontier([
      (joined.hands[0].author, UInt64(2)), (joined.hands[1].author, UInt64(1)),
    ])
    let own = Dot(author: joined.hands[1].author, sequence: 1)
    #expect(joined.fold().changes.judge(own, in: zone, at: heads) == .counts(.member))
    #expect(joined.fold().changes.author(of: own, at: heads)?.person == joined.hands[1].person)
  }

  @Test("A device contradicts its joining: whom it let in since stays")
  func joining() {
    for isFirst in [false, true] {
      var (world, _) = household()
      let copy = world.fork(1, at: 1, isFirst: isFirst)
      if isFirst { world.tell(copy, 2) } else { world.tell(copy, 0) }
      world.join(copy, world.invitations(by: 0))
      world.write(copy, .heartbeat([]))
      // The second joining is void, as its author had seen the first by way of the others.
      expectNothingLost(world, "joining", but: 1)
      let membership = world.fold()
      #expect(membership.isActive(world.hands[3].id), "\(membership.summary)")
      #expect(membership.isActive(world.hands[1].id), "\(membership.summary)")
      #expect(membership.people.count == 4)
    }
  }

  @Test("Words that others had seen outlive a second history; nobody names words in two steps")
  func words() {
    var (world, _) = household()
    let set = world.write(0, .setRecovery(MembershipWorld.words))
    world.tell(1, 0)
    world.write(1, .heartbeat([]))
    var other = MembershipWorld.words
    other = .init(sign: [UInt8](repeating: 8, count: 32), box: other.box, secrets: [])
    let thief = world.fork(0, at: 3, isFirst: true)
    world.write(thief, .setRecovery(other))
    #expect(world.fold().recovery.recoveryKeys(of: world.hands[0].person) == MembershipWorld.words)
    #expect(world.reason(set) == nil)
    // Seen by nobody, neither holds, and the device that did it names none any more.
    var alone = household().world
    let first = alone.write(0, .setRecovery(MembershipWorld.words))
    let copy = alone.fork(0, at: alone.hands[0].seen[alone.hands[0].author])
    alone.write(copy, .setRecovery(other))
    #expect(alone.rule(first) == .wordsTwice)
    alone.show(0, by: 1)
    alone.show(copy, by: 1)
    alone.beginLife(0, seen: alone.hands[1].seen)
    let again = alone.write(0, .setRecovery(other))
    #expect(alone.reason(again) == .alreadyThere)
    #expect(alone.fold().recovery.recoveryKeys(of: alone.hands[0].person) == nil)
  }

  @Test("Random histories with a device that contradicts itself: no order of arrival matters")
  func random() {
    var forked = 0
    for seed in 0..<300 as Range<UInt64> {
      var world = MembershipWorld()
      var random = SplitMix64(seed: seed)
      MembershipHistory.grow(&world, steps: 6 + random.below(10), &random)
      for _ in 0...random.below(2) {
        let hand = random.below(world.hands.count)
        let reached = world.hands[hand].seen[world.hands[hand].author]
        guard reached > 0 else { continue }
        _ = world.fork(
          hand, at: 1 + UInt64(random.below(Int(reached))), isFirst: random.oneIn(2))
        MembershipHistory.goOn(&world, steps: 5 + random.below(10), &random)
        if random.oneIn(2) { world.show(hand, by: random.below(world.hands.count)) }
        MembershipHistory.goOn(&world, steps: 3, &random)
      }
      let membership = world.fold()
      if !membership.forks.ends.isEmpty { forked += 1 }
      for _ in 0..<3 {
        #expect(world.fold(shuffled: &random).summary == membership.summary, "seed \(seed)")
      }
      let founderOwns = membership.people.count { $0.role == .owner } == 1
      #expect(founderOwns, "seed \(seed): \(membership.summary)")
    }
    #expect(forked > 150)
  }
}

extension MembershipWorld {
  /// The first invitation that a hand made.
  func invitations(by hand: Int) -> Identifier {
    for entry in written where entry.hand == hand {
      if case .inviteCreate(let invite) = entry.item.operation { return invite.invite }
    }
    return .zero
  }
}
