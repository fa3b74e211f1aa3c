import Foundation
import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

/// Random histories, and what must hold of each.
///
/// `HEARTH_MEMBERSHIP_GRAPHS=100000` asks for more random histories, best in a release build.
@Suite("Membership: models")
struct MembershipModelTests {
  static var graphs: Int {
    ProcessInfo.processInfo.environment["HEARTH_MEMBERSHIP_GRAPHS"].flatMap(Int.init) ?? 1_500
  }

  /// What must hold of every history.
  static func check(_ world: MembershipWorld, seed: UInt64, _ name: String) -> Int {
    var random = SplitMix64(seed: seed)
    let membership = world.fold()
    let summary = membership.summary
    let shuffled = world.fold(shuffled: &random).summary
    #expect(shuffled == summary, "\(name): the order of arrival matters")
    #expect(membership.people.count { $0.role == .owner } == 1, "\(name): not one owner")
    #expect(membership.owner != nil, "\(name)")
    let resolver = membership.resolver
    #expect(resolver.passes <= world.items.count, "\(name): \(resolver.passes) passes")
    // Whoever was removed is not back but by what has seen the removal.
    for place in resolver.findings.log.items.indices where resolver.findings.isLive[place] {
      guard case .removeMember(let removed, _) = resolver.findings.log.items[place].operation,
        membership.people.contains(where: { $0.id == removed })
      else { continue }
      let isBack = resolver.findings.index.additions[removed]?.contains {
        resolver.findings.isLive[$0] && resolver.findings.log.sees($0, place)
      }
      #expect(isBack == true, "\(name): a removed person is in")
    }
    for invite in membership.invites {
      #expect(invite.joins.count <= invite.operation.maximumUses, "\(name): too many joined")
    }
    return membership.voided.count
  }

  @Test("Random histories: one owner, no order of arrival, nobody back by chance")
  func random() throws {
    var voided = 0
    for seed in 0..<UInt64(MembershipModelTests.graphs) {
      var world = MembershipWorld()
      var random = SplitMix64(seed: seed)
      MembershipHistory.grow(&world, steps: 8 + random.below(19), &random)
      voided += MembershipModelTests.check(world, seed: seed, "seed \(seed)")
    }
    #expect(voided > MembershipModelTests.graphs / 2)
  }

  @Test("1,000 operations by 40 devices fold in time")
  func speed() throws {
    var world = MembershipWorld()
    var random = SplitMix64(seed: 5)
    MembershipHistory.growLarge(&world, operations: 1_000, people: 40, &random)
    let start = ContinuousClock.now
    let membership = world.fold()
    let duration = ContinuousClock.now - start
    print("membership: \(world.items.count) operations folded in \(duration)")
    #expect(membership.people.count > 20)
    #expect(duration < .seconds(5))
  }
}

/// Makes histories.
enum MembershipHistory {
  static func grow(_ world: inout MembershipWorld, steps: Int, _ random: inout SplitMix64) {
    var invites: [Identifier] = []
    var offers: [RecordID] = []
    for role in [Role.admin, .member, .child] where !random.oneIn(4) {
      _ = world.member(role, by: random.oneIn(3) ? .approved : .auto)
    }
    if random.oneIn(3) { _ = world.second(of: random.below(world.hands.count)) }
    if !random.oneIn(4) { world.nameWords(0) }
    if random.oneIn(4) { world.nameWords(random.below(world.hands.count)) }
    go(&world, steps: steps, &invites, &offers, &random)
  }

  /// Further steps of a history that was grown.
  static func goOn(_ world: inout MembershipWorld, steps: Int, _ random: inout SplitMix64) {
    var invites = world.written.compactMap { entry -> Identifier? in
      guard case .inviteCreate(let invite) = entry.item.operation else { return nil }
      return invite.invite
    }
    var offers: [RecordID] = []
    go(&world, steps: steps, &invites, &offers, &random)
  }

  private static func go(
    _ world: inout MembershipWorld, steps: Int, _ invites: inout [Identifier],
    _ offers: inout [RecordID], _ random: inout SplitMix64
  ) {
    for _ in 0..<steps {
      let hand = random.below(world.hands.count)
      if !random.oneIn(3) { world.tell(hand, random.below(world.hands.count)) }
      if random.oneIn(16), world.hands[hand].origin == hand {
        // A device that was put back, or that lies: it writes as if it knew less.
        world.beginLife(hand, seen: world.hands[random.below(world.hands.count)].seen)
      }
      step(&world, hand, &invites, &offers, &random)
    }
  }

  private static func step(
    _ world: inout MembershipWorld, _ hand: Int, _ invites: inout [Identifier],
    _ offers: inout [RecordID], _ random: inout SplitMix64
  ) {
    let other = random.below(world.hands.count)
    let subject = world.hands[other].person
    let role = [Role.reader, .child, .member, .admin][random.below(4)]
    switch random.below(16) {
    case 0, 1: world.remove(hand, subject)
    case 2: world.revoke(hand, other)
    case 3, 4: world.setRole(hand, subject, role)
    case 5: offers.append(world.transfer(hand, to: subject))
    case 6: if let offer = offers.last { world.write(hand, .acceptOwner(transfer: offer)) }
    case 7: world.write(hand, .leave(Cut(entries: [])))
    case 8: invites.append(world.invite(hand, role, uses: 1 + random.below(2)))
    case 9:
      invites.append(
        world.invite(hand, role, .approve, person: random.oneIn(2) ? subject : nil))
    case 10: invites.append(world.invite(hand, role, person: world.hands[hand].person))
    case 11: if let invite = invites.last { world.write(hand, .inviteClose(invite: invite)) }
    case 12: world.write(hand, .setRecovery(MembershipWorld.words))
    case 13:
      if random.oneIn(2) {
        world.rotate(hand, byWords: random.oneIn(2), second: other)
      } else {
        let fresh = world.addHand(as: subject)
        world.tell(fresh, other)
        world.recover(fresh, revokesOthers: random.oneIn(2))
      }
    default:
      guard !invites.isEmpty else { return }
      let invite = invites[random.below(invites.count)]
      let isNew = random.oneIn(2)
      let joiner =
        random.oneIn(5) ? other : isNew ? comer(&world) : world.addHand(as: subject)
      world.tell(joiner, hand)
      if random.oneIn(3) {
        world.write(
          hand,
          .admit(
            .init(join: world.request(joiner, invite), possession: [UInt8](repeating: 1, count: 64))
          ))
      } else {
        world.join(joiner, invite)
      }
    }
  }

  /// A device of somebody new; every second one makes the id of its person.
  private static func comer(_ world: inout MembershipWorld) -> Int {
    world.hands.count.isMultiple(of: 2)
      ? world.addMaker() : world.addHand(person: 20 + world.hands.count)
  }

  /// Mostly orderly work of a large group, with some of it at the same time.
  static func growLarge(
    _ world: inout MembershipWorld, operations: Int, people: Int, _ random: inout SplitMix64
  ) {
    for number in 0..<people {
      let invite = world.invite(0, number % 4 == 0 ? .admin : .member)
      let hand = world.addHand(person: number + 1)
      world.tell(hand, 0)
      world.join(hand, invite)
      world.tell(0, hand)
    }
    world.settle()
    while world.items.count < operations {
      let hand = random.below(world.hands.count)
      if !random.oneIn(4) { world.settle() }
      let other = random.below(world.hands.count)
      switch random.below(8) {
      case 0: world.setRole(hand, world.hands[other].person, .child)
      case 1: _ = world.invite(hand, .child)
      case 2 where random.oneIn(6): world.remove(hand, world.hands[other].person)
      default: world.write(hand, .heartbeat([]))
      }
    }
  }
}
