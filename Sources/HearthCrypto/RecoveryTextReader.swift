/// Reads recovery words as people type them: words separated by blanks, with or without numbers.
///
/// It works on the caller's bytes and on stack memory that is zeroed, so that no copy of a word
/// remains.
enum RecoveryTextReader {
  /// The list positions of twelve words.
  static func read(
    _ text: UnsafeRawBufferPointer, into places: UnsafeMutableBufferPointer<UInt16>
  ) throws {
    var count = 0
    try forEachPiece(text) { piece in
      let (number, word) = splitNumber(piece)
      let next = count + 1
      if let number, number != next {
        throw CryptoError(
          .malformed,
          "The number \(number) is where word \(next) is expected; write the words one after "
            + "another from 1 to \(places.count).")
      }
      guard !word.isEmpty else { return }
      count = next
      guard count <= places.count else { return }
      places[count - 1] = UInt16(try place(of: word, number: count))
    }
    guard count == places.count else {
      let change = count < places.count ? "missing" : "too many"
      throw CryptoError(
        .badLength,
        "There are \(count) words, \(abs(places.count - count)) \(change); there must be "
          + "\(places.count).")
    }
  }

  /// The list position of the only word in a text, or nil.
  static func onlyWord(_ text: UnsafeRawBufferPointer) -> Int? {
    var places = [Int?]()
    forEachPiece(text) { piece in
      let (_, word) = splitNumber(piece)
      if !word.isEmpty { places.append(withLowerCase(word) { RecoveryWordList.place(of: $0) }) }
    }
    return places.count == 1 ? places[0] : nil
  }

  private static func place(of word: UnsafeRawBufferPointer, number: Int) throws -> Int {
    try withLowerCase(word) { word in
      if let place = RecoveryWordList.place(of: word) { return place }
      let words = RecoveryWordList.nearest(to: word).map {
        "\"\(RecoveryWordList.text(at: $0))\""
      }
      let isShort = word.count < RecoveryWordList.decisiveLetters
      let without = isShort ? "type at least its first four letters." : "check it again."
      let hint = words.isEmpty ? without : "did you mean \(words.joined(separator: " or "))?"
      throw CryptoError(.malformed, "Word \(number) is not in the word list; \(hint)")
    }
  }

  /// Provides a lower-case copy of a word.
  ///
  /// A word that is too long is truncated, and then matches nothing.
  private static func withLowerCase<Result>(
    _ word: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    let most = RecoveryWordList.longestWordBytes + RecoveryWordList.maximumEdits + 1
    let count = min(word.count, most)
    return try withZeroisedMemory(count) { copy in
      for index in 0..<count {
        let isUpper = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= word[index]
        copy[index] = isUpper ? word[index] | 0x20 : word[index]
      }
      return try body(UnsafeRawBufferPointer(copy))
    }
  }

  /// Calls a closure with each piece between separators: ASCII blanks, commas, no-break spaces.
  private static func forEachPiece(
    _ text: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    var start = 0
    var index = 0
    while index < text.count {
      let width = separatorWidth(text, at: index)
      guard width > 0 else {
        index += 1
        continue
      }
      if index > start { try body(text.part(start..<index)) }
      index += width
      start = index
    }
    if text.count > start { try body(text.part(start..<text.count)) }
  }

  /// The number of bytes of the separator at an offset; 0 if there is none.
  private static func separatorWidth(_ text: UnsafeRawBufferPointer, at index: Int) -> Int {
    switch text[index] {
    case 0x09...0x0d, UInt8(ascii: " "), UInt8(ascii: ","): 1
    case 0xc2 where index + 1 < text.count && text[index + 1] == 0xa0: 2
    default: 0
    }
  }

  /// Splits off a number of up to two digits before a word, with its `.`, `)` or `:`.
  private static func splitNumber(
    _ piece: UnsafeRawBufferPointer
  ) -> (number: Int?, word: UnsafeRawBufferPointer) {
    let digits = piece.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    guard 1...2 ~= digits.count else { return (nil, piece) }
    let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    var rest = digits.count
    if rest < piece.count, ".):".utf8.contains(piece[rest]) { rest += 1 }
    return (number, piece.part(rest..<piece.count))
  }
}
