import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

private typealias World = MembershipWorld

/// An honest and a lying admin, and two devices that join as Ben by one link: his own, and one of
/// an accomplice of the lying admin.
private struct Theft {
  /// How Ben joins, and the accomplice.
  enum Way: CaseIterable {
    case auto, approved
  }

  var world: MembershipWorld
  let honest: Int
  let liar: Int
  let ben: Int
  let thief: Int
  /// A link that lets in at once, and one by approval.
  let link: Identifier
  private let asking: Identifier

  /// - Parameter isMade: whether Ben's device made the id of its person.
  init(isMade: Bool = true) {
    var world = World()
    honest = world.member(.admin, by: .auto)
    liar = world.member(.admin, by: .auto)
    link = world.invite(0, .member, uses: 3)
    asking = world.invite(0, .member, .approve, uses: 3)
    ben = isMade ? world.addMaker() : world.addHand(person: 60)
    thief = world.addHand(as: world.hands[ben].person)
    world.settle()
    self.world = world
  }

  var person: PersonID { world.hands[ben].person }

  /// Both join without having seen each other, one of them earlier in the order; gives Ben's
  /// joining and the accomplice's.
  mutating func join(_ way: Way = .auto, isThiefFirst: Bool) -> (own: RecordID, stolen: RecordID) {
    let authors = way == .auto ? (ben, thief) : (honest, liar)
    delay(isThiefFirst ? authors.0 : authors.1)
    return way == .auto
      ? (world.join(ben, link), world.join(thief, link))
      : (admit(ben, by: honest), admit(thief, by: liar))
  }

  private mutating func admit(_ hand: Int, by admin: Int) -> RecordID {
    world.write(
      admin,
      .admit(
        .init(join: world.request(hand, asking), possession: [UInt8](repeating: 1, count: 64))))
  }

  /// Lets what a device writes next come later in the order.
  mutating func delay(_ hand: Int) {
    let other = world.addHand(person: 90)
    world.tell(other, honest)
    for _ in 0..<2 { world.write(other, .heartbeat([])) }
    world.tell(hand, other)
  }

  mutating func confirm(_ joining: RecordID, of hand: Int, by admin: Int) {
    world.tell(admin, hand)
    world.write(admin, .confirm([joining]))
  }

  func role(_ hand: Int) -> Role? { world.fold().role(of: world.hands[hand].id) }
}

@Suite("Membership: whose a person's id is")
struct PersonMakerTests {
  /// Whether the accomplice's joining comes first in the order.
  private static let orders = [false, true]

  /// What confirms Ben's joining.
  enum Word: CaseIterable {
    case nobodys, admins, owners
  }

  @Test("Whoever made an id keeps it, whatever an admin confirms", arguments: orders, Word.allCases)
  func kept(isThiefFirst: Bool, word: Word) {
    var theft = Theft()
    let (own, stolen) = theft.join(isThiefFirst: isThiefFirst)
    theft.confirm(stolen, of: theft.thief, by: theft.liar)
    switch word {
    case .nobodys: break
    case .admins: theft.confirm(own, of: theft.ben, by: theft.honest)
    case .owners: theft.confirm(own, of: theft.ben, by: 0)
    }
    #expect(theft.world.rule(stolen) == .samePerson)
    #expect(theft.role(theft.ben) == .member)
    #expect(theft.role(theft.thief) == nil)
    // The liar says it again, with everything seen.
    theft.world.settle()
    theft.world.write(theft.liar, .confirm([stolen]))
    #expect(theft.role(theft.ben) == .member)
    #expect(theft.role(theft.thief) == nil)
  }

  @Test("So does whoever was let in by approval", arguments: orders)
  func approved(isThiefFirst: Bool) {
    var theft = Theft()
    let (own, stolen) = theft.join(.approved, isThiefFirst: isThiefFirst)
    #expect(theft.world.reason(own) == nil)
    #expect(theft.world.rule(stolen) == .samePerson)
    #expect(theft.role(theft.ben) == .member)
  }

  @Test("Of an id that tells nothing of its maker, the first confirmed joining holds as before")
  func drawn() {
    for isThiefFirst in PersonMakerTests.orders {
      for way in Theft.Way.allCases {
        var theft = Theft(isMade: false)
        let (own, stolen) = theft.join(way, isThiefFirst: isThiefFirst)
        if way == .auto {
          theft.confirm(stolen, of: theft.thief, by: theft.liar)
          #expect(theft.role(theft.thief) == .member, "confirmed alone")
          theft.confirm(own, of: theft.ben, by: theft.honest)
        }
        let (first, second) = isThiefFirst ? (stolen, own) : (own, stolen)
        #expect(theft.world.reason(first) == nil)
        #expect(theft.world.rule(second) == .samePerson)
      }
    }
  }

  @Test("Nobody takes the place of a person who rose, though no owner confirmed the joining")
  func risen() {
    for isMade in [false, true] {
      var theft = Theft(isMade: isMade)
      // The link is closed before anybody has heard of Ben: he waits until an admin lets him in.
      theft.world.write(0, .inviteClose(invite: theft.link))
      let (own, stolen) = theft.join(isThiefFirst: true)
      theft.confirm(own, of: theft.ben, by: theft.honest)
      theft.world.tell(0, theft.honest)
      theft.world.setRole(0, theft.person, .admin)
      #expect(theft.role(theft.ben) == .admin)
      theft.confirm(stolen, of: theft.thief, by: theft.liar)
      // What the owner knew of speaks against the joining, so that the role confirms nothing.
      let kept: Role? = isMade ? .admin : nil
      #expect(theft.role(theft.ben) == kept)
      #expect(theft.world.rule(isMade ? stolen : own) == .samePerson)
    }
  }

  @Test("An owner's word goes before the device: it may be lost", arguments: orders)
  func ownersWord(isThiefFirst: Bool) {
    var theft = Theft()
    let (own, stolen) = theft.join(isThiefFirst: isThiefFirst)
    theft.confirm(own, of: theft.ben, by: theft.honest)
    theft.confirm(stolen, of: theft.thief, by: 0)
    #expect(theft.world.rule(own) == .samePerson)
    #expect(theft.role(theft.thief) == .member)
    // Of two joinings that the owner confirmed, the device's own counts.
    theft.confirm(own, of: theft.ben, by: 0)
    #expect(theft.world.rule(stolen) == .samePerson)
    #expect(theft.role(theft.ben) == .member)
  }

  @Test("Of somebody who comes back, the device alone says nothing", arguments: orders, orders)
  func back(isThiefFirst: Bool, isConfirmed: Bool) {
    var theft = Theft()
    theft.world.join(theft.ben, theft.link)
    theft.world.settle()
    theft.world.remove(0, theft.person)
    theft.world.settle()
    // The owner invites Ben again, who has a new phone; the old one is in somebody else's hands.
    let named = theft.world.invite(0, .member, person: theft.person)
    let open = theft.world.invite(0, .member)
    theft.world.settle()
    theft.delay(isThiefFirst ? theft.thief : theft.ben)
    let new = theft.world.join(theft.thief, named)
    let old = theft.world.join(theft.ben, open)
    theft.confirm(new, of: theft.thief, by: theft.honest)
    if isConfirmed { theft.confirm(old, of: theft.ben, by: theft.liar) }
    #expect(theft.world.rule(isConfirmed ? new : old) == .samePerson)
    #expect(theft.role(isConfirmed ? theft.ben : theft.thief) == .member)
  }

  @Test("A device that joins under two ids in two histories has no claim to the one it made")
  func twoHistories() {
    for isFirst in [false, true] {
      var world = World()
      let admin = world.member(.admin, by: .auto)
      let link = world.invite(0, .member, uses: 3)
      let hand = world.addHand(person: 60)
      world.tell(hand, 0)
      let joined = world.join(hand, link)
      world.tell(admin, hand)
      world.write(admin, .confirm([joined]))
      let copy = world.fork(hand, at: 1, isFirst: isFirst)
      world.tell(copy, 0)
      world.write(
        copy,
        .join(
          .init(
            invite: link, person: personID(madeBy: world.hands[hand].id),
            personName: "", device: world.hands[hand].card,
            proof: [UInt8](repeating: 1, count: 64))))
      let membership = world.fold()
      #expect(membership.person(of: world.hands[hand].id)?.id == World.person(60))
    }
  }
}
