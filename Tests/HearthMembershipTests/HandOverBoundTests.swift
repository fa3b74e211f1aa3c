import MembershipPromises
import PromiseTranslation
import Testing

@testable import HearthMembership

/// How often a group goes from hand to hand.
@Suite("Membership: hand-overs are bounded")
struct HandOverBoundTests {
  /// Who owns the group after two people gave it to each other so many times.
  private func owner(after count: Int) -> Int {
    var world = World.founded()
    world.write(0, .setWords(words: 1))
    world.welcome(12, as: 12, .admin, host: 0)
    world.write(12, .setWords(words: 2))
    world.meet(0, 12)
    for turn in 0..<count {
      let (giver, heir) = turn % 2 == 0 ? (0, 12) : (12, 0)
      let offer = world.write(giver, .offer(person: heir, words: giver == 0 ? 1 : 2))
      world.sync(giver, heir)
      world.write(heir, .accept(offer: offer))
      world.meet(giver, heir)
    }
    return PromiseAdapter.resolve(world.history.acts).owner
  }

  @Test("Who hands over once more than the limit stays owner")
  func limit() {
    let most = Judge.maximumHandOvers
    #expect(most == 16)
    #expect(owner(after: most - 1) == 12)
    #expect(owner(after: most) == 0)
    #expect(owner(after: most + 1) == 0)
  }
}
