/// A Swift file whose comments and string contents are blanked out, so that a rule about code
/// sees code only.
///
/// Blanking keeps every newline and every byte offset. Code inside string interpolations stays
/// visible. The lexer knows nested comments, raw and multi-line strings and extended regular
/// expression literals (`#/…/#`); a bare `/…/` literal that holds a quote would mislead it, so
/// write those in the extended form.
struct SourceText {
  /// Path relative to the package root, with `/` as separator.
  let path: String
  /// The file as it is.
  let text: String
  /// UTF-8 bytes of the file with comments and string contents replaced by spaces.
  let codeBytes: [UInt8]
  /// `codeBytes` as text.
  let code: String

  init(path: String, text: String) {
    self.path = path
    self.text = text
    var lexer = Blanker(bytes: Array(text.utf8))
    lexer.skipCode(untilClosingParenthesis: false)
    codeBytes = lexer.output
    code = String(decoding: lexer.output, as: UTF8.self)
  }

  /// The lines of the file as it is, without their newlines.
  var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

  /// The lines of the code, without their newlines.
  var codeLines: [Substring] { code.split(separator: "\n", omittingEmptySubsequences: false) }

  /// The number of lines; a newline at the end of the file does not start another one.
  var lineCount: Int {
    let newlines = text.utf8.count { $0 == UInt8(ascii: "\n") }
    return text.isEmpty || text.utf8.last == UInt8(ascii: "\n") ? newlines : newlines + 1
  }

  /// The 1-based line of a byte offset.
  func line(atByte offset: Int) -> Int {
    codeBytes[..<offset].count { $0 == UInt8(ascii: "\n") } + 1
  }
}

/// Replaces what is not code by spaces, in one pass.
private struct Blanker {
  let bytes: [UInt8]
  var output: [UInt8]
  var position = 0

  init(bytes: [UInt8]) {
    self.bytes = bytes
    output = bytes
  }

  mutating func skipCode(untilClosingParenthesis: Bool) {
    var depth = 0
    while position < bytes.count {
      if startsComment() || startsLiteral() { continue }
      if bytes[position] == UInt8(ascii: "(") {
        depth += 1
      } else if bytes[position] == UInt8(ascii: ")") {
        if untilClosingParenthesis, depth == 0 { return }
        depth -= 1
      }
      position += 1
    }
  }

  private func has(_ string: StaticString) -> Bool {
    string.withUTF8Buffer { bytes[position...].starts(with: $0) }
  }

  private mutating func blank(_ count: Int) {
    for index in position..<min(position + count, bytes.count)
    where bytes[index] != UInt8(ascii: "\n") {
      output[index] = UInt8(ascii: " ")
    }
    position = min(position + count, bytes.count)
  }

  private mutating func startsComment() -> Bool {
    if has("//") {
      while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { blank(1) }
      return true
    }
    guard has("/*") else { return false }
    var depth = 0
    repeat {
      if has("/*") {
        depth += 1
        blank(2)
      } else if has("*/") {
        depth -= 1
        blank(2)
      } else {
        blank(1)
      }
    } while depth > 0 && position < bytes.count
    return true
  }

  /// Consumes a string or an extended regular expression literal, delimiters included.
  private mutating func startsLiteral() -> Bool {
    var hashes = 0
    while position + hashes < bytes.count, bytes[position + hashes] == UInt8(ascii: "#") {
      hashes += 1
    }
    guard position + hashes < bytes.count else { return false }
    let opener = bytes[position + hashes]
    if opener == UInt8(ascii: "/"), hashes > 0 {
      blank(hashes + 1)
      skipLiteral(closing: [opener] + Self.hashes(hashes), escape: nil)
      return true
    }
    guard opener == UInt8(ascii: "\"") else { return false }
    let isMultiline = bytes[(position + hashes)...].starts(with: [opener, opener, opener])
    let quotes = [UInt8](repeating: opener, count: isMultiline ? 3 : 1)
    blank(hashes + quotes.count)
    skipLiteral(
      closing: quotes + Self.hashes(hashes),
      escape: [UInt8(ascii: "\\")] + Self.hashes(hashes))
    return true
  }

  private static func hashes(_ count: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(ascii: "#"), count: count)
  }

  private mutating func skipLiteral(closing: [UInt8], escape: [UInt8]?) {
    while position < bytes.count {
      let rest = bytes[position...]
      if rest.starts(with: closing) {
        blank(closing.count)
        return
      }
      if let escape, rest.starts(with: escape) {
        blank(escape.count)
        if position < bytes.count, bytes[position] == UInt8(ascii: "(") {
          blank(1)
          skipCode(untilClosingParenthesis: true)
        }
      }
      blank(1)
    }
  }
}
