import Foundation
import Testing

/// One file of `Golden`: a line for each part, with its place, its bytes and its name.
///
/// The same lines stand in the reference pages, so that the pages cannot say anything else than
/// what the program does.
struct GoldenFile {
  let name: String
  let text: String

  init(_ name: String) throws {
    self.name = name
    let file = GoldenFile.tests.appendingPathComponent("Golden/\(name).hex")
    text = try String(contentsOf: file, encoding: .utf8)
  }

  /// The second word of each line.
  var parts: [String] {
    text.split(separator: "\n").map { line in
      let words = line.split(separator: " ")
      return words.count > 1 ? String(words[1]) : ""
    }
  }

  /// All bytes, two digits each.
  var hex: String { parts.joined() }

  /// Whether every line but the last names the offset of its bytes.
  var hasTrueOffsets: Bool {
    var offset = 0
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count > 2, words[0] == "\(offset)" else { return false }
      offset += words[1].utf8.count / 2
    }
    return true
  }

  /// Whether a page below `docs` holds these very lines.
  func isQuoted(in page: String) throws -> Bool {
    let docs = GoldenFile.tests.deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("docs")
    let page = try String(contentsOf: docs.appendingPathComponent(page), encoding: .utf8)
    return page.contains("```\n" + text + "```")
  }

  private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
}
