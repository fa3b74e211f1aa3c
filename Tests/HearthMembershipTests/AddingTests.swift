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
    let places = resolver.findings.log.items.indices.map { place in
      "\(resolver.findings.log.items[place].id) \(resolver.findings.isLive[place]) "
        + "\(resolver.findings.reason(place).map(String.init(describing:)) ?? "") "
        + "\(resolver.findings.confirmations[place] ?? -1) \(resolver.findings.verdicts[place])"
    }
    return places.joined(separator: "\n") + membership.summary
      + "\(membership.formerPeople) \(membership.allDevices) \(membership.invites)"
      + "\(membership.offers) \(membership.entries.waiting.map(\.id)) "
      + "\(membership.changes.hasTriedCuts)"
      + "\(membership.audit().map(\.void)) \(membership.recovery.recoveryUses().map(\.id))"
  }

  /// The lists of what counts, by what they are called and the number of what they concern.
  private static func lists(_ membership: Membership) -> [String] {
    Mirror(reflecting: membership.resolver.findings.live).children.flatMap { name, value in
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
      var more = grown.resolver
      if more.add(change) { added += 1 }
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

  /// Lets the changes of a log arrive in batches, some of them long after what follows them; gives
  /// how many batches of several changes needed no whole fold, and how many needed one.
  private func arrive(
    _ items: [ControlItem], _ group: GroupID, _ random: inout TestSupport.SplitMix64, _ name: String
  ) -> (added: Int, whole: Int) {
    var changes: [(turn: Int, items: [ControlItem])] = []
    for item in items {
      if changes.last?.items.first?.position == item.position {
        changes[changes.count - 1].items.append(item)
      } else {
        let delay = random.oneIn(5) ? random.below(items.count) : 0
        changes.append((changes.count + delay, [item]))
      }
    }
    var rest = changes.enumerated().sorted {
      ($0.element.turn, $0.offset) < ($1.element.turn, $1.offset)
    }
    .map(\.element.items)[...]
    var counts = (added: 0, whole: 0)
    var here: [ControlItem] = []
    var grown = Membership(
      group: group, items: [], forks: ControlForks(), proofs: ProofBook(isTrusting: true))
    while !rest.isEmpty {
      let batch = rest.prefix(1 + random.below(Membership.maximumAdded + 4))
      rest = rest.dropFirst(batch.count)
      here += batch.joined()
      var more = grown.resolver
      if !batch.allSatisfy({ more.add($0) }) {
        counts.whole += 1
      } else if batch.count > 1 {
        counts.added += 1
      }
      grown = grown.adding(batch.joined().shuffled(using: &random))
      let whole = Membership(
        group: group, items: here, forks: ControlForks(), proofs: ProofBook(isTrusting: true))
      #expect(AddingTests.outcome(grown) == AddingTests.outcome(whole), "\(name): \(here.count)")
      #expect(AddingTests.lists(grown) == AddingTests.lists(whole), "\(name): \(here.count)")
    }
    return counts
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

  @Test("Random histories in batches, some changes of which arrive late")
  func batches() {
    var counts = (added: 0, whole: 0)
    for seed in 0..<UInt64(MembershipModelTests.graphs / 4) {
      var world = MembershipWorld()
      var random = TestSupport.SplitMix64(seed: seed)
      MembershipHistory.grow(&world, steps: 4, &random)
      for _ in 0..<8 {
        if !random.oneIn(4) { world.settle() }
        MembershipHistory.goOn(&world, steps: 1 + random.below(3), &random)
      }
      let found = arrive(world.items, world.group, &random, "seed \(seed)")
      counts = (counts.added + found.added, counts.whole + found.whole)
    }
    #expect(counts.added > 20 && counts.whole > 200, "\(counts)")
  }

  @Test("Random histories in which logs come to have several histories")
  func forks() {
    var forked = 0
    for seed in 0..<UInt64(MembershipModelTests.graphs / 10) {
      var world = MembershipWorld()
      var random = TestSupport.SplitMix64(seed: seed)
      MembershipHistory.grow(&world, steps: 6, &random)
      var grown = world.fold()
      for _ in 0..<3 {
        let hand = random.below(world.hands.count)
        let reached = world.hands[hand].seen[world.hands[hand].author]
        if reached > 0 { _ = world.fork(hand, at: 1 + UInt64(random.below(Int(reached)))) }
        MembershipHistory.goOn(&world, steps: 1 + random.below(6), &random)
        if random.oneIn(2) { world.show(hand, by: random.below(world.hands.count)) }
        let (items, shown) = world.compiled()
        grown = Membership(
          group: world.group, items: items, forks: MembershipWorld.forks(shown), known: grown)
        let whole = world.fold()
        #expect(AddingTests.outcome(grown) == AddingTests.outcome(whole), "seed \(seed)")
        if !whole.forks.ends.isEmpty { forked += 1 }
      }
    }
    #expect(forked > MembershipModelTests.graphs / 20, "\(forked)")
  }
}
