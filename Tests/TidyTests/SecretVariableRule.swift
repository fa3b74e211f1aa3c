import Foundation

/// No secret comes through a variable of the environment: every program that a shell starts
/// inherits it, and `/proc/PID/environ` shows it for as long as the process lives.
///
/// A variable that names a file is none. What libraries read by themselves, such as `PGPASSWORD`,
/// is theirs.
enum SecretVariableRule {
  private static let secret = "(PASSPHRASE|PASSWORD|SECRET|WORDS|LINK|TOKEN|KEY)"

  /// Checks the whole text of a source file or script, comments and strings included.
  static func violations(path: String, text: String) -> [Violation] {
    let own = "\\bHEARTH_\\w*\(secret)\\b"
    let read = "(environment\\[|getenv\\()\\s*\"\\w*\(secret)\""
    guard let expression = try? NSRegularExpression(pattern: "\(own)|\(read)") else {
      return [Violation(path: path, line: 1, message: "bad pattern of secret variables")]
    }
    return expression.matches(in: text, range: NSRange(text.startIndex..., in: text)).map { match in
      let range = Range(match.range, in: text) ?? text.startIndex..<text.startIndex
      let line = text[..<range.lowerBound].count { $0 == "\n" } + 1
      return Violation(
        path: path, line: line,
        message: "\(text[range]): a secret comes from a terminal, a file or standard input")
    }
  }
}
