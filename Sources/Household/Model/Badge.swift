/// A badge of the built-in catalogue; the log determines who has it (R16).
package struct Badge: Equatable, Sendable {
  /// The quantity that a badge counts.
  package enum Measure: String, Sendable {
    /// Credited completions.
    case completions
    /// Consecutive days with a credited completion (R17).
    case streak
  }

  /// The name, which never changes.
  package let key: String
  package let name: String
  package let description: String
  /// The name of the displayed icon.
  package let icon: String
  /// The name of the displayed colour.
  package let color: String
  package let measure: Measure
  /// The number needed to earn the badge.
  package let required: Int

  private init(
    _ key: String, _ name: String, _ description: String, _ icon: String, _ color: String,
    _ required: Int, _ measure: Measure = .completions
  ) {
    self.key = key
    self.name = name
    self.description = description
    self.icon = icon
    self.color = color
    self.measure = measure
    self.required = required
  }

  /// Every badge, in display order.
  package static let catalogue = [
    Badge("first_chore", "First Step", "Completed your first chore", "1.circle.fill", "Primary", 1),
    Badge("chores_5", "Warming Up", "Completed 5 chores", "5.circle.fill", "Primary", 5),
    Badge("chores_10", "Helping Hand", "Completed 10 chores", "hand.raised.fill", "Blue", 10),
    Badge("chores_25", "Dependable", "Completed 25 chores", "25.circle.fill", "Blue", 25),
    Badge("chores_50", "Half a Hundred", "Completed 50 chores", "50.circle.fill", "Teal", 50),
    Badge("chores_100", "Centurion", "Completed 100 chores", "shield.fill", "Teal", 100),
    Badge(
      "chores_250", "Pillar of the House", "Completed 250 chores", "building", "Green", 250),
    Badge("chores_500", "Tireless", "Completed 500 chores", "bolt.fill", "Green", 500),
    Badge("chores_1000", "Legend", "Completed 1000 chores", "crown.fill", "Gold", 1000),
    Badge(
      "streak_3", "Three in a Row", "A chore on 3 days in a row", "flame", "Orange", 3, .streak),
    Badge(
      "streak_7", "Full Week", "A chore on 7 days in a row", "flame.fill", "Orange", 7, .streak),
    Badge(
      "streak_14", "Fortnight", "A chore on 14 days in a row", "flame.fill", "Red", 14, .streak),
    Badge("streak_30", "Habit", "A chore on 30 days in a row", "calendar", "Red", 30, .streak),
    Badge(
      "streak_100", "Unbroken", "A chore on 100 days in a row", "star.fill", "Gold", 100, .streak),
    Badge(
      "streak_365", "Year Round", "A chore on 365 days in a row", "sun.max", "Gold", 365,
      .streak),
  ]
}
