import Household

// A person's wishes for drawn challenges: they apply to the person, so that all devices draw the
// same.
extension SettingKey {
  /// The word for no wish.
  static let anything = "any"
  /// The number of days in which a done challenge may be left out.
  static let restDays = 0...365

  static let challengeCategories = listed(
    "challenge-categories", "the categories from which challenges are drawn",
    ChallengeFilter.categories)
  static let challengeCompany = listed(
    "challenge-company", "with whom challenges are done",
    ChallengeCompany.allCases.map(\.rawValue))
  static let challengeCost = SettingKey(
    name: "challenge-cost", meaning: "the most a challenge may cost", scopes: [.person],
    usualScope: .person, defaultValue: anything,
    values: ([anything] + ChallengeCost.allCases.map(\.rawValue)).joined(separator: ", "),
    accepts: { $0 == anything || ChallengeCost(rawValue: $0) != nil })
  static let challengeDifficulty = numbered(
    "challenge-difficulty", "the hardest level of a challenge", ChallengeFilter.difficulties)
  static let challengeMinutes = numbered(
    "challenge-minutes", "the most minutes that a challenge may take",
    1...ChallengeCard.minutes.upperBound)
  static let challengeRest = SettingKey(
    name: "challenge-rest", meaning: "for how many days a finished challenge is not drawn again",
    scopes: [.person], usualScope: .person, defaultValue: "30",
    values: "a number from \(restDays.lowerBound) to \(restDays.upperBound)",
    accepts: { number($0, in: restDays) != nil })

  /// The keys of challenges.
  static let ofChallenges = [
    challengeCategories, challengeCompany, challengeCost, challengeDifficulty, challengeMinutes,
    challengeRest,
  ]

  /// Returns the stored spelling of a value that has several spellings; else nil.
  func spelled(_ text: String) -> String? {
    guard SettingKey.ofChallenges.contains(where: { $0.name == name }) else { return nil }
    return text.lowercased().split { $0 == "," || $0.isWhitespace }.joined(separator: ",")
  }

  /// A key whose value is one or more of some words, with commas, or `any`.
  private static func listed(_ name: String, _ meaning: String, _ words: [String]) -> SettingKey {
    SettingKey(
      name: name, meaning: meaning, scopes: [.person], usualScope: .person,
      defaultValue: anything,
      values: "any, or some of \(words.joined(separator: ", ")), with commas",
      accepts: { text in
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        return text == anything
          || (parts.count <= words.count && parts.allSatisfy(words.contains)
            && Set(parts).count == parts.count)
      })
  }

  /// A key whose value is a number in a range, or `any`.
  private static func numbered(
    _ name: String, _ meaning: String, _ range: ClosedRange<Int>
  ) -> SettingKey {
    SettingKey(
      name: name, meaning: meaning, scopes: [.person], usualScope: .person,
      defaultValue: anything,
      values: "any, or a number from \(range.lowerBound) to \(range.upperBound)",
      accepts: { $0 == anything || number($0, in: range) != nil })
  }

  /// A number in its canonical spelling, inside a range.
  private static func number(_ text: String, in range: ClosedRange<Int>) -> Int? {
    Int(text).flatMap { range.contains($0) && String($0) == text ? $0 : nil }
  }
}

extension SettingValues {
  /// The person's wishes for challenges.
  var challengeFilter: ChallengeFilter {
    func wish(_ key: SettingKey) -> String? {
      let value = effective(key).value
      return value == SettingKey.anything ? nil : value
    }
    func words(_ key: SettingKey) -> [String]? {
      wish(key)?.split(separator: ",").map(String.init)
    }
    var filter = ChallengeFilter()
    filter.categories = words(.challengeCategories).map(Set.init)
    filter.companies = words(.challengeCompany).map { Set($0.compactMap(ChallengeCompany.init)) }
    filter.cost = wish(.challengeCost).flatMap(ChallengeCost.init)
    filter.difficulty = wish(.challengeDifficulty).flatMap { Int($0) }
    filter.minutes = wish(.challengeMinutes).flatMap { Int($0) }
    return filter
  }

  /// The number of days in which a done challenge is not drawn.
  var challengeRest: Int {
    Int(effective(.challengeRest).value) ?? SettingKey.restDays.upperBound
  }
}
