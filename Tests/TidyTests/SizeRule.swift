/// Limits on the length of files, lines and functions.
enum SizeRule {
  static let maximumLinesPerFile = 600
  static let maximumColumns = 100
  static let maximumLinesPerFunction = 50

  /// Files that may be longer: path and the decision that says why.
  static let longFiles: [(path: String, why: String)] = []

  static func violations(in file: SourceText) -> [Violation] {
    fileViolations(in: file) + lineViolations(in: file) + functionViolations(in: file)
  }

  static func fileViolations(in file: SourceText) -> [Violation] {
    let count = file.lineCount
    guard count > maximumLinesPerFile, !longFiles.contains(where: { $0.path == file.path }) else {
      return []
    }
    return [
      Violation(
        path: file.path, line: count,
        message: "\(count) lines; at most \(maximumLinesPerFile): split it by concept")
    ]
  }

  static func lineViolations(in file: SourceText) -> [Violation] {
    let codeLines = file.codeLines
    return file.lines.enumerated().compactMap { index, line in
      guard line.utf8.count > maximumColumns, line.count > maximumColumns else { return nil }
      // A golden vector is a fact: it may be as long as its source prints it.
      let isVector = isGolden(file.path) && codeLines[index].allSatisfy(\.isPartOfLiteralLine)
      if isVector { return nil }
      return Violation(
        path: file.path, line: index + 1,
        message: "\(line.count) columns; at most \(maximumColumns)")
    }
  }

  static func functionViolations(in file: SourceText) -> [Violation] {
    functions(in: file).compactMap { function in
      guard function.lineCount > maximumLinesPerFunction else { return nil }
      return Violation(
        path: file.path, line: function.line,
        message: "function of \(function.lineCount) lines; at most "
          + "\(maximumLinesPerFunction): give its parts names")
    }
  }

  private static func isGolden(_ path: String) -> Bool {
    path.hasPrefix("Tests/") && path.split(separator: "/").contains { $0.hasPrefix("Golden") }
  }

  // MARK: Functions by counting braces

  struct Function: Equatable {
    var line: Int
    /// From the line of the keyword to the line of the closing brace, both counted.
    var lineCount: Int
  }

  private static let functionKeywords: Set<String> = ["func", "init", "deinit", "subscript"]
  private static let declarationKeywords = functionKeywords.union([
    "var", "let", "case", "struct", "class", "enum", "extension", "protocol", "actor",
    "associatedtype", "typealias", "import",
  ])

  /// The functions and initialisers of a file that have a body.
  static func functions(in file: SourceText) -> [Function] {
    let words = Self.words(in: file.codeBytes)
    return words.indices.compactMap { index in
      guard functionKeywords.contains(words[index].text), !words[index].followsDot else {
        return nil
      }
      // A requirement of a protocol has no body: the next declaration ends the search.
      let start = words[index].end
      guard let body = bodyRange(after: start, wordIndex: index, words: words, file: file) else {
        return nil
      }
      let first = file.line(atByte: words[index].start)
      let last = file.line(atByte: body.upperBound)
      return Function(line: first, lineCount: last - first + 1)
    }
  }

  private struct Word {
    var text: String
    var start: Int
    var end: Int
    var followsDot: Bool
  }

  private static func words(in code: [UInt8]) -> [Word] {
    var result: [Word] = []
    var position = 0
    while position < code.count {
      guard code[position].isWordByte else {
        position += 1
        continue
      }
      let start = position
      while position < code.count, code[position].isWordByte { position += 1 }
      let before = start > 0 ? code[start - 1] : UInt8(ascii: " ")
      result.append(
        Word(
          text: String(decoding: code[start..<position], as: UTF8.self), start: start,
          end: position,
          followsDot: before == UInt8(ascii: ".") || before == UInt8(ascii: "`")))
    }
    return result
  }

  /// Offsets of the braces of the body, or nil if another declaration or a `}` comes first.
  private static func bodyRange(
    after start: Int, wordIndex: Int, words: [Word], file: SourceText
  ) -> ClosedRange<Int>? {
    let code = file.codeBytes
    var nextWord = wordIndex + 1
    var nesting = 0
    var position = start
    while position < code.count {
      if nextWord < words.count, words[nextWord].start == position {
        let word = words[nextWord]
        let isDeclaration = declarationKeywords.contains(word.text) && !word.followsDot
        // A function may be named like a keyword.
        let isName = nextWord == wordIndex + 1 && words[wordIndex].text == "func"
        if nesting == 0, isDeclaration, !isName { return nil }
        position = word.end
        nextWord += 1
        continue
      }
      switch code[position] {
      case UInt8(ascii: "("), UInt8(ascii: "["): nesting += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"): nesting -= 1
      case UInt8(ascii: "{") where nesting == 0:
        return closingBrace(of: position, in: code).map { position...$0 }
      case UInt8(ascii: "}") where nesting == 0: return nil
      default: break
      }
      position += 1
    }
    return nil
  }

  private static func closingBrace(of opening: Int, in code: [UInt8]) -> Int? {
    var depth = 0
    for position in opening..<code.count {
      if code[position] == UInt8(ascii: "{") { depth += 1 }
      if code[position] == UInt8(ascii: "}") {
        depth -= 1
        if depth == 0 { return position }
      }
    }
    return nil
  }
}

extension UInt8 {
  fileprivate var isWordByte: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

extension Character {
  /// Whether a line made of these holds nothing but (blanked) literals and their punctuation.
  fileprivate var isPartOfLiteralLine: Bool {
    isWhitespace || isLetter || isNumber || "_=:,.()[]+".contains(self)
  }
}
