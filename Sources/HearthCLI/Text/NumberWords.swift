import ArgumentParser

/// Numbers that people type, with the range in the error message.
enum NumberWords {
  /// The allowed points of a chore.
  static let points = 0...100_000

  /// Returns points: a whole number from 0 to 100000.
  ///
  /// - Throws: a usage failure that states the range.
  static func points(_ text: String) throws -> Int {
    guard let points = Int(text), points == 0 || !text.hasPrefix("+") else {
      throw outOfRange(text)
    }
    guard self.points.contains(points) else { throw outOfRange(text) }
    return points
  }

  private static func outOfRange(_ text: String) -> CommandFailure {
    CommandFailure(
      .usage, "a chore cannot be worth \(ShownText.quoted(text)) points",
      hint: "use a whole number from \(points.lowerBound) to \(points.upperBound)")
  }
}
