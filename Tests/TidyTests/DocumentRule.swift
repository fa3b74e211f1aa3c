import Foundation

/// Rules about documents: links, the length of the README, the form of decisions.
enum DocumentRule {
  static let readmeLineLimit = 200
  static let decisionHeadings = ["Status", "Context", "Decision", "Consequences"]

  /// The relative targets that a Markdown file links to, with their lines; code is left out.
  static func relativeLinks(in markdown: String) -> [(target: String, line: Int)] {
    guard
      let link = try? NSRegularExpression(
        pattern: #"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\s*\[[^\]]+\]:\s*<?([^\s>]+)"#)
    else { return [] }
    var isInCode = false
    var result: [(target: String, line: Int)] = []
    for (index, line) in markdown.split(separator: "\n", omittingEmptySubsequences: false)
      .enumerated()
    {
      if line.drop(while: \.isWhitespace).hasPrefix("```") { isInCode.toggle() }
      if isInCode { continue }
      let text = withoutCodeSpans(line)
      for match in link.matches(in: text, range: NSRange(text.startIndex..., in: text)) {
        let range = Range(match.range(at: 1), in: text) ?? Range(match.range(at: 2), in: text)
        guard let range else { continue }
        let target = String(text[range])
        if isRelative(target) { result.append((target, index + 1)) }
      }
    }
    return result
  }

  /// Checks that each relative link leads to a file or folder.
  ///
  /// - Parameter exists: Whether a path relative to the package root is there.
  static func linkViolations(
    path: String, markdown: String, exists: (String) -> Bool
  ) -> [Violation] {
    relativeLinks(in: markdown).compactMap { target, line in
      let file = target.prefix { $0 != "#" && $0 != "?" }
      let decoded = String(file).removingPercentEncoding ?? String(file)
      let folder = path.split(separator: "/").dropLast().map(String.init)
      guard let resolved = resolve(decoded, from: folder) else {
        return Violation(path: path, line: line, message: "link leaves the package: \(target)")
      }
      if exists(resolved) { return nil }
      return Violation(path: path, line: line, message: "link to a missing file: \(target)")
    }
  }

  static func readmeViolations(path: String, markdown: String) -> [Violation] {
    let count = SourceText(path: path, text: markdown).lineCount
    if count < readmeLineLimit { return [] }
    return [
      Violation(
        path: path, line: count,
        message: "\(count) lines; fewer than \(readmeLineLimit): move the rest to docs/")
    ]
  }

  /// Checks the name, the title and the headings of a decision record.
  static func decisionViolations(path: String, markdown: String) -> [Violation] {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    var messages: [String] = []
    let isNamedWell = name.range(of: #"^\d{4}-[a-z0-9-]+\.md$"#, options: .regularExpression) != nil
    if !isNamedWell { messages.append("name it NNNN-title.md, lower case with hyphens") }
    let lines = markdown.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.first?.hasPrefix("# \(name.prefix(4)) ") != true {
      messages.append("start it with '# \(name.prefix(4)) Title'")
    }
    let headings = lines.filter { $0.hasPrefix("## ") }.map { String($0.dropFirst(3)) }
    if headings != decisionHeadings {
      messages.append(
        "headings must be \(decisionHeadings.joined(separator: ", ")), "
          + "found \(headings.joined(separator: ", "))")
    }
    return messages.map { Violation(path: path, line: 1, message: $0) }
  }

  /// Checks that each number is given once.
  static func decisionNumberViolations(paths: [String]) -> [Violation] {
    var holders: [String: String] = [:]
    return paths.sorted().compactMap { path in
      let number = String((path.split(separator: "/").last ?? "").prefix(4))
      defer { holders[number] = path }
      guard let other = holders[number] else { return nil }
      return Violation(path: path, line: 1, message: "number \(number) is taken by \(other)")
    }
  }

  private static func isRelative(_ target: String) -> Bool {
    let hasScheme =
      target.range(of: "^[a-zA-Z][a-zA-Z0-9+.-]*:", options: .regularExpression) != nil
    return !hasScheme && !target.hasPrefix("#") && !target.hasPrefix("//")
  }

  private static func withoutCodeSpans(_ line: Substring) -> String {
    let parts = line.split(separator: "`", omittingEmptySubsequences: false)
    return parts.enumerated().map { $0.offset.isMultiple(of: 2) ? String($0.element) : "code" }
      .joined()
  }

  private static func resolve(_ target: String, from folder: [String]) -> String? {
    var parts = target.hasPrefix("/") ? [] : folder
    for part in target.split(separator: "/") {
      switch part {
      case ".": continue
      case "..":
        guard parts.popLast() != nil else { return nil }
      default: parts.append(String(part))
      }
    }
    return parts.joined(separator: "/")
  }
}
