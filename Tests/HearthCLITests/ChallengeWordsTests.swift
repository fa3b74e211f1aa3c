import HearthCRDT
import Household
import Testing

@testable import HearthCLI

@Suite("Challenges in words")
struct ChallengeWordsTests {
  private func offer(_ id: String, _ title: String, catalogue: UInt64 = 1) throws -> ChallengeOffer
  {
    let card = try #require(
      ChallengeCard(
        key: ChallengeKey(catalogue: Identifier(high: 1, low: catalogue), id: id),
        catalogueName: catalogue == 1 ? "hearth" : "other", title: title, category: "calm",
        minutes: 10))
    return ChallengeOffer(card, version: 1, text: "", company: nil, cost: nil, difficulty: nil)
  }

  @Test("A challenge is found by its id, by catalogue and id, and by a part of its title")
  func names() throws {
    let offers = [
      try offer("bench-test", "Test three benches"),
      try offer("bench-test", "Benches", catalogue: 2),
      try offer("letter", "A letter to yourself"), try offer("lantern", "A lantern walk"),
    ]
    func found(_ text: String) throws -> String {
      let card = try ChallengeNames.offer(text, among: offers).card
      return "\(card.catalogueName)/\(card.key.id)"
    }
    #expect(try found("letter") == "hearth/letter")
    #expect(try found("LANTERN") == "hearth/lantern")
    #expect(try found("other/bench-test") == "other/bench-test")
    #expect(try found("three") == "hearth/bench-test")
    for (text, words) in [("bench-test", "fits 2 challenges"), ("a l", "fits 2 challenges")] {
      let failure = #expect(throws: CommandFailure.self) { try found(text) }
      #expect(failure?.message.contains(words) == true, "\(text)")
    }
    let failure = #expect(throws: CommandFailure.self) { try found("lettre") }
    #expect(failure?.hint == "did you mean \"A letter to yourself\"?")
  }

  @Test("Reasons are found by their words, however they are parted")
  func reasons() throws {
    for reason in SkipReason.allCases {
      #expect(try ChallengeNames.reason(reason.rawValue) == reason)
      #expect(try ChallengeNames.reason(reason.words.uppercased()) == reason)
    }
    #expect(try ChallengeNames.reason("time") == .noTime)
    for text in ["", "no such", "n"] {
      let failure = #expect(throws: CommandFailure.self) { try ChallengeNames.reason(text) }
      #expect(failure?.status == .usage && failure?.hint?.contains("too hard, no time") == true)
    }
    #expect(try ChallengeNames.category("kit") == "kitchen")
    #expect(throws: CommandFailure.self) { try ChallengeNames.category("ki") }
  }

  @Test("Wishes are taken at their limits and refused beyond them, and read as they were meant")
  func wishes() throws {
    let cases: [(SettingKey, good: [String], bad: [String])] = [
      (
        .challengeCategories, ["any", "calm", "calm,kitchen"],
        ["", "calm,", "calm,calm", "any,calm", "rest", "calm, kitchen"]
      ),
      (.challengeCompany, ["any", "solo", "solo,pair"], ["alone", "solo,any"]),
      (.challengeCost, ["any", "free", "large"], ["0", "free,small"]),
      (.challengeDifficulty, ["any", "1", "5"], ["0", "6", "05", "+5"]),
      (.challengeMinutes, ["any", "1", "1440"], ["0", "1441", "1.5"]),
      (.challengeRest, ["0", "365"], ["-1", "366", "any"]),
    ]
    #expect(cases.map(\.0.name) == SettingKey.ofChallenges.map(\.name))
    for (key, good, bad) in cases {
      #expect(key.scopes == [.person] && key.isValid(key.defaultValue))
      for value in good { #expect(key.isValid(value), "\(key.name) \(value)") }
      for value in bad { #expect(!key.isValid(value), "\(key.name) \(value)") }
    }
    #expect(SettingKey.challengeCategories.spelled("Calm, kitchen") == "calm,kitchen")
    #expect(SettingKey.listOrder.spelled("Due") == nil)
    let none = SettingValues(stored: [:])
    #expect(none.challengeFilter == ChallengeFilter() && none.challengeRest == 30)
    let values = SettingValues(stored: [
      .person: [
        "challenge-categories": "calm,kitchen", "challenge-company": "solo,pair",
        "challenge-cost": "small", "challenge-difficulty": "2", "challenge-minutes": "30",
        "challenge-rest": "7",
      ]
    ])
    var wanted = ChallengeFilter()
    wanted.categories = ["calm", "kitchen"]
    wanted.companies = [.solo, .pair]
    wanted.cost = .small
    wanted.difficulty = 2
    wanted.minutes = 30
    #expect(values.challengeFilter == wanted && values.challengeRest == 7)
  }

  @Test("The mean of stars has one digit, rounded half up")
  func mean() {
    #expect(ChallengeText.mean(4, of: 1) == "4.0")
    #expect(ChallengeText.mean(10, of: 3) == "3.3")
    #expect(ChallengeText.mean(11, of: 3) == "3.7")
    #expect(ChallengeText.mean(17, of: 4) == "4.3")
  }
}
