import HearthCRDT
import MembershipPromises
import PromiseTranslation
import TestSupport
import Testing

@testable import HearthMembership

/// Further operations on top of a fold give what folding everything anew gives.
@Suite("Membership: one more operation")
struct AddingTests {
  /// All that a fold decided.
  private static func outcome(_ membership: Membership) -> String {
    let resolver = membership.resolver
    let places = resolver.log.items.indices.map { place in
      "\(resolver.log.items[place].id) \(resolver.isLive[place]) "
        + "\(resolver.reason(place).map(String.init(describing:)) ?? "") "
        + "\(resolver.confirmations[place] ?? -1) \(resolver.verdicts[place])"
    }
    return places.joined(separator: "\n") + membership.summary
      + "\(membership.formerPeople) \(membership.allDevices) \(membership.invites)"
      + "\(membership.offers) \(membership.waiting.map(\.id)) \(membership.hasTriedCuts)"
      + "\(membership.audit().map(\.void)) \(membership.recoveryUses().map(\.id))"
  }

  /// The lists of what counts, by what they are called and the number of what they concern.
  private static func lists(_ membership: Membership) -> [String] {
    Mirror(reflecting: membership.resolver.live).children.flatMap { name, value in
      (value as? NumberedLists).map { lists in
        lists.numbers.map { "\(name ?? "") \($0): \(lists[$0])" }
      } ?? []
    }
  }

  /// Folds a log change by change; how many changes were added without a whole fold.
  private func grow(_ items: [ControlItem], _ group: GroupID, _ name: String) -> Int {
    let changes = Dictionary(grouping: items, by: \.version.dot)
    var order: [Dot] = []
    for item in items where order.last != item.version.dot { order.append(item.version.dot) }
    var added = 0
    var here: [ControlItem] = []
    var grown = Membership(
      group: group, items: [], forks: ControlForks(), proofs: ProofBook(isTrusting: true))
    for dot in order {
      let change = changes[dot] ?? []
      here += change
      if grown.resolver.adding(change) != nil { added += 1 }
      grown = grown.adding(change)
      let whole = Membership(
        group: group, items: here, forks: ControlForks(), proofs: ProofBook(isTrusting: true))
      #expect(AddingTests.outcome(grown) == AddingTests.outcome(whole), "\(name) at \(dot)")
      #expect(AddingTests.lists(grown) == AddingTests.lists(whole), "\(name) at \(dot)")
    }
    let known = Membership(
      group: group, items: here.dropLast(), forks: ControlForks(),
      proofs: ProofBook(isTrusting: true))
    let last = Membership(group: group, items: here, known: known)
    #expect(AddingTests.outcome(last) == AddingTests.outcome(grown), "\(name): by what is known")
    return added
  }

  @Test("What a former owner writes without effect confirms no hand-over")
  func voidConfirmsNothing() {
    var world = World.founded()
    world.write(0, .setWords(words: 1))
    world.welcome(12, as: 12, .admin, host: 0)
    world.meet(0, 12)
    let offer = world.write(0, .offer(person: 12, words: 1))
    world.sync(0, 12)
    world.write(12, .accept(offer: offer))
    world.meet(0, 12)
    // Nobody removes the owner.
    world.write(0, .remove(person: 12))
    let items = PromiseAdapter.items(world.history.acts)
    #expect(grow(items, PromiseAdapter.group, "a void removal") > 0)
  }

  @Test("Histories of liars and honest people, one operation after the other")
  func promises() {
    var added = 0
    var all = 0
    for seed in 0..<UInt64(MembershipModelTests.graphs / 10) {
      let acts = PromiseAdapter.arrived(PromiseCheck.history(seed: seed).acts)
      let order = PromiseCheck.history(seed: seed).acts.map(\.id)
      let sorted = acts.sorted {
        (order.firstIndex(of: $0.id) ?? 0) < (order.firstIndex(of: $1.id) ?? 0)
      }
      let items = PromiseAdapter.items(sorted)
      all += items.count
      added += grow(items, PromiseAdapter.group, "seed \(seed)")
    }
    #expect(added > all / 5, "\(added) of \(all)")
  }

  @Test("Random histories, told to everybody now and then")
  func random() {
    var added = 0
    var all = 0
    for seed in 0..<UInt64(MembershipModelTests.graphs / 8) {
      var world = MembershipWorld()
      var random = TestSupport.SplitMix64(seed: seed)
      MembershipHistory.grow(&world, steps: 4, &random)
      for _ in 0..<8 {
        if !random.oneIn(4) { world.settle() }
        MembershipHistory.goOn(&world, steps: 1 + random.below(3), &random)
      }
      all += world.items.count
      added += grow(world.items, world.group, "seed \(seed)")
    }
    #expect(added > all / 3, "\(added) of \(all)")
  }
}
