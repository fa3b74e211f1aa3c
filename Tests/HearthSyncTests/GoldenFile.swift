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

/// Two digits a byte.
func hex(_ bytes: [UInt8]) -> String {
  bytes.map { byte in
    let digits = String(byte, radix: 16)
    return digits.count == 1 ? "0" + digits : digits
  }.joined()
}

/// The bytes of pairs of digits; nil for anything else.
func bytes(_ hex: String) -> [UInt8]? {
  let digits = Array(hex.utf8)
  guard digits.count.isMultiple(of: 2) else { return nil }
  var bytes: [UInt8] = []
  for place in stride(from: 0, to: digits.count, by: 2) {
    guard let byte = UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16)
    else { return nil }
    bytes.append(byte)
  }
  return bytes
}
