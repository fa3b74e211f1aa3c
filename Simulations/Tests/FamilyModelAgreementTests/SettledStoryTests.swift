import Testing

/// Smallest stories on which the real household and the model once differed, each with what the
/// rule asks; both agree now.
@Suite("Stories on which the real household and the model once differed")
struct SettledStoryTests {
  private func expectAgreement(
    _ why: Comment, rule: Int, assignment: Int = 0, together: Bool = false, _ steps: [Step]
  ) throws {
    let story = Story(
      rules: [rule, 0], assignments: [assignment, 0], steps: steps, isTogether: together)
    let lines = try story.differences()?.lines ?? []
    #expect(lines.isEmpty, why)
  }

  @Test("R8: skipping today's daily chore does not bring yesterday's back")
  func skipAfterMissed() throws {
    try expectAgreement(
      "the skipped day is closed, so next is the first after it; what was missed stays missed",
      rule: 1, [.days(4), .skip(0, on: 0)])
  }

  @Test("R6: a daily chore done today is not due today again by becoming a chain")
  func ruleBecomesChain() throws {
    try expectAgreement(
      "the new rule opens after the last closed date: R7 counts from the work of today",
      rule: 1, [.done(0, by: 0, on: 0, back: 0), .rule(0, 6, on: 0)])
  }

  @Test("R7: concurrent work is one link, also where the doers saw different rules")
  func workBesideRuleChange() throws {
    try expectAgreement(
      "the doer who had not seen the new rule did the same work",
      rule: 0,
      [.rule(0, 6, on: 0), .done(0, by: 0, on: 0, back: 0), .done(0, by: 1, on: 1, back: 0), .meet])
  }

  @Test("R6: a chain with a new interval is not due before the day it got it")
  func chainGetsShorter() throws {
    try expectAgreement(
      "the new rule opens on its edit day at the earliest",
      rule: 7, [.done(0, by: 0, on: 0, back: 0), .days(4), .rule(0, 6, on: 0)])
  }

  @Test("R2: in a strict household an occurrence is credited to whom it was given")
  func strictOverride() throws {
    try expectAgreement(
      "the override wins over the chore's own assignment (R18), so Ada was not the assignee",
      rule: 0, assignment: 1, together: true,
      [
        .setting("strict-assignee", "yes", on: 0), .assignOnce(0, 1, on: 0),
        .done(0, by: 0, on: 0, back: 0),
      ])
  }

  @Test("R15: a skipped link stays skipped when a duplicate of the one before arrives")
  func skipBesideDuplicate() throws {
    try expectAgreement(
      "the late completion is of the link before, so it says nothing about the skipped one",
      rule: 6,
      [
        .done(0, by: 1, on: 1, back: 0), .done(0, by: 0, on: 0, back: 0), .skip(0, on: 0), .meet,
      ])
  }

  @Test("a link that was moved on and skipped is not due again before the day it was moved to")
  func skipOfMovedLink() throws {
    try expectAgreement(
      "the rules are silent; both count from the later of the skip's day and the day it was due",
      rule: 6, [.move(0, 3, on: 0), .skip(0, on: 0)])
  }
}
