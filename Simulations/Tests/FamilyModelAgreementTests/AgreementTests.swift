import FamilyModel
import Foundation
import HearthCRDT
import HearthSync
import Household
import Testing

/// Chance that is the same each time (SplitMix64, Steele and others 2014).
private struct Chance {
  var state: UInt64

  mutating func below(_ bound: Int) -> Int {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
  }

  mutating func one<Element>(of list: [Element]) -> Element { list[below(list.count)] }
}

/// What may happen in the random histories of a test.
enum Topic: CaseIterable {
  case credit, edit, undo, skip, skew, strict, duplicate, missed, changeRule, once, move, forge
  case link, unreadable
}

@Suite("The real household and the model agree on random histories")
struct AgreementTests {
  /// How many random histories of each kind are compared; HEARTH_AGREEMENT_SEEDS says otherwise.
  private static let seeds =
    0..<(ProcessInfo.processInfo.environment["HEARTH_AGREEMENT_SEEDS"].flatMap(UInt64.init) ?? 8)

  private func story(
    seed: UInt64, rules: [Int], assignments: [Int] = [0], _ topics: Set<Topic>
  ) -> Story {
    var chance = Chance(state: seed)
    var story = Story()
    story.rules = [chance.one(of: rules), chance.one(of: rules)]
    story.assignments = [chance.one(of: assignments), chance.one(of: assignments)]
    for _ in 0..<30 {
      let (chore, person, device) = (chance.below(2), chance.below(3), chance.below(3))
      switch chance.below(8) {
      case 0: story.steps.append(.meet)
      case 1: story.steps.append(.bring(from: device, to: chance.below(3)))
      case 2: story.steps.append(.days(1 + chance.below(4)))
      case 3, 4:
        story.steps.append(
          .done(chore, by: person, on: device, back: max(0, chance.below(5) - 3)))
      default:
        story.steps += topicStep(&chance, topics, chore, person, device, rules, assignments)
      }
    }
    return story
  }

  private func topicStep(
    _ chance: inout Chance, _ topics: Set<Topic>, _ chore: Int, _ person: Int, _ device: Int,
    _ rules: [Int], _ assignments: [Int]
  ) -> [Step] {
    switch chance.one(of: Topic.allCases.filter { topics.contains($0) }) {
    case .credit:
      return [.minutes(chance.below(300))]
    case .forge:
      let offset = chance.below(5) == 0 ? nil : chance.below(30) - 5
      return [
        .forged(chore, offset: offset, by: person, on: device, days: chance.below(12) - 4)
      ]
    case .link:
      return [.forged(chore, offset: nil, by: person, on: device, days: chance.below(12) - 8)]
    case .unreadable: return [.unreadable(chore, on: device)]
    case .edit:
      switch chance.below(5) {
      case 0: return [.title(chore, "T\(chance.below(9))", on: device)]
      case 1: return [.tag(chore, added: chance.below(2) == 0, on: device)]
      case 2: return [.archive(chore, chance.below(3) == 0, on: device)]
      case 3: return [.assign(chore, chance.one(of: assignments), on: device)]
      default: return [.points(chore, chance.below(20), on: device)]
      }
    case .undo:
      return [
        .undo(chance.below(50), by: person, on: device, asAdmin: chance.below(3) == 0)
      ]
    case .skip: return [.skip(chore, on: device)]
    case .skew: return [.skew(chance.below(9) - 4, on: device)]
    case .strict:
      return [.setting("strict-assignee", chance.one(of: ["yes", "yes", "no"]), on: device)]
    case .duplicate:
      return [.setting("duplicate", chance.one(of: ["first", "each", "split", nil]), on: device)]
    case .missed:
      return [.setting("missed", chance.one(of: ["roll", "stack", "never-overdue"]), on: device)]
    case .changeRule: return [.rule(chore, chance.one(of: rules), on: device)]
    case .once: return [.assignOnce(chore, chance.below(4), on: device)]
    case .move: return [.move(chore, chance.below(5), on: device)]
    }
  }

  /// Compares on a number of random histories, and gives the smallest form of what differs.
  private func expectAgreement(
    seeds: Range<UInt64> = AgreementTests.seeds, rules: [Int], assignments: [Int] = [0],
    first: [Step] = [],
    together: Bool = false, _ topics: Set<Topic>
  ) throws {
    for seed in seeds {
      var story = story(seed: seed, rules: rules, assignments: assignments, topics)
      story.isTogether = together
      story.steps = first + story.steps
      if let report = try story.report() {
        Issue.record("seed \(seed): \(report)")
        return
      }
    }
  }

  @Test("chores that are done once", arguments: [true, false])
  func once(together: Bool) throws {
    try expectAgreement(rules: [0], together: together, [.credit, .edit, .undo, .duplicate, .skip])
  }

  @Test("chores by the calendar", arguments: [true, false])
  func calendar(together: Bool) throws {
    try expectAgreement(
      rules: [1, 2, 3, 4, 5, 9, 10], together: together, [.credit, .edit, .undo, .duplicate])
  }

  @Test("chores counted from completion", arguments: [true, false])
  func chain(together: Bool) throws {
    try expectAgreement(
      rules: [6, 7, 8], together: together, [.credit, .edit, .undo, .duplicate])
  }

  @Test("skips", arguments: [true, false])
  func skips(together: Bool) throws {
    try expectAgreement(
      rules: [1, 2, 3, 4], first: [.setting("missed", "stack", on: 0), .meet], together: together,
      [.skip, .undo])
    try expectAgreement(rules: [0, 1, 2, 3, 4], together: together, [.skip, .missed, .undo])
    try expectAgreement(rules: [6, 7, 8], together: together, [.skip, .move, .undo])
  }

  @Test("a strict household")
  func strict() throws {
    try expectAgreement(
      rules: [0, 1, 2], assignments: Array(0...8), [.strict, .edit, .once, .undo])
  }

  @Test("what becomes of what nobody did")
  func missed() throws {
    try expectAgreement(rules: [0, 1, 2, 3, 6], [.missed, .undo])
  }

  @Test("whose turn it is", arguments: [true, false])
  func turns(together: Bool) throws {
    try expectAgreement(
      rules: [0, 1, 2, 3, 6], assignments: Array(0...8), together: together, [.once, .edit, .undo])
  }

  @Test("occurrences that are moved")
  func moves() throws {
    try expectAgreement(rules: [0, 1, 2, 3, 6], [.move, .undo])
  }

  @Test("rules that change, also between the calendar and a chain", arguments: [true, false])
  func changeRule(together: Bool) throws {
    try expectAgreement(rules: [0, 1, 2, 3], together: together, [.changeRule, .undo])
    try expectAgreement(rules: [0, 1, 2, 3, 6, 7], together: together, [.changeRule, .undo])
    try expectAgreement(
      rules: [0, 1, 3, 6, 7], together: together, [.changeRule, .skip, .duplicate, .credit])
  }

  @Test("completions that no honest program writes", arguments: [true, false])
  func forged(together: Bool) throws {
    try expectAgreement(
      rules: [0, 1, 2, 3, 4, 5], together: together, [.forge, .undo, .edit, .duplicate])
    try expectAgreement(rules: [1, 2, 3, 6, 7], together: together, [.forge, .changeRule, .skip])
    try expectAgreement(rules: [1, 2, 3, 9, 10], together: together, [.forge, .move, .missed])
  }

  @Test("links of a chain that come too early, too often or too late", arguments: [true, false])
  func links(together: Bool) throws {
    try expectAgreement(rules: [6, 7, 8, 11], together: together, [.link, .undo, .credit])
    try expectAgreement(
      rules: [3, 6, 11], together: together, [.link, .changeRule, .duplicate, .forge])
  }

  @Test("rules that cannot be read", arguments: [true, false])
  func unreadable(together: Bool) throws {
    try expectAgreement(
      rules: [0, 1, 6], together: together, [.unreadable, .forge, .link, .changeRule, .undo])
  }

  @Test("clocks that are off by some minutes")
  func skew() throws {
    try expectAgreement(rules: [0, 1, 2, 3, 6], [.skew, .undo, .credit])
  }

  @Test("times at the edge of what is possible", arguments: [0, 4, 1440, 1441])
  func edges(minutes: Int) throws {
    let story = Story(
      rules: [0, 0], steps: [.skew(minutes, on: 0), .done(0, by: 0, on: 0, back: 7)])
    #expect(try story.report() == nil)
  }
}
