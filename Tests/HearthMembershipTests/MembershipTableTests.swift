import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

private typealias World = MembershipWorld

/// Every row of the table of concurrent pairs, its author having come by every path.
@Suite("Membership: what happened at the same time")
struct MembershipTableTests {
  @Test(
    "A removal by a higher rank voids what the removed person did", arguments: World.Path.allCases)
  fileprivate func removalOfAuthor(path: MembershipWorld.Path) throws {
    var world = World()
    let admin = world.member(.admin, by: path)
    let owner = world.ownerHand()
    let removal = world.remove(owner, world.hands[admin].person)
    let invite = world.invite(admin, .member)
    let made = try #require(world.items.last?.id)
    #expect(world.rule(made) == .authorRemoved)
    #expect(world.reason(removal) == nil)
    // What rests on it is void too: the invited person is nobody.
    let newcomer = world.addHand(person: 70)
    world.tell(newcomer, admin)
    let joined = world.join(newcomer, invite)
    #expect(world.reason(joined) == .closed)
    #expect(world.fold().person(World.person(70)) == nil)
  }

  @Test("A revocation by a higher rank voids what the device did", arguments: World.Path.allCases)
  fileprivate func revocationOfAuthor(path: MembershipWorld.Path) throws {
    var world = World()
    let admin = world.member(.admin, by: path)
    let second = world.second(of: admin)
    let owner = world.ownerHand()
    world.revoke(owner, admin)
    _ = world.invite(admin, .child)
    let ofRevoked = try #require(world.items.last?.id)
    _ = world.invite(second, .child)
    let ofOther = try #require(world.items.last?.id)
    #expect(world.rule(ofRevoked) == .authorRemoved)
    #expect(world.reason(ofOther) == nil)
    #expect(!world.fold().isActive(world.hands[admin].id))
    #expect(world.fold().role(of: world.hands[second].id) == .admin)
  }

  @Test(
    "A revocation of a person's own device voids what it did at the same time, but its revoking",
    arguments: World.Path.allCases)
  fileprivate func ownRevocation(path: MembershipWorld.Path) throws {
    var world = World()
    let admin = world.member(.admin, by: path)
    let second = world.second(of: admin)
    let third = world.second(of: admin)
    let child = world.member(.child, by: .auto)
    world.settle()
    let revocation = world.revoke(second, admin)
    // What it writes as if it had not seen it: letting somebody in, itself among them, and more.
    let invite = world.invite(admin, .child)
    let made = try #require(world.items.last?.id)
    _ = world.invite(admin, .reader, person: world.hands[admin].person)
    let further = try #require(world.items.last?.id)
    let guest = world.addHand(person: 71)
    world.tell(guest, admin)
    let joined = world.join(guest, invite)
    let removal = world.remove(admin, world.hands[child].person)
    let other = world.revoke(admin, third)
    let back = world.revoke(admin, second)
    for void in [made, further, removal, other] {
      #expect(world.rule(void) == .deviceRevoked, "\(path)")
    }
    #expect(world.reason(joined) == .closed)
    #expect(world.reason(revocation) == nil && world.reason(back) == nil)
    let membership = world.fold()
    #expect(!membership.isActive(world.hands[guest].id))
    #expect(!membership.isActive(world.hands[admin].id))
    #expect(!membership.isActive(world.hands[second].id))
    #expect(membership.isActive(world.hands[third].id))
    #expect(membership.role(of: world.hands[child].id) == .child)
  }

  @Test("Who leaves leaves with all devices: what they did at the same time is void")
  func leaving() throws {
    var world = World()
    let admin = world.member(.admin, by: .auto)
    let second = world.second(of: admin)
    let left = world.write(second, .leave(Cut(entries: [])))
    let invite = world.invite(admin, .member)
    let made = try #require(world.items.last?.id)
    let guest = world.addHand(person: 71)
    world.tell(guest, admin)
    world.join(guest, invite)
    let back = world.revoke(admin, second)
    #expect(world.reason(left) == nil && world.reason(back) == nil)
    #expect(world.rule(made) == .hasLeft)
    #expect(!world.fold().isActive(world.hands[guest].id))
  }

  @Test("A new life does not unsee: nobody writes as if on the first day")
  func newLife() throws {
    var world = World()
    let first = world.member(.admin, by: .auto)
    let second = world.second(of: first)
    let words = world.write(second, .setRecovery(World.words))
    let invite = world.invite(second, .member)
    let guest = world.addHand(person: 71)
    world.tell(guest, second)
    world.join(guest, invite)
    world.settle()
    world.write(first, .heartbeat([]))
    // A thief has the first device, and begins anew with what it knew on its first day.
    world.beginLife(first, seen: world.seen(at: first, sequence: 1))
    let revocation = world.revoke(first, second)
    let forged = world.write(first, .setRecovery(World.words))
    #expect(world.reason(words) == nil)
    #expect(world.reason(forged) == .alreadyThere)
    #expect(world.reason(revocation) == nil)
    // What the first device had shown to know stays.
    #expect(world.fold().isActive(world.hands[guest].id))
    // Nor does a life help that is before the first.
    world.beginLife(first, seen: world.seen(at: first, sequence: 1), number: 0)
    let earlier = world.write(first, .heartbeat([]))
    #expect(world.reason(earlier) == .notADevice)
  }

  @Test("A revoked device makes no first words after the fact, to come back by")
  func wordsAfterwards() throws {
    var world = World()
    let first = world.member(.admin, by: .auto)
    let second = world.second(of: first)
    let revocation = world.revoke(first, second)
    let words = world.write(second, .setRecovery(World.words))
    let thief = world.addHand(person: Int(world.hands[first].person.low))
    world.tell(thief, second)
    let recovered = world.recover(thief, revokesOthers: true)
    #expect(world.rule(words) == .deviceRevoked)
    #expect(world.reason(recovered) == .badProof)
    #expect(world.reason(revocation) == nil)
    #expect(world.fold().isActive(world.hands[first].id))
  }

  @Test("First words of two devices at the same time: neither holds, whoever recovers by them")
  func firstWordsTwice() throws {
    var world = World()
    let first = world.member(.admin, by: .auto)
    let second = world.second(of: first)
    let words = [first, second].map { world.write($0, .setRecovery(World.words)) }
    let thief = world.addHand(person: Int(world.hands[first].person.low))
    world.tell(thief, second)
    let recovered = world.recover(thief, revokesOthers: true)
    for words in words { #expect(world.rule(words) == .wordsTwice) }
    #expect(world.reason(recovered) == .badProof)
    world.settle()
    let again = world.write(first, .setRecovery(World.words))
    #expect(world.reason(again) == nil)
  }

  @Test(
    "Recovery words that revoke the other devices void what those did",
    arguments: World.Path.allCases)
  fileprivate func recovery(path: MembershipWorld.Path) throws {
    var world = World()
    let admin = world.member(.admin, by: path)
    world.nameWords(admin)
    let fresh = world.addHand(person: Int(world.hands[admin].person.low))
    world.tell(fresh, admin)
    let recovered = world.recover(fresh, revokesOthers: true)
    _ = world.invite(admin, .child)
    let made = try #require(world.items.last?.id)
    #expect(world.reason(recovered) == nil)
    #expect(world.rule(made) == .recoveryWords)
    #expect(!world.fold().isActive(world.hands[admin].id))
    #expect(world.fold().role(of: world.hands[fresh].id) == .admin)
  }

  @Test(
    "Two devices of one person that revoke each other are both out", arguments: World.Path.allCases)
  fileprivate func mutual(path: MembershipWorld.Path) throws {
    var world = World()
    let first = world.member(.admin, by: path)
    let second = world.second(of: first)
    let one = world.revoke(first, second)
    let other = world.revoke(second, first)
    #expect(world.reason(one) == nil)
    #expect(world.reason(other) == nil)
    let membership = world.fold()
    #expect(!membership.isActive(world.hands[first].id))
    #expect(!membership.isActive(world.hands[second].id))
    #expect(membership.person(world.hands[first].person)?.role == .admin)
  }

  @Test("A lost rank voids what needed it", arguments: World.Path.allCases)
  fileprivate func demotion(path: MembershipWorld.Path) throws {
    var world = World()
    let admin = world.member(.admin, by: path)
    let child = world.member(.child, by: .auto)
    world.setRole(world.ownerHand(), world.hands[admin].person, .member)
    let removal = world.remove(admin, world.hands[child].person)
    let beat = world.write(admin, .heartbeat([]))
    #expect(world.rule(removal) == .rankLost)
    #expect(world.reason(beat) == nil)
    #expect(world.fold().role(of: world.hands[child].id) == .child)
    #expect(world.fold().role(of: world.hands[admin].id) == .member)
  }

  @Test(
    "A role by a higher rank goes before a removal; else the removal ends what the role was for",
    arguments: World.Path.allCases)
  fileprivate func removalAndRole(path: MembershipWorld.Path) throws {
    for (remover, setter, removalWins) in [
      (Role.admin, Role.owner, false), (.owner, .admin, true), (.admin, .admin, true),
    ] {
      var world = World()
      let child = world.member(.child, by: path)
      let one = remover == .owner ? world.ownerHand() : world.member(.admin, by: .approved)
      let other = setter == .owner ? world.ownerHand() : world.member(.admin, by: .auto)
      world.settle()
      let removal = world.remove(one, world.hands[child].person)
      let change = world.setRole(other, world.hands[child].person, .member)
      #expect((world.reason(removal) == nil) == removalWins, "\(remover) and \(setter)")
      #expect(world.rule(removal) == (removalWins ? nil : .removalAndGrant))
      #expect(world.reason(change) == nil)
      #expect(
        world.fold().role(of: world.hands[child].id) == (removalWins ? nil : .member))
    }
  }

  @Test(
    "A removal does not end an entry that its author had not seen", arguments: World.Path.allCases)
  fileprivate func removalAndEntry(path: MembershipWorld.Path) throws {
    for (adder, remover) in [(Role.owner, Role.admin), (.admin, .owner), (.admin, .admin)] {
      for admission in [ControlOperation.Admission.approve, .auto] {
        var world = World()
        let subject = world.member(.member, by: path)
        let one = adder == .owner ? world.ownerHand() : world.member(.admin, by: .approved)
        let other = remover == .owner ? world.ownerHand() : world.member(.admin, by: .auto)
        world.settle()
        // One removes and lets in again; the other, who knows of neither, removes as well.
        let first = world.remove(one, world.hands[subject].person)
        let invite = world.invite(one, .child, admission)
        world.tell(subject, one)
        let entry =
          admission == .auto
          ? world.join(subject, invite)
          : world.write(
            one,
            .admit(
              .init(
                join: world.request(subject, invite),
                possession: [UInt8](repeating: 1, count: 64))))
        let removal = world.remove(other, world.hands[subject].person)
        let name = "\(path), \(adder) lets in \(admission), \(remover) removes"
        for operation in [first, entry, removal] {
          #expect(world.reason(operation) == nil, "\(name)")
        }
        #expect(world.fold().role(of: world.hands[subject].id) == .child, "\(name)")
        // Who knows of the entry ends it.
        world.settle()
        let again = world.remove(other, world.hands[subject].person)
        #expect(world.reason(again) == nil, "\(name)")
        #expect(world.fold().role(of: world.hands[subject].id) == nil, "\(name)")
      }
    }
  }

  @Test("Of two roles of equal authors the lower holds", arguments: World.Path.allCases)
  fileprivate func twoRoles(path: MembershipWorld.Path) throws {
    for swapped in [false, true] {
      var world = World()
      let one = world.member(.admin, by: path)
      let other = world.member(.admin, by: .approved)
      let subject = world.member(.member, by: .auto)
      world.settle()
      let (low, high) = swapped ? (one, other) : (other, one)
      let lower = world.setRole(low, world.hands[subject].person, .reader)
      let higher = world.setRole(high, world.hands[subject].person, .child)
      #expect(world.reason(lower) == nil)
      #expect(world.rule(higher) == .twoRoles)
      #expect(world.fold().role(of: world.hands[subject].id) == .reader)
    }
    // The same role twice contradicts nothing: both hold.
    var world = World()
    let one = world.member(.admin, by: path)
    let other = world.member(.admin, by: .approved)
    let subject = world.member(.member, by: .auto)
    world.settle()
    let places = [
      world.setRole(one, world.hands[subject].person, .child),
      world.setRole(other, world.hands[subject].person, .child),
    ]
    #expect(places.allSatisfy { world.reason($0) == nil })
  }

  @Test(
    "Of two roles the higher rank's holds, even the higher role", arguments: World.Path.allCases)
  fileprivate func rolesOfRanks(path: MembershipWorld.Path) throws {
    var world = World()
    let admin = world.member(.admin, by: path)
    let subject = world.member(.member, by: .auto)
    world.settle()
    let lower = world.setRole(admin, world.hands[subject].person, .reader)
    let higher = world.setRole(world.ownerHand(), world.hands[subject].person, .admin)
    #expect(world.rule(lower) == .twoRoles)
    #expect(world.reason(higher) == nil)
    #expect(world.fold().role(of: world.hands[subject].id) == .admin)
  }

  @Test("Of two handings over the first in order holds", arguments: World.Path.allCases)
  fileprivate func twoTransfers(path: MembershipWorld.Path) throws {
    var world = World()
    let ownerHand = world.member(.owner, by: path)
    let second = world.second(of: ownerHand)
    let one = world.member(.admin, by: .auto)
    let other = world.member(.member, by: .approved)
    world.settle()
    world.nameWords(ownerHand)
    let offers = [
      world.transfer(ownerHand, to: world.hands[one].person),
      world.transfer(second, to: world.hands[other].person),
    ]
    world.tell(one, ownerHand)
    world.tell(other, second)
    let taken = [
      world.write(one, .acceptOwner(transfer: offers[0])),
      world.write(other, .acceptOwner(transfer: offers[1])),
    ]
    let removal = [
      world.remove(one, world.hands[other].person), world.remove(other, world.hands[one].person),
    ]
    let membership = world.fold()
    let winner = try #require(taken.firstIndex { world.reason($0) == nil })
    let order = world.hands[ownerHand].id < world.hands[second].id ? 0 : 1
    #expect(winner == order)
    #expect(world.reason(taken[1 - winner]) != nil)
    #expect(membership.owner == world.hands[[one, other][winner]].person)
    // The loser's dependents have no effect; the winner's do.
    #expect(world.reason(removal[1 - winner]) != nil)
    #expect(world.reason(removal[winner]) == nil)
    #expect(membership.person(world.hands[ownerHand].person)?.role == .admin)
  }

  @Test(
    "Handing over goes before removal, demotion and revocation of the new owner by others",
    arguments: World.Path.allCases)
  fileprivate func transferWins(path: MembershipWorld.Path) throws {
    for attack in 0..<4 {
      var world = World()
      let owner = world.ownerHand()
      let heir = world.member(.member, by: path)
      let present = world.ownerHand()
      let second = world.second(of: heir)
      let admin = world.member(.admin, by: .auto)
      world.settle()
      world.nameWords(present)
      let offer = world.transfer(present, to: world.hands[heir].person)
      world.settle()
      let taken = world.write(heir, .acceptOwner(transfer: offer))
      let against =
        switch attack {
        case 0: world.remove(present, world.hands[heir].person)
        case 1: world.setRole(present, world.hands[heir].person, .reader)
        case 2: world.revoke(admin, heir)
        default: world.write(second, .leave(Cut(entries: [])))
        }
      #expect(world.reason(taken) == nil, "attack \(attack), first owner \(owner)")
      #expect(world.rule(against) == .transferWins, "attack \(attack)")
      #expect(world.fold().owner == world.hands[heir].person)
      #expect(world.fold().role(of: world.hands[heir].id) == .owner)
    }
  }

  @Test("What the former owner did at the same time as an owner has no effect")
  func formerOwner() throws {
    var world = World()
    let heir = world.member(.admin, by: .auto)
    let admin = world.member(.admin, by: .approved)
    let second = world.second(of: 0)
    world.nameWords(0)
    for _ in 0..<3 { world.write(0, .heartbeat([])) }
    let offer = world.transfer(0, to: world.hands[heir].person)
    // Another device of the owner's, before the offer in the log's order.
    let before = world.setRole(second, world.hands[admin].person, .member)
    world.tell(heir, 0)
    world.write(heir, .acceptOwner(transfer: offer))
    #expect(world.rule(before) == .rankLost)
    let asOwner = world.setRole(0, world.hands[admin].person, .member)
    let asAdmin = world.invite(0, .member)
    #expect(world.rule(asOwner) == .rankLost)
    #expect(world.fold().invites.contains { $0.operation.invite == asAdmin })
    #expect(world.fold().role(of: world.hands[admin].id) == .admin)
  }

  @Test("A former owner who was removed does nothing as if before the offer, from any device")
  func removedFormerOwner() throws {
    for lives in [false, true] {
      var world = World()
      let second = world.second(of: 0)
      let heir = world.member(.admin, by: .auto)
      let child = world.member(.child, by: .approved)
      let early = world.seen(at: 0, sequence: 1)
      world.nameWords(0)
      world.nameWords(0)
      let offer = world.transfer(0, to: world.hands[heir].person)
      world.tell(heir, 0)
      world.write(heir, .acceptOwner(transfer: offer))
      world.tell(0, heir)
      let removal = world.remove(heir, world.hands[0].person)
      // With the owner's rank of before: letting in a friend, and undoing.
      let hand = lives ? 0 : second
      if lives { world.beginLife(0, seen: early) }
      let friend = world.invite(hand, .admin)
      let made = try #require(world.items.last?.id)
      let lesser = world.invite(hand, .member)
      let guest = world.addHand(person: 72)
      world.tell(guest, hand)
      world.join(guest, lives ? friend : lesser)
      let against = world.remove(hand, world.hands[heir].person)
      let promoted = world.setRole(heir, world.hands[child].person, .member)
      let lowered = world.setRole(hand, world.hands[child].person, .reader)
      #expect(world.reason(removal) == nil, "\(lives)")
      for void in [made, against, lowered] { #expect(world.reason(void) != nil, "\(lives)") }
      #expect(world.reason(promoted) == nil)
      let membership = world.fold()
      #expect(membership.owner == world.hands[heir].person)
      #expect(!membership.isActive(world.hands[guest].id), "\(lives)")
      #expect(!membership.isActive(world.hands[0].id))
      #expect(membership.role(of: world.hands[child].id) == .member)
    }
  }

  @Test(
    "Everything that rests on a void operation is void, however far", arguments: World.Path.allCases
  )
  fileprivate func dependents(path: MembershipWorld.Path) throws {
    var world = World()
    let admin = world.member(.admin, by: path)
    let owner = world.ownerHand()
    world.remove(owner, world.hands[admin].person)
    var inviter = admin
    for person in 80..<84 {
      let invite = world.invite(inviter, person == 83 ? .child : .member)
      let hand = world.addHand(person: person)
      world.tell(hand, inviter)
      let joined = world.join(hand, invite)
      #expect(world.reason(joined) != nil)
      inviter = hand
    }
    #expect(world.fold().people.allSatisfy { $0.id.low < 80 })
  }
}
