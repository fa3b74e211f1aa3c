import Foundation

/// No unfinished work in the tree: what is missing belongs into an issue, not into a comment.
enum MarkerRule {
  // Written in halves, so that this file keeps its own rule.
  static let markers = ["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]
  static let wordInAnyCase = "place" + "holder"

  /// Checks the whole text of a source file or script, comments included.
  static func violations(path: String, text: String) -> [Violation] {
    let pattern = "\\b(\(markers.joined(separator: "|")))\\b|(?i:\(wordInAnyCase))"
    guard let expression = try? NSRegularExpression(pattern: pattern) else {
      return [Violation(path: path, line: 1, message: "bad marker pattern")]
    }
    return expression.matches(in: text, range: NSRange(text.startIndex..., in: text)).map { match in
      let range = Range(match.range, in: text) ?? text.startIndex..<text.startIndex
      let line = text[..<range.lowerBound].count { $0 == "\n" } + 1
      return Violation(
        path: path, line: line, message: "\(text[range]): finish it, or say what is true instead")
    }
  }
}
