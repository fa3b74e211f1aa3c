import FamilyModel
import Testing

/// What holds for every history.
@Suite("Laws of the model")
struct RandomHistoryTests {
  /// A family that does this and that on three devices for some weeks.
  private func family(seed: UInt64) -> TestFamily {
    var chance = Chance(state: seed)
    var family = TestFamily()
    let people = [family.ada, family.ben, family.cleo]
    let rules = [
      rule(), rule(every: 2, .week(on: [1, 4], start: 1)), rule(.month(day: 31)),
      rule(every: 2, afterCompletion: true), .rule(nil),
    ]
    family.add(.points(3), rules[chance.below(rules.count)])
    for _ in 0..<40 {
      let (device, person) = (chance.below(3), people[chance.below(3)])
      let known = family.model.ledger.map(\.event)
      switch chance.below(12) {
      case 0: family.set(.points(chance.below(10)), on: device)
      case 1: family.set(.archived(chance.below(4) == 0), on: device)
      case 2 where !known.isEmpty: family.undo(known[chance.below(known.count)], by: person)
      case 3: family.skip(key(family.day - TestFamily.start), on: device)
      case 4:
        family.write(device, .setting("duplicate", ["first", "each", "split"][chance.below(3)]))
      case 5: family.meet()
      case 6: family.day += chance.below(3)
      case 7: family.set(rules[chance.below(rules.count)], on: device)
      default:
        let next = family.model.nextOccurrence(family.chore)?.key ?? 0
        family.done(person, on: device, key: next, day: family.day - chance.below(3))
      }
    }
    return family
  }

  @Test("the order in which facts come, and their repetition, change nothing", arguments: 1...20)
  func permutations(seed: Int) {
    let family = family(seed: UInt64(seed))
    let expected = family.model
    var chance = Chance(state: UInt64(seed) + 1000)
    for _ in 0..<3 {
      let facts = family.facts.shuffled(using: &chance)
      let other = FamilyModel(facts: facts + facts.prefix(5), today: family.day)
      #expect(other.ledger == expected.ledger, "seed \(seed)")
      #expect(other.shown(family.chore) == expected.shown(family.chore), "seed \(seed)")
      #expect(
        other.openOccurrences(family.chore, through: family.day + 40)
          == expected.openOccurrences(family.chore, through: family.day + 40), "seed \(seed)")
      #expect(other.streak(family.ada) == expected.streak(family.ada), "seed \(seed)")
    }
  }

  @Test("the total is the sum of the weeks, of the months and of the ledger", arguments: 1...20)
  func sums(seed: Int) {
    let family = family(seed: UInt64(seed))
    let model = family.model
    for person in [family.ada, family.ben, family.cleo] {
      let first = TestFamily.start - 14
      let weeks = stride(from: first, to: family.day + 14, by: 7)
      let total = model.total(person)
      #expect(weeks.map { model.points(person, containing: $0) }.reduce(0, +) == total)
      let months = (8...12).map { (2024, $0) } + (1...3).map { (2025, $0) }
      #expect(months.map { model.points(person, year: $0, month: $1) }.reduce(0, +) == total)
      #expect(model.ledger.filter { $0.person == person }.map(\.points).reduce(0, +) == total)
    }
  }

  @Test("one occurrence credits one completion, and none that is taken back", arguments: 1...40)
  func oneCredit(seed: Int) {
    let family = family(seed: UInt64(seed))
    let first = FamilyModel(
      facts: family.facts.filter { if case .setting = $0.kind { false } else { true } },
      today: family.day)
    let keys = first.credited().compactMap(\.completion.key)
    #expect(Set(keys).count == keys.count, "seed \(seed)")
    for entry in family.model.ledger {
      let isRetracted = family.facts.contains {
        guard case .retraction(entry.event, let by, _) = $0.kind else { return false }
        return by == entry.person || $0.stamp.author == entry.fact.stamp.author
      }
      #expect(isRetracted == (entry.kind == .undone), "seed \(seed)")
      if isRetracted { #expect(entry.points == 0, "seed \(seed)") }
    }
    let open = family.model.openOccurrences(family.chore, through: family.day + 60).map(\.key)
    #expect(Set(open).count == open.count, "seed \(seed)")
  }
}
